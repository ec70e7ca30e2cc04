package io.github.streamconform;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/**
 * Every trial of one API whose bytes a parser can be given.
 *
 * @param ids the ids of all cases in the file, also of those that need more than bytes
 */
public record Suite(String api, List<Trial> trials, List<String> ids) {
    private static final Set<String> KINDS = Set.of("stream", "document");

    /** Reads a {@code suite-<api>.json.gz}. */
    public static Suite read(Path path) throws IOException {
        try (InputStream file = new GZIPInputStream(new BufferedInputStream(Files.newInputStream(path)))) {
            return of(Json.MAPPER.readTree(file));
        } catch (JsonProcessingException | ZipException | IllegalArgumentException error) {
            throw new IOException(path + ": " + error.getMessage(), error);
        }
    }

    static Suite of(JsonNode suite) {
        if (suite.path("suite").asInt() != 1) throw new IllegalArgumentException("not a suite of version 1");
        boolean isOrdered = suite.path("ordered_content").asBoolean(true);
        List<Trial> trials = new ArrayList<>();
        List<String> ids = new ArrayList<>();
        for (JsonNode entry : suite.get("cases")) {
            ids.add(entry.get("id").textValue());
            if (!KINDS.contains(entry.get("kind").textValue())) continue;
            JsonNode ofCase = Json.restoreIntegers(entry);
            Case owner = Case.read(ofCase);
            for (JsonNode trial : ofCase.get("trials")) {
                if (Trial.isCovered(trial)) trials.add(Trial.read(owner, ofCase, trial, isOrdered));
            }
        }
        return new Suite(suite.get("api").textValue(), trials, ids);
    }
}
