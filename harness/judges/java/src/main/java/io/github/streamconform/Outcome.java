package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a library made of a stream, in the normal form (docs/outcome.md).
 *
 * @param values the values outside the content, by name; a group such as {@code usage} is one object
 * @param absent the paths that were left out, such as {@code usage.reasoning}
 * @param omitted the groups without any known key; if claimed, they count as null
 */
record Outcome(Map<String, JsonNode> values, List<Block> content, Set<String> absent, Set<String> omitted) {
    /** Returns the value at a path, such as {@code stop.reason} or {@code usage}, or null. */
    JsonNode read(String path) {
        String[] parts = path.split("\\.", 2);
        JsonNode value = values.get(parts[0]);
        if (parts.length > 1) return value.isNull() ? value : value.get(parts[1]);
        // Usage without any count is as good as none.
        boolean isUnknown = path.equals("usage") && Json.items(value).allMatch(JsonNode::isNull);
        return isUnknown ? Json.NULL : value;
    }

    boolean isComplete() {
        return read("status").textValue().equals("complete");
    }

    /** Returns the outcome with the error of an exception, of which only the message is known. */
    Outcome withError(String message) {
        Map<String, JsonNode> changed = new HashMap<>(values);
        ObjectNode error = JsonNodeFactory.instance.objectNode().putNull("type").putNull("status");
        changed.put("error", error.put("message", message));
        Set<String> unknown = new HashSet<>(absent);
        unknown.addAll(List.of("error.type", "error.status"));
        Set<String> stillOmitted = new HashSet<>(omitted);
        stillOmitted.remove("error");
        return new Outcome(changed, content, unknown, stillOmitted);
    }
}
