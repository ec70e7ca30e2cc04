package io.github.streamconform;

/** Reads a stream with the library under test. */
@FunctionalInterface
public interface Parser {
    /**
     * Returns the outcome in the normal form (docs/outcome.md), as anything that Jackson writes so: a map, a record, or
     * a tree; or an {@link Answer}. A key that is left out is a value that the library does not expose, and null says
     * that there is no value.
     *
     * @throws Exception that the library raised; it is judged as the status {@code error}
     */
    Object parse(Input input) throws Exception;
}
