package io.github.streamconform;

/**
 * The types of content blocks, in the order in which they are compared if the API does not order the blocks in a
 * message.
 */
public enum BlockType {
    THINKING,
    TEXT,
    REFUSAL,
    TOOL_CALL,
    OTHER;

    /** Returns the name that the paths of checks use for a field: {@code text}, {@code tool_call.arguments}. */
    String path(String field) {
        boolean isJoined = this == TEXT || this == REFUSAL;
        return isJoined && field.equals("text") ? Names.of(this) : Names.of(this) + "." + field;
    }
}
