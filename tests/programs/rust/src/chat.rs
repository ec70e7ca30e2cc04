//! OpenAI Chat Completions: bytes of server-sent events in, the answer out.

use crate::json::{or_null, quoted, Json};

enum Block {
    Said { kind: &'static str, text: String },
    Call { key: i64, id: String, name: String, arguments: String },
}

#[derive(Default)]
pub struct Reader {
    pub http: i64,
    body: Vec<u8>,
    at: usize,
    done: bool,
    blocks: Vec<Block>,
    finish: Option<String>,
    error: Option<String>,
    counts: [Option<i64>; 5],
    model: Option<String>,
    id: Option<String>,
}

/// The buckets of the outcome, and where `usage` holds them.
const COUNTS: [(&str, &[&str]); 5] = [
    ("input", &["prompt_tokens"]),
    ("output", &["completion_tokens"]),
    ("cache_read", &["prompt_tokens_details", "cached_tokens"]),
    ("cache_write", &["prompt_tokens_details", "cache_write_tokens"]),
    ("reasoning", &["completion_tokens_details", "reasoning_tokens"]),
];

impl Reader {
    /// Takes the frames that end in what has come so far.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.body.extend_from_slice(chunk);
        while let Some((data, next)) = frame(&self.body, self.at) {
            self.at = next;
            self.take(&data);
        }
    }

    pub fn end(mut self) -> String {
        let rest = [&self.body[self.at..], b"\n\n"].concat();
        if let Some((data, _)) = frame(&rest, 0) {
            if data == "[DONE]" || Json::parse(&data).is_some() {
                self.take(&data); // the empty line behind the last frame may be missing
            }
        }
        let body = String::from_utf8_lossy(&self.body).into_owned();
        if self.http >= 400 || !(body.is_empty() || body.contains("data:")) {
            let document = Json::parse(&body).unwrap_or(Json::Null);
            let told = document.get("error").unwrap_or(&document);
            self.error = Some(said(told, (self.http >= 400).then_some(self.http)));
        }
        self.outcome()
    }

