package io.github.streamconform;

import static io.github.streamconform.BlockType.OTHER;
import static io.github.streamconform.BlockType.TEXT;
import static io.github.streamconform.BlockType.THINKING;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.github.streamconform.Leaf.Digest;
import io.github.streamconform.Leaf.Literally;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Gives expected and received blocks one form: what is not judged is left out, neighbors are joined, and calls are put
 * in the order of the stream.
 */
final class Align {
    /**
     * The blocks to compare.
     *
     * @param formerIds the ids of the calls in the order in which they were received, if that is not the stream's order
     * @param moved the number of signatures that were reported as a block of their own
     */
    record Aligned(List<ExpectedBlock> expected, List<Block> received, List<String> formerIds, int moved) {}

    private final Rules rules;
    /** The fields that distinguish adjacent texts in this answer. */
    private final List<String> separators;

    Align(Rules rules, List<String> separators) {
        this.rules = rules;
        this.separators = separators;
    }

    /** Returns both sides in one form; {@code named} are the blocks that the case names. */
    Aligned align(List<ExpectedBlock> blocks, List<Block> content, List<ExpectedBlock> named) {
        List<ExpectedBlock> expected = normalizeExpected(blocks, findHidden(content));
        Aligned returned = Calls.returnSignatures(expected, normalizeReceived(content, named), rules);
        List<Block> received = joinSplitThoughts(expected, returned.received());
        return Calls.order(new Aligned(expected, received, List.of(), returned.moved()), rules);
    }

    /** Returns the fields that separate adjacent texts: those the case names and every text exposes. */
    static List<String> findSeparators(List<ExpectedBlock> expected, List<Block> content, Claims claims) {
        List<ExpectedBlock> named = expected.stream().filter(block -> block.type() == TEXT).toList();
        List<Block> texts = content.stream().filter(block -> block.type() == TEXT).toList();
        return Stream.of("phase", "signature")
                .filter(name -> named.stream().anyMatch(text -> text.get(name) != null))
                .filter(name -> texts.stream().noneMatch(text -> text.absent().contains(name)))
                .filter(name -> claims.hasField(TEXT, name))
                .toList();
    }

    /** Returns the optional keys that are left out of all thinking blocks. */
    private static Set<String> findHidden(List<Block> content) {
        return content.stream()
                .filter(block -> block.type() == THINKING)
                .map(Block::absent)
                .reduce((one, other) -> one.stream().filter(other::contains).collect(Collectors.toSet()))
                .orElse(Set.of());
    }

    private List<ExpectedBlock> normalizeExpected(List<ExpectedBlock> blocks, Set<String> hidden) {
        List<ExpectedBlock> kept = new ArrayList<>(
                blocks.stream().filter(block -> isExpected(block) && !isOnlyHidden(block, hidden)).toList());
        if (!rules.ordered()) kept.sort(Comparator.comparing(ExpectedBlock::type));
        return joinRuns(kept, this::canJoin, Align::joinExpected);
    }

    private List<Block> normalizeReceived(List<Block> content, List<ExpectedBlock> named) {
        List<Block> judged = new ArrayList<>(content.stream().filter(block -> isJudged(block, named)).toList());
        if (!rules.ordered()) judged.sort(Comparator.comparing(Block::type));
        return joinRuns(judged, this::canJoin, Align::joinReceived);
    }

    private boolean isExpected(ExpectedBlock block) {
        Claims claims = rules.claims();
        return switch (block.type()) {
            case TEXT -> !block.is("text", "") || separators.contains("signature") && block.isSigned(claims);
            case REFUSAL -> claims.has(Capability.REFUSALS) && !block.is("text", "");
            case THINKING -> {
                boolean hasText = block.get("text") == null || block.has("text");
                yield claims.has(Capability.THINKING) && (block.isSigned(claims) || block.isRedacted() || hasText);
            }
            case TOOL_CALL -> claims.hasCallsOf(block.isOfProvider());
            case OTHER -> true;
        };
    }

    private static boolean isOnlyHidden(ExpectedBlock block, Set<String> hidden) {
        return block.type() == THINKING
                && !block.has("text")
                && hidden.contains("signature")
                && (hidden.contains("redacted") || !block.isRedacted());
    }

