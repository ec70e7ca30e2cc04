/* A program that is judged as `cmd:`: protocol v1 on stdin and stdout, and a reader of Anthropic Messages behind it.
 * C17 and POSIX's getline, nothing else. Memory lies in one arena that a run begins anew. */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory and text ---- */

typedef struct { char *at; size_t size; } Text;
typedef struct { char *at; size_t size, room; } Buffer;
typedef struct Page { struct Page *before; max_align_t bytes[]; } Page;
static Page *pages;

static void *taken(size_t size) {
    Page *page = calloc(1, sizeof *page + size + 1);
    if (!page) abort();
    page->before = pages;
    pages = page;
    return page->bytes;
}

static void forget(void) {
    for (Page *page = pages; page; page = pages) pages = page->before, free(page);
}

static void add(Buffer *to, const char *bytes, size_t size) {
    if (to->size + size > to->room) {
        to->room = 2 * (to->size + size) + 64;
        char *more = taken(to->room);
        if (to->size) memcpy(more, to->at, to->size);
        to->at = more;
    }
    if (size) memcpy(to->at + to->size, bytes, size);
    to->size += size;
}

static void say(Buffer *to, const char *words) { add(to, words, strlen(words)); }
static bool is(Text text, const char *word) { return text.size == strlen(word) && !memcmp(text.at, word, text.size); }

static void quote(Buffer *to, Text text) {
    say(to, "\"");
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.at[i];
        char escape[8];
        if (byte == '"' || byte == '\\') say(to, "\\"), add(to, text.at + i, 1);
        else if (byte < 0x20) snprintf(escape, sizeof escape, "\\u%04x", byte), say(to, escape);
        else add(to, text.at + i, 1);
    }
    say(to, "\"");
}

/* ---- JSON ---- */

typedef enum { NOTHING, WORD, NUMBER, STRING, LIST, OBJECT } Kind; /* WORD is true or false; null is NOTHING */
typedef struct Json { Kind kind; Text key, text, raw; struct Json *child, *next; } Json;
typedef struct { char *at, *end; } Cursor;

static void space(Cursor *from) { while (from->at < from->end && strchr(" \t\r\n", *from->at) && *from->at) from->at++; }

static bool skip(Cursor *from, const char *word) {
    size_t size = strlen(word);
    bool there = (size_t)(from->end - from->at) >= size && !memcmp(from->at, word, size);
    if (there) from->at += size;
    return there;
}

static long unit(Cursor *from) {
    long value = 0;
    for (int i = 0; i < 4; i++, from->at++) {
        const char *digits = "0123456789abcdef", *digit = NULL;
        if (from->at < from->end && *from->at) digit = strchr(digits, *from->at >= 'A' && *from->at <= 'F' ? *from->at | 0x20 : *from->at);
        if (!digit) return -1;
        value = value * 16 + (digit - digits);
    }
    return value;
}

static void utf8(Buffer *to, long code) {
    char bytes[4];
    int size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = size - 1; i > 0; i--, code >>= 6) bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(size == 1 ? code : (0xf00 >> size & 0xff) | code);
    add(to, bytes, (size_t)size);
}

static bool string(Cursor *from, Text *into) {
    Buffer text = {0};
    if (!skip(from, "\"")) return false;
    while (from->at < from->end && (unsigned char)*from->at >= 0x20) {
        char byte = *from->at++;
        if (byte == '"') return *into = (Text){text.at, text.size}, true;
        if (byte != '\\') { add(&text, &byte, 1); continue; }
        if (from->at == from->end) return false;
        const char *plain = "\"\\/bfnrt", *which = strchr(plain, *from->at);
        if (which && *which) { add(&text, "\"\\/\b\f\n\r\t" + (which - plain), 1), from->at++; continue; }
        if (!skip(from, "u")) return false;
        long first = unit(from), second = 0;
        char *behind = from->at;
        if (first < 0) return false;
        if (first >> 10 == 0x36 && skip(from, "\\u")) second = unit(from);
        if (second >> 10 == 0x37) first = 0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff);
        else from->at = behind, first = first >> 11 == 0x1b ? 0xfffd : first; /* half of a pair is no character */
        utf8(&text, first);
    }
    return false;
}

static Json *any(Cursor *from, int depth);

static Json *value(Cursor *from, int depth) { /* with the bytes that it is written in */
    space(from);
    char *begin = from->at;
    Json *json = any(from, depth);
    if (json) json->raw = (Text){begin, (size_t)(from->at - begin)};
    return json;
}

