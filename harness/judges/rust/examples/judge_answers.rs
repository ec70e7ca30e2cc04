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
use streamconform::{judge, Answer, Claims, Culprit, Judgement, Raised, Suite};

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
        let line: Value = serde_json::from_str(&tag_large_integers(&line?))?;
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
    let checks = judgement.checks.iter().map(|check| {
        let (level, verdict) = (check.level.to_string(), check.verdict.to_string());
        json!({"path": check.path, "level": level, "verdict": verdict})
    });
    let culprit = judgement.culprit.map(|culprit| match culprit {
        Culprit::Implementation => "implementation",
        Culprit::Adapter => "adapter",
    });
    json!({
        "trial": id,
        "verdict": judgement.verdict.to_string(),
        "culprit": culprit,
        "checks": checks.collect::<Vec<_>>(),
        "compared": judgement.compared.iter().collect::<Vec<_>>(),
    })
}

/// Returns JSON in which integers that `serde_json` would round are written as a suite writes them.
fn tag_large_integers(text: &str) -> String {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
    let (mut tagged, mut rest, mut in_text) = (String::with_capacity(text.len()), text, false);
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '\\' if in_text => 2,
            '0'..='9' | '-' if !in_text => rest.find(|c| !is_of_number(c)).unwrap_or(rest.len()),
            _ => next.len_utf8(),
        };
        in_text ^= next == '"';
        let (token, following) = rest.split_at(length);
        if token.len() > 18 && token.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            tagged += &format!("{{\"$integer\":\"{token}\"}}");
        } else {
            tagged += token;
        }
        rest = following;
    }
    tagged
}
