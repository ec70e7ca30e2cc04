package io.github.streamconform;

/** Who is responsible for a difference: the library, or the parser that returns its outcome in a wrong form. */
public enum Culprit {
    IMPLEMENTATION,
    ADAPTER
}
