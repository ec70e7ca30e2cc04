//! Judges the answer to one trial.

use crate::{
    claims::find_compared,
    compare::{compare_outcome, escape_unprintable},
    leaf::Leaf,
    outcome::{Kind, Outcome},
    partial::compare_partial,
    suite::{Case, Expectation, Suite, Trial},
    value::to_json,
    Claims,
};
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// How strict a check is, from strictest to loosest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A difference is a failure.
    Must,
    /// A difference is a warning.
    Should,
    /// A difference is only recorded.
    May,
}

impl Level {
    /// Returns the lower of two levels.
    pub(crate) fn lower(self, other: Level) -> Level {
        self.max(other)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

/// The result of a check or of a trial, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// A value differs, or a rule is broken.
    Fail,
    /// The same, but the provider's documentation does not settle the point.
    Warn,
    /// The value of a check differs, without consequences. Never the verdict of a trial.
    May,
    /// Everything that was judged is right.
    Pass,
}

/// One comparison in a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The compared value: `content.0.text`, `usage.input`.
    pub path: String,
    /// How strict the check is.
    pub level: Level,
    /// The result.
    pub verdict: Verdict,
    /// The expected value or matcher.
    pub expected: Value,
    /// The received value.
    pub got: Value,
    /// What is wrong, if the values alone do not explain it.
    pub message: Option<String>,
}

impl Check {
    pub(crate) fn new(path: &str, level: Level, leaf: &Leaf, got: Value, holds: bool) -> Check {
        let verdict = if holds { Verdict::Pass } else { failed_verdict(level) };
        Check { path: path.to_owned(), level, verdict, expected: leaf.to_value(), got, message: None }
    }

    /// Returns the check for a rule, which is broken if there is a message.
    pub(crate) fn of_rule(path: &str, level: Level, message: Option<String>) -> Check {
        let verdict = if message.is_none() { Verdict::Pass } else { failed_verdict(level) };
        Check { path: path.to_owned(), level, verdict, expected: Value::Null, got: Value::Null, message }
    }

    /// Makes a failed check at most a warning.
    pub(crate) fn warn(&mut self) {
        self.level = self.level.lower(Level::Should);
        self.verdict = failed_verdict(self.level);
    }
}

/// Shows a check as `PATH: MESSAGE` or `PATH: expected JSON, got JSON`, which known failures match.
impl fmt::Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.message {
            Some(message) => write!(formatter, "{}: {message}", self.path),
            None => {
                let (expected, got) = (to_json(&self.expected), to_json(&self.got));
                write!(formatter, "{}: expected {expected}, got {got}", self.path)
            }
        }
    }
}

fn failed_verdict(level: Level) -> Verdict {
    match level {
        Level::Must => Verdict::Fail,
        Level::Should => Verdict::Warn,
        Level::May => Verdict::May,
    }
}

/// Who is responsible for a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Culprit {
    /// The client.
    Implementation,
    /// The function that returns the outcome, because the outcome is not in the normal form.
    Adapter,
}

/// The verdict on one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The worst check's verdict; a difference at level `may` passes.
    pub verdict: Verdict,
    /// Who is responsible, if a check did not pass.
    pub culprit: Option<Culprit>,
    /// All checks, also those that passed.
    pub checks: Vec<Check>,
    /// The claims of which the case expects a value, each with whether one was compared.
    pub compared: BTreeMap<String, bool>,
    /// The client's error, if it returned one.
    pub raised: Option<Raised>,
}

impl Judgement {
    fn new(checks: Vec<Check>, culprit: Culprit, compared: BTreeMap<String, bool>) -> Judgement {
        let worst = checks.iter().map(|check| check.verdict).min().unwrap_or(Verdict::Pass);
        Judgement {
            verdict: if worst == Verdict::May { Verdict::Pass } else { worst },
            culprit: Some(culprit).filter(|_| worst != Verdict::Pass),
            checks,
            compared,
            raised: None,
        }
    }

    /// Returns the judgement on a client that panicked, which is a failure even if the stream is broken.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Judgement {
        let text = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let message = format!("the client panicked: {}", escape_unprintable(text.unwrap_or("(no message)")));
        let check = Check::of_rule("invariant.no-panic", Level::Must, Some(message));
        Judgement::new(vec![check], Culprit::Implementation, BTreeMap::new())
    }

    /// Returns the checks that did not pass, worst first.
    pub fn failed(&self) -> Vec<&Check> {
        let mut failed: Vec<_> = self.checks.iter().filter(|check| check.verdict != Verdict::Pass).collect();
        failed.sort_by_key(|check| check.verdict);
        failed
    }
}

