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
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "String")]
pub(crate) struct Pattern {
    text: String,
    case: Regex,
    delivery: Option<Regex>,
    check: Option<Regex>,
}

impl From<String> for Pattern {
    fn from(text: String) -> Pattern {
        let (subject, check) = text.split_once(':').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
        let (case, delivery) = subject.split_once('@').map_or((subject, None), |(a, b)| (a, Some(b)));
        let (case, delivery, check) = (compile(case), delivery.map(compile), check.map(compile));
        Pattern { text, case, delivery, check }
    }
}

impl Pattern {
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
    let one = |part: &str| part.split('*').map(regex::escape).collect::<Vec<_>>().join("[^/@:.]*");
    let glob = glob.split("**").map(one).collect::<Vec<_>>().join(".*");
    Regex::new(&format!("^(?s:{glob})$")).expect("everything but the wildcards is escaped")
}

/// Known failures, from files that `conform run --known-failures` reads too.
#[derive(Debug, Default)]
pub struct KnownFailures(Vec<Entry>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    known_failures: u32,
    implementation: Option<String>,
    #[serde(rename = "scope")]
    _scope: Option<Value>,
    entries: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(rename = "match")]
    pattern: Pattern,
    verdict: String,
    message: Option<String>,
    reason: String,
    issue: String,
    expires: Option<String>,
    /// The file and the line.
    #[serde(skip)]
    place: String,
}

/// How a trial relates to an entry that names it.
#[derive(Clone, Copy, PartialEq)]
enum Status {
    /// It fails as the entry says.
    Matched,
    Passing,
    /// It fails in another way.
    Mismatched,
    /// The only difference is at level `may`.
    Inconclusive,
}

impl KnownFailures {
    /// Reads a file.
    ///
    /// Entries by `cause` cover nothing here, because only the reports of `conform run` find causes: list the trials
    /// by `match`. A file for one `implementation` is about a value of `--impl`, and counts as empty.
    pub fn read(path: impl AsRef<Path>) -> io::Result<KnownFailures> {
        let path = path.as_ref().display().to_string();
        let text = fs::read_to_string(&path)?;
        let fail = |place: &str, problem: &str| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{place}: {problem}"))
        };
        let file: File = serde_yaml::from_str(&text).map_err(|error| fail(&path, &error.to_string()))?;
        if file.known_failures != 1 {
            return Err(fail(&path, "not a file of known failures, version 1"));
        }
        let is_pattern = |(entry, _): &(Value, usize)| entry.get("cause").is_none();
        let parse = |(entry, line): (Value, usize)| {
            let place = format!("{path}:{line}");
            match serde_json::from_value::<Entry>(entry) {
                Ok(entry) => Ok(Entry { place, ..entry }),
                Err(error) => Err(fail(&place, &error.to_string())),
            }
        };
        let entries = file.entries.into_iter().zip(find_lines(&text)).filter(is_pattern).map(parse);
        let entries = entries.collect::<Result<_, _>>()?;
        Ok(if file.implementation.is_none() { KnownFailures(entries) } else { KnownFailures::default() })
    }

    pub(crate) fn extend(&mut self, others: KnownFailures) {
        self.0.extend(others.0);
    }

    /// Returns the reasons of the entries that cover every failure of a trial, or None.
    pub(crate) fn find_reason(&self, trial_id: &str, judgement: &Judgement, strict: bool) -> Option<String> {
        let is_failure =
            |check: &&Check| check.verdict == Verdict::Fail || (strict && check.verdict == Verdict::Warn);
        let is_matched = |entry: &&Entry| entry.status(trial_id, judgement) == Some(Status::Matched);
        let failed: Vec<_> = judgement.checks.iter().filter(is_failure).collect();
        let matched: Vec<_> = self.0.iter().filter(is_matched).collect();
        let is_listed = |check: &&Check| matched.iter().any(|entry| entry.pattern.has_check(&check.path));
        let reasons = matched.iter().map(|entry| format!("{} ({})", entry.reason, entry.issue));
        let is_known = !failed.is_empty() && failed.iter().all(is_listed);
        is_known.then(|| reasons.collect::<Vec<_>>().join("; "))
    }

    /// Returns a message about each entry that is out of date.
    pub(crate) fn list_outdated(&self, judged: &[(&str, Judgement)], suites: &[Suite]) -> Vec<String> {
        let today = format_today();
        let mut messages = Vec::new();
        for (i, entry) in self.0.iter().enumerate() {
            let statuses: Vec<_> =
                judged.iter().filter_map(|(trial_id, judgement)| entry.status(trial_id, judgement)).collect();
            let unmatched = entry.is_unmatched(suites).then(|| {
                "matches nothing in the suite (was a case renamed?): fix the pattern or remove the entry"
                    .to_owned()
            });
            let expired = entry.expires.as_ref().filter(|expires| **expires < today);
            let expired = expired.map(|day| format!("expired on {day}: fix the failure or set a later date"));
            let first = self.0[..i].iter().find(|first| first.key() == entry.key());
            let duplicate = first.map(|first| format!("is a duplicate of {}: remove one", first.place));
            let problems = [explain_statuses(&statuses), unmatched, expired, duplicate].into_iter().flatten();
            messages.extend(problems.map(|text| format!("{}: `{}` {text}", entry.place, entry.pattern.text)));
        }
        messages
    }
}

impl Entry {
    fn key(&self) -> (&str, &str, &Option<String>) {
        (&self.pattern.text, &self.verdict, &self.message)
    }

    fn status(&self, trial_id: &str, judgement: &Judgement) -> Option<Status> {
        // Nothing here finds hangs, and an outcome that a test makes has no adapter error.
        if self.verdict != "fail" || !self.pattern.matches(trial_id) {
            return None;
        }
        let named: Vec<_> =
            judgement.checks.iter().filter(|check| self.pattern.has_check(&check.path)).collect();
        let is_failed = |check: &&&Check| matches!(check.verdict, Verdict::Fail | Verdict::Warn);
        let mut failed = named.iter().filter(is_failed).peekable();
        Some(if failed.peek().is_some() {
            // Any of them, because the members of a suite's file have no order: `conform run` looks at the first.
            let start = self.message.as_deref().unwrap_or_default();
            let has_message = failed.any(|check| check.to_string().starts_with(start));
            if has_message {
                Status::Matched
            } else {
                Status::Mismatched
            }
        } else if named.iter().any(|check| check.verdict == Verdict::May) {
            Status::Inconclusive
        } else if !named.is_empty() {
            Status::Passing
        } else if judgement.checks.iter().any(|check| check.path == "invariant.outcome-schema") {
            Status::Mismatched
        } else {
            return None;
        })
    }

    /// Returns whether no case of these suites has an id that the entry matches.
    fn is_unmatched(&self, suites: &[Suite]) -> bool {
        let Pattern { text, case, .. } = &self.pattern;
        let api = text.split('/').next().unwrap_or_default();
        let mut of_api = suites.iter().filter(|suite| suite.api == api).peekable();
        // Cases about behavior are in no file.
        let is_known = of_api.peek().is_some() && !text.starts_with(&format!("{api}/behavior/"));
        is_known && !of_api.any(|suite| suite.ids.iter().any(|id| case.is_match(id)))
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
