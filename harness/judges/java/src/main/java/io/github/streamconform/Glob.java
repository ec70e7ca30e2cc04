package io.github.streamconform;

import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * Matches ids with patterns: {@code *} stands for one component of an id or a part of it, {@code **} for any number.
 */
final class Glob {
    private static final Pattern PARTS = Pattern.compile("(\\*\\*)|(\\*)|[^*]+");
    private static final Pattern OLD_NAME = Pattern.compile("@recorded(?=[:.]|$)");

    private Glob() {}

    static Pattern compile(String pattern) {
        StringBuilder source = new StringBuilder();
        PARTS.matcher(pattern).results().map(Glob::translate).forEach(source::append);
        return Pattern.compile(source.toString(), Pattern.DOTALL);
    }

    private static String translate(MatchResult part) {
        if (part.group(1) != null) return ".*";
        return part.group(2) != null ? "[^/@:.]*" : Pattern.quote(part.group());
    }

    /** Returns an id or a pattern with the current names of deliveries. */
    static String update(String id) {
        return OLD_NAME.matcher(id).replaceAll("@as-is");
    }

    /**
     * Returns whether a pattern selects a trial; one without {@code *} and {@code /} matches every id that contains it.
     */
    static boolean matches(String pattern, String id) {
        String updated = update(pattern);
        if (!updated.contains("*") && !updated.contains("/")) return id.contains(updated);
        return compile(updated).matcher(updated.contains("@") ? id : id.split("@", 2)[0]).matches();
    }
}