    private boolean isJudged(Block block, List<ExpectedBlock> named) {
        Claims claims = rules.claims();
        return switch (block.type()) {
            case TEXT -> block.has("text") || separators.contains("signature") && block.has("signature");
            case REFUSAL -> claims.has(Capability.REFUSALS) && block.has("text");
            case THINKING -> claims.has(Capability.THINKING)
                    && (isSigned(block) || block.isRedacted() || block.has("text"));
            // A library may show a provider's call that the case does not name in any form, or not at all.
            case TOOL_CALL -> claims.hasCallsOf(block.isOfProvider())
                    && (block.isOfClient() || named.stream().anyMatch(call -> call.isCall() && call.names(block)));
            case OTHER -> named.stream()
                    .filter(other -> other.type() == OTHER)
                    .anyMatch(other -> other.get("kind") instanceof Literally kind && kind.matches(block.get("kind")));
        };
    }

    private boolean isSigned(Block block) {
        return rules.claims().has(Capability.SIGNATURES) && block.has("signature");
    }

    private boolean canJoin(ExpectedBlock before, ExpectedBlock block) {
        if (before.type() != block.type()) return false;
        return switch (block.type()) {
            case TEXT -> {
                boolean isSigned = separators.contains("signature") && before.isSigned(rules.claims());
                Leaf phase = before.fields().getOrDefault("phase", Leaf.NULL);
                boolean isSamePhase = phase.equals(block.fields().getOrDefault("phase", Leaf.NULL));
                yield !isSigned && (isSamePhase || !separators.contains("phase"));
            }
            case REFUSAL -> true;
            case THINKING -> !rules.ordered()
                    && Stream.of(before, block).noneMatch(one -> one.isSigned(rules.claims()) || one.isRedacted());
            case TOOL_CALL, OTHER -> false;
        };
    }

    private boolean canJoin(Block before, Block block) {
        if (before.type() != block.type()) return false;
        return switch (block.type()) {
            case TEXT -> {
                boolean isSigned = separators.contains("signature") && before.has("signature");
                boolean isSamePhase = before.get("phase").equals(block.get("phase"));
                yield !isSigned && (isSamePhase || !separators.contains("phase"));
            }
            case REFUSAL -> true;
            case THINKING -> !rules.ordered()
                    && Stream.of(before, block).noneMatch(one -> isSigned(one) || one.isRedacted());
            case TOOL_CALL, OTHER -> false;
        };
    }

    /** Returns the blocks with each run of neighbors that can be joined as one block. */
    private static <B> List<B> joinRuns(List<B> blocks, BiPredicate<B, B> canJoin, Function<List<B>, B> join) {
        List<List<B>> runs = new ArrayList<>();
        B before = null;
        for (B block : blocks) {
            if (before == null || !canJoin.test(before, block)) runs.add(new ArrayList<>());
            runs.get(runs.size() - 1).add(block);
            before = block;
        }
        return runs.stream().map(run -> run.size() > 1 ? join.apply(run) : run.get(0)).toList();
    }

    /** Returns the joined block; if one of the texts is a matcher, the joined text is not checked. */
    private static ExpectedBlock joinExpected(List<ExpectedBlock> blocks) {
        Map<String, Leaf> fields = new LinkedHashMap<>();
        List<String> texts =
                blocks.stream().map(block -> Leaf.textOf(block.get("text"))).filter(Objects::nonNull).toList();
        List<Digest.Part> digests = blocks.stream().flatMap(block -> listDigests(block.get("text"))).toList();
        if (texts.size() == blocks.size()) {
            fields.put("text", Leaf.of(String.join("", texts)));
            // Only if the case names them, since each field is a check.
            if (blocks.stream().anyMatch(block -> block.get("citations") != null)) {
                List<JsonNode> lists = blocks.stream()
                        .map(block -> block.get("citations") instanceof Literally cited ? cited.value() : Json.NULL)
                        .toList();
                fields.put("citations", new Literally(joinCitations(texts, lists)));
            }
        } else if (blocks.stream().allMatch(block -> listDigests(block.get("text")).findAny().isPresent())) {
            fields.put("text", new Digest(digests));
        }
        ExpectedBlock last = blocks.get(blocks.size() - 1);
        Leaf phase = last.get("phase");
        boolean hasOnePhase = phase != null && blocks.stream().allMatch(block -> phase.equals(block.get("phase")));
        if (last.get("signature") != null) fields.put("signature", last.get("signature"));
        if (hasOnePhase) fields.put("phase", phase);
        return new ExpectedBlock(last.type(), fields);
    }

