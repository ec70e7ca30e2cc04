package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * How the bytes of a trial are made from those of its case.
 *
 * @param exchange the recorded request and answer
 * @param pricing the prices, or null
 * @param prefix how many bytes of the answer are delivered, or -1 for all
 * @param append what is delivered after them
 * @param cuts where the chunks after the first begin, or null if each byte is a chunk
 */
record Delivery(JsonNode exchange, JsonNode pricing, int prefix, byte[] append, int[] cuts) {
    static Delivery read(JsonNode ofCase, JsonNode entry) {
        JsonNode cuts = entry.get("cuts");
        return new Delivery(
                ofCase.get("stream"),
                ofCase.path("pricing").isObject() ? ofCase.get("pricing") : Json.NULL,
                entry.path("prefix").asInt(-1),
                readBytes(entry, "append"),
                cuts.isArray() ? Json.items(cuts).mapToInt(JsonNode::intValue).toArray() : null);
    }

    private static byte[] readBytes(JsonNode entry, String name) {
        if (entry.has(name + "_base64")) return Base64.getDecoder().decode(entry.get(name + "_base64").textValue());
        return entry.path(name).asText().getBytes(StandardCharsets.UTF_8);
    }

    Input makeInput(Case owner) {
        Map<String, String> headers = new TreeMap<>();
        Json.members(exchange.path("headers")).forEach(one -> headers.put(one.getKey(), one.getValue().textValue()));
        int status = exchange.get("status").intValue();
        JsonNode request = exchange.path("request").path("body");
        return new Input(owner.api(), owner.isStream(), status, headers, request, pricing, makeChunks());
    }

    private List<byte[]> makeChunks() {
        byte[] whole = readBytes(exchange, "body");
        ByteArrayOutputStream delivered = new ByteArrayOutputStream();
        delivered.write(whole, 0, prefix < 0 ? whole.length : prefix);
        delivered.writeBytes(append);
        byte[] body = delivered.toByteArray();
        List<byte[]> chunks = new ArrayList<>();
        int from = 0;
        for (int to : cuts == null ? IntStream.range(1, body.length).toArray() : cuts) {
            if (from < to) chunks.add(Arrays.copyOfRange(body, from, to));
            from = to;
        }
        if (from < body.length) chunks.add(Arrays.copyOfRange(body, from, body.length));
        return chunks;
    }
}
