package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** Says why a trial fails. */
final class Report {
    private static final int MAX_VALUE = 300;

    private Report() {}

    /** Returns what differs, in which case, and where its page is. */
    static String describe(Trial trial, Judgement judgement, Answer answer, boolean strict) {
        Case owner = trial.owner();
        List<String> lines = new ArrayList<>(List.of(trial.id(), "  " + owner.title()));
        lines.add("  level: %s; spec: specs/%s:%d".formatted(Names.of(trial.level()), owner.spec(), owner.line()));
        if (owner.why() != null) lines.add("  why: " + owner.why());
        if (answer.isRaised()) {
            lines.add("  the library raised %s: %s".formatted(answer.raised().getClass().getName(), answer.message()));
        }
        if (judgement.culprit() == Culprit.ADAPTER) {
            lines.add("  the parser's outcome is not in the normal form, so nothing else was judged");
        }
        for (Check check : judgement.failures(strict)) {
            if (check.message() != null) {
                lines.add("  " + check.path() + ": " + Text.escapeLine(check.message(), MAX_VALUE));
            } else {
                lines.add("  " + check.path());
                lines.add("    expected: " + show(check.expected()));
                lines.add("    got:      " + show(check.got()));
            }
        }
        return String.join("\n", lines);
    }

    private static String show(JsonNode value) {
        return Text.escapeLine(Json.format(value), MAX_VALUE);
    }
}
