package io.github.streamconform;

import java.time.LocalDate;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Judges the trials of a run, one at a time, and finds at its end what is wrong with the claims and the known failures.
 */
final class Session {
    /** What a test says about a trial; {@code text} is empty for one that simply passes. */
    record Result(Kind kind, String text) {}

    /** The result of a trial in a run. */
    enum Kind {
        PASS,
        WARN,
        KNOWN,
        FAIL,
        STALE
    }

    private final Set<Capability> claims;
    private final boolean strict;
    private final List<KnownFailures> files;
    private final Map<Kind, Integer> counts = new EnumMap<>(Kind.class);
    private final Set<Capability> compared = new HashSet<>();
    /** By claim, the trials that expect a value which the answer leaves out. */
    private final Map<Capability, Integer> leftOut = new EnumMap<>(Capability.class);

    Session(Set<Capability> claims, boolean strict, List<KnownFailures> files) {
        this.claims = claims;
        this.strict = strict;
        this.files = files;
    }

    /** Judges an answer; synchronized, because a runner may run tests in parallel. */
    synchronized Result settle(Trial trial, Answer answer) {
        Judgement judgement = Judge.judge(trial, answer, claims);
        Result result = settle(trial, judgement, answer);
        counts.merge(result.kind(), 1, Integer::sum);
        judgement.compared().forEach((claim, isCompared) -> {
            if (isCompared) compared.add(claim);
            else if (result.kind() != Kind.KNOWN) leftOut.merge(claim, 1, Integer::sum);
        });
        return result;
    }

    private Result settle(Trial trial, Judgement judgement, Answer answer) {
        List<KnownFailure> matched = new ArrayList<>();
        Optional<String> stale = Optional.empty();
        for (KnownFailures known : files) {
            KnownFailures.Relation relation = known.relate(trial, judgement, new Claims(claims));
            matched.addAll(relation.matched());
            stale = stale.or(relation::stale);
        }
        List<Check> failed = judgement.failures(strict);
        if (!failed.isEmpty()) {
            boolean isCovered = matched.stream().anyMatch(entry -> entry.checks() == null)
                    || failed.stream().allMatch(check -> matched.stream().anyMatch(entry -> entry.covers(check)));
            if (!isCovered) return new Result(Kind.FAIL, Report.describe(trial, judgement, answer, strict));
            Set<String> reasons = new LinkedHashSet<>();
            matched.forEach(entry -> reasons.add(entry.reason()));
            return new Result(Kind.KNOWN, "known failure: " + String.join("; ", reasons));
        }
        boolean isPassed = judgement.verdict() == Verdict.PASS;
        if (isPassed && stale.isPresent()) return new Result(Kind.STALE, trial.id() + " " + stale.get());
        return new Result(isPassed ? Kind.PASS : Kind.WARN, "");
    }

    /** Returns the number of trials that were judged. */
    synchronized int judged() {
        return counts.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** Returns how many trials were judged with which result, and what was left out. */
    synchronized String summarize(int unclaimed) {
        List<String> numbers = new ArrayList<>();
        for (Kind kind : Kind.values()) numbers.add(counts.getOrDefault(kind, 0) + " " + Names.of(kind));
        String text = String.join(", ", numbers) + "; " + unclaimed + " need what is not claimed, and did not run";
        int causes = files.stream().mapToInt(KnownFailures::causes).sum();
        String listed = "; " + Text.count(causes, "known failure") + " listed by cause, which only `conform run` knows";
        return causes == 0 ? text : text + listed;
    }

    /** Returns what is wrong with the run as a whole, given the ids of all cases. */
    synchronized List<String> listProblems(List<String> ids, LocalDate today) {
        List<String> problems = new ArrayList<>();
        leftOut.forEach((claim, count) -> {
            if (compared.contains(claim)) return;
            String problem = "`%s` is claimed, but none of the %d trials that expect one compared a value";
            problems.add(problem.formatted(Names.of(claim), count) + "; report it, or do not claim it");
        });
        files.forEach(known -> problems.addAll(known.listOutdated(ids, today)));
        return problems;
    }
}
