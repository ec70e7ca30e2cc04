//! Runs a client on the trials of suites.

use crate::{
    judge::judge, known_failures::Pattern, Answer, Case, Claims, Input, Judgement, KnownFailures, Level,
    Report, Set, Suite, Trial, Verdict,
};
use std::{
    collections::BTreeMap,
    env,
    panic::{self, AssertUnwindSafe},
    process,
    sync::{
        atomic::{AtomicUsize, Ordering},
        Mutex,
    },
    thread,
};

/// What to judge, and how.
#[derive(Debug)]
pub struct Run {
    suites: Vec<Suite>,
    claims: Claims,
    known_failures: KnownFailures,
    set: Set,
    level: Level,
    selected: Vec<Pattern>,
    strict: bool,
}

/// A trial with the case and the suite that have it.
#[derive(Clone, Copy)]
pub(crate) struct Selected<'a> {
    suite: &'a Suite,
    pub(crate) case: &'a Case,
    pub(crate) trial: &'a Trial,
}

impl Run {
    /// Judges a client of these APIs that claims everything but `documents`, in the standard set of trials.
    pub fn new(suites: impl IntoIterator<Item = Suite>) -> Run {
        Run {
            suites: suites.into_iter().collect(),
            claims: Claims::all_of_streams(),
            known_failures: KnownFailures::default(),
            set: Set::Standard,
            level: Level::May,
            selected: Vec::new(),
            strict: false,
        }
    }

    /// Claims only these capabilities; other values are not compared.
    ///
    /// # Panics
    ///
    /// If a name is no capability of streams and documents.
    #[must_use]
    pub fn claims<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Run {
        self.claims = names.into_iter().collect();
        if let Some(name) = self.claims.find_unknown() {
            panic!("unknown capability `{name}`");
        }
        self
    }

    /// Adds known failures.
    #[must_use]
    pub fn known_failures(mut self, known: KnownFailures) -> Run {
        self.known_failures.extend(known);
        self
    }

    /// Selects a set of trials.
    #[must_use]
    pub fn set(mut self, set: Set) -> Run {
        self.set = set;
        self
    }

    /// Selects trials of this level and stricter ones.
    #[must_use]
    pub fn level(mut self, level: Level) -> Run {
        self.level = level;
        self
    }

    /// Selects trials whose ids match a glob, such as `anthropic-messages/text/*@as-is`, or one that was selected
    /// before.
    #[must_use]
    pub fn select(mut self, glob: &str) -> Run {
        self.selected.push(glob.to_owned().into());
        self
    }

    /// Makes warnings failures.
    #[must_use]
    pub fn strict(mut self) -> Run {
        self.strict = true;
        self
    }

