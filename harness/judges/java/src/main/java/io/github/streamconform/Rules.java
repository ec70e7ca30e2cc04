package io.github.streamconform;

import java.util.List;

/**
 * What decides how one answer is compared.
 *
 * @param ordered whether the API's messages record the order of text and calls
 * @param mentions the ids and signatures in the stream, in the order of their first mention
 */
record Rules(Claims claims, Level level, boolean ordered, List<String> mentions) {
    /** Returns the level of checks that at most warn. */
    Level lowered() {
        return level.lower(Level.SHOULD);
    }
}
