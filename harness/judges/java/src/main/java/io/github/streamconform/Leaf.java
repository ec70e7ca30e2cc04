package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The expectation for one value: a literal or a matcher. */
public sealed interface Leaf {
    Leaf NULL = new Literally(Json.NULL);

    /** Returns whether a value matches. */
    boolean matches(JsonNode got);

    /** Returns whether an amount of money matches: decimal texts are compared by value. */
    default boolean matchesAmount(JsonNode got) {
        return matches(got);
    }

    /** Returns the values that match, or none if they are not listed. */
    default List<JsonNode> values() {
        return List.of();
    }

    /** Returns the values that match without a warning. */
    default List<JsonNode> preferred() {
        return values();
    }

    /** Returns the form in which messages show the leaf. */
    JsonNode toJson();

    /** Equal to this value. */
    record Literally(JsonNode value) implements Leaf {
        @Override
        public boolean matches(JsonNode got) {
            return Json.isEqual(value, got);
        }

        @Override
        public boolean matchesAmount(JsonNode got) {
            return Json.isEqualAmount(value, got);
        }

        @Override
        public List<JsonNode> values() {
            return List.of(value);
        }

        @Override
        public JsonNode toJson() {
            return value;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Literally literal && Json.isEqual(value, literal.value);
        }

        @Override
        public int hashCode() {
            return value.getNodeType().hashCode();
        }
    }

    /** One of these values; if some are preferred, the others are a warning. */
    record AnyOf(List<JsonNode> values, List<JsonNode> prefer) implements Leaf {
        @Override
        public boolean matches(JsonNode got) {
            return values.stream().anyMatch(value -> Json.isEqual(value, got));
        }

        @Override
        public boolean matchesAmount(JsonNode got) {
            return values.stream().anyMatch(value -> Json.isEqualAmount(value, got));
        }

        @Override
        public List<JsonNode> preferred() {
            return prefer.isEmpty() ? values : prefer;
        }

        @Override
        public JsonNode toJson() {
            return Json.of(prefer.isEmpty() ? Map.of("any_of", values) : Map.of("any_of", values, "prefer", prefer));
        }
    }

    /** Text that contains a match. */
    record Matches(Pattern pattern) implements Leaf {
        @Override
        public boolean matches(JsonNode got) {
            return got.isTextual() && pattern.matcher(got.textValue()).find();
        }

        @Override
        public JsonNode toJson() {
            return Json.of(Map.of("matches", pattern.pattern()));
        }
    }

    /** Not null if {@code present}, otherwise null. */
    record Present(boolean present) implements Leaf {
        @Override
        public boolean matches(JsonNode got) {
            return got.isNull() != present;
        }

        @Override
        public JsonNode toJson() {
            return Json.of(Map.of("present", present));
        }
    }

    /** A beginning of this text, which may end with the first half of a character. */
    record PrefixOf(String text) implements Leaf {
        @Override
        public boolean matches(JsonNode got) {
            return got.isTextual() && text.startsWith(got.textValue());
        }

        @Override
        public JsonNode toJson() {
            return Json.of(Map.of("prefix_of", text));
        }
    }

    /** Text in adjacent parts; another value is compared as canonical JSON. */
    record Digest(List<Part> parts) implements Leaf {
        /** The number of characters of a part, and the SHA-256 of its UTF-8. */
        record Part(int length, String sha256) {}

        int length() {
            return parts.stream().mapToInt(Part::length).sum();
        }

        @Override
        public boolean matches(JsonNode got) {
            if (got.isNull()) return false;
            String text = got.isTextual() ? got.textValue() : Json.formatCanonically(got);
            if (Text.length(text) != length()) return false;
            int start = 0;
            for (Part part : parts) {
                int end = text.offsetByCodePoints(start, part.length());
                if (!digest(text.substring(start, end)).equals(part)) return false;
                start = end;
            }
            return true;
        }

        @Override
        public JsonNode toJson() {
            return Json.of(Map.of("length", length()));
        }
    }

    static Leaf read(JsonNode leaf) {
        if (leaf.has("equals")) return new Literally(leaf.get("equals"));
        if (leaf.has("any_of")) {
            return new AnyOf(Json.items(leaf.get("any_of")).toList(), Json.items(leaf.path("prefer")).toList());
        }
        if (leaf.has("matches")) {
            return new Matches(compile(leaf.get("matches").textValue()));
        }
        if (leaf.has("present")) return new Present(leaf.get("present").booleanValue());
        if (leaf.has("prefix_of")) return new PrefixOf(leaf.get("prefix_of").textValue());
        if (!leaf.has("digest")) throw new IllegalArgumentException("unknown leaf " + leaf);
        return new Digest(Json.items(leaf.get("digest"))
                .map(part -> new Digest.Part(part.get(0).intValue(), part.get(1).textValue()))
                .toList());
    }

    /** Compiles a pattern of Python: an odd brace is text, \w is that of Unicode, and only \n ends a line. */
    private static Pattern compile(String pattern) {
        Matcher parts = Pattern.compile("\\\\.|\\{\\d+(,\\d*)?\\}|\\{", Pattern.DOTALL).matcher(pattern);
        String translated = parts.replaceAll(
                part -> Matcher.quoteReplacement(part.group().equals("{") ? "\\{" : part.group()));
        return Pattern.compile(translated, Pattern.UNICODE_CHARACTER_CLASS | Pattern.UNIX_LINES);
    }

    static Leaf of(Object value) {
        return new Literally(Json.of(value));
    }

    /** Returns the text of a literal, or null for another leaf or none. */
    static String textOf(Leaf leaf) {
        return leaf instanceof Literally literal ? literal.value.textValue() : null;
    }

    static Digest.Part digest(String text) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(encode(text));
            return new Digest.Part(Text.length(text), HexFormat.of().formatHex(hash));
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Returns the UTF-8 of a text, also of half a surrogate pair, which JSON can escape. */
    private static byte[] encode(String text) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        text.codePoints().forEach(point -> {
            boolean isHalf = Character.MIN_SURROGATE <= point && point <= Character.MAX_SURROGATE;
            if (isHalf) {
                bytes.write(0xe0 | point >> 12);
                bytes.write(0x80 | point >> 6 & 0x3f);
                bytes.write(0x80 | point & 0x3f);
            } else {
                bytes.writeBytes(Character.toString(point).getBytes(StandardCharsets.UTF_8));
            }
        });
        return bytes.toByteArray();
    }
}
