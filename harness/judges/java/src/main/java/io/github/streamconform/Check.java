package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * One comparison in a trial.
 *
 * @param path the compared value: {@code content.0.text}, {@code usage.input}
 * @param expected the expected value or matcher
 * @param message what is wrong, if the values alone do not explain it, or null
 */
public record Check(String path, Level level, Verdict verdict, JsonNode expected, JsonNode got, String message) {
    static Check of(String path, Level level, Leaf leaf, JsonNode got, boolean holds) {
        return new Check(path, level, holds ? Verdict.PASS : level.whenFailed(), leaf.toJson(), got, null);
    }

    /** Returns the check for a rule, which is broken if there is a message. */
    static Check ofRule(String path, Level level, String message) {
        return ofRule(path, level, message, Json.NULL, Json.NULL);
    }

    static Check ofRule(String path, Level level, String message, JsonNode expected, JsonNode got) {
        if (message == null) return new Check(path, level, Verdict.PASS, Json.NULL, Json.NULL, null);
        return new Check(path, level, level.whenFailed(), expected, got, message);
    }

    boolean isPassed() {
        return verdict == Verdict.PASS;
    }

    Check withMessage(String changed) {
        return new Check(path, level, verdict, expected, got, changed);
    }

    /** Returns a failed check, at most as a warning. */
    Check warn() {
        Level lowered = level.lower(Level.SHOULD);
        return new Check(path, lowered, lowered.whenFailed(), expected, got, message);
    }

    String describeValues() {
        return "expected " + Json.format(expected) + ", got " + Json.format(got);
    }

    /** Returns {@code PATH: MESSAGE} or {@code PATH: expected JSON, got JSON}, which known failures match. */
    String describe() {
        return path + ": " + (message == null ? describeValues() : message);
    }
}
