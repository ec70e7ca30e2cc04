package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.DynamicTest;
import org.opentest4j.TestAbortedException;

/** A suite of two cases that expect a text, and parsers for it. */
final class Made {
    static final String AS_IS = "made-api/text/greeting@as-is";
    static final String BYTEWISE = "made-api/text/greeting@bytewise";
    static final String END = "claims and known failures";
    static final String SUITE =
            """
            {"suite": 1, "api": "made-api", "ordered_content": true, "cases": [
              {"id": "made-api/text/greeting", "kind": "stream", "title": "A greeting", "why": "Hello is short.",
               "level": "must", "capabilities": [], "spec": "made-api/text.yaml", "line": 3, "mentions": [],
               "stream": {"request": {"body": {"model": "m"}}, "status": 200, "headers": {"a": "b"}, "body": "Hello"},
               "expect": {"fields": {"status": {"equals": "complete"}, "stop.reason": {"equals": "stop"},
                                     "usage.input": {"equals": 7}},
                          "content": [{"type": "text", "fields": {"text": {"equals": "Hello"}}}]},
               "trials": [
                 {"name": "as-is", "level": "must", "set": "fast", "inputs": ["bytes", "http"], "cuts": [2]},
                 {"name": "bytewise", "level": "should", "set": "standard", "inputs": ["bytes"], "cuts": "every"},
                 {"name": "cut.1", "level": "must", "set": "full", "inputs": ["bytes"], "prefix": 4, "append": "!",
                  "cuts": [], "expect": {"fields": {"status": {"equals": "error"}}}},
                 {"name": "reset.1", "level": "must", "set": "fast", "inputs": ["http"], "prefix": 1, "cuts": []}]},
              {"id": "made-api/documents/greeting", "kind": "document", "title": "A document", "level": "must",
               "capabilities": ["documents"], "spec": "made-api/documents.yaml", "line": 3, "mentions": [],
               "stream": {"request": {"body": {}}, "status": 200, "headers": {}, "body": "{}"},
               "expect": {"fields": {"status": {"equals": "complete"}}, "content": []},
               "trials": [{"name": "as-is", "level": "must", "set": "fast", "inputs": ["bytes"], "cuts": []}]},
              {"id": "made-api/requests/greeting", "kind": "request", "title": "A request", "level": "must",
               "capabilities": []}]}
            """;

    private Made() {}

    /** Writes the suite, with texts replaced by others, and returns its path. */
    static String writeSuite(Path folder, String... replaced) throws IOException {
        String text = SUITE;
        for (int i = 0; i < replaced.length; i += 2) text = text.replace(replaced[i], replaced[i + 1]);
        Path path = folder.resolve("suite-made-api.json.gz");
        try (OutputStream file = new GZIPOutputStream(Files.newOutputStream(path))) {
            file.write(text.getBytes(StandardCharsets.UTF_8));
        }
        return path.toString();
    }

    static Map<String, Object> answer(String text) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("status", "complete");
        answer.put("content", List.of(Map.of("type", "text", "text", text)));
        answer.put("stop", Map.of("reason", "stop"));
        answer.put("usage", Map.of("input", 7));
        return answer;
    }

    /** A parser that returns the bytes as text. */
    static Object read(Input input) throws IOException {
        return answer(new String(input.stream().readAllBytes(), StandardCharsets.UTF_8));
    }

    /** A parser that loses the last letter. */
    static Object lose(Input input) {
        return answer("Hell");
    }

    /** Runs tests, and returns the failure of each, or an empty text. */
    static Map<String, String> run(Stream<DynamicTest> tests) throws Throwable {
        Map<String, String> messages = new LinkedHashMap<>();
        for (DynamicTest test : tests.toList()) {
            String message = "";
            try {
                test.getExecutable().execute();
            } catch (AssertionError | TestAbortedException failure) {
                message = failure.getMessage();
            }
            messages.put(test.getDisplayName(), message);
        }
        return messages;
    }

    static JsonNode json(String text) {
        return Json.parse(text).orElseThrow();
    }
}
