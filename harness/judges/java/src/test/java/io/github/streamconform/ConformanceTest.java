package io.github.streamconform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ConformanceTest {
    @TempDir
    Path folder;

    private Conformance conform(String... replaced) throws IOException {
        return Conformance.of(Made.writeSuite(folder, replaced)).claims(Capability.USAGE, Capability.STOP);
    }

    private static Set<String> ids(Conformance conformance) throws Throwable {
        return Made.run(conformance.tests(Made::read)).keySet();
    }

    @Test
    void eachTrialThatAParserCanReadIsATest() throws Throwable {
        Map<String, String> results = Made.run(conform().tests(Made::read));
        assertEquals(Map.of(Made.AS_IS, "", Made.BYTEWISE, "", Made.END, ""), results);
    }

    @Test
    void theSelectionIsBySetLevelAndPattern() throws Throwable {
        assertEquals(Set.of(Made.AS_IS, Made.END), ids(conform().set(DeliverySet.FAST)));
        assertEquals(4, ids(conform().set(DeliverySet.FULL)).size());
        assertEquals(Set.of(Made.AS_IS, Made.END), ids(conform().level(Level.MUST)));
        assertEquals(Set.of(Made.BYTEWISE, Made.END), ids(conform().select("made-api/**@byte*")));
        assertEquals(Set.of(Made.AS_IS, Made.BYTEWISE, Made.END), ids(conform().select("*/text/*")));
        assertEquals(Set.of(Made.AS_IS, Made.END), ids(conform().select("**@recorded", "nothing")));
        assertThrows(IllegalArgumentException.class, () -> ids(conform().select("nothing")));
    }

    @Test
    void theBytesComeInTheChunksOfTheTrial() throws Throwable {
        List<String> seen = new ArrayList<>();
        Made.run(conform().set(DeliverySet.FULL).tests(input -> {
            seen.add(input.chunks().stream()
                    .map(chunk -> new String(chunk, StandardCharsets.UTF_8))
                    .collect(Collectors.joining("|")));
            return Made.read(input);
        }));
        assertEquals(List.of("He|llo", "H|e|l|l|o", "Hell!"), seen);
    }

    @Test
    void aFailureNamesTheCaseItsPageItsLevelThePathAndBothValues() throws Throwable {
        String expected =
                """
                made-api/text/greeting@as-is
                  A greeting
                  level: must; spec: specs/made-api/text.yaml:3
                  why: Hello is short.
                  content.0.text
                    expected: "Hello"
                    got:      "Hell\"""";
        assertEquals(expected, Made.run(conform().tests(Made::lose)).get(Made.AS_IS));
    }

    @Test
    void warningsFailOnlyIfStrict() throws Throwable {
        assertEquals("", Made.run(conform().tests(Made::lose)).get(Made.BYTEWISE));
        assertTrue(Made.run(conform().strict().tests(Made::lose)).get(Made.BYTEWISE).contains("content.0.text"));
    }

    @Test
    void anExceptionIsAnAnswerWithTheStatusError() throws Throwable {
        Parser raising = input -> {
            throw new IllegalStateException("no\nframe");
        };
        Map<String, String> results = Made.run(conform().set(DeliverySet.FULL).tests(raising));
        String failure = results.get(Made.AS_IS);
        assertTrue(failure.contains("the library raised java.lang.IllegalStateException: no\\nframe\n"), failure);
        assertTrue(failure.contains("status\n    expected: \"complete\"\n    got:      \"error\""), failure);
        assertEquals("", results.get("made-api/text/greeting@cut.1"));
    }

    @Test
    void contentBesideAnExceptionIsJudged() throws Throwable {
        Parser partly = input -> {
            Map<String, Object> outcome = Made.answer("Hello");
            outcome.put("status", "error");
            return Answer.of(outcome, new IOException("cut"));
        };
        String status = "\"status\": {\"equals\": \"complete\"}";
        Conformance broken = conform(status, "\"status\": {\"equals\": \"error\"}").claims();
        assertEquals("", Made.run(broken.tests(partly)).get(Made.AS_IS));
    }

    @Test
    void anOutcomeThatIsNotInTheNormalFormIsTheParsersFault() throws Throwable {
        String start = "{\"status\": \"error\", \"content\": [";
        Map<String, String> problems = Map.of(
                "{\"status\": \"done\", \"content\": []}", "status is \"done\"; expected one of complete, incomplete,",
                start + "{\"type\": \"x\"}]}", "content.0.type is \"x\"; expected one of text,",
                start + "], \"usage\": {\"input\": -1}}", "usage.input is -1; expected a count or null",
                "[]", "the outcome is []; expected an object");
        for (Map.Entry<String, String> problem : problems.entrySet()) {
            String failure = Made.run(conform().tests(input -> Made.json(problem.getKey()))).get(Made.AS_IS);
            assertTrue(failure.contains("not in the normal form"), failure);
            assertTrue(failure.contains("invariant.outcome-schema: " + problem.getValue()), failure);
        }
    }

    @Test
    void aNumberThatJsonDoesNotHaveIsNoCount() throws Throwable {
        Parser parser = input -> {
            Map<String, Object> outcome = Made.answer("Hello");
            outcome.put("usage", Map.of("input", Double.NaN));
            return outcome;
        };
        String failure = Made.run(conform().tests(parser)).get(Made.AS_IS);
        assertTrue(failure.contains("usage.input is NaN; expected a count or null"), failure);
    }

    @Test
    void aClaimOfWhichNothingIsComparedFails() throws Throwable {
        Parser silent = input -> {
            Map<String, Object> outcome = Made.answer("Hello");
            outcome.remove("usage");
            return outcome;
        };
        // A claimed group that is left out is judged as null, so only a key can be left out silently.
        Parser other = input -> {
            Map<String, Object> outcome = Made.answer("Hello");
            outcome.put("usage", Map.of("output", 1));
            return outcome;
        };
        String expected = "`usage` is claimed, but none of the 2 trials that expect one compared a value";
        assertTrue(Made.run(conform().tests(other)).get(Made.END).startsWith(expected));
        assertTrue(Made.run(conform().tests(silent)).get(Made.AS_IS).contains("usage.input"));
    }

    @Test
    void aDocumentIsReadOnlyIfItIsClaimed() throws Throwable {
        Conformance documents = conform().claims(Capability.DOCUMENTS);
        assertTrue(ids(documents).contains("made-api/documents/greeting@as-is"));
    }

    @Test
    void anotherVersionOfTheSuiteIsRejected() {
        String[] other = {"\"suite\": 1", "\"suite\": 2"};
        IOException error = assertThrows(IOException.class, () -> conform(other).tests(Made::read));
        assertTrue(error.getMessage().endsWith("suite-made-api.json.gz: not a suite of version 1"));
    }
}
