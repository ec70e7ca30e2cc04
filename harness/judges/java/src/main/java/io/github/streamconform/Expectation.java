package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * An expected outcome.
 *
 * @param fields the leaves outside the content, by path; other paths are not judged
 * @param content the expected blocks, or null if the content is not judged
 * @param partial what is known of a broken stream, or null: any beginning of its content is correct
 */
public record Expectation(Map<String, Leaf> fields, List<ExpectedBlock> content, Partial partial) {
    /**
     * Marks the expectation of a broken stream.
     *
     * @param callsEnded the number of calls that ended before the break
     * @param textArrived the number of characters of text that arrived before the break
     */
    public record Partial(int callsEnded, int textArrived) {}

    static Expectation read(JsonNode expect) {
        JsonNode content = expect.get("content");
        JsonNode partial = expect.get("partial");
        return new Expectation(
                readLeaves(expect.get("fields")),
                content == null ? null : Json.items(content).map(ExpectedBlock::read).toList(),
                partial == null
                        ? null
                        : new Partial(partial.path("calls_ended").intValue(), partial.path("text_arrived").intValue()));
    }

    static Map<String, Leaf> readLeaves(JsonNode leaves) {
        Map<String, Leaf> read = new LinkedHashMap<>();
        leaves.fields().forEachRemaining(leaf -> read.put(leaf.getKey(), Leaf.read(leaf.getValue())));
        return read;
    }

    /** Returns the expected blocks, or none if the content is not judged. */
    List<ExpectedBlock> blocks() {
        return content == null ? List.of() : content;
    }

    /** Returns whether a status is expected. */
    boolean expectsStatus(JsonNode status) {
        return fields.containsKey("status") && fields.get("status").matches(status);
    }
}
