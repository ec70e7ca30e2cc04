package io.github.streamconform;

import java.time.LocalDate;
import java.time.format.DateTimeParseException;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * A failure of the trials or checks that a pattern matches.
 *
 * @param match the pattern for {@code case@delivery:check}
 * @param message the beginning of the failure's text, or empty
 * @param expires the last day on which the entry is valid, or null
 * @param line the line in the file
 * @param deliveries the pattern for deliveries and faults, or null for all
 * @param checks the pattern for checks, or null for whole trials
 */
record KnownFailure(
        String match,
        String verdict,
        String message,
        String reason,
        LocalDate expires,
        int line,
        Pattern cases,
        Pattern deliveries,
        Pattern checks) {
    /** How a trial relates to an entry that names it. */
    enum Status {
        MATCHED,
        PASSING,
        MISMATCHED,
        /** The only difference is at level {@code MAY}, or the check may not have been made. */
        INCONCLUSIVE
    }

    private static final Set<String> REQUIRED = Set.of("match", "verdict", "reason", "issue");
    private static final Set<String> OPTIONAL = Set.of("message", "expires");
    private static final Set<String> VERDICTS = Set.of("fail", "hang", "faulted");
    /** An answer without content, for which only the checks common to all answers are made. */
    private static final Answer EMPTY = new Answer(
            Json.parse(
                            """
                            {"status": "error", "content": [], "stop": {"reason": null, "raw": null}, "model": null,
                             "response_id": null}""")
                    .orElseThrow(),
            null);

    /** Returns the entry with these texts by key. Throws an exception that says what is wrong with it. */
    static KnownFailure read(Map<String, String> entry, int line) {
        Set<String> missing = new TreeSet<>(REQUIRED);
        missing.removeAll(entry.keySet());
        if (!missing.isEmpty()) throw new IllegalArgumentException("no `" + String.join("`, no `", missing) + "`");
        Set<String> unknown = new TreeSet<>(entry.keySet());
        unknown.removeAll(REQUIRED);
        unknown.removeAll(OPTIONAL);
        if (!unknown.isEmpty()) throw new IllegalArgumentException("unknown `" + String.join("`, `", unknown) + "`");
        String verdict = entry.get("verdict");
        if (!VERDICTS.contains(verdict)) throw new IllegalArgumentException("unknown verdict `" + verdict + "`");
        String[] parts = Glob.update(entry.get("match")).split(":", 2);
        String[] subject = parts[0].split("@", 2);
        return new KnownFailure(
                entry.get("match"),
                verdict,
                entry.getOrDefault("message", ""),
                entry.get("reason"),
                readDate(entry.get("expires")),
                line,
                Glob.compile(subject[0]),
                subject.length > 1 ? Glob.compile(subject[1]) : null,
                parts.length > 1 ? Glob.compile(parts[1]) : null);
    }

    private static LocalDate readDate(String text) {
        try {
            return text == null ? null : LocalDate.parse(text);
        } catch (DateTimeParseException error) {
            throw new IllegalArgumentException("`expires` is no date: " + text, error);
        }
    }

    boolean isAbout(String caseId) {
        return cases.matcher(caseId).matches();
    }

    /** Returns whether the entry covers a check; one without a pattern for checks covers the whole trial. */
    boolean covers(Check check) {
        return checks == null || checks.matcher(check.path()).matches();
    }

    boolean isDuplicateOf(KnownFailure other) {
        return match.equals(other.match) && verdict.equals(other.verdict) && message.equals(other.message);
    }

    /** Returns how a trial relates to the entry, or nothing if the entry does not name it. */
    Optional<Status> relate(Trial trial, Judgement judgement, Claims claims) {
        boolean isNamed = deliveries == null || deliveries.matcher(trial.name()).matches();
        if (!isNamed || !isAbout(trial.owner().id())) return Optional.empty();
        List<Check> different =
                judgement.checks().stream().filter(check -> !check.isPassed() && covers(check)).toList();
        Optional<Check> failed = different.stream()
                .filter(check -> check.verdict() != Verdict.MAY)
                .min(checks == null ? Comparator.comparing(Check::verdict) : (one, other) -> 0);
        if (failed.isPresent()) {
            boolean isMatched = verdict.equals("fail") && failed.get().describe().startsWith(message);
            return Optional.of(isMatched ? Status.MATCHED : Status.MISMATCHED);
        }
        if (!different.isEmpty()) return Optional.of(Status.INCONCLUSIVE);
        if (checks == null) return Optional.of(Status.PASSING);
        // A malformed outcome is not compared, so the trial fails in another way.
        if (judgement.culprit() == Culprit.ADAPTER) return Optional.of(Status.MISMATCHED);
        if (isMade(trial, trial.expect(), claims)) return Optional.of(Status.PASSING);
        // A broken stream may end with any beginning of the complete content, so all paths in that are possible.
        return isMade(trial, trial.owner().expect(), claims) ? Optional.of(Status.INCONCLUSIVE) : Optional.empty();
    }

    /** Returns whether a check that the entry covers is made even for an answer without content. */
    private boolean isMade(Trial trial, Expectation expect, Claims claims) {
        return Judge.judge(trial, expect, EMPTY, claims).checks().stream().anyMatch(this::covers);
    }
}
