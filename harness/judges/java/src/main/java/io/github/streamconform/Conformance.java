package io.github.streamconform;

import java.io.IOException;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.opentest4j.TestAbortedException;

/**
 * Makes a JUnit test of each trial that a library is judged on:
 *
 * <pre>{@code
 * @TestFactory
 * Stream<DynamicTest> conforms() throws IOException {
 *     return Conformance.of("suite-openai-chat.json.gz").claims(TOOL_CALLS, STOP).tests(MyTest::parse);
 * }
 * }</pre>
 */
public final class Conformance {
    /** Selects trials from the command line: {@code -Dstreamconform.select=openai-chat/text/**}. */
    private static final String SELECT = "streamconform.select";

    private final List<Path> suites;
    private final List<Path> knownFailures = new ArrayList<>();
    private Set<Capability> claims = Capability.ofStreams();
    private DeliverySet set = DeliverySet.STANDARD;
    private Level level = Level.MAY;
    private List<String> patterns = List.of();
    private boolean strict;
    private String implementation;

    private Conformance(List<Path> suites) {
        this.suites = suites;
    }

    /** Judges a library on the trials of suite files, such as {@code suite-openai-chat.json.gz}. */
    public static Conformance of(String... suites) {
        return new Conformance(Arrays.stream(suites).map(Path::of).toList());
    }

    /**
     * Says what the library exposes, by default all that streams can have. Cases that need anything else are left out.
     */
    public Conformance claims(Capability... capabilities) {
        claims = EnumSet.noneOf(Capability.class);
        claims.addAll(List.of(capabilities));
        return this;
    }

    /** Chooses how many ways to deliver and to break each stream; by default the standard ones. */
    public Conformance set(DeliverySet chosen) {
        set = chosen;
        return this;
    }

    /** Leaves out trials below a level. */
    public Conformance level(Level lowest) {
        level = lowest;
        return this;
    }

    /** Selects trials by patterns on their ids, such as {@code openai-chat/tool-calls/**}, or by words in them. */
    public Conformance select(String... globs) {
        patterns = List.of(globs);
        return this;
    }

    /** Lets warnings fail. */
    public Conformance strict() {
        strict = true;
        return this;
    }

    /** Reads a file of known failures, whose failures are skipped (docs/known-failures.md). */
    public Conformance knownFailures(String path) {
        knownFailures.add(Path.of(path));
        return this;
    }

    /** Names the library, since a file of known failures may be restricted to one. */
    public Conformance implementation(String name) {
        implementation = name;
        return this;
    }

    /** Returns a test per trial, and one for the claims and known failures, which are known only at the end. */
    public Stream<DynamicTest> tests(Parser parser) throws IOException {
        List<KnownFailures> files = new ArrayList<>();
        for (Path path : knownFailures) files.add(KnownFailures.read(path, implementation));
        List<String> ids = new ArrayList<>();
        List<Trial> selected = new ArrayList<>();
        for (Path path : suites) {
            Suite suite = Suite.read(path);
            ids.addAll(suite.ids());
            selected.addAll(suite.trials().stream().filter(this::isSelected).toList());
        }
        List<Trial> trials = selected.stream().filter(trial -> trial.owner().needsOnly(claims)).toList();
        if (trials.isEmpty()) throw new IllegalArgumentException("the selection has no trials");
        Session session = new Session(claims, strict, files);
        DynamicTest end = DynamicTest.dynamicTest("claims and known failures", () -> {
            if (session.judged() < trials.size()) throw new TestAbortedException("not all trials were judged");
            System.out.println("streamconform: " + session.summarize(selected.size() - trials.size()));
            List<String> problems = session.listProblems(ids, LocalDate.now());
            if (!problems.isEmpty()) throw fail(String.join("\n", problems), null);
        });
        return Stream.concat(trials.stream().map(trial -> makeTest(trial, parser, session)), Stream.of(end));
    }

    private boolean isSelected(Trial trial) {
        String property = System.getProperty(SELECT);
        List<String> globs = property == null ? patterns : List.of(property.split(","));
        return trial.set().compareTo(set) <= 0
                && trial.level().compareTo(level) <= 0
                && (globs.isEmpty() || globs.stream().anyMatch(glob -> Glob.matches(glob, trial.id())));
    }

    private static DynamicTest makeTest(Trial trial, Parser parser, Session session) {
        return DynamicTest.dynamicTest(trial.id(), () -> {
            Answer answer = Answer.of(trial, parser);
            Session.Result result = session.settle(trial, answer);
            switch (result.kind()) {
                case FAIL, STALE -> throw fail(result.text(), answer.raised());
                case KNOWN -> throw new TestAbortedException(result.text());
                case PASS, WARN -> {}
            }
        });
    }

    /** Returns a failure without a stack, which would show this file instead of the library. */
    private static AssertionError fail(String message, Exception cause) {
        AssertionError failure = new AssertionError(message, cause);
        failure.setStackTrace(new StackTraceElement[0]);
        return failure;
    }
}
