package io.github.streamconform;

import io.github.streamconform.KnownFailure.Status;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;

/** The failures that a file lists (docs/known-failures.md), with how the trials of a run relate to each. */
final class KnownFailures {
    /** Topics of cases that no suite file has, since they need a server or are made during a run. */
    private static final Pattern OUTSIDE = Pattern.compile("[^/]+/(behavior|sizes|recorded-).*", Pattern.DOTALL);

    private final String path;
    private final List<KnownFailure> entries = new ArrayList<>();
    private final List<Map<Status, Integer>> counts = new ArrayList<>();
    private int causes;

    private KnownFailures(String path) {
        this.path = path;
    }

    /**
     * Reads a file.
     *
     * @param implementation the name by which a file may be restricted to a library; the entries of other libraries are
     * left out
     */
    static KnownFailures read(Path path, String implementation) throws IOException {
        KnownFailures known = new KnownFailures(path.toString());
        try (Reader reader = Files.newBufferedReader(path)) {
            Map<String, Node> file = readKeys(new Yaml(new LoaderOptions()).compose(reader));
            if (!readText(file, "known-failures").equals("1") || !(file.get("entries") instanceof SequenceNode list)) {
                throw new IOException(path + ": not a known-failures file, version 1");
            }
            String name = readText(file, "implementation");
            if (name.isEmpty() || name.equals(implementation)) list.getValue().forEach(known::add);
            return known;
        } catch (YAMLException | IllegalArgumentException error) {
            throw new IOException(path + ": " + error.getMessage(), error);
        }
    }

    private static Map<String, Node> readKeys(Node node) {
        Map<String, Node> keys = new HashMap<>();
        for (NodeTuple tuple : node instanceof MappingNode mapping ? mapping.getValue() : List.<NodeTuple>of()) {
            if (tuple.getKeyNode() instanceof ScalarNode key) keys.put(key.getValue(), tuple.getValueNode());
        }
        return keys;
    }

    private static String readText(Map<String, Node> keys, String name) {
        return keys.get(name) instanceof ScalarNode scalar ? scalar.getValue() : "";
    }

    private void add(Node node) {
        int line = node.getStartMark().getLine() + 1;
        Map<String, Node> keys = readKeys(node);
        Map<String, String> texts = new HashMap<>();
        for (String key : keys.keySet()) texts.put(key, readText(keys, key));
        if (texts.containsKey("cause")) {
            causes++;
            return;
        }
        try {
            entries.add(KnownFailure.read(texts, line));
            counts.add(new EnumMap<>(Status.class));
        } catch (IllegalArgumentException error) {
            throw new IllegalArgumentException("line " + line + ": " + error.getMessage(), error);
        }
    }

    /** Returns the number of entries by cause, which only {@code conform run} can match. */
    int causes() {
        return causes;
    }

    /**
     * What a file says about a trial.
     *
     * @param matched the entries that the trial's failure matches
     * @param stale why an entry is wrong to list a trial that passes, if it is
     */
    record Relation(List<KnownFailure> matched, Optional<String> stale) {}

    /** Counts how a trial relates to each entry. */
    Relation relate(Trial trial, Judgement judgement, Claims claims) {
        List<KnownFailure> matched = new ArrayList<>();
        Optional<String> stale = Optional.empty();
        for (int i = 0; i < entries.size(); i++) {
            KnownFailure entry = entries.get(i);
            Optional<Status> status = entry.relate(trial, judgement, claims);
            if (status.isEmpty()) continue;
            counts.get(i).merge(status.get(), 1, Integer::sum);
            if (status.get() == Status.MATCHED) matched.add(entry);
            if (status.get() == Status.PASSING && stale.isEmpty()) {
                String message = "passes, but %s:%d lists it as known (%s)";
                stale = Optional.of(message.formatted(path, entry.line(), entry.reason()));
            }
        }
        return new Relation(matched, stale);
    }

    /** Returns a message for each entry that is out of date, given the trials so far and the ids of all cases. */
    List<String> listOutdated(List<String> ids, LocalDate today) {
        List<String> messages = new ArrayList<>();
        for (int i = 0; i < entries.size(); i++) {
            KnownFailure entry = entries.get(i);
            List<String> problems = new ArrayList<>();
            explain(entry, counts.get(i)).ifPresent(problems::add);
            if (isUnmatched(entry, ids)) {
                String renamed = "(was a case renamed?): fix the pattern or remove it";
                problems.add("unmatched: it matches nothing in the suite " + renamed);
            }
            if (entry.expires() != null && today.isAfter(entry.expires())) {
                problems.add("expired: on " + entry.expires() + "; fix the failure or set a later date");
            }
            entries.subList(0, i).stream()
                    .filter(entry::isDuplicateOf)
                    .findFirst()
                    .map(first -> "duplicate: of the entry on line " + first.line() + "; remove one")
                    .ifPresent(problems::add);
            String place = "%s:%d: `%s` ".formatted(path, entry.line(), entry.match());
            problems.forEach(problem -> messages.add(place + problem));
        }
        return messages;
    }

    private static Optional<String> explain(KnownFailure entry, Map<Status, Integer> counts) {
        int matched = counts.getOrDefault(Status.MATCHED, 0);
        int passing = counts.getOrDefault(Status.PASSING, 0);
        if (matched > 0 && passing > 0) {
            String numbers = "too-wide: it fails in only %d of %d trials: narrow the pattern";
            return Optional.of(numbers.formatted(matched, matched + passing));
        }
        // An entry whose trials did not run is left alone.
        if (matched > 0 || counts.isEmpty()) return Optional.empty();
        if (!counts.containsKey(Status.MISMATCHED)) return Optional.of("stale: it is fixed: remove the entry");
        String failure = "`" + entry.verdict() + "`" + (entry.message().isEmpty() ? "" : " with this message");
        String advice = ", but fails in a different way: update or remove the entry";
        return Optional.of("stale: it no longer has " + failure + advice);
    }

    private static boolean isUnmatched(KnownFailure entry, List<String> ids) {
        String api = entry.match().split("/", 2)[0] + "/";
        boolean isOfApi = ids.stream().anyMatch(id -> id.startsWith(api));
        return isOfApi && !OUTSIDE.matcher(entry.match()).matches() && ids.stream().noneMatch(entry::isAbout);
    }
}