/// An error that the client returned instead of an outcome, or beside one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// The error's type.
    pub kind: String,
    /// The error's message.
    pub message: String,
}

/// What the client made of a trial's bytes: an outcome in the normal form, an error, or both.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The outcome (`conform schema outcome.v1`). An integer that `serde_json` cannot hold is
    /// `{"$integer": "123456789012345678901"}`.
    pub outcome: Value,
    /// The client's error. Without content, nothing is judged but that there should have been none.
    pub raised: Option<Raised>,
}

impl From<Value> for Answer {
    fn from(outcome: Value) -> Answer {
        Answer { outcome, raised: None }
    }
}

impl<E: fmt::Display> From<Result<Value, E>> for Answer {
    fn from(result: Result<Value, E>) -> Answer {
        result.map_or_else(
            |error| Answer {
                outcome: json!({"status": "error", "content": [], "stop": {"reason": "error"}}),
                raised: Some(Raised {
                    kind: std::any::type_name::<E>().to_owned(),
                    message: escape_unprintable(&error.to_string()),
                }),
            },
            Answer::from,
        )
    }
}

/// What decides how one answer is compared.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) claims: &'a Claims,
    pub(crate) level: Level,
    /// Whether the API's messages record the order of text and calls.
    pub(crate) ordered: bool,
    /// The ids and signatures in the stream, in the order in which they are first mentioned.
    pub(crate) mentions: &'a [String],
}

/// Judges the answer to a trial for a client with these claims.
pub fn judge(suite: &Suite, case: &Case, trial: &Trial, answer: &Answer, claims: &Claims) -> Judgement {
    let level = trial.level;
    let mut outcome = match Outcome::decode(&answer.outcome) {
        Ok(outcome) => outcome,
        // Nothing else can be judged until the function that returns the outcome is fixed.
        Err(problem) => {
            let check = Check::of_rule("invariant.outcome-schema", level, Some(problem));
            return Judgement::new(vec![check], Culprit::Adapter, BTreeMap::new());
        }
    };
    let expect = trial.expect.as_ref().unwrap_or(&case.expect);
    if let Some(raised) = &answer.raised {
        read_error_of_raised(expect, &mut outcome, raised);
    }
    let mentions = trial.mentions.as_ref().unwrap_or(&case.mentions);
    let context = Context { claims, level, ordered: suite.ordered, mentions };
    let mut checks = compare_outcome(expect, &outcome, context);
    checks.extend(compare_partial(expect, &outcome.content, context));
    let compared = find_compared(expect, &outcome, claims, &checks, answer.raised.is_some());
    if answer.raised.is_some() && outcome.status() != "complete" {
        checks.iter_mut().for_each(excuse_call);
    }
    if claims.has("tool_calls") || claims.has("provider_tools") {
        checks.push(Check::of_rule("invariant.unique-ids", level, find_repeated_id(&outcome)));
    }
    Judgement::new(checks, Culprit::Implementation, compared)
}

/// Puts the client's error into the outcome, unless the outcome already has one.
///
/// The error contains the provider's message, often with other text around it. The type and the status are attributes
/// that only the function that returns the outcome can read, so they count as not exposed.
fn read_error_of_raised(expect: &Expectation, outcome: &mut Outcome, raised: &Raised) {
    if !outcome.read("error").is_null() || !expect.fields.keys().any(|path| path.starts_with("error.")) {
        return;
    }
    let expected = expect.fields.get("error.message").map_or(&[][..], Leaf::values);
    let mut texts = expected.iter().filter_map(Value::as_str);
    let text = texts.find(|text| raised.message.contains(&escape_unprintable(text)));
    outcome.set_error(text.unwrap_or(&raised.message));
}

/// Makes a failed check at most a warning if it is about a call that must not be executed.
///
/// The caller gets the error instead of the outcome, so nobody runs a call in it; a function that keeps the content
/// must not be worse off than one that drops it.
fn excuse_call(check: &mut Check) {
    let parts: Vec<_> = check.path.split('.').collect();
    let is_of_call = match parts[..] {
        ["content", "complete_calls"] => true,
        ["content", i, "tool_call", "complete" | "arguments"] => i.parse::<usize>().is_ok(),
        _ => false,
    };
    if is_of_call && check.verdict == Verdict::Fail {
        check.warn();
    }
}

fn find_repeated_id(outcome: &Outcome) -> Option<String> {
    let mut seen = BTreeSet::new();
    let calls = outcome.content.iter().filter(|block| block.kind == Kind::ToolCall);
    let mut ids = calls.filter_map(|block| block.get("id").as_str());
    ids.find(|id| !seen.insert(*id)).map(|id| format!("two tool calls have the id `{id}`"))
}
