package io.github.streamconform;

import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** Measures text in characters, and makes text from elsewhere safe to print. */
final class Text {
    /** Control characters, line ends, marks of the text's direction, and halves of surrogate pairs. */
    private static final Pattern UNPRINTABLE = Pattern.compile("(?! )[\\p{C}\\p{Z}]");

    private static final int TAIL = 10;

    private Text() {}

    /** Returns the number of characters; one outside the basic plane counts once. */
    static int length(String text) {
        return text.codePointCount(0, text.length());
    }

    /** Returns a text with an escape in place of every character that has no shape. */
    static String escape(String text) {
        return UNPRINTABLE.matcher(text).replaceAll(Text::escapeOne);
    }

    /** Returns a text on one line, shortened in the middle to a number of characters before it is escaped. */
    static String escapeLine(String text, int width) {
        int length = length(text);
        if (length <= width) return escape(text);
        int head = text.offsetByCodePoints(0, width - TAIL - 2);
        int tail = text.offsetByCodePoints(text.length(), -TAIL);
        return escape(text.substring(0, head) + "…" + text.substring(tail));
    }

    /** Returns a number with a noun: {@code 1 block}, {@code 2 blocks}. */
    static String count(long number, String noun) {
        return number + " " + noun + (number == 1 ? "" : "s");
    }

    private static String escapeOne(MatchResult match) {
        int point = match.group().codePointAt(0);
        String escaped =
                switch (point) {
                    case '\n' -> "\\n";
                    case '\r' -> "\\r";
                    case '\t' -> "\\t";
                    default -> (point < 0x100 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x").formatted(point);
                };
        return escaped.replace("\\", "\\\\");
    }
}
