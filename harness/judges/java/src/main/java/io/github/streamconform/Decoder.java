package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/** Reads outcomes, and rejects those that are not in the normal form. */
final class Decoder {
    /** The value is not in the normal form; the message says where. */
    static final class MalformedException extends Exception {
        private static final long serialVersionUID = 1;

        MalformedException(String path, JsonNode value, String expected) {
            super("%s is %s; expected %s".formatted(path, Text.escapeLine(Json.format(value), 60), expected));
        }
    }

    /** The values that a key may have besides null. */
    private record Kind(String description, Predicate<JsonNode> accepts) {
        private static Kind oneOf(String... names) {
            Predicate<JsonNode> accepts = value -> value.isTextual() && List.of(names).contains(value.textValue());
            return new Kind("one of " + String.join(", ", names), accepts);
        }
    }

    /** A known key; if an optional one is left out, the outcome says nothing about its value. */
    private record Key(String name, Kind kind, boolean isOptional) {}

    private static final Kind ANY = new Kind("any value", value -> true);
    private static final Kind TEXT = new Kind("a string", JsonNode::isTextual);
    private static final Kind FLAG = new Kind("a boolean", JsonNode::isBoolean);
    private static final Kind OBJECT = new Kind("an object", JsonNode::isObject);
    private static final Kind LIST = new Kind("a list", JsonNode::isArray);
    private static final Kind COUNT = new Kind("a count", Decoder::isCount);
    private static final Pattern AMOUNT = Pattern.compile("-?[0-9]{1,15}(\\.[0-9]{1,30})?");
    private static final Kind MONEY = new Kind("decimal text, such as \"0.002871\",", Decoder::isMoney);
    private static final Kind STATUS = Kind.oneOf("complete", "incomplete", "error");
    private static final Kind EXECUTOR = Kind.oneOf("client", "provider");
    private static final Kind REASON =
            Kind.oneOf("stop", "length", "tool_use", "content_filter", "refusal", "pause", "error", "other");
    private static final Kind TYPE = Kind.oneOf("text", "thinking", "refusal", "tool_call", "other");

    private static final List<Key> KEYS = List.of(
            new Key("status", STATUS, false),
            new Key("model", TEXT, true),
            new Key("response_id", TEXT, true),
            new Key("continuation", TEXT, true),
            new Key("echo", OBJECT, true));
    private static final List<Key> STOP = List.of(
            new Key("reason", REASON, false),
            new Key("raw", TEXT, true),
            new Key("sequence", TEXT, true),
            new Key("details", ANY, true));
    private static final List<Key> CITATION = List.of(
            new Key("source", TEXT, true),
            new Key("title", TEXT, true),
            new Key("quote", TEXT, true),
            new Key("start", COUNT, true),
            new Key("end", COUNT, true));
    private static final Map<String, List<Key>> GROUPS = Map.of(
            "usage",
            List.of(
                    new Key("input", COUNT, true),
                    new Key("cache_read", COUNT, true),
                    new Key("cache_write", COUNT, true),
                    new Key("cache_write_1h", COUNT, true),
                    new Key("output", COUNT, true),
                    new Key("reasoning", COUNT, true),
                    new Key("web_searches", COUNT, true)),
            "cost",
            List.of(
                    new Key("currency", Kind.oneOf("USD"), false),
                    new Key("input", MONEY, true),
                    new Key("cache_read", MONEY, true),
                    new Key("cache_write", MONEY, true),
                    new Key("output", MONEY, true),
                    new Key("other", MONEY, true),
                    new Key("total", MONEY, true)),
            "error",
            List.of(new Key("type", TEXT, true), new Key("message", TEXT, false), new Key("status", COUNT, true)));
    private static final Map<BlockType, List<Key>> BLOCKS = Map.of(
            BlockType.TEXT,
            List.of(
                    new Key("text", TEXT, false),
                    new Key("phase", TEXT, true),
                    new Key("signature", TEXT, true),
                    new Key("citations", LIST, true),
                    new Key("echo", OBJECT, true)),
            BlockType.REFUSAL,
            List.of(new Key("text", TEXT, false)),
            BlockType.THINKING,
            List.of(
                    new Key("text", TEXT, false),
                    new Key("signature", TEXT, true),
                    new Key("redacted", FLAG, true),
                    new Key("echo", OBJECT, true)),
            BlockType.TOOL_CALL,
            List.of(
                    new Key("id", TEXT, true),
                    new Key("name", TEXT, false),
                    new Key("arguments", ANY, false),
                    new Key("arguments_text", TEXT, true),
                    new Key("complete", FLAG, true),
                    new Key("executor", EXECUTOR, false),
                    new Key("signature", TEXT, true),
                    new Key("echo", OBJECT, true)),
            BlockType.OTHER,
            List.of(new Key("kind", TEXT, false), new Key("data", ANY, false)));
    /** What stands in place of null in a block. */
    private static final Map<BlockType, Map<String, JsonNode>> DEFAULTS = Map.of(
            BlockType.TEXT, Map.of("citations", JsonNodeFactory.instance.arrayNode()),
            BlockType.THINKING, Map.of("text", Json.of(""), "redacted", Json.of(false)),
            BlockType.TOOL_CALL, Map.of("executor", Json.of("client")));

