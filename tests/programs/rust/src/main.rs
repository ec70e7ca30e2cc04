//! A program that is judged as `cmd:`: protocol v1 on stdin and stdout, and a reader of Chat Completions behind it.

mod chat;
mod json;

use json::{quoted, Json};
use std::io::{self, BufRead, Write};

const HELLO: &str = r#"{"op":"hello","protocol":1,"apis":["openai-chat"],
    "implementation":{"name":"chat-reader","version":"0.1.0","language":"rust"},
    "capabilities":["tool_calls","parallel_tool_calls","refusals","usage","cache_usage","usage_details","raw_stop","errors"]}"#;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let message = Json::parse(&line?).unwrap_or(Json::Null);
        match message.word("op") {
            Some("hello") => writeln!(out, "{}", HELLO.replace('\n', ""))?,
            Some("run") => writeln!(out, r#"{{"op":"result",{}}}"#, told(&message))?,
            Some("stop") => break,
            _ => {} // from a later version
        }
        out.flush()?;
    }
    Ok(())
}

/// What becomes of a response: its chunks are handed over one by one, as a socket would.
fn told(message: &Json) -> String {
    let id = quoted(message.word("id").unwrap_or(""));
    let input = message.get("input").unwrap_or(&Json::Null);
    if message.word("api") != Some("openai-chat") || input.word("mode") != Some("bytes") {
        return format!(r#""id":{id},"skipped":{{"reason":"reads bytes of openai-chat"}}"#);
    }
    let mut reader = chat::Reader::default();
    reader.http = input.get("status").and_then(Json::count).unwrap_or(200);
    for chunk in input.list("chunks").iter().filter_map(Json::text) {
        reader.feed(&decoded(chunk));
    }
    format!(r#""id":{id},"outcome":{}"#, reader.end())
}

fn decoded(base64: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for value in base64.bytes().map_while(|each| DIGITS.iter().position(|digit| *digit == each)) {
        (bits, held) = (bits << 6 | value as u32, held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