static Json *any(Cursor *from, int depth) {
    Json *json = taken(sizeof *json), **last = &json->child;
    char *begin = from->at;
    if (from->at == from->end || depth > 200) return NULL;
    if (*begin == '"') return json->kind = STRING, string(from, &json->text) ? json : NULL;
    if (skip(from, "null")) return json;
    if (skip(from, "true") || skip(from, "false")) return json->kind = WORD, json;
    if (*begin == '[' || *begin == '{') {
        const char *end = *begin == '[' ? "]" : "}";
        json->kind = *begin == '[' ? LIST : OBJECT;
        from->at++, space(from);
        for (bool first = true; !skip(from, end); first = false, space(from)) {
            Text key = {0};
            if (!first && !skip(from, ",")) return NULL;
            space(from);
            if (json->kind == OBJECT && (!string(from, &key) || (space(from), !skip(from, ":")))) return NULL;
            if (!(*last = value(from, depth + 1))) return NULL;
            (*last)->key = key, last = &(*last)->next;
        }
        return json;
    }
    while (from->at < from->end && *from->at && strchr("+-.eE0123456789", *from->at)) from->at++;
    json->kind = NUMBER, json->text = (Text){begin, (size_t)(from->at - begin)};
    return json->text.size && *begin != '+' && strchr("0123456789", from->at[-1]) ? json : NULL;
}

static Json *parse(Text text) {
    Cursor from = {text.at, text.at + text.size};
    Json *json = text.size ? value(&from, 0) : NULL;
    space(&from);
    return json && from.at == from.end ? json : NULL;
}

/* The member of an object, unless it is null; of duplicate keys the last one's. */
static Json *get(Json *json, const char *key) {
    Json *found = NULL;
    for (Json *each = json && json->kind == OBJECT ? json->child : NULL; each; each = each->next)
        if (is(each->key, key)) found = each;
    return found && found->kind != NOTHING ? found : NULL;
}

static Text word(Json *json, const char *key) {
    Json *found = get(json, key);
    return found && found->kind == STRING ? found->text : (Text){0};
}

static long number(Json *json, long otherwise) { return json && json->kind == NUMBER ? strtol(json->text.at, NULL, 10) : otherwise; }

/* ---- Anthropic Messages ---- */

typedef struct Block { long index; const char *type; Text id, name, signature, input; Buffer text; bool ended, redacted, server; struct Block *next; } Block;
typedef struct { Block *first; Text model, id, reason; Json *error; const char *protocol; long counts[7], http; bool stopped; } Answer;

static const char *const NAMES[7] = {"input", "cache_read", "cache_write", "output", "cache_write_1h", "reasoning", "web_searches"};
static const char *const PATHS[7][2] = {
    {"input_tokens"}, {"cache_read_input_tokens"}, {"cache_creation_input_tokens"}, {"output_tokens"},
    {"cache_creation", "ephemeral_1h_input_tokens"}, {"output_tokens_details", "thinking_tokens"}, {"server_tool_use", "web_search_requests"},
};
static const char *const STOPS[7][2] = {
    {"end_turn", "stop"}, {"stop_sequence", "stop"}, {"max_tokens", "length"}, {"model_context_window_exceeded", "length"},
    {"tool_use", "tool_use"}, {"refusal", "refusal"}, {"pause_turn", "pause"},
};

static void count(Answer *answer, Json *usage) { /* the last report wins; null and absence take nothing back */
    for (int i = 0; i < 7; i++) {
        Json *found = get(usage, PATHS[i][0]);
        if (PATHS[i][1]) found = get(found, PATHS[i][1]);
        answer->counts[i] = number(found, answer->counts[i]);
    }
}

static void begin(Answer *answer, long index, Json *given) {
    Block *block = taken(sizeof *block), **last = &answer->first;
    Text type = word(given, "type"), start;
    *block = (Block){.index = index, .type = "other", .id = word(given, "id"), .name = word(given, "name")};
    block->server = is(type, "server_tool_use") || is(type, "mcp_tool_use");
    block->redacted = is(type, "redacted_thinking");
    if (is(type, "text")) block->type = "text";
    if (is(type, "tool_use") || block->server) block->type = "tool_call";
    if (is(type, "thinking") || block->redacted) block->type = "thinking";
    if (get(given, "input")) block->input = get(given, "input")->raw;
    block->signature = word(given, block->redacted ? "data" : "signature");
    start = word(given, block->type);
    add(&block->text, start.at, start.size);
    while (*last) last = &(*last)->next;
    *last = block;
}

