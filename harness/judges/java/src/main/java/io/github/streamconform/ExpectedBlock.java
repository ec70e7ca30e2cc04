package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import io.github.streamconform.Leaf.Literally;
import io.github.streamconform.Leaf.Present;
import java.util.Map;

/** A content block that is expected, with a leaf for each field that is judged. */
public record ExpectedBlock(BlockType type, Map<String, Leaf> fields) {
    static ExpectedBlock read(JsonNode block) {
        BlockType type = Names.find(BlockType.class, block.get("type").textValue());
        return new ExpectedBlock(type, Expectation.readLeaves(block.get("fields")));
    }

    /** Returns the leaf of a field, or null. */
    Leaf get(String name) {
        return fields.get(name);
    }

    /** Returns whether a field is expected to be this value. */
    boolean is(String name, Object value) {
        return Leaf.of(value).equals(get(name));
    }

    /** Returns whether a leaf, if there is one, matches the field of a received block. */
    boolean allows(String name, Block got) {
        return get(name) == null || get(name).matches(got.get(name));
    }

    /** Returns the id, if the case names one, or null. */
    String id() {
        return Leaf.textOf(get("id"));
    }

    boolean isCall() {
        return type == BlockType.TOOL_CALL;
    }

    boolean isOfProvider() {
        return isCall() && is("executor", "provider");
    }

    /** Returns whether a call must not be executed, because it did not end or its arguments are not JSON. */
    boolean mustNotRun() {
        return isCall() && (is("complete", false) || is("arguments", null));
    }

    boolean isRedacted() {
        return is("redacted", true);
    }

    /** Returns whether a field is expected and neither null nor empty. */
    boolean has(String name) {
        return get(name) != null && !is(name, null) && !is(name, "");
    }

    boolean isSigned(Claims claims) {
        return claims.has(Capability.SIGNATURES) && has("signature");
    }

    /** Returns whether the case means the call {@code got} by this one; a wrong value in it is then a difference. */
    boolean names(Block got) {
        if (get("id") instanceof Literally id) {
            if (!id.value().isNull() && id.matches(got.get("id"))) return true;
            if (get("name") instanceof Present && !got.get("id").isNull()) return false;
        }
        // `present` fits every name, so only the arguments tell which call is meant.
        if (get("name") instanceof Present) return allows("arguments", got);
        return get("name") != null && allows("name", got);
    }

    /** Returns whether a block is the call that this one is, with its name and arguments. */
    boolean isExactly(Block got) {
        // A call that was cut has no arguments, like a call whose arguments are malformed.
        if (!isCall() || !got.isCall() || got.get("arguments").isNull()) return false;
        return get("name") instanceof Literally name
                && name.matches(got.get("name"))
                && get("arguments") instanceof Literally arguments
                && arguments.matches(got.get("arguments"));
    }
}
