package io.github.streamconform;

import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Pairs expected blocks with received ones. */
final class Pairs {
    /** The most pairs of blocks for which the best alignment is searched; above it, blocks pair by position. */
    private static final int MAX_PAIRS = 250_000;
    /** The place of a block without a counterpart. */
    static final int NONE = -1;

    private Pairs() {}

    /**
     * Returns for each expected block the place of the received block that matches it, or {@code NONE}.
     *
     * <p>If both lists have the same types, blocks match by position, so that a wrong text is one difference, not a
     * lost block and an extra block. Otherwise, the result is the in-order alignment with the most pairs of equal type;
     * if there are several, it is the one with the most equal names, texts and arguments.
     */
    static int[] pair(List<ExpectedBlock> expected, List<Block> got) {
        boolean areSame = expected.stream().map(ExpectedBlock::type).toList()
                .equals(got.stream().map(Block::type).toList());
        if (areSame || (long) expected.size() * got.size() > MAX_PAIRS) {
            return IntStream.range(0, expected.size())
                    .map(i -> i < got.size() && got.get(i).type() == expected.get(i).type() ? i : NONE)
                    .toArray();
        }
        int[][] scores = scorePairs(expected, got);
        int[][] best = sumScores(scores, got.size());
        int[] pairs = new int[expected.size()];
        int j = 0;
        for (int i = 0; i < pairs.length; i++) {
            // Skip received blocks that the best alignment leaves out.
            while (j < got.size() && best[i][j] == best[i][j + 1]) j++;
            boolean isPair = j < got.size() && scores[i][j] > 0 && best[i][j] == best[i + 1][j + 1] + scores[i][j];
            pairs[i] = isPair ? j++ : NONE;
        }
        return pairs;
    }

    /** Returns the scores of each expected block with each received one, 0 for blocks that cannot match. */
    private static int[][] scorePairs(List<ExpectedBlock> expected, List<Block> got) {
        // Larger than the total similarity of all pairs, so that the number of pairs takes precedence.
        int weight = 2 * Math.min(expected.size(), got.size());
        Set<String> ids = expected.stream().map(ExpectedBlock::id).filter(Objects::nonNull).collect(Collectors.toSet());
        int[][] scores = new int[expected.size()][got.size()];
        for (int j = 0; j < got.size(); j++) {
            Block block = got.get(j);
            boolean[] exact = new boolean[expected.size()];
            boolean isAny = false;
            for (int i = 0; i < exact.length; i++) {
                exact[i] = expected.get(i).isExactly(block);
                isAny |= exact[i];
            }
            for (int i = 0; i < exact.length; i++) {
                int similarity = rate(expected.get(i), block, ids, isAny && !exact[i]);
                scores[i][j] = similarity == 0 ? 0 : weight + similarity;
            }
        }
        return scores;
    }

    /**
     * Returns the similarity, 1 to 3, or 0 for blocks that cannot match: blocks of different types, and calls if one
     * has the id of another, or is exactly another expected call ({@code isOther}).
     */
    private static int rate(ExpectedBlock expected, Block got, Set<String> ids, boolean isOther) {
        if (expected.type() != got.type()) return 0;
        String id = got.get("id").textValue();
        if (expected.id() != null && id != null) {
            if (expected.id().equals(id)) return 3;
            if (ids.contains(id)) return 0;
        }
        if (isOther) return 0;
        String name = got.isCall() ? "name" : "text";
        if (!(expected.get(name) instanceof Leaf.Literally leaf && leaf.matches(got.get(name)))) return 1;
        // Some of several calls to one tool may be missing: the arguments show which.
        return expected.isExactly(got) ? 3 : 2;
    }

    /** Returns the score of the best alignment of the blocks from each position on. */
    private static int[][] sumScores(int[][] scores, int columns) {
        int[][] best = new int[scores.length + 1][columns + 1];
        // Filled from the end, so that the pairs can then be read off from the beginning.
        for (int i = scores.length - 1; i >= 0; i--) {
            for (int j = columns - 1; j >= 0; j--) {
                int paired = scores[i][j] > 0 ? best[i + 1][j + 1] + scores[i][j] : 0;
                best[i][j] = Math.max(paired, Math.max(best[i + 1][j], best[i][j + 1]));
            }
        }
        return best;
    }
}