static void delta(Block *block, Json *given) {
    static const char *const KINDS[3][3] = {{"text_delta", "text", "text"}, {"thinking_delta", "thinking", "thinking"}, {"input_json_delta", "tool_call", "partial_json"}};
    for (int i = 0; i < 3; i++)
        if (is(word(given, "type"), KINDS[i][0]) && !strcmp(block->type, KINDS[i][1]))
            add(&block->text, word(given, KINDS[i][2]).at, word(given, KINDS[i][2]).size);
    if (is(word(given, "type"), "signature_delta")) block->signature = word(given, "signature");
}

static void payload(Answer *answer, Text data) {
    Json *json = parse(data);
    Text type = word(json, "type");
    Block *block = answer->first;
    long index = number(get(json, "index"), -1);
    if (answer->stopped || answer->error || answer->protocol || !data.size || is(data, "[DONE]")) return;
    if (!json) { answer->protocol = "a payload is no JSON"; return; }
    while (block && (block->index != index || block->ended)) block = block->next;
    if (is(type, "message_start")) {
        answer->model = word(get(json, "message"), "model"), answer->id = word(get(json, "message"), "id");
        count(answer, get(get(json, "message"), "usage"));
    } else if (is(type, "content_block_start")) begin(answer, index, get(json, "content_block"));
    else if (is(type, "content_block_delta") && block) delta(block, get(json, "delta"));
    else if (is(type, "content_block_stop") && block) block->ended = true;
    else if (is(type, "message_delta")) {
        Text reason = word(get(json, "delta"), "stop_reason");
        if (reason.size) answer->reason = reason;
        count(answer, get(json, "usage"));
    } else if (is(type, "message_stop")) answer->stopped = true;
    else if (is(type, "error")) answer->error = get(json, "error") ? get(json, "error") : json;
}

/* Takes the frames that an empty line ends, and returns what lies behind the last of them. */
static Text frames(Answer *answer, Text body, bool over) {
    Buffer data = {0};
    Text rest = body;
    for (char *line = body.at, *end = body.at + body.size, *stop; line < end; ) {
        for (stop = line; stop < end && *stop != '\n' && *stop != '\r'; stop++) {}
        if (stop == end || (!over && *stop == '\r' && stop + 1 == end)) break;
        char *next = stop + (*stop == '\r' && stop + 1 < end && stop[1] == '\n' ? 2 : 1);
        if (stop - line >= 3 && !memcmp(line, "\xef\xbb\xbf", 3)) line += 3;
        if (line == stop) {
            if (data.at) payload(answer, (Text){data.at, data.size});
            data = (Buffer){0}, rest = (Text){next, (size_t)(end - next)};
        } else if (stop - line >= 5 && !memcmp(line, "data:", 5)) {
            line += line[5] == ' ' ? 6 : 5;
            if (data.at) add(&data, "\n", 1);
            add(&data, line, (size_t)(stop - line));
            if (!data.at) add(&data, "", 0), data.at = taken(1);
        }
        line = next;
    }
    if (over && data.at && parse((Text){data.at, data.size})) payload(answer, (Text){data.at, data.size}); /* its empty line is missing */
    return rest;
}

/* ---- the outcome ---- */

static void member(Buffer *out, const char *name, Text text) {
    say(out, ",\""), say(out, name), say(out, "\":");
    if (text.at) quote(out, text);
    else say(out, "null");
}

static bool call(Buffer *out, Block *block, bool cut) { /* returns whether the client is to run it */
    Text text = {block->text.at, block->text.size}, blank = block->input.size ? block->input : (Text){"{}", 2};
    bool empty = true, parses = parse(text) != NULL;
    for (size_t i = 0; i < text.size; i++) empty = empty && strchr(" \t\r\n", text.at[i]);
    bool complete = block->ended && (parses || !cut);
    member(out, "id", block->id), member(out, "name", block->name), member(out, "arguments_text", empty ? (Text){"", 0} : text);
    say(out, complete ? ",\"complete\":true" : ",\"complete\":false");
    say(out, block->server ? ",\"executor\":\"provider\"" : ",\"executor\":\"client\"");
    if (empty) text = blank;
    for (size_t i = 0; i < text.size; i++) if (text.at[i] == '\n' || text.at[i] == '\r') text.at[i] = ' '; /* space, where it parses */
    if (complete && (empty || parses)) say(out, ",\"arguments\":"), add(out, text.at, text.size);
    return complete && !block->server;
}

