package io.github.streamconform;

import static io.github.streamconform.BlockType.OTHER;
import static io.github.streamconform.BlockType.TEXT;
import static io.github.streamconform.BlockType.THINKING;

import com.fasterxml.jackson.databind.JsonNode;
import io.github.streamconform.Align.Aligned;
import io.github.streamconform.Leaf.PrefixOf;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Compares the content of a broken stream with the beginning of the complete content. */
final class Broken {
    private static final int MAX_CALLS = 3;
    /**
     * Fields that may be received partially. A thought's signature is not judged: OpenAI sends a provisional one at the
     * start of an item, and a broken answer is not sent back.
     */
    private static final Set<String> PREFIX_FIELDS = Set.of("text", "name", "arguments_text");

    private Broken() {}

    /**
     * Returns checks on the content of a stream that broke.
     *
     * <p>Blocks may be missing. Each received block must match one in the whole stream, in order, and its texts must be
     * prefixes. An executable call must have its complete arguments, and no more of the client's calls may be
     * executable than had ended. Text that had arrived should be kept.
     */
    static List<Check> compare(Expectation expect, List<Block> content, Rules rules) {
        if (expect.content() == null || expect.partial() == null) return List.of();
        // A client that raises while it builds a call loses the call, and the texts around it become neighbors.
        boolean hasCalls = content.stream().anyMatch(Block::isCall);
        List<ExpectedBlock> whole = expect.content().stream()
                .filter(block -> block.type() != OTHER && (hasCalls || !block.isCall()))
                .toList();
        List<ExpectedBlock> calls = expect.content().stream().filter(ExpectedBlock::isCall).toList();
        Aligned aligned = new Align(rules, List.of()).align(whole, content, calls);
        List<Block> got = aligned.received();
        int[] pairs = Pairs.pair(aligned.expected(), got);
        List<Block> mislabeled = Calls.findMislabeled(expect.content(), aligned);
        List<Check> checks = new ArrayList<>();
        Content.checkOrder(aligned, rules).forEach(checks::add);
        String unpaired = Content.addMislabeled(explainUnpaired(aligned, pairs), mislabeled);
        checks.add(Content.checkLength(aligned, rules.level(), unpaired));
        // Only their number is compared: which calls had ended cannot be known without a parser.
        List<Block> executable = got.stream()
                .filter(block -> block.isOfClient() && block.isExecutable() && !mislabeled.contains(block))
                .toList();
        int ended = expect.partial().callsEnded();
        boolean mayBeCut = executable.size() > ended;
        for (int i = 0; i < pairs.length; i++) {
            if (pairs[i] == Pairs.NONE) continue;
            ExpectedBlock block = aligned.expected().get(i);
            compareBlock("content." + i + ".", block, got.get(pairs[i]), rules.level())
                    .map(check -> mayBeCut ? hideUnknownArguments(check) : check)
                    .forEach(checks::add);
        }
        String message = mayBeCut ? explainExecutable(executable, ended) : null;
        checks.add(Check.ofRule("content.complete_calls", rules.level(), message));
        checks.add(checkKeptText(got, expect.partial().textArrived(), rules.lowered()));
        return checks;
    }

    private static Stream<Check> compareBlock(String prefix, ExpectedBlock expected, Block got, Level level) {
        boolean expectsComplete = expected.get("complete") != null && expected.get("complete").matches(Json.of(true));
        return expected.fields().entrySet().stream().flatMap(field -> {
            String name = field.getKey();
            String path = prefix + expected.type().path(name);
            JsonNode value = got.get(name);
            if (PREFIX_FIELDS.contains(name)) {
                // A field is null if nothing of it had arrived.
                String whole = Leaf.textOf(field.getValue());
                boolean isJudged = whole != null && !value.isNull();
                return isJudged ? Stream.of(Fields.checkLeaf(path, new PrefixOf(whole), value, level)) : Stream.empty();
            }
            // A truncated call should have null arguments or be marked as incomplete.
            boolean isJudged = name.equals("arguments") && got.isExecutable() && expectsComplete;
            return isJudged ? Stream.of(Fields.checkLeaf(path, field.getValue(), value, level)) : Stream.empty();
        });
    }

