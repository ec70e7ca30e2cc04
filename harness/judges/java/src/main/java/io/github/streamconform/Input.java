package io.github.streamconform;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * What a parser gets. It never sees the expectation, or the names of the case and the delivery.
 *
 * @param api the API, such as {@code anthropic-messages}
 * @param isStream false for an answer that is one document
 * @param status the status of the HTTP response
 * @param headers the headers of the HTTP response, by lower-case name
 * @param request the body of the request that the bytes answer
 * @param pricing the prices for {@code cost}, or null
 * @param chunks the body, one chunk per network read
 */
public record Input(
        String api,
        boolean isStream,
        int status,
        Map<String, String> headers,
        JsonNode request,
        JsonNode pricing,
        List<byte[]> chunks) {
    /** Returns the body as a stream that gives at most one chunk per read. */
    public InputStream stream() {
        List<ByteArrayInputStream> streams = chunks.stream().map(ByteArrayInputStream::new).toList();
        return new SequenceInputStream(Collections.enumeration(streams));
    }
}
