package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Judges recorded answers: reads JSON lines from stdin, with suite files as arguments, and writes one per line.
 *
 * <p>It uses only what is public, so that Java can run this file with the judge's jar.
 */
public final class JudgeAnswers {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private JudgeAnswers() {}

    public static void main(String[] paths) throws IOException {
        Map<String, Trial> trials = new HashMap<>();
        for (String path : paths) {
            for (Trial trial : Suite.read(Path.of(path)).trials()) trials.put(trial.id(), trial);
        }
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.print(judge(trials, MAPPER.readTree(line)) + "\n");
        }
        out.flush();
    }

    private static JsonNode judge(Map<String, Trial> trials, JsonNode line) {
        String id = line.get("trial").textValue();
        Trial trial = trials.get(id);
        if (trial == null) throw new IllegalArgumentException("no trial " + id + " in the suite files");
        JsonNode given = line.get("answer");
        String raised = given.path("raised").path("message").textValue();
        Answer answer = new Answer(given.get("outcome"), raised == null ? null : new Exception(raised));
        Set<String> names = new HashSet<>();
        line.get("claims").forEach(name -> names.add(name.textValue()));
        // A client may claim more than streams and documents.
        Set<Capability> claims = EnumSet.allOf(Capability.class);
        claims.removeIf(claim -> !names.contains(nameOf(claim)));
        Judgement judgement = Judge.judge(trial, answer, claims);
        ObjectNode result = MAPPER.createObjectNode().put("trial", id);
        result.put("verdict", nameOf(judgement.verdict()));
        result.put("culprit", judgement.culprit() == null ? null : nameOf(judgement.culprit()));
        ArrayNode checks = result.putArray("checks");
        // Sorted, because a suite file does not have the order in which a spec names fields.
        judgement.checks().stream().sorted(Comparator.comparing(Check::path)).forEach(check -> checks.addObject()
                .put("path", check.path())
                .put("level", nameOf(check.level()))
                .put("verdict", nameOf(check.verdict())));
        ArrayNode compared = result.putArray("compared");
        judgement.compared().entrySet().stream()
                .sorted(Comparator.comparing(entry -> nameOf(entry.getKey())))
                .forEach(entry -> compared.addArray().add(nameOf(entry.getKey())).add(entry.getValue()));
        return result;
    }

    private static String nameOf(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
