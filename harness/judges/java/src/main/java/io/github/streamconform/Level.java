package io.github.streamconform;

/** How strict a check is, from strictest to loosest. */
public enum Level {
    MUST,
    SHOULD,
    MAY;

    /** Returns the lower of two levels. */
    Level lower(Level other) {
        return compareTo(other) > 0 ? this : other;
    }

    /** Returns the verdict of a check at this level that does not hold. */
    Verdict whenFailed() {
        return switch (this) {
            case MUST -> Verdict.FAIL;
            case SHOULD -> Verdict.WARN;
            case MAY -> Verdict.MAY;
        };
    }
}
