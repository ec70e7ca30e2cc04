//! Judges clients of LLM APIs by the suite of [streamconform](https://github.com/streamconform/streamconform): recorded
//! streams, each with what a client must make of it.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod align;
mod claims;
mod compare;
mod judge;
mod known_failures;
mod leaf;
mod outcome;
mod pair;
mod partial;
mod report;
mod run;
mod suite;
#[cfg(test)]
mod tests;
mod value;

pub use claims::Claims;
pub use judge::{judge, Answer, Check, Culprit, Judgement, Level, Raised, Verdict};
pub use known_failures::KnownFailures;
pub use report::Report;
pub use run::Run;
pub use suite::{Case, Input, Set, Suite, Trial};
