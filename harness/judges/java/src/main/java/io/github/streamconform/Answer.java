package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;

/**
 * What a library made of a trial's bytes. A parser returns one to keep the content that had arrived before an
 * exception.
 *
 * @param outcome the outcome, neither judged nor validated
 * @param raised the library's exception, or null
 */
public record Answer(JsonNode outcome, Exception raised) {
    private static final Map<String, ?> FAILED =
            Map.of("status", "error", "content", List.of(), "stop", Map.of("reason", "error"));

    /** Returns an answer with whatever Jackson writes as an outcome: a map, a record, or a tree. */
    public static Answer of(Object outcome, Exception raised) {
        return new Answer(Json.of(outcome), raised);
    }

    /** Returns what a parser makes of a trial; an exception is part of the answer. */
    static Answer of(Trial trial, Parser parser) {
        try {
            Object outcome = parser.parse(trial.input());
            return outcome instanceof Answer answer ? answer : of(outcome, null);
        } catch (Exception exception) {
            return of(FAILED, exception);
        }
    }

    boolean isRaised() {
        return raised != null;
    }

    /** Returns the exception's message on one line. */
    String message() {
        return Text.escape(raised.getMessage() == null ? raised.toString() : raised.getMessage());
    }
}
