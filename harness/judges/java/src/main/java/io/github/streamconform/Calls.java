package io.github.streamconform;

import io.github.streamconform.Align.Aligned;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/** Puts received calls, and the signatures of calls and texts, where the expectation has them. */
final class Calls {
    private Calls() {}

    /**
     * Returns the received blocks with the signatures of calls and texts on their blocks.
     *
     * <p>Some libraries report such a signature as a thinking block without text before the block.
     */
    static Aligned returnSignatures(List<ExpectedBlock> expected, List<Block> received, Rules rules) {
        List<Block> returned = new ArrayList<>();
        Block moved = null;
        int count = 0;
        for (Block block : received) {
            if (isMoved(block, expected, rules.mentions())) {
                moved = block;
                count++;
                continue;
            }
            boolean canHave = block.isCall() || block.type() == BlockType.TEXT;
            boolean isReturned = moved != null && canHave && !block.has("signature");
            returned.add(isReturned ? block.with("signature", moved.get("signature")) : block);
            moved = null;
        }
        return new Aligned(expected, returned, List.of(), count);
    }

    /** Returns whether a block is only the signature of a call or a text. */
    private static boolean isMoved(Block block, List<ExpectedBlock> expected, List<String> mentions) {
        if (block.type() != BlockType.THINKING || block.isRedacted()) return false;
        if (block.has("text") || !block.has("signature")) return false;
        boolean isNamed = expected.stream()
                .filter(other -> other.type() != BlockType.THINKING && other.get("signature") != null)
                .anyMatch(other -> other.allows("signature", block));
        // A case need not name the signature, but the stream has it. It may belong to any thought.
        boolean hasThoughts = expected.stream().anyMatch(other -> other.type() == BlockType.THINKING);
        return isNamed || !hasThoughts && mentions.contains(block.text("signature"));
    }

    /**
     * Returns the blocks with the calls in the order of the stream's ids.
     *
     * <p>The calls that both sides have by id change places only among themselves. Nothing changes if the order was
     * right, or if ids do not identify the calls.
     */
    static Aligned order(Aligned aligned, Rules rules) {
        List<Block> received = aligned.received();
        Map<Integer, Integer> positions = findPositions(aligned, rules);
        List<Integer> places = List.copyOf(positions.keySet());
        List<Integer> inOrder = places.stream().sorted(Comparator.comparing(positions::get)).toList();
        List<String> ids = places.stream().map(place -> received.get(place).text("id")).toList();
        if (inOrder.equals(places) || new HashSet<>(ids).size() < ids.size()) return aligned;
        List<Block> ordered = new ArrayList<>(received);
        for (int i = 0; i < places.size(); i++) ordered.set(places.get(i), received.get(inOrder.get(i)));
        return new Aligned(aligned.expected(), ordered, ids, aligned.moved());
    }

    /** Maps the places of calls that both sides have by id to the positions of the ids in the stream. */
    private static Map<Integer, Integer> findPositions(Aligned aligned, Rules rules) {
        List<ExpectedBlock> expected = aligned.expected().stream().filter(ExpectedBlock::isCall).toList();
        List<Block> calls = aligned.received().stream().filter(Block::isCall).toList();
        Map<String, Integer> ids = new HashMap<>();
        for (int i = 0; i < expected.size(); i++) {
            if (expected.get(i).id() != null) ids.put(expected.get(i).id(), i);
        }
        if (ids.size() == expected.size()) return findEach(aligned.received(), ids::get);
        // If the case does not name each call by an id of its own, all calls must have ids that are in the stream.
        boolean areSame = true;
        for (int i = 0; i < Math.min(expected.size(), calls.size()); i++) {
            areSame &= expected.get(i).allows("name", calls.get(i));
            areSame &= expected.get(i).allows("arguments", calls.get(i));
        }
        if (calls.size() > expected.size() || areSame) return Map.of();
        Map<Integer, Integer> found = findEach(aligned.received(), id -> {
            int position = rules.mentions().indexOf(id);
            return position < 0 ? null : position;
        });
        return found.size() == calls.size() ? found : Map.of();
    }

    private static Map<Integer, Integer> findEach(List<Block> received, Function<String, Integer> find) {
        Map<Integer, Integer> positions = new LinkedHashMap<>();
        for (int i = 0; i < received.size(); i++) {
            String id = received.get(i).isCall() ? received.get(i).get("id").textValue() : null;
            Integer position = id == null ? null : find.apply(id);
            if (position != null) positions.put(i, position);
        }
        return positions;
    }

    /**
     * Returns the received calls of the client that the case names as calls of the provider.
     *
     * @param expected the blocks that must be reported; a provider's call is not among them unless it is claimed
     */
    static List<Block> findMislabeled(List<ExpectedBlock> named, Aligned aligned) {
        List<ExpectedBlock> runs = named.stream().filter(ExpectedBlock::isOfProvider).toList();
        if (runs.isEmpty()) return List.of(); // a search among thousands of calls takes minutes
        List<ExpectedBlock> own =
                aligned.expected().stream().filter(block -> block.isCall() && !runs.contains(block)).toList();
        return aligned.received().stream()
                .filter(Block::isOfClient)
                .filter(block -> runs.stream().anyMatch(run -> run.names(block)))
                // A tool of the provider and one of the client may have the same name; then the id decides.
                .filter(block -> own.stream().noneMatch(call -> call.names(block) && mayHaveId(call, block)))
                .toList();
    }

    private static boolean mayHaveId(ExpectedBlock call, Block block) {
        return call.id() == null || Objects.equals(call.id(), block.get("id").textValue());
    }
}
