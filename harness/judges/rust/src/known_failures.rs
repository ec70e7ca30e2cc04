//! Known failures: which failures a project has listed, and which entries are out of date.

use crate::{Check, Judgement, Suite, Verdict};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use std::{
    fs, io,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

/// A glob for ids such as `api/topic/case@delivery:check`; `*` matches one component or part of one, `**` any number.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    case: Regex,
    delivery: Option<Regex>,
    check: Option<Regex>,
}

impl Pattern {
    pub(crate) fn parse(pattern: &str) -> Pattern {
        let (subject, check) = pattern.split_once(':').map_or((pattern, None), |(a, b)| (a, Some(b)));
        let (case, delivery) = subject.split_once('@').map_or((subject, None), |(a, b)| (a, Some(b)));
        Pattern { case: compile(case), delivery: delivery.map(compile), check: check.map(compile) }
    }

    /// Returns whether the pattern, without its check, matches a trial.
    pub(crate) fn matches(&self, trial_id: &str) -> bool {
        let (case, delivery) = trial_id.split_once('@').unwrap_or((trial_id, ""));
        self.case.is_match(case) && self.delivery.as_ref().map_or(true, |glob| glob.is_match(delivery))
    }

    fn has_check(&self, path: &str) -> bool {
        self.check.as_ref().map_or(true, |glob| glob.is_match(path))
    }
}

fn compile(glob: &str) -> Regex {
    let many = glob.split("**").map(|part| {
        let parts: Vec<_> = part.split('*').map(regex::escape).collect();
        parts.join("[^/@:.]*")
    });
    let glob = many.collect::<Vec<_>>().join(".*");
    Regex::new(&format!("^(?s:{glob})$")).expect("everything but the wildcards is escaped")
}

/// The known failures in a file, as `conform run --known-failures` reads it.
#[derive(Debug)]
pub struct KnownFailures {
    path: String,
    entries: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    known_failures: u32,
    implementation: Option<String>,
    #[serde(rename = "scope")]
    _scope: Option<Value>,
    entries: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(rename = "match")]
    pattern: Option<String>,
    verdict: Option<String>,
    message: Option<String>,
    reason: String,
    issue: String,
    expires: Option<String>,
    cause: Option<String>,
    #[serde(rename = "api")]
    _api: Option<String>,
    #[serde(rename = "trials")]
    _trials: Option<u32>,
    #[serde(rename = "example")]
    _example: Option<String>,
    #[serde(skip)]
    line: usize,
}

/// How a trial relates to an entry that names it.
#[derive(Clone, Copy, PartialEq)]
enum Status {
    /// It fails as the entry says.
    Matched,
    Passing,
    /// It fails in another way.
    Mismatched,
    /// The only difference is at level `may`, or the check may not have been made.
    Inconclusive,
}

impl KnownFailures {
    /// Reads a file.
    ///
    /// Entries by `cause` cover nothing here, because only the reports of `conform run` find causes: list the trials
    /// by `match`.
    pub fn read(path: impl AsRef<Path>) -> io::Result<KnownFailures> {
        let path = path.as_ref().display().to_string();
        let text = fs::read_to_string(&path)?;
        let fail = |message: String| io::Error::new(io::ErrorKind::InvalidData, format!("{path}: {message}"));
        let mut file: File = serde_yaml::from_str(&text).map_err(|error| fail(error.to_string()))?;
        if file.known_failures != 1 {
            return Err(fail("not a file of known failures, version 1".to_owned()));
        }
        for (entry, line) in file.entries.iter_mut().zip(find_lines(&text)) {
            entry.line = line;
            let is_pattern = entry.pattern.is_some() && entry.verdict.is_some();
            if is_pattern == entry.cause.is_some() {
                return Err(fail(format!("line {line}: an entry has `match` and `verdict`, or a `cause`")));
            }
        }
        // An entry for one implementation is about a value of `--impl`.
        file.entries.retain(|entry| entry.pattern.is_some() && file.implementation.is_none());
        Ok(KnownFailures { path, entries: file.entries })
    }