    /** Returns the check that the text that had arrived is kept. */
    private static Check checkKeptText(List<Block> got, int arrived, Level level) {
        Stream<Block> texts = got.stream().filter(block -> block.type() == TEXT);
        int kept = texts.mapToInt(block -> Text.length(block.text())).sum();
        String message = arrived + " characters of text had arrived before the break, but the content has only " + kept;
        return Check.ofRule("content.kept", level, kept < arrived ? message : null, Json.of(arrived), Json.of(kept));
    }

    /** Returns a message about the received blocks without a counterpart, or null if there are none. */
    private static String explainUnpaired(Aligned aligned, int[] pairs) {
        Set<Integer> paired = IntStream.of(pairs).boxed().collect(Collectors.toSet());
        List<Block> unpaired = IntStream.range(0, aligned.received().size())
                .filter(j -> !paired.contains(j))
                .mapToObj(aligned.received()::get)
                .toList();
        if (unpaired.isEmpty()) return null;
        List<ExpectedBlock> missing = IntStream.range(0, pairs.length)
                .filter(i -> pairs[i] == Pairs.NONE)
                .mapToObj(aligned.expected()::get)
                .toList();
        Set<BlockType> split = unpaired.stream().map(Block::type).distinct()
                .filter(type -> isSplit(type, aligned))
                .collect(Collectors.toSet());
        List<Block> added = unpaired.stream().filter(block -> !split.contains(block.type())).toList();
        boolean areElsewhere = added.stream().allMatch(block -> isElsewhere(block, missing));
        String others = areElsewhere ? "are at another place in" : "are not in";
        String relation = added.isEmpty() ? "are only parts of one in" : others;
        List<Block> shown = added.isEmpty() ? unpaired : added;
        String types = Content.list(shown.stream().map(block -> Names.of(block.type())));
        return "blocks that " + relation + " the complete stream: " + types;
    }

    /** Returns whether one of the missing blocks of the complete stream is this block, or more of it. */
    private static boolean isElsewhere(Block block, List<ExpectedBlock> missing) {
        return Stream.of("id", "text").filter(block::has).findFirst().stream().anyMatch(name -> missing.stream()
                .filter(other -> other.type() == block.type())
                .map(other -> Leaf.textOf(other.get(name)))
                .anyMatch(whole -> whole != null && whole.startsWith(block.text(name))));
    }

    /** Returns whether the texts of the blocks of this type, joined, are a prefix of the complete text. */
    private static boolean isSplit(BlockType type, Aligned aligned) {
        if (type != TEXT && type != THINKING) return false;
        List<Leaf> leaves = aligned.expected().stream()
                .filter(block -> block.type() == type)
                .map(block -> block.fields().getOrDefault("text", Leaf.NULL))
                .toList();
        List<String> texts = leaves.stream().map(Leaf::textOf).filter(Objects::nonNull).toList();
        List<Block> received = aligned.received().stream().filter(block -> block.type() == type).toList();
        String joined = received.stream().map(Block::text).collect(Collectors.joining());
        boolean isKnown = !texts.isEmpty() && texts.size() == leaves.size();
        return isKnown && received.size() > 1 && String.join("", texts).startsWith(joined);
    }

    /** Returns the message about more executable calls than had ended when the stream broke. */
    private static String explainExecutable(List<Block> calls, int ended) {
        String names = calls.stream().limit(MAX_CALLS).map(Block::describeCall).collect(Collectors.joining(", "));
        String got = "; got " + names + (calls.size() > MAX_CALLS ? ", …" : "");
        if (calls.size() == 1) {
            return "the call had not ended when the stream broke; it " + Content.MARKED_UNFINISHED + got;
        }
        String numbers = "%d calls are reported as executable, but only %d had ended".formatted(calls.size(), ended);
        return numbers + " when the stream broke; each of the others " + Content.MARKED_UNFINISHED + got;
    }

    /**
     * Returns a failed check on the arguments of a call without the expected value: nobody can know from a cut stream
     * how they would have ended.
     */
    private static Check hideUnknownArguments(Check check) {
        if (check.isPassed() || !check.path().endsWith(".tool_call.arguments")) return check;
        String message = "the arguments may have been cut; a call that had not ended " + Content.MARKED_UNFINISHED;
        return new Check(check.path(), check.level(), check.verdict(), Json.NULL, check.got(), message);
    }
}
