package io.github.streamconform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

final class JsonTest {
    @Test
    void numbersAreEqualByValueAndBooleansAreNone() {
        Map<String, Boolean> pairs = Map.of(
                "[1, 1.0]", true,
                "[9007199254740993, 9007199254740992]", false,
                "[9007199254740993, 9007199254740992.0]", false,
                "[1e22, 10000000000000000000000]", true,
                "[1, true]", false,
                "[1e400, 1e401]", true,
                "[-0, 0]", true,
                "[{\"a\": 1, \"b\": [null]}, {\"b\": [null], \"a\": 1.0}]", true,
                "[{\"a\": 1}, {\"b\": 1}]", false,
                "[\"\\ud83d\", \"\\ud83e\"]", false);
        pairs.forEach((text, expected) ->
                assertEquals(expected, Json.isEqual(Made.json(text).get(0), Made.json(text).get(1)), text));
    }

    @Test
    void canonicalJsonHasSortedKeysAndOneFormOfEachNumber() {
        String list = "[1.0, -0.0, 18446744073709551615, \"\u00e9\\n\\u0001\", 0.1, 1.25e-5]";
        String text = "{\"\uffff\": 1e22, \"\ud83d\ude00\": 1e-7, \"a\": " + list + "}";
        String expected = "{\"a\":[1,0,18446744073709551615,\"\u00e9\\n\\u0001\",0.1,1.25e-05],"
                + "\"\uffff\":10000000000000000000000,\"\ud83d\ude00\":1e-07}";
        assertEquals(expected, Json.formatCanonically(Made.json(text)));
    }

    @Test
    void integersThatTheSuiteWritesAsTextAreRestored() {
        String text = "{\"a\": [{\"$integer\": \"18446744073709551615\"}], \"b\": {\"$integer\": 1}}";
        String restored = Json.format(Json.restoreIntegers(Made.json(text)));
        assertEquals("{\"a\": [18446744073709551615], \"b\": {\"$integer\": 1}}", restored);
        assertTrue(Json.hasUnsafeInteger(Made.json("{\"a\": [9007199254740993]}")));
        assertFalse(Json.hasUnsafeInteger(Made.json("[9007199254740992, 1e300]")));
    }

    @Test
    void onlyAWholeTextIsJson() {
        for (String text : new String[] {"", "{} {}", "[1"}) assertTrue(Json.parse(text).isEmpty(), text);
    }

    @Test
    void textFromElsewhereStaysOnOneLineAndIsShortenedInTheMiddle() {
        assertEquals("a\\n\\u202e\\U000e0001b\\x07 \\ud83d", Text.escape("a\n\u202e\udb40\udc01b\u0007 \ud83d"));
        assertEquals("x".repeat(8) + "…" + "x".repeat(10), Text.escapeLine("x".repeat(100), 20));
        assertEquals("\ud83d\ude00".repeat(20), Text.escapeLine("\ud83d\ude00".repeat(20), 20));
    }

    @Test
    void aPatternIsReadAsInPython() {
        Map<String, String> matching = Map.of("{", "a{", "^\\{a{2}[{]$", "{aa{", "^\\w$", "\u00e9", "^.$", "\u0085");
        matching.forEach((pattern, text) -> {
            Leaf leaf = Leaf.read(Json.of(Map.of("matches", pattern)));
            assertTrue(leaf.matches(Json.of(text)), pattern);
            assertFalse(leaf.matches(Json.of("-\n-")), pattern);
        });
    }

    @Test
    void aDigestIsOfCharactersAndOfHalvesOfThem() {
        Leaf.Digest.Part part = Leaf.digest("\ud83d\ude00\ud83d");
        assertEquals(2, part.length());
        assertEquals("9f3348dfc906c72e", part.sha256().substring(0, 16));
    }
}