    private Decoder() {}

    static Outcome decode(JsonNode outcome) throws MalformedException {
        if (!outcome.isObject()) throw new MalformedException("the outcome", outcome, "an object");
        Map<String, JsonNode> values = readKeys("", outcome, KEYS);
        require("status", values.get("status"), STATUS);
        JsonNode content = require("content", orNull(outcome.get("content")), LIST);
        List<Block> blocks = new ArrayList<>();
        for (int i = 0; i < content.size(); i++) blocks.add(decodeBlock("content." + i, content.get(i)));
        values.put("stop", readGroup(outcome, "stop", STOP));
        Set<String> omitted = new HashSet<>();
        for (String name : GROUPS.keySet()) {
            JsonNode group = readGroup(outcome, name, GROUPS.get(name));
            boolean isOmitted = isOmitted(outcome, name);
            if (isOmitted) omitted.add(name);
            values.put(name, isOmitted ? Json.NULL : group);
        }
        if (values.get("cost") instanceof ObjectNode cost) cost.put("currency", "USD");
        return new Outcome(values, blocks, listAbsentPaths(outcome), omitted);
    }

    /** Returns whether a group is left out, or has none of its known keys. Null says that there is no value. */
    private static boolean isOmitted(JsonNode outcome, String name) {
        JsonNode group = outcome.path(name);
        boolean hasKey = GROUPS.get(name).stream().anyMatch(key -> group.has(key.name()));
        return group.isMissingNode() || group.isObject() && !hasKey;
    }

    private static Set<String> listAbsentPaths(JsonNode outcome) {
        Set<String> absent = listAbsent("", outcome, KEYS);
        // Unlike the groups, `stop` is not claimed as a whole.
        if (!outcome.has("stop")) absent.add("stop.reason");
        absent.addAll(listAbsent("stop.", outcome.path("stop"), STOP));
        GROUPS.forEach((name, keys) -> {
            JsonNode group = outcome.path(name);
            // A group with nothing but nulls counts as null.
            boolean hasValue = keys.stream().anyMatch(key -> group.hasNonNull(key.name()));
            if (hasValue) absent.addAll(listAbsent(name + ".", group, keys));
        });
        return absent;
    }

    private static Set<String> listAbsent(String prefix, JsonNode entry, List<Key> keys) {
        Set<String> absent = new HashSet<>();
        for (Key key : keys) {
            if (key.isOptional() && !entry.has(key.name())) absent.add(prefix + key.name());
        }
        return absent;
    }

    private static Block decodeBlock(String path, JsonNode block) throws MalformedException {
        if (!block.isObject()) throw new MalformedException(path, block, "an object");
        String name = require(path + ".type", orNull(block.get("type")), TYPE).textValue();
        BlockType type = Names.find(BlockType.class, name);
        Map<String, JsonNode> values = readKeys(path + ".", block, BLOCKS.get(type));
        DEFAULTS.getOrDefault(type, Map.of()).forEach((key, value) -> values.replace(key, Json.NULL, value));
        if (values.containsKey("text")) require(path + ".text", values.get("text"), TEXT);
        JsonNode citations = values.getOrDefault("citations", Json.NULL);
        for (int i = 0; i < citations.size(); i++) {
            String place = path + ".citations." + i;
            readKeys(place + ".", require(place, citations.get(i), OBJECT), CITATION);
        }
        return new Block(type, values, listAbsent("", block, BLOCKS.get(type)));
    }

    private static JsonNode readGroup(JsonNode outcome, String name, List<Key> keys) throws MalformedException {
        JsonNode group = read(name, outcome.get(name), OBJECT);
        return group.isNull() ? group : Json.of(readKeys(name + ".", group, keys));
    }

    private static Map<String, JsonNode> readKeys(String prefix, JsonNode entry, List<Key> keys)
            throws MalformedException {
        Map<String, JsonNode> values = new LinkedHashMap<>();
        for (Key key : keys) values.put(key.name(), read(prefix + key.name(), entry.get(key.name()), key.kind()));
        return values;
    }

    /** Returns a value that may be left out or null. */
    private static JsonNode read(String path, JsonNode value, Kind kind) throws MalformedException {
        if (orNull(value).isNull() || kind.accepts().test(value)) return orNull(value);
        throw new MalformedException(path, value, kind.description() + " or null");
    }

    private static JsonNode require(String path, JsonNode value, Kind kind) throws MalformedException {
        if (kind.accepts().test(value)) return value;
        throw new MalformedException(path, value, kind.description());
    }

    private static JsonNode orNull(JsonNode value) {
        return value == null ? Json.NULL : value;
    }

    private static boolean isMoney(JsonNode value) {
        return value.isTextual() && AMOUNT.matcher(value.textValue()).matches();
    }

    private static boolean isCount(JsonNode value) {
        if (value.isIntegralNumber()) return value.bigIntegerValue().signum() >= 0;
        double number = value.isNumber() ? value.doubleValue() : -1;
        return number >= 0 && Double.isFinite(number) && number == Math.rint(number); // 5.0 is an integer
    }
}
