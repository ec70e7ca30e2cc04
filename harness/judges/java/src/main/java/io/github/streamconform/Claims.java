package io.github.streamconform;

import java.util.Optional;
import java.util.Set;

/** The capabilities that are claimed. */
record Claims(Set<Capability> capabilities) {
    boolean has(Capability capability) {
        return capabilities.contains(capability);
    }

    /** Returns whether the value at a path outside the content is judged. */
    boolean covers(String path) {
        return findRequired(path).map(this::has).orElse(true);
    }

    /** Returns whether calls by an executor are judged. */
    boolean hasCallsOf(boolean isOfProvider) {
        return has(isOfProvider ? Capability.PROVIDER_TOOLS : Capability.TOOL_CALLS);
    }

    /** Returns whether a field of a block is judged. */
    boolean hasField(BlockType type, String name) {
        boolean isSigned = type == BlockType.THINKING || type == BlockType.TEXT || type == BlockType.TOOL_CALL;
        return !(isSigned && name.equals("signature")) || has(Capability.SIGNATURES);
    }

    /** Returns the capability without which the value at a path outside the content is not judged. */
    static Optional<Capability> findRequired(String path) {
        Capability capability =
                switch (path) {
                    case "usage.reasoning", "usage.web_searches", "usage.cache_write_1h" -> Capability.USAGE_DETAILS;
                    case "usage.cache_read", "usage.cache_write" -> Capability.CACHE_USAGE;
                    case "stop.raw" -> Capability.RAW_STOP;
                    default -> switch (getGroup(path)) {
                        case "usage" -> Capability.USAGE;
                        case "cost" -> Capability.COST;
                        case "error" -> Capability.ERRORS;
                        default -> null;
                    };
                };
        return Optional.ofNullable(capability);
    }

    /** Returns what a path is in: {@code usage} of {@code usage.input}. */
    static String getGroup(String path) {
        return path.split("\\.", 2)[0];
    }
}
