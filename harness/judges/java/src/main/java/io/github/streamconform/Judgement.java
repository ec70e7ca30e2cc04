package io.github.streamconform;

import java.util.List;
import java.util.Map;

/**
 * The verdict on one trial.
 *
 * @param verdict the worst check's verdict; a difference at level {@code MAY} passes
 * @param culprit who is responsible, or null if all checks passed
 * @param checks all checks, also those that passed
 * @param compared the claims of which the trial expects a value, each with whether one was compared
 */
public record Judgement(Verdict verdict, Culprit culprit, List<Check> checks, Map<Capability, Boolean> compared) {
    static Judgement of(List<Check> checks, Culprit culprit, Map<Capability, Boolean> compared) {
        Verdict worst = checks.stream().map(Check::verdict).min(Verdict::compareTo).orElse(Verdict.PASS);
        Verdict verdict = worst == Verdict.MAY ? Verdict.PASS : worst;
        return new Judgement(verdict, worst == Verdict.PASS ? null : culprit, checks, compared);
    }

    /** Returns the checks that fail, and if {@code strict} also those that warn. */
    public List<Check> failures(boolean strict) {
        return checks.stream()
                .filter(check -> check.verdict() == Verdict.FAIL || strict && check.verdict() == Verdict.WARN)
                .toList();
    }
}
