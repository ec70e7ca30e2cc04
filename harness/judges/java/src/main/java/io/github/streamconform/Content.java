package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.github.streamconform.Align.Aligned;
import io.github.streamconform.Leaf.Literally;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Compares the content of an outcome with the expected blocks: one check per judged field of a block. */
final class Content {
    /** The message for checks on a block that is absent from the outcome. */
    static final String BLOCK_MISSING = "content block missing";
    /** What a message demands of a call that must not be executed. */
    static final String MARKED_UNFINISHED = "must be left out, or have `complete: false` or `arguments: null`";

    private static final int MAX_LISTED = 12;

    private final Rules rules;
    /** Whether the outcome correctly reports a failure, so that it may have lost what had arrived. */
    private final boolean tolerant;

    private Content(Rules rules, boolean tolerant) {
        this.rules = rules;
        this.tolerant = tolerant;
    }

    static List<Check> compare(Expectation expect, Outcome outcome, Rules rules) {
        if (expect.content() == null || expect.partial() != null) return List.of();
        List<String> separators = Align.findSeparators(expect.content(), outcome.content(), rules.claims());
        Aligned aligned = new Align(rules, separators).align(expect.content(), outcome.content(), expect.content());
        List<Check> checks = new ArrayList<>();
        checkOrder(aligned, rules).forEach(checks::add);
        new Content(rules, Fields.mayLoseContent(expect, outcome)).compare(aligned, expect.content(), checks);
        return checks;
    }

    /** Returns the check that the calls are in the order of the stream, if there are several. */
    static Stream<Check> checkOrder(Aligned aligned, Rules rules) {
        // The order alone does not matter to an agent that runs the calls: results refer to them by id.
        if (aligned.expected().stream().filter(ExpectedBlock::isCall).count() < 2) return Stream.empty();
        List<String> ids = aligned.formerIds();
        String message = "the calls are in another order than in the stream: " + list(ids.stream());
        return Stream.of(Check.ofRule("content.order", rules.lowered(), ids.isEmpty() ? null : message));
    }

    private void compare(Aligned aligned, List<ExpectedBlock> named, List<Check> checks) {
        List<ExpectedBlock> expected = aligned.expected();
        List<Block> got = aligned.received();
        int[] pairs = Pairs.pair(expected, got);
        Level lossLevel = tolerant ? rules.lowered() : rules.level();
        // A client that raises may drop blocks, but a block that was never sent is still wrong.
        boolean isOnlyLess = got.size() == IntStream.of(pairs).filter(j -> j != Pairs.NONE).count();
        // Leaving out a call that must not be executed is as safe as marking it.
        int leftOut = (int) IntStream.range(0, pairs.length).filter(i -> isLeftOut(expected.get(i), pairs[i])).count();
        String message = "expected %s %s, got %d %s".formatted(
                Text.count(expected.size(), "block"),
                describeTypes(expected.stream().map(ExpectedBlock::type).toList()),
                got.size(),
                describeTypes(got.stream().map(Block::type).toList()));
        boolean isWrong = expected.size() - leftOut != got.size();
        String found = isWrong ? addMislabeled(message, Calls.findMislabeled(named, aligned)) : null;
        checks.add(checkLength(aligned, isOnlyLess ? lossLevel : rules.level(), found));
        for (int i = 0; i < pairs.length; i++) {
            ExpectedBlock block = expected.get(i);
            String prefix = "content." + i + ".";
            if (pairs[i] != Pairs.NONE) {
                compareBlock(prefix, block, got.get(pairs[i]), checks);
                continue;
            }
            block.fields().forEach((name, leaf) -> {
                String path = prefix + block.type().path(name);
                // Both checks exist so that the ids of a trial's checks do not depend on the answer.
                if (block.mustNotRun()) {
                    checks.add(Check.of(path, rules.level(), leaf, Json.NULL, true));
                } else if (rules.claims().hasField(block.type(), name)) {
                    Level level = Fields.lowerIfUnsafe(leaf, lossLevel);
                    checks.add(Check.of(path, level, leaf, Json.NULL, false).withMessage(BLOCK_MISSING));
                }
            });
        }
    }

    private static boolean isLeftOut(ExpectedBlock block, int place) {
        return place == Pairs.NONE && block.mustNotRun();
    }

    /** Returns the check on the number of blocks, a warning if only signatures are in excess. */
    static Check checkLength(Aligned aligned, Level level, String message) {
        JsonNode expected = Json.of(aligned.expected().size());
        JsonNode got = Json.of(aligned.received().size());
        boolean isMoved = message == null && aligned.moved() > 0;
        String moved = "the signature of another block is reported as a thinking block without text";
        Level judged = isMoved ? level.lower(Level.SHOULD) : level;
        return Check.ofRule("content.length", judged, isMoved ? moved : message, expected, got);
    }

    /** Adds the provider's calls that are reported as the client's to a message about wrong blocks. */
    static String addMislabeled(String message, List<Block> calls) {
        if (message == null || calls.isEmpty()) return message;
        String named = list(calls.stream().map(Block::describeCall));
        return message + "; calls that the provider ran are reported as the client's: " + named;
    }

