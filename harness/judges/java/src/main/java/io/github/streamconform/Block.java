package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * A received content block.
 *
 * @param values the values by name; one that was left out is null, or the default of its type
 * @param absent the optional keys that were left out
 */
record Block(BlockType type, Map<String, JsonNode> values, Set<String> absent) {
    JsonNode get(String name) {
        return values.getOrDefault(name, Json.NULL);
    }

    /** Returns a text, or an empty one in place of null. */
    String text(String name) {
        String text = get(name).textValue();
        return text == null ? "" : text;
    }

    String text() {
        return text("text");
    }

    boolean has(String name) {
        return !text(name).isEmpty();
    }

    boolean isCall() {
        return type == BlockType.TOOL_CALL;
    }

    boolean isOfProvider() {
        return isCall() && text("executor").equals("provider");
    }

    boolean isOfClient() {
        return isCall() && !isOfProvider();
    }

    boolean isRedacted() {
        return get("redacted").booleanValue();
    }

    /** Returns whether an agent that receives this call would run it. */
    boolean isExecutable() {
        return !isMarkedOpen() && !get("arguments").isNull();
    }

    boolean isMarkedOpen() {
        return get("complete").isBoolean() && !get("complete").booleanValue();
    }

    Block with(String name, JsonNode value) {
        Map<String, JsonNode> changed = new HashMap<>(values);
        changed.put(name, value);
        Set<String> stillAbsent = new HashSet<>(absent);
        stillAbsent.remove(name);
        return new Block(type, changed, stillAbsent);
    }

    /** Returns a call on one line with its arguments shortened: {@code get_time({"city": "Oslo"})}. */
    String describeCall() {
        String name = has("name") ? text("name") : "a call without a name";
        return Text.escapeLine(name, 60) + "(" + Text.escapeLine(Json.format(get("arguments")), 80) + ")";
    }
}