    /// Judges a client: `read` gets each trial's bytes, and returns an outcome or an error.
    pub fn judge<A: Into<Answer>>(&self, read: impl Fn(&Input<'_>) -> A + Sync) -> Report {
        self.judge_trials(&self.select_trials(), &read)
    }

    /// Judges a client in a test.
    ///
    /// # Panics
    ///
    /// If the client fails, with the report.
    pub fn check<A: Into<Answer>>(&self, read: impl Fn(&Input<'_>) -> A + Sync) {
        let report = self.judge(read);
        assert!(report.is_ok(), "{report}");
    }

    /// Is the `main` of a test target with `harness = false`, in which each trial is a test.
    ///
    /// Its arguments are those of other tests, as far as they select tests: `cargo test -- text/plain`, `--exact`,
    /// `--skip`, `--list`, `--quiet`.
    pub fn main<A: Into<Answer>>(&self, read: impl Fn(&Input<'_>) -> A + Sync) -> ! {
        let arguments: Vec<String> = env::args().skip(1).collect();
        let has = |name: &str| arguments.iter().any(|argument| argument == name);
        let (skipped, wanted) = split_filters(&arguments);
        let is_match =
            |id: &str, filter: &String| if has("--exact") { id == filter } else { id.contains(filter) };
        let all = self.select_trials();
        let is_wanted = |selected: &&Selected<'_>| {
            let id = selected.trial.id.as_str();
            (wanted.is_empty() || wanted.iter().any(|filter| is_match(id, filter)))
                && !skipped.iter().any(|filter| is_match(id, filter))
        };
        let trials: Vec<_> = all.iter().filter(is_wanted).copied().collect();
        if has("--list") {
            // No trial is ignored, so a runner that lists those finds none.
            trials
                .iter()
                .filter(|_| !has("--ignored"))
                .for_each(|selected| println!("{}: test", selected.trial.id));
            process::exit(0);
        }
        // The message of a panic is in the report.
        panic::set_hook(Box::new(|_| {}));
        let report = self.judge_trials(&trials, &read);
        print!("{}", report.to_test_output(all.len() - trials.len(), has("--quiet") || has("-q")));
        process::exit(if report.is_ok() { 0 } else { 101 });
    }

    fn select_trials(&self) -> Vec<Selected<'_>> {
        let is_selected = |trial: &Trial| {
            trial.set <= self.set
                && trial.level <= self.level
                && (self.selected.is_empty() || self.selected.iter().any(|glob| glob.matches(&trial.id)))
        };
        let mut trials = Vec::new();
        for suite in &self.suites {
            for case in &suite.cases {
                let of_case = case.trials.iter().filter(|trial| is_selected(trial));
                trials.extend(of_case.map(|trial| Selected { suite, case, trial }));
            }
        }
        trials
    }

    fn judge_trials<A: Into<Answer>>(
        &self,
        trials: &[Selected<'_>],
        read: &(impl Fn(&Input<'_>) -> A + Sync),
    ) -> Report {
        let mut report = Report::new(self.strict);
        let mut judged = Vec::with_capacity(trials.len());
        for selected in trials {
            match selected.case.find_unclaimed(&self.claims) {
                Some(capability) => report.skip(capability),
                None => judged.push(*selected),
            }
        }
        let judgements = in_parallel(&judged, |selected| self.judge_trial(selected, read));
        let mut expected = BTreeMap::new();
        for (selected, judgement) in judged.iter().zip(&judgements) {
            let reason = self.known_failures.find_reason(&selected.trial.id, judgement, self.strict);
            for (claim, is_compared) in &judgement.compared {
                let (count, any) = expected.entry(claim).or_insert((0, false));
                // What the project has listed is not held against the claim.
                *count += usize::from(!is_compared && reason.is_none());
                *any |= is_compared;
            }
            report.add(*selected, judgement, reason.as_deref());
        }
        let unproven = expected.into_iter().filter(|(_, (count, any))| *count > 0 && !any);
        report.problems.extend(unproven.map(|(claim, (count, _))| {
            format!("`{claim}` is claimed, but none of the {count} trials that expect it compared a value; report it, or do not claim it")
        }));
        let by_id: Vec<_> =
            judged.iter().map(|selected| selected.trial.id.as_str()).zip(judgements).collect();
        report.problems.extend(self.known_failures.list_outdated(&by_id, &self.suites));
        report
    }

    fn judge_trial<A: Into<Answer>>(
        &self,
        selected: &Selected<'_>,
        read: &(impl Fn(&Input<'_>) -> A + Sync),
    ) -> Judgement {
        let Selected { suite, case, trial } = *selected;
        let read = AssertUnwindSafe(|| read(&case.input(trial)).into());
        let mut judgement = match panic::catch_unwind(read) {
            Ok(answer) => {
                let judgement = judge(suite, case, trial, &answer, &self.claims);
                Judgement { raised: answer.raised, ..judgement }
            }
            Err(panic) => Judgement::of_panic(panic.as_ref()),
        };
        // There are millions of these, and nobody reads their values.
        for check in judgement.checks.iter_mut().filter(|check| check.verdict == Verdict::Pass) {
            check.expected.take();
            check.got.take();
        }
        judgement
    }
}

/// Returns the filters after `--skip`, and the others; options of other tests are left out.
fn split_filters(arguments: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut skipped, mut wanted) = (Vec::new(), Vec::new());
    let mut arguments = arguments.iter().cloned();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--skip" => skipped.extend(arguments.next()),
            "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" => drop(arguments.next()),
            option if option.starts_with('-') => {}
            _ => wanted.push(argument),
        }
    }
    (skipped, wanted)
}

/// Returns what `work` returns for each item, in the items' order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(BTreeMap::new());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((i, item)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, items.get(i)?)))
                {
                    let result = work(item);
                    results.lock().expect("no thread panics with the lock").insert(i, result);
                }
            });
        }
    });
    results.into_inner().expect("no thread panics with the lock").into_values().collect()
}
