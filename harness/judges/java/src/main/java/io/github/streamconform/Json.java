package io.github.streamconform;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BigIntegerNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** Reads, compares and writes JSON as the Python judge does. */
final class Json {
    static final JsonNode NULL = NullNode.getInstance();
    static final ObjectMapper MAPPER = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    /** The limit up to which every language represents integers exactly. */
    private static final BigInteger MAX_SAFE_INTEGER = BigInteger.TWO.pow(53);

    private static final BigDecimal COST_TOLERANCE = new BigDecimal("1e-9");

    private Json() {}

    /** Returns the value of a text, or nothing if it is not JSON. */
    static Optional<JsonNode> parse(String text) {
        try {
            return Optional.of(MAPPER.readTree(text)).filter(value -> !value.isMissingNode());
        } catch (JsonProcessingException error) {
            return Optional.empty();
        }
    }

    static JsonNode of(Object value) {
        if (value == null) return NULL;
        if (value instanceof String text) return TextNode.valueOf(text);
        return value instanceof Boolean flag ? BooleanNode.valueOf(flag) : MAPPER.valueToTree(value);
    }

    /** Returns a value in which integers that the suite writes as {@code {"$integer": "…"}} are integers again. */
    static JsonNode restoreIntegers(JsonNode value) {
        if (value instanceof ArrayNode list) {
            for (int i = 0; i < list.size(); i++) list.set(i, restoreIntegers(list.get(i)));
        } else if (value instanceof ObjectNode object) {
            if (object.size() == 1 && object.path("$integer").isTextual()) {
                return BigIntegerNode.valueOf(new BigInteger(object.get("$integer").textValue()));
            }
            object.fields().forEachRemaining(member -> member.setValue(restoreIntegers(member.getValue())));
        }
        return value;
    }

    static Stream<JsonNode> items(JsonNode list) {
        return StreamSupport.stream(list.spliterator(), false);
    }

    static Stream<String> texts(JsonNode list) {
        return items(list).map(JsonNode::textValue);
    }

    /** Returns the members of an object in the order in which they were read. */
    static Iterable<Map.Entry<String, JsonNode>> members(JsonNode object) {
        return object::fields;
    }

    /** Returns whether two values are equal: numbers by value, booleans not as numbers, members in any order. */
    static boolean isEqual(JsonNode one, JsonNode other) {
        if (one.isNumber() && other.isNumber()) return isSameNumber(one, other);
        if (one.size() != other.size() || one.getNodeType() != other.getNodeType()) return false;
        if (one.isArray()) {
            Iterator<JsonNode> others = other.iterator();
            return items(one).allMatch(item -> isEqual(item, others.next()));
        }
        if (!one.isObject()) return one.equals(other);
        for (Map.Entry<String, JsonNode> member : members(one)) {
            JsonNode value = other.get(member.getKey());
            if (value == null || !isEqual(member.getValue(), value)) return false;
        }
        return true;
    }

    private static boolean isSameNumber(JsonNode one, JsonNode other) {
        if (one.isIntegralNumber() && other.isIntegralNumber()) {
            return one.bigIntegerValue().equals(other.bigIntegerValue());
        }
        boolean areFinite = Double.isFinite(one.doubleValue()) && Double.isFinite(other.doubleValue());
        return areFinite
                ? toDecimal(one).compareTo(toDecimal(other)) == 0
                : one.doubleValue() == other.doubleValue();
    }

    /** Returns the exact value of a number, also if its binary value is not the decimal one that was written. */
    private static BigDecimal toDecimal(JsonNode number) {
        if (number.isIntegralNumber()) return new BigDecimal(number.bigIntegerValue());
        return new BigDecimal(number.doubleValue());
    }

    /** Returns whether two values are the same amount of money, as decimal text, or both null. */
    static boolean isEqualAmount(JsonNode one, JsonNode other) {
        if (one.isNull() || other.isNull()) return one.isNull() && other.isNull();
        if (!one.isTextual() || !other.isTextual()) return false;
        BigDecimal difference = new BigDecimal(one.textValue()).subtract(new BigDecimal(other.textValue()));
        return difference.abs().compareTo(COST_TOLERANCE) <= 0;
    }

    /** Returns whether a value contains an integer that some languages cannot represent. */
    static boolean hasUnsafeInteger(JsonNode value) {
        if (value.isIntegralNumber()) return value.bigIntegerValue().abs().compareTo(MAX_SAFE_INTEGER) > 0;
        return items(value).anyMatch(Json::hasUnsafeInteger);
    }

    /** Returns a value on one line, for messages. */
    static String format(JsonNode value) {
        return format(value, ", ", ": ", (one, other) -> 0);
    }

    /** Returns the JSON of which a digest is made: with sorted keys and without spaces. */
    static String formatCanonically(JsonNode value) {
        return format(value, ",", ":", Json::compareByCodePoints);
    }

    static int compareByCodePoints(String one, String other) {
        // The order of UTF-8 is that of code points.
        return Arrays.compareUnsigned(one.getBytes(StandardCharsets.UTF_8), other.getBytes(StandardCharsets.UTF_8));
    }

    private static String format(JsonNode value, String comma, String colon, Comparator<String> order) {
        if (value.isArray()) {
            Stream<String> items = items(value).map(item -> format(item, comma, colon, order));
            return items.collect(Collectors.joining(comma, "[", "]"));
        }
        if (value.isObject()) {
            return StreamSupport.stream(members(value).spliterator(), false)
                    .sorted(Map.Entry.comparingByKey(order))
                    .map(member -> quote(member.getKey()) + colon + format(member.getValue(), comma, colon, order))
                    .collect(Collectors.joining(comma, "{", "}"));
        }
        if (value.isTextual()) return quote(value.textValue());
        boolean isFraction = value.isFloatingPointNumber() && Double.isFinite(value.doubleValue());
        return isFraction ? formatFraction(value.doubleValue()) : value.asText();
    }

    /**
     * Returns a number with the fewest digits that identify it; as in Python, a small one has an exponent of two
     * digits.
     */
    private static String formatFraction(double number) {
        BigDecimal exact = new BigDecimal(number);
        BigDecimal shortest = exact;
        for (int digits = 17; digits > 0; digits--) {
            BigDecimal shorter = exact.round(new MathContext(digits));
            if (shorter.doubleValue() != number) break;
            shortest = shorter;
        }
        shortest = shortest.stripTrailingZeros();
        int exponent = shortest.precision() - shortest.scale() - 1;
        if (shortest.signum() == 0 || exponent >= -4) return shortest.toPlainString();
        String digits = shortest.unscaledValue().toString().replaceFirst("^(-?\\d)(\\d)", "$1.$2");
        return "%se-%02d".formatted(digits, -exponent);
    }

    private static String quote(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        text.chars().forEach(character -> {
            switch (character) {
                case '"' -> quoted.append("\\\"");
                case '\\' -> quoted.append("\\\\");
                case '\n' -> quoted.append("\\n");
                case '\r' -> quoted.append("\\r");
                case '\t' -> quoted.append("\\t");
                case '\b' -> quoted.append("\\b");
                case '\f' -> quoted.append("\\f");
                default -> {
                    if (character < ' ') quoted.append("\\u%04x".formatted(character));
                    else quoted.append((char) character);
                }
            }
        });
        return quoted.append('"').toString();
    }
}
