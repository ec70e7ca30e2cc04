package io.github.streamconform;

import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Tells the claims whose values were compared from those that an answer leaves out. */
final class Compared {
    private Compared() {}

    /**
     * Returns the claims of which a trial expects a value, each with whether one was compared.
     *
     * @param raised whether the library raised an exception, which explains a group that is left out
     */
    static Map<Capability, Boolean> find(
            Expectation expect, Outcome outcome, Claims claims, List<Check> checks, boolean raised) {
        Map<Capability, Boolean> found = new TreeMap<>();
        Set<String> paths = checks.stream().map(Check::path).collect(Collectors.toSet());
        boolean isExpected = expect.expectsStatus(outcome.read("status"));
        Fields.sumCacheUsage(expect.fields(), claims).forEach((path, leaf) -> {
            Capability capability = Claims.findRequired(path).filter(claims::has).orElse(null);
            if (capability == null || leaf.matches(Json.NULL)) return;
            boolean isOmitted = outcome.omitted().contains(Claims.getGroup(path));
            boolean isCompared = !isOmitted && paths.contains(path);
            // An answer that reports an unexpected error has no reason to contain the group.
            boolean isLeftOut = isOmitted ? !raised && isExpected : outcome.absent().contains(path);
            if (isCompared || isLeftOut) found.merge(capability, isCompared, Boolean::logicalOr);
        });
        // The content of a broken stream is compared without its signatures.
        boolean areJudged = claims.has(Capability.SIGNATURES) && expect.partial() == null;
        if (areJudged) findSignatures(expect, outcome, claims, checks, found);
        return found;
    }

    private static void findSignatures(
            Expectation expect, Outcome outcome, Claims claims, List<Check> checks, Map<Capability, Boolean> found) {
        Set<BlockType> signed = EnumSet.noneOf(BlockType.class);
        for (ExpectedBlock block : expect.blocks()) {
            boolean mustBeSigned = block.get("signature") != null && !block.get("signature").matches(Json.NULL);
            if (mustBeSigned) signed.add(block.type());
        }
        List<String> names = signed.stream().map(type -> "." + type.path("signature")).toList();
        boolean isCompared = checks.stream()
                .filter(Compared::comparesValue)
                .anyMatch(check -> names.stream().anyMatch(check.path()::endsWith));
        boolean isLeftOut = outcome.content().stream()
                .filter(block -> block.absent().contains("signature") && signed.contains(block.type()))
                .anyMatch(block -> isJudged(block, claims));
        if (isCompared || isLeftOut) found.put(Capability.SIGNATURES, isCompared);
    }

    /** Returns whether a check compares a value: not if the block is missing, or was rightly left out. */
    private static boolean comparesValue(Check check) {
        boolean isLeftOut = check.isPassed() && check.got().isNull();
        return !check.expected().isNull() && !Content.BLOCK_MISSING.equals(check.message()) && !isLeftOut;
    }

    private static boolean isJudged(Block block, Claims claims) {
        if (block.type() == BlockType.THINKING) return claims.has(Capability.THINKING);
        return !block.isCall() || claims.hasCallsOf(block.isOfProvider());
    }
}