    private void compareBlock(String prefix, ExpectedBlock expected, Block got, List<Check> checks) {
        boolean isUnfinished = isUnfinished(expected, got) || tolerant && got.isCall() && got.isMarkedOpen();
        expected.fields().forEach((name, leaf) -> {
            if (!rules.claims().hasField(expected.type(), name) || name.equals("arguments") && isUnfinished) return;
            String path = prefix + expected.type().path(name);
            boolean saysUnfinished = got.isCall() && (name.equals("complete") || name.equals("arguments"));
            if (saysUnfinished && expected.mustNotRun()) {
                checks.add(checkNotExecutable(path, leaf, got, got.get(name)));
            } else if (!isLeftOut(expected, name, leaf, got)) {
                checks.add(compareField(path, name, leaf, got.get(name)));
            }
        });
    }

    private Check compareField(String path, String name, Leaf leaf, JsonNode got) {
        if (name.equals("echo")) return Fields.checkLeaf(path, leaf, Fields.selectEcho(leaf, got), rules.level());
        if (name.equals("citations") && leaf instanceof Literally literal) return checkCitations(path, literal, got);
        // An empty signature is as good as none.
        boolean isEmpty = name.equals("signature") && got.asText().isEmpty();
        JsonNode value = isEmpty ? Json.NULL : got;
        boolean isLoss = tolerant && isPart(leaf, name, value);
        return Fields.checkLeaf(path, leaf, value, isLoss ? rules.lowered() : rules.level());
    }

    /**
     * Returns the check that a truncated or malformed call is not executable.
     *
     * <p>It passes for both {@code complete: false} and {@code arguments: null}, whichever the case expects, because
     * libraries use one or the other. A failure is reported for the leaf that the case expects.
     */
    private Check checkNotExecutable(String path, Leaf leaf, Block got, JsonNode value) {
        boolean isOfComplete = path.endsWith(".complete");
        boolean saysSo = leaf.equals(Leaf.of(isOfComplete ? false : null));
        Check check = Check.of(path, rules.level(), leaf, value, !(saysSo && got.isExecutable()));
        if (check.isPassed()) return check;
        String call = got.describeCall();
        return check.withMessage(
                "a call that must not be executed is reported as executable: " + call + "; it " + MARKED_UNFINISHED);
    }

    /** Returns the check on a text's citations; a key that is left out is not judged. */
    private Check checkCitations(String path, Literally leaf, JsonNode got) {
        Set<String> judged = new HashSet<>();
        leaf.value().forEach(citation -> citation.fieldNames().forEachRemaining(judged::add));
        ArrayNode shown = JsonNodeFactory.instance.arrayNode();
        got.forEach(citation -> shown.add(((ObjectNode) citation).deepCopy().retain(judged)));
        boolean isSame = leaf.value().size() == shown.size()
                && IntStream.range(0, shown.size()).allMatch(i -> agrees(leaf.value().get(i), shown.get(i)));
        return Check.of(path, tolerant ? rules.lowered() : rules.level(), leaf, shown, isSame);
    }

    private static boolean agrees(JsonNode named, JsonNode citation) {
        for (Map.Entry<String, JsonNode> member : Json.members(named)) {
            JsonNode value = citation.get(member.getKey());
            if (value != null && !Json.isEqual(member.getValue(), value)) return false;
        }
        return true;
    }

    /** Returns whether a library does not expose a field of a block. */
    private static boolean isLeftOut(ExpectedBlock expected, String name, Leaf leaf, Block got) {
        if (got.absent().contains(name)) return true;
        if (!got.isCall()) return false;
        // Many libraries expose only the parsed arguments.
        if (name.equals("arguments_text") && got.get(name).isNull()) {
            return expected.get("arguments") == null
                    ? isTextIn(got.get("arguments"), leaf)
                    : expected.allows("arguments", got);
        }
        // Libraries that return only complete calls have no such flag.
        return name.equals("complete") && got.get(name).isNull();
    }

    /**
     * Returns whether arguments have a text in some form: as it is, as JSON, or in an object. A custom tool's text is
     * no JSON.
     */
    private static boolean isTextIn(JsonNode arguments, Leaf text) {
        if (!(text instanceof Literally literal)) return true;
        List<JsonNode> forms = new ArrayList<>(List.of(literal.value()));
        Json.parse(literal.value().textValue()).ifPresent(forms::add);
        List<JsonNode> held = new ArrayList<>(List.of(arguments));
        if (arguments.isObject()) arguments.forEach(held::add);
        return forms.stream().anyMatch(form -> held.stream().anyMatch(value -> Json.isEqual(form, value)));
    }

    /** Returns whether a value is a part of the expected one that can remain if content was lost. */
    private static boolean isPart(Leaf leaf, String name, JsonNode value) {
        if (name.equals("complete")) return value.isBoolean() && !value.booleanValue();
        String whole = Leaf.textOf(leaf);
        return value.isNull() || whole != null && value.isTextual() && whole.startsWith(value.textValue());
    }

    /** Returns whether a call did not end, in which case its arguments are not checked. */
    private static boolean isUnfinished(ExpectedBlock block, Block got) {
        if (block.is("complete", false)) return true;
        // If the case accepts a call that did not end, the client may report it as open, without final arguments.
        boolean isOpen = got.isCall() && !got.isExecutable();
        return isOpen && block.get("complete") != null && block.get("complete").matches(Json.of(false));
    }

    private static String describeTypes(List<BlockType> types) {
        String more = types.size() > MAX_LISTED ? ", …" : "";
        return "[" + list(types.stream().map(Names::of)) + more + "]";
    }

    /** Returns the first few of some names, separated by commas. */
    static String list(Stream<String> names) {
        return names.limit(MAX_LISTED).collect(Collectors.joining(", "));
    }
}
