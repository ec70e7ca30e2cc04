package io.github.streamconform;

/** The result of a check or of a trial, from worst to best. A trial is never {@code MAY}: it passes. */
public enum Verdict {
    FAIL,
    WARN,
    MAY,
    PASS
}
