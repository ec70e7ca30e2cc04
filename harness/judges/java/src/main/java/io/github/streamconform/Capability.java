package io.github.streamconform;

import java.util.EnumSet;
import java.util.Set;

/** What a library can claim to expose; only what is claimed is judged. */
public enum Capability {
    TOOL_CALLS,
    PARALLEL_TOOL_CALLS,
    PROVIDER_TOOLS,
    THINKING,
    SIGNATURES,
    USAGE,
    CACHE_USAGE,
    USAGE_DETAILS,
    COST,
    ERRORS,
    REFUSALS,
    STOP,
    RAW_STOP,
    /** Answers that are not streamed; the only capability that must be claimed by name. */
    DOCUMENTS;

    /** Returns all claims of streams. */
    public static Set<Capability> ofStreams() {
        return EnumSet.complementOf(EnumSet.of(DOCUMENTS));
    }
}
