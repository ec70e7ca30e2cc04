//! Says what a client failed, and where.

use crate::{run::Selected, value::to_json, Check, Judgement, Verdict};
use std::{collections::BTreeMap, fmt};

/// The most trials that are named with the first that fails in the same way.
const MAX_TRIALS: usize = 3;
/// The most checks of one trial that are shown.
const MAX_CHECKS: usize = 8;
/// The most characters of a value that are shown.
const MAX_VALUE: usize = 160;

/// The result of a run.
#[derive(Debug)]
pub struct Report {
    strict: bool,
    /// Each trial's id and its line's end, as in the output of other tests.
    lines: Vec<(String, String)>,
    failures: Vec<Failure>,
    skipped: BTreeMap<String, usize>,
    warnings: usize,
    known: usize,
    /// What is wrong with the claims and the known failures.
    pub(crate) problems: Vec<String>,
}

/// Trials whose failures differ only in values and places.
#[derive(Debug)]
struct Failure {
    shape: Vec<String>,
    /// The first trial's case and checks.
    text: String,
    trials: Vec<String>,
}

impl Report {
    pub(crate) fn new(strict: bool) -> Report {
        Report {
            strict,
            lines: Vec::new(),
            failures: Vec::new(),
            skipped: BTreeMap::new(),
            warnings: 0,
            known: 0,
            problems: Vec::new(),
        }
    }

    pub(crate) fn skip(&mut self, capability: &str) {
        *self.skipped.entry(format!("{capability} is not claimed")).or_default() += 1;
    }

    pub(crate) fn add(&mut self, selected: Selected<'_>, judgement: &Judgement, known: Option<&str>) {
        let trial = selected.trial;
        let is_failure =
            judgement.verdict == Verdict::Fail || (self.strict && judgement.verdict == Verdict::Warn);
        let state = match (is_failure, known, judgement.verdict) {
            (true, Some(reason), _) => {
                self.known += 1;
                format!("ignored, {reason}")
            }
            (true, None, _) => "FAILED".to_owned(),
            (_, _, Verdict::Warn) => {
                self.warnings += 1;
                "ok, with a warning".to_owned()
            }
            _ => "ok".to_owned(),
        };
        self.lines.push((trial.id.clone(), state));
        if is_failure && known.is_none() {
            let checks = list_worst(judgement);
            let paths = checks.iter().map(|check| hide_indexes(&check.path));
            let shape = judgement.raised.iter().map(|raised| raised.kind.clone()).chain(paths).collect();
            match self.failures.iter_mut().find(|failure| failure.shape == shape) {
                Some(failure) => failure.trials.push(trial.id.clone()),
                None => {
                    let text = describe_failure(selected, judgement, &checks);
                    self.failures.push(Failure { shape, text, trials: vec![trial.id.clone()] });
                }
            }
        }
    }

    /// Returns whether nothing failed but known failures, and claims and known failures are right.
    pub fn is_ok(&self) -> bool {
        self.failures.is_empty() && self.problems.is_empty()
    }

    /// Returns the output of a test program; `filtered` trials were not selected by its arguments.
    pub(crate) fn to_test_output(&self, filtered: usize, quiet: bool) -> String {
        let mut output = format!("\nrunning {} tests\n", self.lines.len());
        for (id, state) in self.lines.iter().filter(|_| !quiet) {
            output += &format!("test {id} ... {state}\n");
        }
        let failed = self.failures.iter().map(|failure| failure.trials.len()).sum::<usize>();
        let ignored = self.known + self.skipped.values().sum::<usize>();
        let passed = self.lines.len() - failed - self.known;
        let result = if self.is_ok() { "ok" } else { "FAILED" };
        format!(
            "{output}\n{self}\n\ntest result: {result}. {passed} passed; {} failed; {ignored} ignored; \
             0 measured; {filtered} filtered out\n",
            failed + self.problems.len()
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Failure { text, trials, .. } in &self.failures {
            writeln!(formatter, "{}\n{text}", trials[0])?;
            if trials.len() > 1 {
                let named =
                    trials[1..].iter().take(MAX_TRIALS).map(String::as_str).collect::<Vec<_>>().join(", ");
                let more = if trials.len() > MAX_TRIALS + 1 { ", …" } else { "" };
                writeln!(formatter, "  and {} like it: {named}{more}", trials.len() - 1)?;
            }
            writeln!(formatter)?;
        }
        for problem in &self.problems {
            writeln!(formatter, "{problem}")?;
        }
        let failed: usize = self.failures.iter().map(|failure| failure.trials.len()).sum();
        let judged = self.lines.len();
        write!(
            formatter,
            "{failed} of {judged} trials failed; {} known failures, {} warnings",
            self.known, self.warnings
        )?;
        for (reason, count) in &self.skipped {
            write!(formatter, "; {count} skipped: {reason}")?;
        }
        Ok(())
    }
}

/// Returns the checks with the worst verdict: what only warns does not explain a failure.
fn list_worst(judgement: &Judgement) -> Vec<&Check> {
    let failed = judgement.failed();
    let worst = failed.first().map(|check| check.verdict);
    failed.into_iter().filter(|check| Some(check.verdict) == worst).collect()
}

/// Returns a path with `*` for indexes.
fn hide_indexes(path: &str) -> String {
    let parts = path.split('.').map(|part| if part.parse::<usize>().is_ok() { "*" } else { part });
    parts.collect::<Vec<_>>().join(".")
}

fn describe_failure(
    Selected { case, trial, .. }: Selected<'_>,
    judgement: &Judgement,
    checks: &[&Check],
) -> String {
    let mut lines = vec![format!("  {} ({}, specs/{}:{})", case.title, trial.level, case.spec, case.line)];
    lines.extend(judgement.raised.iter().map(|raised| format!("  {}: {}", raised.kind, raised.message)));
    lines.extend(checks.iter().take(MAX_CHECKS).map(|check| format!("  {}", format_check(check))));
    if checks.len() > MAX_CHECKS {
        lines.push(format!("  … and {} more checks", checks.len() - MAX_CHECKS));
    }
    lines.join("\n")
}

/// Returns a failed check with its values, shortened to where they differ.
fn format_check(check: &Check) -> String {
    if check.message.is_some() {
        return check.to_string();
    }
    let expected: Vec<char> = to_json(&check.expected).chars().collect();
    let got: Vec<char> = to_json(&check.got).chars().collect();
    let same = expected.iter().zip(&got).take_while(|(one, other)| one == other).count();
    let start =
        if expected.len().max(got.len()) > MAX_VALUE { same.saturating_sub(MAX_VALUE / 4) } else { 0 };
    let shorten = |text: &[char]| {
        let start = start.min(text.len());
        let end = text.len().min(start + MAX_VALUE);
        let (before, after) = (if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
        format!("{before}{}{after}", text[start..end].iter().collect::<String>())
    };
    format!("{}: expected {}, got {}", check.path, shorten(&expected), shorten(&got))
}