    /** Returns the parts of a digest, or the digest of a literal text, or nothing for another matcher. */
    private static Stream<Digest.Part> listDigests(Leaf leaf) {
        if (leaf instanceof Digest digest) return digest.parts().stream();
        return Stream.ofNullable(Leaf.textOf(leaf)).map(Leaf::digest);
    }

    /** Returns the block that joins these texts, refusals or thoughts. */
    private static Block joinReceived(List<Block> blocks) {
        Block last = blocks.get(blocks.size() - 1);
        Map<String, JsonNode> values = new LinkedHashMap<>();
        List<String> texts = blocks.stream().map(Block::text).toList();
        values.put("text", Json.of(String.join("", texts)));
        // Thoughts are joined only if their signatures are absent or not judged, so no signature is lost here.
        if (last.type() == THINKING) values.put("redacted", Json.of(false));
        if (last.type() != TEXT) return new Block(last.type(), values, Set.of());
        // A key that one part leaves out is unknown for the joined text.
        Set<String> absent = blocks.stream().flatMap(block -> block.absent().stream()).collect(Collectors.toSet());
        values.put("signature", last.get("signature"));
        values.put("citations", joinCitations(texts, blocks.stream().map(block -> block.get("citations")).toList()));
        boolean hasOnePhase = blocks.stream().allMatch(block -> block.get("phase").equals(last.get("phase")));
        if (hasOnePhase) values.put("phase", last.get("phase"));
        else absent.add("phase");
        return new Block(TEXT, values, absent);
    }

    /** Returns the citations of joined texts, with their positions in the joined text. */
    private static JsonNode joinCitations(List<String> texts, List<JsonNode> lists) {
        ArrayNode joined = JsonNodeFactory.instance.arrayNode();
        long length = 0;
        for (int i = 0; i < texts.size(); i++) {
            for (JsonNode citation : lists.get(i)) {
                ObjectNode moved = joined.addObject();
                moved.setAll((ObjectNode) citation);
                for (String key : List.of("start", "end")) {
                    if (citation.path(key).isIntegralNumber()) moved.put(key, citation.get(key).longValue() + length);
                }
            }
            length += Text.length(texts.get(i));
        }
        return joined;
    }

    /**
     * Returns the received blocks with the pieces of each thought joined, if only the last piece has a signature.
     *
     * <p>A library may show each delta of a thought as a block. Two thoughts in one block remain a difference, because
     * their signatures belong to different texts.
     */
    private static List<Block> joinSplitThoughts(List<ExpectedBlock> expected, List<Block> received) {
        List<ExpectedBlock> thoughts =
                new ArrayList<>(expected.stream().filter(block -> block.type() == THINKING).toList());
        // If the stream broke, not all thoughts arrived, so the number of blocks does not show that one is split.
        boolean hasPieces = thoughts.size() < received.stream().filter(block -> block.type() == THINKING).count();
        List<Block> joined = new ArrayList<>();
        ExpectedBlock thought = null; // the expected thought of the last joined block
        for (Block block : received) {
            if (block.type() == THINKING && !block.isRedacted()) {
                Block last = joined.isEmpty() ? null : joined.get(joined.size() - 1);
                if (thought != null && last != null && isPiece(thought, last, block, hasPieces)) {
                    joined.set(joined.size() - 1, block.with("text", Json.of(last.text() + block.text())));
                    continue;
                }
                thought = thoughts.isEmpty() ? null : thoughts.remove(0);
            }
            joined.add(block);
        }
        return joined;
    }

    private static boolean isPiece(ExpectedBlock thought, Block last, Block block, boolean hasPieces) {
        if (last.type() != THINKING || last.has("signature") || last.isRedacted()) return false;
        String text = last.text() + block.text();
        String whole = Leaf.textOf(thought.get("text"));
        boolean begins = block.has("text") && whole != null && whole.startsWith(text);
        return lengthOf(thought.get("text")) >= Text.length(text) && (hasPieces || begins);
    }

    /** Returns the length of an expected text, at most, or 0 if it is unknown. */
    private static int lengthOf(Leaf leaf) {
        if (leaf == null) return 0;
        if (leaf instanceof Digest digest) return digest.length();
        ToIntFunction<JsonNode> length = value -> value.isTextual() ? Text.length(value.textValue()) : 0;
        return leaf.values().stream().mapToInt(length).max().orElse(0);
    }
}