static void outcome(Buffer *out, Answer *answer) {
    const char *status = answer->error || answer->protocol ? "error" : answer->stopped ? "complete" : "incomplete", *reason = "other";
    bool calls = false, over = *status == 'c';
    for (int i = 0; i < 7; i++) if (is(answer->reason, STOPS[i][0])) reason = STOPS[i][1];
    say(out, "{\"status\":\""), say(out, status), say(out, "\",\"content\":[");
    for (Block *block = answer->first; block; block = block->next) {
        say(out, block == answer->first ? "{\"type\":\"" : ",{\"type\":\""), say(out, block->type), say(out, "\"");
        if (!strcmp(block->type, "tool_call")) calls |= call(out, block, over && !strcmp(reason, "length") && !block->next);
        else if (!strcmp(block->type, "other")) say(out, ",\"kind\":\"block\"");
        else member(out, "text", (Text){block->text.at ? block->text.at : "", block->text.size});
        if (!strcmp(block->type, "thinking")) member(out, "signature", block->signature);
        say(out, block->redacted ? ",\"redacted\":true}" : "}");
    }
    if (calls && !strcmp(reason, "stop")) reason = "tool_use";
    say(out, "],\"stop\":{\"reason\":"), quote(out, *status == 'e' ? (Text){"error", 5} : (Text){(char *)reason, strlen(reason)});
    if (*status == 'i') out->size -= strlen(reason) + 2, say(out, "null");
    member(out, "raw", over ? answer->reason : (Text){0}), say(out, "},\"usage\":{");
    for (int i = 0; i < 7; i++) {
        char text[64];
        if (answer->counts[i] >= 0) snprintf(text, sizeof text, "%s\"%s\":%ld", out->at[out->size - 1] == '{' ? "" : ",", NAMES[i], answer->counts[i]), say(out, text);
    }
    say(out, "}"), member(out, "model", answer->model), member(out, "response_id", answer->id);
    if (*status == 'e') {
        char http[32];
        snprintf(http, sizeof http, answer->http >= 400 ? "%ld" : "null", answer->http);
        say(out, ",\"error\":{\"status\":"), say(out, http);
        member(out, "type", answer->protocol ? (Text){"protocol", 8} : word(answer->error, "type"));
        member(out, "message", answer->error ? word(answer->error, "message") : (Text){0}), say(out, "}");
    }
    say(out, "}");
}

static void decode(Buffer *to, Text base64) {
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    int held = 0;
    for (size_t i = 0; i < base64.size && base64.at[i] != '='; i++) {
        const char *digit = strchr(DIGITS, base64.at[i]);
        bits = bits << 6 | (uint32_t)(digit ? digit - DIGITS : 0), held += 6;
        if (held >= 8) held -= 8, add(to, &(char){(char)(bits >> held)}, 1);
    }
}

static void run(Buffer *out, Json *message) {
    Json *input = get(message, "input"), *chunks = get(input, "chunks");
    Answer answer = {.counts = {-1, -1, -1, -1, -1, -1, -1}, .http = number(get(input, "status"), 200)};
    Buffer body = {0};
    size_t at = 0;
    for (Json *each = chunks ? chunks->child : NULL; each; each = each->next) { /* one by one, as a socket would */
        decode(&body, each->text);
        at = body.size - frames(&answer, (Text){body.at + at, body.size - at}, false).size;
    }
    if (body.size) add(&body, "\n", 1), frames(&answer, (Text){body.at + at, body.size - at}, true);
    if (answer.http >= 400 || (body.size && strchr("<{[", *body.at))) { /* a document, and no stream */
        Json *told = parse((Text){body.at, body.size});
        answer.error = get(told, "error") ? get(told, "error") : told ? told : taken(sizeof *told);
    }
    outcome(out, &answer);
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    for (ssize_t size; (size = getline(&line, &room, stdin)) > 0; forget()) {
        Json *message = parse((Text){line, (size_t)size});
        Buffer out = {0};
        if (is(word(message, "op"), "stop")) break;
        if (is(word(message, "op"), "hello"))
            say(&out, "{\"op\":\"hello\",\"protocol\":1,\"implementation\":{\"name\":\"messages-reader\",\"version\":\"0.1.0\",\"language\":\"c\"},"
                      "\"apis\":[\"anthropic-messages\"],\"capabilities\":[\"tool_calls\",\"parallel_tool_calls\",\"provider_tools\",\"thinking\","
                      "\"signatures\",\"usage\",\"cache_usage\",\"usage_details\",\"raw_stop\",\"errors\"]");
        else if (is(word(message, "op"), "run")) {
            say(&out, "{\"op\":\"result\""), member(&out, "id", word(message, "id"));
            if (is(word(message, "api"), "anthropic-messages")) say(&out, ",\"outcome\":"), run(&out, message);
            else say(&out, ",\"skipped\":{\"reason\":\"reads anthropic-messages\"}");
        } else continue; /* from a later version */
        say(&out, "}\n");
        fwrite(out.at, 1, out.size, stdout), fflush(stdout);
    }
    forget(), free(line);
}
