//! Judges recorded answers, one per line, so that another judge's verdicts can be compared with this one's.
//!
//! Reads `{"trial": …, "claims": […], "answer": {"outcome": …, "raised": …}}` from stdin, for trials of the suites in
//! the arguments, and writes the judgement of each.

use serde_json::{json, Value};
use std::{
    collections::BTreeMap,
    env,
    error::Error,
    io::{self, BufRead, BufWriter, Write},
};
use streamconform::{judge, Answer, Check, Claims, Judgement, Raised, Suite};

fn main() -> Result<(), Box<dyn Error>> {
    let suites = env::args().skip(1).map(Suite::read).collect::<Result<Vec<_>, _>>()?;
    let mut trials = BTreeMap::new();
    for suite in &suites {
        for case in &suite.cases {
            trials.extend(case.trials.iter().map(|trial| (trial.id.as_str(), (suite, case, trial))));
        }
    }
    let mut output = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line: Value = serde_json::from_str(&adapt(&line?))?;
        let id = line["trial"].as_str().ok_or("a line without `trial`")?;
        let (suite, case, trial) = trials.get(id).ok_or_else(|| format!("no trial {id}"))?;
        let claims: Claims =
            line["claims"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let text = |name: &str| line["answer"]["raised"][name].as_str().unwrap_or_default().to_owned();
        let answer = Answer {
            outcome: line["answer"]["outcome"].clone(),
            raised: line["answer"]
                .get("raised")
                .map(|_| Raised { kind: text("type"), message: text("message") }),
        };
        writeln!(output, "{}", describe(id, &judge(suite, case, trial, &answer, &claims)))?;
    }
    Ok(())
}

fn describe(id: &str, judgement: &Judgement) -> Value {
    let describe =
        |check: &Check| json!({"path": check.path, "level": check.level, "verdict": check.verdict});
    json!({
        "trial": id,
        "verdict": judgement.verdict,
        "culprit": judgement.culprit,
        "checks": judgement.checks.iter().map(describe).collect::<Vec<_>>(),
        "compared": judgement.compared.iter().collect::<Vec<_>>(),
    })
}

/// Returns JSON that `serde_json` reads without loss: integers that it would round are written as a suite writes them,
/// and halves of surrogate pairs, which Rust's text cannot hold, are replaced.
fn adapt(json: &str) -> String {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
    let (mut adapted, mut rest, mut in_text) = (String::with_capacity(json.len()), json, false);
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '\\' if in_text => measure_escape(rest),
            '0'..='9' | '-' if !in_text => rest.find(|c| !is_of_number(c)).unwrap_or(rest.len()),
            _ => next.len_utf8(),
        };
        in_text ^= next == '"';
        let (token, following) = rest.split_at(length);
        let is_integer = token.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        match parse_escape(token) {
            // At the end of a text, a half is the beginning of the next character.
            Some(0xd800..=0xdbff) if length == 6 && following.starts_with('"') => {}
            Some(0xd800..=0xdfff) if length == 6 => adapted.push(char::REPLACEMENT_CHARACTER),
            _ if is_integer && length > 18 => adapted += &format!("{{\"$integer\":\"{token}\"}}"),
            _ => adapted += token,
        }
        rest = following;
    }
    adapted
}

/// Returns the length of the escape at the beginning: of both halves of a pair.
fn measure_escape(text: &str) -> usize {
    let is_first = |code| (0xd800..0xdc00).contains(&code);
    let is_second = |code| (0xdc00..0xe000).contains(&code);
    match (parse_escape(text), text.get(6..).and_then(parse_escape)) {
        (Some(first), Some(second)) if is_first(first) && is_second(second) => 12,
        (Some(_), _) => 6,
        _ => 2,
    }
}

/// Returns the code of `\u1234`.
fn parse_escape(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}