    fn take(&mut self, data: &str) {
        match Json::parse(data) {
            _ if self.done || self.error.is_some() || data.trim().is_empty() => {}
            _ if data == "[DONE]" => self.done = true,
            Some(payload @ Json::Object(_)) => self.payload(&payload),
            _ => self.error = Some(format!(r#"{{"type":"protocol","message":{}}}"#, quoted(data))),
        }
    }

    fn payload(&mut self, payload: &Json) {
        self.model = self.model.take().or(payload.word("model").map(str::to_string));
        self.id = self.id.take().or(payload.word("id").map(str::to_string));
        if let Some(usage) = payload.get("usage") {
            for (known, (_, path)) in self.counts.iter_mut().zip(COUNTS) {
                // The last report wins; null and absence take nothing back.
                *known = path.iter().try_fold(usage, |holder, key| holder.get(key)).and_then(Json::count).or(*known);
            }
        }
        let first = |choice: &&Json| choice.get("index").and_then(Json::count).unwrap_or(0) == 0;
        for choice in payload.list("choices").iter().filter(first) {
            self.delta(choice.get("delta").unwrap_or(&Json::Null));
            self.finish = choice.word("finish_reason").map(str::to_string).or(self.finish.take());
        }
        self.error = payload.get("error").map(|error| said(error, None));
    }

    fn delta(&mut self, delta: &Json) {
        for (kind, name) in [("text", "content"), ("refusal", "refusal")] {
            let piece = if let Some(piece) = delta.word(name) { piece } else { continue };
            match self.blocks.last_mut() {
                Some(Block::Said { kind: last, text }) if *last == kind => text.push_str(piece),
                _ => self.blocks.push(Block::Said { kind, text: piece.to_string() }),
            }
        }
        for entry in delta.list("tool_calls") {
            let key = entry.get("index").and_then(Json::count).unwrap_or(0);
            self.fragment(key, entry.word("id"), entry.get("function").unwrap_or(&Json::Null));
        }
        // What there was before tools.
        delta.get("function_call").map(|function| self.fragment(-1, None, function));
    }

    /// The index says whose fragment it is, however they are mixed.
    fn fragment(&mut self, index: i64, given: Option<&str>, function: &Json) {
        let known = self.blocks.iter().position(|block| matches!(block, Block::Call { key, .. } if *key == index));
        let at = known.unwrap_or(self.blocks.len());
        if known.is_none() {
            let id = given.map_or(format!("call_{at}"), str::to_string);
            self.blocks.push(Block::Call { key: index, id, name: String::new(), arguments: String::new() });
        }
        if let Block::Call { name, arguments, .. } = &mut self.blocks[at] {
            let first = if name.is_empty() { function.word("name") } else { None };
            name.push_str(first.unwrap_or(""));
            arguments.push_str(function.word("arguments").unwrap_or(""));
        }
    }

    fn outcome(self) -> String {
        let finish = self.finish.as_deref();
        let any = |wanted: fn(&Block) -> bool| self.blocks.iter().any(wanted);
        let (status, reason) = match finish {
            _ if self.error.is_some() => ("error", Some("error")),
            None => ("incomplete", None),
            Some("stop") if any(|each| matches!(each, Block::Call { .. })) => ("complete", Some("tool_use")),
            Some("stop") if any(|each| matches!(each, Block::Said { kind: "refusal", .. })) => ("complete", Some("refusal")),
            Some("tool_calls" | "function_call") => ("complete", Some("tool_use")),
            Some(same @ ("stop" | "length" | "content_filter")) => ("complete", Some(same)),
            Some(_) => ("complete", Some("other")),
        };
        let cut = matches!(finish, Some("length" | "content_filter"));
        let last = self.blocks.len().saturating_sub(1);
        let content = self.blocks.iter().enumerate().map(|(i, block)| told(block, finish.is_some(), cut && i == last));
        let [input, output, read, write, reasoning] = self.counts;
        let fresh = input.map(|all| (all - read.unwrap_or(0) - write.unwrap_or(0)).max(0)); // disjoint buckets
        let counts = [fresh, output, read, write, reasoning].map(or_null);
        let usage = COUNTS.iter().zip(counts).map(|((name, _), count)| format!("\"{name}\":{count}"));
        format!(
            r#"{{"status":"{status}","content":[{}],"stop":{{"reason":{},"raw":{}}},"usage":{{{}}},"error":{},"model":{},"response_id":{}}}"#,
            content.collect::<Vec<_>>().join(","),
            or_null(reason.map(quoted)),
            or_null(finish.map(quoted)),
            usage.collect::<Vec<_>>().join(","),
            or_null(self.error),
            or_null(self.model.as_deref().map(quoted)),
            or_null(self.id.as_deref().map(quoted)),
        )
    }
}

/// A call ends with the finish reason; the last one of an answer that was cut only if its text parses. That text is
/// then the value, as it stands: a float never takes part. Line ends, which are space in it, would end our message.
fn told(block: &Block, ended: bool, cut: bool) -> String {
    let (id, name, arguments) = match block {
        Block::Said { kind, text } => return format!(r#"{{"type":"{kind}","text":{}}}"#, quoted(text)),
        Block::Call { id, name, arguments, .. } => (quoted(id), quoted(name), arguments),
    };
    let blank = arguments.trim().is_empty();
    let parses = !blank && Json::parse(arguments).is_some();
    let complete = ended && (parses || !cut);
    let value = if blank { "{}".to_string() } else { arguments.replace(['\n', '\r'], " ") };
    format!(
        r#"{{"type":"tool_call","id":{id},"name":{name},"arguments":{},"arguments_text":{},"complete":{complete}}}"#,
        or_null((complete && (blank || parses)).then_some(value)),
        quoted(arguments),
    )
}

/// What the provider said: an object, or text alone.
fn said(error: &Json, status: Option<i64>) -> String {
    let code = error.get("code").and_then(Json::count).map(|code| code.to_string());
    let kind = error.word("type").or(error.word("code")).or(code.as_deref());
    let message = error.word("message").or(error.text());
    let (kind, message, status) = (or_null(kind.map(quoted)), or_null(message.map(quoted)), or_null(status));
    format!(r#"{{"type":{kind},"message":{message},"status":{status}}}"#)
}

/// The data of the frame at `from`, which an empty line ends, and where the next begins; None while it goes on.
fn frame(body: &[u8], from: usize) -> Option<(String, usize)> {
    let mut data: Vec<String> = Vec::new();
    let mut at = if from == 0 && body.starts_with(b"\xef\xbb\xbf") { 3 } else { from };
    loop {
        let end = at + body[at..].iter().position(|each| b"\r\n".contains(each))?;
        let line = String::from_utf8_lossy(&body[at..end]);
        at = match (body[end], body.get(end + 1)) {
            (b'\r', Some(b'\n')) => end + 2,
            (b'\r', None) => return None, // the other half of the line end may follow
            _ => end + 1,
        };
        match line.strip_prefix("data:") {
            _ if line.is_empty() => return Some((data.join("\n"), at)),
            Some(value) => data.push(value.strip_prefix(' ').unwrap_or(value).to_string()),
            None => {} // a comment, or a field that says nothing here
        }
    }
}
