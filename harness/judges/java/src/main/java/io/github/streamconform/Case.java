package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Set;

/**
 * One expectation for the answer that a provider gave.
 *
 * @param id {@code api/topic/name}
 * @param title what the case shows
 * @param why what goes wrong in a library that fails it, or null
 * @param spec the file in the suite that the case comes from
 * @param line the line in this file
 * @param isStream false for an answer that is one document
 * @param capabilities the names of the capabilities without which the case is left out
 * @param expect what is expected of the whole answer
 */
public record Case(
        String id,
        String title,
        String why,
        String spec,
        int line,
        boolean isStream,
        List<String> capabilities,
        Expectation expect) {
    static Case read(JsonNode entry) {
        return new Case(
                entry.get("id").textValue(),
                entry.get("title").textValue(),
                entry.path("why").textValue(),
                entry.get("spec").textValue(),
                entry.get("line").intValue(),
                entry.get("kind").textValue().equals("stream"),
                Json.texts(entry.get("capabilities")).toList(),
                Expectation.read(entry.get("expect")));
    }

    public String api() {
        return id.split("/", 2)[0];
    }

    boolean needsOnly(Set<Capability> claims) {
        return claims.stream().map(Names::of).toList().containsAll(capabilities);
    }
}
