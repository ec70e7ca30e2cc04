package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;

/**
 * One way to deliver the answer of a case, or to break it.
 *
 * @param owner the case
 * @param name the delivery or fault
 * @param set the smallest set that has the trial
 * @param isOrdered whether the API's messages record the order of text and calls
 * @param mentions the ids and signatures in the stream, in the order of their first mention
 */
public record Trial(
        Case owner,
        String name,
        Level level,
        DeliverySet set,
        boolean isOrdered,
        Expectation expect,
        List<String> mentions,
        Delivery delivery) {
    /** Returns whether a trial's bytes can be handed to a parser: not if only a server can deliver them. */
    static boolean isCovered(JsonNode entry) {
        return !entry.has("transport") && Json.texts(entry.get("inputs")).anyMatch("bytes"::equals);
    }

    static Trial read(Case owner, JsonNode ofCase, JsonNode entry, boolean isOrdered) {
        JsonNode mentions = entry.has("mentions") ? entry.get("mentions") : ofCase.path("mentions");
        return new Trial(
                owner,
                entry.get("name").textValue(),
                Names.find(Level.class, entry.get("level").textValue()),
                Names.find(DeliverySet.class, entry.get("set").textValue()),
                isOrdered,
                entry.has("expect") ? Expectation.read(entry.get("expect")) : owner.expect(),
                Json.texts(mentions).toList(),
                Delivery.read(ofCase, entry));
    }

    /** Returns the case's id, {@code @}, and the name of the delivery or fault. */
    public String id() {
        return owner.id() + "@" + name;
    }

    public Input input() {
        return delivery.makeInput(owner);
    }
}
