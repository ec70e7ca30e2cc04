package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.github.streamconform.Leaf.AnyOf;
import io.github.streamconform.Leaf.Literally;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;

/** Compares what an outcome has outside its content: one check per judged leaf. */
final class Fields {
    /** The fields that a client that raises may drop with the content. */
    private static final Set<String> LOST_WITH_CONTENT =
            Set.of("usage", "cost", "model", "response_id", "continuation");

    /** The counts that a library may include in its input, in the order of messages. */
    private static final List<String> CACHE_BUCKETS = List.of("usage.cache_read", "usage.cache_write");

    private static final String UNCACHED = "this is the part of the prompt that was not cached;"
            + " if the library counts the cached part separately, claim `cache_usage`";

    private Fields() {}

    static List<Check> compare(Expectation expect, Outcome outcome, Rules rules) {
        boolean tolerant = mayLoseContent(expect, outcome);
        List<Check> checks = new ArrayList<>();
        sumCacheUsage(expect.fields(), rules.claims()).forEach((path, leaf) -> {
            if (!rules.claims().covers(path) || isHidden(path, outcome, rules.claims())) return;
            JsonNode got = path.equals("echo") ? selectEcho(leaf, outcome.read(path)) : outcome.read(path);
            boolean isLost = tolerant && got.isNull() && LOST_WITH_CONTENT.contains(Claims.getGroup(path));
            Check check = checkLeaf(path, leaf, got, isLost ? rules.lowered() : rules.level());
            boolean isInput = path.equals("usage.input");
            checks.add(isInput ? explainInput(check, expect.fields(), outcome, rules.claims()) : check);
        });
        return checks;
    }

    /** Returns whether an outcome leaves out a value that it may leave out. */
    private static boolean isHidden(String path, Outcome outcome, Claims claims) {
        // A claim of `stop` promises a reason in every outcome. Without it, a reported reason is still judged.
        return outcome.absent().contains(path) && !(path.equals("stop.reason") && claims.has(Capability.STOP));
    }

    /** Returns whether the outcome correctly reports that the stream broke or failed, so that content may be lost. */
    static boolean mayLoseContent(Expectation expect, Outcome outcome) {
        return !outcome.isComplete() && expect.expectsStatus(outcome.read("status"));
    }

    /** Returns the members that a case names; the provider may add others at any time. */
    static JsonNode selectEcho(Leaf leaf, JsonNode got) {
        if (got.isNull() || !(leaf instanceof Literally named)) return got;
        ObjectNode selected = JsonNodeFactory.instance.objectNode();
        named.value().fieldNames().forEachRemaining(name -> {
            if (got.has(name)) selected.set(name, got.get(name));
        });
        return selected;
    }

    /** Returns the check on one leaf. */
    static Check checkLeaf(String path, Leaf leaf, JsonNode got, Level level) {
        boolean isMoney = path.startsWith("cost.") && !path.equals("cost.currency");
        Function<Leaf, Boolean> matches = each -> isMoney ? each.matchesAmount(got) : each.matches(got);
        Level judged = lowerIfUnsafe(leaf, level);
        boolean holds = matches.apply(leaf);
        if (holds && leaf instanceof AnyOf any && !matches.apply(new AnyOf(any.preferred(), List.of()))) {
            return Check.of(path, judged.lower(Level.SHOULD), leaf, got, false);
        }
        return Check.of(path, judged, leaf, got, holds);
    }

    /** JavaScript cannot represent some integers exactly, so a difference is at most a warning. */
    static Level lowerIfUnsafe(Leaf leaf, Level level) {
        boolean isUnsafe = leaf instanceof Literally literal && Json.hasUnsafeInteger(literal.value());
        return isUnsafe ? level.lower(Level.SHOULD) : level;
    }

    /** Returns the fields for these claims: without {@code CACHE_USAGE}, the input includes cache reads and writes. */
    static Map<String, Leaf> sumCacheUsage(Map<String, Leaf> fields, Claims claims) {
        if (!fields.containsKey("usage.input") || claims.has(Capability.CACHE_USAGE)) return fields;
        List<JsonNode> sums = listSums(fields, CACHE_BUCKETS, Leaf::values);
        if (sums.isEmpty()) return fields;
        List<JsonNode> preferred = listSums(fields, CACHE_BUCKETS, Leaf::preferred);
        Map<String, Leaf> summed = new LinkedHashMap<>(fields);
        Leaf any = new AnyOf(sums, preferred.equals(sums) ? List.of() : preferred);
        summed.put("usage.input", sums.size() == 1 ? new Literally(sums.get(0)) : any);
        return summed;
    }

    /** Returns the possible sums of the input and the counts in some buckets; null plus anything is null. */
    private static List<JsonNode> listSums(
            Map<String, Leaf> fields, List<String> buckets, Function<Leaf, List<JsonNode>> list) {
        Set<BigInteger> sums = new TreeSet<>(Comparator.nullsFirst(Comparator.naturalOrder()));
        list.apply(fields.get("usage.input")).forEach(value -> sums.add(toInteger(value)));
        for (String bucket : buckets) {
            // A bucket that is null or absent adds nothing, and neither does a matcher, which lists no values.
            List<JsonNode> listed = fields.containsKey(bucket) ? list.apply(fields.get(bucket)) : List.of();
            List<BigInteger> before = new ArrayList<>(sums);
            sums.clear();
            for (JsonNode part : listed.isEmpty() ? List.of(Json.NULL) : listed) {
                BigInteger count = part.isNull() ? BigInteger.ZERO : toInteger(part);
                before.forEach(sum -> sums.add(sum == null ? null : sum.add(count)));
            }
        }
        return sums.stream().map(Json::of).toList();
    }

    private static BigInteger toInteger(JsonNode count) {
        return count.isNull() ? null : count.bigIntegerValue();
    }

    /** Explains a wrong input that differs only in what was cached. */
    private static Check explainInput(Check check, Map<String, Leaf> fields, Outcome outcome, Claims claims) {
        Leaf uncached = fields.get("usage.input");
        if (check.isPassed()) return check;
        if (!Json.isEqual(check.expected(), uncached.toJson()) && uncached.matches(check.got())) {
            return check.withMessage(check.describeValues() + "; " + UNCACHED);
        }
        List<String> hidden = CACHE_BUCKETS.stream()
                .filter(path -> fields.containsKey(path) && outcome.absent().contains(path))
                .toList();
        if (!claims.has(Capability.CACHE_USAGE) || hidden.isEmpty() || check.got().isNull()) return check;
        boolean isSum = listSums(fields, hidden, Leaf::values).stream().anyMatch(sum -> Json.isEqual(sum, check.got()));
        // A client cannot subtract a number that the library does not expose.
        String names = String.join(" and ", hidden).replaceAll("usage.cache_(\\w+)", "cache $1s");
        String included = "; this includes the number of " + names + ", which is not exposed";
        return isSum ? check.warn().withMessage(check.describeValues() + included) : check;
    }
}
