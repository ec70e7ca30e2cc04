package io.github.streamconform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class KnownFailuresTest {
    private static final String REST = "verdict: fail, reason: not fixed, issue: a/b#1";

    @TempDir
    Path folder;

    private Conformance conform(String text) throws IOException {
        Path path = Files.writeString(folder.resolve("known.yaml"), text);
        return Conformance.of(Made.writeSuite(folder, "\"level\": \"should\"", "\"level\": \"must\""))
                .claims(Capability.USAGE, Capability.STOP)
                .knownFailures(path.toString());
    }

    private Map<String, String> run(Parser parser, String... entries) throws Throwable {
        StringBuilder text = new StringBuilder("known-failures: 1\nentries:\n");
        for (String entry : entries) text.append("  - {").append(entry).append("}\n");
        Map<String, String> results = Made.run(conform(text.toString()).tests(parser));
        results.replaceAll((name, message) -> message.replace(folder.resolve("known.yaml").toString(), "known.yaml"));
        return results;
    }

    private static void assertContains(String text, String part) {
        assertTrue(text.contains(part), text);
    }

    @Test
    void aListedFailureIsSkipped() throws Throwable {
        String known = "known failure: not fixed";
        Map<String, String> results = run(Made::lose, "match: made-api/**, " + REST);
        assertEquals(Map.of(Made.AS_IS, known, Made.BYTEWISE, known, Made.END, ""), results);
    }

    @Test
    void anEntryForACheckCoversATrialThatFailsInNothingElse() throws Throwable {
        Map<String, String> covered = run(Made::lose, "match: \"made-api/**:content.*.text\", " + REST);
        assertEquals("known failure: not fixed", covered.get(Made.AS_IS));
        assertEquals("", covered.get(Made.END));
        Map<String, String> other = run(Made::lose, "match: \"made-api/**:usage.input\", " + REST);
        assertContains(other.get(Made.AS_IS), "content.0.text");
    }

    @Test
    void anEntryWithAnotherMessageDoesNotCoverAFailureAndIsOutOfDate() throws Throwable {
        Map<String, String> results = run(Made::lose, "match: made-api/**, message: \"status: \", " + REST);
        assertContains(results.get(Made.AS_IS), "content.0.text");
        String stale = "known.yaml:3: `made-api/**` stale: it no longer has `fail` with this message";
        assertContains(results.get(Made.END), stale);
        String message = "message: 'content.0.text: expected \"Hello\", got', ";
        assertEquals("", run(Made::lose, "match: made-api/**, " + message + REST).get(Made.END));
    }

    @Test
    void anEntryForAHangDoesNotCoverAFailure() throws Throwable {
        Map<String, String> results = run(Made::lose, "match: made-api/**, verdict: hang, reason: slow, issue: a/b#1");
        assertContains(results.get(Made.AS_IS), "content.0.text");
        assertContains(results.get(Made.END), "stale: it no longer has `hang`");
    }

    @Test
    void aListedTrialThatPassesFailsWithTheEntrysLine() throws Throwable {
        Map<String, String> results = run(Made::read, "match: made-api/**@as-is, " + REST);
        assertEquals(Made.AS_IS + " passes, but known.yaml:3 lists it as known (not fixed)", results.get(Made.AS_IS));
        assertContains(results.get(Made.END), "stale: it is fixed: remove the entry");
    }

    @Test
    void anEntryThatMatchesAlsoTrialsThatPassIsTooWide() throws Throwable {
        Parser parser = input -> input.chunks().size() > 2 ? Made.lose(input) : Made.read(input);
        Map<String, String> results = run(parser, "match: made-api/**, " + REST);
        assertContains(results.get(Made.END), "too-wide: it fails in only 1 of 2 trials");
    }

    @Test
    void anEntryForACheckThatIsNeverMadeIsLeftAlone() throws Throwable {
        assertEquals("", run(Made::read, "match: \"made-api/**:usage.output\", " + REST).get(Made.END));
        Map<String, String> ofMade = run(Made::read, "match: \"made-api/**:usage.input\", " + REST);
        assertContains(ofMade.get(Made.END), "stale: it is fixed");
    }

    @Test
    void entriesThatMatchNothingHaveExpiredOrAreThereTwiceAreOutOfDate() throws Throwable {
        String problems = run(
                        Made::lose,
                        "match: made-api/**, expires: \"2020-01-31\", " + REST,
                        "match: made-api/text/renamed, " + REST,
                        "match: made-api/**, " + REST,
                        "match: other-api/**, " + REST,
                        "match: made-api/behavior/abort, " + REST)
                .get(Made.END);
        assertContains(problems, "known.yaml:3: `made-api/**` expired: on 2020-01-31");
        assertContains(problems, "known.yaml:4: `made-api/text/renamed` unmatched: ");
        assertContains(problems, "known.yaml:5: `made-api/**` duplicate: of the entry on line 3");
        assertFalse(problems.contains("other-api") || problems.contains("behavior"), problems);
    }

    @Test
    void aFileForAnotherLibraryIsNotUsed() throws Throwable {
        String text = "known-failures: 1\nimplementation: mine\nentries:\n  - {match: made-api/**, " + REST + "}\n";
        assertContains(Made.run(conform(text).tests(Made::lose)).get(Made.AS_IS), "content.0.text");
        Map<String, String> ofMine = Made.run(conform(text).implementation("mine").tests(Made::lose));
        assertEquals("known failure: not fixed", ofMine.get(Made.AS_IS));
    }

    @Test
    void entriesByCauseAreOnlyCounted() throws Throwable {
        String text = "known-failures: 1\nentries:\n  - {cause: text-lost, api: made-api, trials: 2}\n";
        Path path = Files.writeString(folder.resolve("known.yaml"), text);
        assertEquals(1, KnownFailures.read(path, null).causes());
        assertContains(run(Made::lose, "cause: text-lost").get(Made.AS_IS), "content.0.text");
    }

    @Test
    void whatIsWrongWithAFileIsSaidWithItsLine() {
        String start = "known-failures: 1\nentries:\n  - ";
        Map<String, String> problems = Map.of(
                "entries: []\n", "not a known-failures file, version 1",
                start + "{match: a, verdict: fail}\n", "line 3: no `issue`, no `reason`",
                start + "{match: a, why: b, " + REST + "}\n", "line 3: unknown `why`",
                start + "{match: a, expires: soon, " + REST + "}\n", "line 3: `expires` is no date: soon",
                start + "{match: a, verdict: x, reason: b, issue: c}\n", "line 3: unknown verdict `x`",
                "known-failures: [", "while parsing a flow node");
        problems.forEach((text, expected) -> {
            IOException error = assertThrows(IOException.class, () -> conform(text).tests(Made::read));
            assertContains(error.getMessage(), expected);
        });
    }
}