    /// Returns the reasons of the entries that cover every failure of a trial, or None.
    pub(crate) fn find_reason(&self, trial_id: &str, judgement: &Judgement, strict: bool) -> Option<String> {
        let is_failure =
            |check: &&Check| check.verdict == Verdict::Fail || (strict && check.verdict == Verdict::Warn);
        let failed: Vec<_> = judgement.checks.iter().filter(is_failure).collect();
        let matched: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| entry.status(trial_id, judgement) == Some(Status::Matched))
            .map(|entry| (entry.glob(), format!("{} ({})", entry.reason, entry.issue)))
            .collect();
        let is_listed = |check: &&Check| matched.iter().any(|(glob, _)| glob.has_check(&check.path));
        let reasons: Vec<_> = matched.iter().map(|(_, reason)| reason.as_str()).collect();
        (!failed.is_empty() && failed.iter().all(is_listed)).then(|| reasons.join("; "))
    }

    /// Returns a message about each entry that is out of date.
    pub(crate) fn list_outdated(&self, judged: &[(&str, Judgement)], suites: &[Suite]) -> Vec<String> {
        let today = format_today();
        let mut messages = Vec::new();
        for (i, entry) in self.entries.iter().enumerate() {
            let mut add = |message: String| {
                let pattern = entry.pattern.as_deref().unwrap_or_default();
                messages.push(format!("{}:{}: `{pattern}` {message}", self.path, entry.line));
            };
            let of_trials =
                judged.iter().filter_map(|(trial_id, judgement)| entry.status(trial_id, judgement));
            if let Some(problem) = explain_statuses(&of_trials.collect::<Vec<_>>()) {
                add(problem);
            }
            if entry.is_unmatched(suites) {
                add(
                    "matches nothing in the suite (was a case renamed?): fix the pattern or remove the entry"
                        .into(),
                );
            }
            if let Some(expires) = entry.expires.as_ref().filter(|expires| **expires < today) {
                add(format!("expired on {expires}: fix the failure or set a later date"));
            }
            if let Some(first) = self.entries[..i].iter().find(|first| first.key() == entry.key()) {
                add(format!("is a duplicate of the entry on line {}: remove one", first.line));
            }
        }
        messages
    }
}

impl Entry {
    fn key(&self) -> [Option<&str>; 3] {
        [self.pattern.as_deref(), self.verdict.as_deref(), self.message.as_deref()]
    }

    fn glob(&self) -> Pattern {
        Pattern::parse(self.pattern.as_deref().unwrap_or_default())
    }

    fn status(&self, trial_id: &str, judgement: &Judgement) -> Option<Status> {
        let glob = self.glob();
        // Nothing here finds hangs, and an outcome that a test makes has no adapter error.
        if self.verdict.as_deref() != Some("fail") || !glob.matches(trial_id) {
            return None;
        }
        let failed: Vec<_> =
            judgement.failed().into_iter().filter(|check| glob.has_check(&check.path)).collect();
        if let Some(worst) = failed.first().filter(|check| check.verdict != Verdict::May) {
            let has_message =
                self.message.as_ref().map_or(true, |start| worst.to_string().starts_with(start));
            return Some(if has_message { Status::Matched } else { Status::Mismatched });
        }
        if !failed.is_empty() {
            return Some(Status::Inconclusive);
        }
        if glob.check.is_none() {
            return Some(Status::Passing);
        }
        if judgement.checks.iter().any(|check| check.path == "invariant.outcome-schema") {
            return Some(Status::Mismatched);
        }
        judgement.checks.iter().any(|check| glob.has_check(&check.path)).then_some(Status::Passing)
    }

    /// Returns whether no case of these suites has an id that the entry matches.
    fn is_unmatched(&self, suites: &[Suite]) -> bool {
        let pattern = self.pattern.as_deref().unwrap_or_default();
        let api = pattern.split('/').next().unwrap_or_default();
        let mut of_api = suites.iter().filter(|suite| suite.api == api).peekable();
        // Cases about behavior are in no file.
        let is_known = of_api.peek().is_some() && !pattern.starts_with(&format!("{api}/behavior/"));
        let glob = self.glob();
        is_known && !of_api.any(|suite| suite.ids.iter().any(|id| glob.case.is_match(id)))
    }
}

fn explain_statuses(statuses: &[Status]) -> Option<String> {
    let count = |status| statuses.iter().filter(|other| **other == status).count();
    let (matched, passing) = (count(Status::Matched), count(Status::Passing));
    if matched > 0 && passing > 0 {
        return Some(format!("fails in only {matched} of {} trials: narrow the pattern", matched + passing));
    }
    if matched > 0 || statuses.is_empty() {
        return None;
    }
    Some(if count(Status::Mismatched) > 0 {
        "fails in a different way: update or remove the entry".to_owned()
    } else {
        format!("is fixed, all {} trials pass: remove the entry", statuses.len())
    })
}

/// Returns the lines of the entries, counted from 1: those with the dashes that are least indented.
fn find_lines(text: &str) -> impl Iterator<Item = usize> + '_ {
    let lines = || text.lines().enumerate().skip_while(|(_, line)| !line.starts_with("entries:"));
    let indent = |line: &str| line.len() - line.trim_start().len();
    let dashes = move || lines().filter(|(_, line)| line.trim_start().starts_with('-'));
    let least = dashes().map(|(_, line)| indent(line)).min();
    dashes().filter(move |(_, line)| Some(indent(line)) == least).map(|(i, _)| i + 1)
}

/// Returns today's date, such as `2026-12-31`, by <https://howardhinnant.github.io/date_algorithms.html>.
fn format_today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |duration| duration.as_secs());
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    format!("{}-{month:02}-{day:02}", year + era * 400 + u64::from(month <= 2))
}
