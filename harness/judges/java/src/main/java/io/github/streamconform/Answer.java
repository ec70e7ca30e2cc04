package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;

/**
 * What a library made of a trial's bytes.
 *
 * @param outcome the outcome, neither judged nor validated
 * @param raised the message of the library's exception, on one line, or null
 */
record Answer(JsonNode outcome, String raised) {
    /** Returns the answer of a library that only raised an exception. */
    static Answer ofException(Exception exception) {
        Map<String, ?> failed = Map.of("status", "error", "content", List.of(), "stop", Map.of("reason", "error"));
        return new Answer(Json.of(failed), describe(exception));
    }

    static String describe(Exception exception) {
        return Text.escape(exception.getMessage() == null ? exception.toString() : exception.getMessage());
    }
}
