package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** Judges the answer to one trial. No other class decides verdicts. */
public final class Judge {
    /** The paths of checks that a call is not executable. */
    private static final Pattern UNFINISHED_CALL =
            Pattern.compile("content\\.(complete_calls|\\d+\\.tool_call\\.(complete|arguments))");

    private Judge() {}

    /** Judges what a library made of a trial, given what it claims to expose. */
    public static Judgement judge(Trial trial, Answer answer, Set<Capability> claims) {
        return judge(trial, trial.expect(), answer, new Claims(claims));
    }

    static Judgement judge(Trial trial, Expectation expect, Answer answer, Claims claims) {
        Outcome outcome;
        try {
            outcome = Decoder.decode(answer.outcome());
        } catch (Decoder.MalformedException malformed) {
            // Nothing else can be judged until the parser returns another outcome.
            Check check = Check.ofRule("invariant.outcome-schema", trial.level(), malformed.getMessage());
            return Judgement.of(List.of(check), Culprit.ADAPTER, Map.of());
        }
        boolean isRaised = answer.isRaised();
        if (isRaised) outcome = readErrorOfException(expect, outcome, answer.message());
        Rules rules = new Rules(claims, trial.level(), trial.isOrdered(), trial.mentions());
        List<Check> checks = new ArrayList<>(Fields.compare(expect, outcome, rules));
        checks.addAll(Content.compare(expect, outcome, rules));
        checks.addAll(Broken.compare(expect, outcome.content(), rules));
        Map<Capability, Boolean> compared = Compared.find(expect, outcome, claims, checks, isRaised);
        if (isRaised && !outcome.isComplete()) checks.replaceAll(Judge::excuseCall);
        if (claims.hasCallsOf(true) || claims.hasCallsOf(false)) {
            checks.add(Check.ofRule("invariant.unique-ids", trial.level(), findRepeatedId(outcome)));
        }
        return Judgement.of(checks, Culprit.IMPLEMENTATION, compared);
    }

    /**
     * Returns the outcome with the error that an exception reports, unless the outcome already has one.
     *
     * <p>The exception contains the provider's message, often with other text around it. The type and the status are
     * attributes that only the parser can read, so they count as not exposed.
     */
    private static Outcome readErrorOfException(Expectation expect, Outcome outcome, String raised) {
        boolean isJudged = expect.fields().keySet().stream().anyMatch(path -> path.startsWith("error."));
        if (!isJudged || !outcome.read("error").isNull()) return outcome;
        Leaf message = expect.fields().getOrDefault("error.message", Leaf.NULL);
        String found = message.values().stream()
                .filter(JsonNode::isTextual)
                .map(JsonNode::textValue)
                .filter(text -> raised.contains(Text.escape(text)))
                .findFirst()
                .orElse("");
        return outcome.withError(found.isEmpty() ? raised : found);
    }

    /**
     * Returns a check, at most as a warning if it is about a call that must not be executed.
     *
     * <p>The caller gets the exception instead of the outcome, so nobody runs a call in it.
     */
    private static Check excuseCall(Check check) {
        boolean isOfCall = check.verdict() == Verdict.FAIL && UNFINISHED_CALL.matcher(check.path()).matches();
        return isOfCall ? check.warn() : check;
    }

    private static String findRepeatedId(Outcome outcome) {
        Set<String> seen = new HashSet<>();
        for (Block block : outcome.content()) {
            String id = block.isCall() ? block.get("id").textValue() : null;
            if (id != null && !seen.add(id)) return "two tool calls have the id `" + id + "`";
        }
        return null;
    }
}
