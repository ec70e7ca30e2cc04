//! What a client claims to expose, and which claims a trial compared.

use crate::{
    align::ExpectedBlock,
    compare::{sum_cache_usage, BLOCK_MISSING},
    judge::Check,
    outcome::{Block, Kind, Outcome},
    suite::Expectation,
    value::NULL,
    Verdict,
};
use std::collections::{BTreeMap, BTreeSet};

/// The capabilities that a client has unless it says which.
const OF_STREAMS: &[&str] = &[
    "tool_calls",
    "parallel_tool_calls",
    "thinking",
    "signatures",
    "usage",
    "cache_usage",
    "usage_details",
    "cost",
    "errors",
    "refusals",
    "provider_tools",
    "stop",
    "raw_stop",
];
/// The only other capability about streams and documents.
const DOCUMENTS: &str = "documents";

/// The capabilities that a client has. Only values of claimed groups are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims(BTreeSet<String>);

impl Claims {
    /// Returns all claims but `documents`, which must be claimed by name.
    pub fn all_of_streams() -> Claims {
        OF_STREAMS.iter().copied().collect()
    }

    /// Returns whether a capability is claimed.
    pub fn has(&self, capability: &str) -> bool {
        self.0.contains(capability)
    }

    /// Returns the first claim that is no capability of streams and documents.
    pub(crate) fn find_unknown(&self) -> Option<&str> {
        self.0.iter().map(String::as_str).find(|name| !OF_STREAMS.contains(name) && *name != DOCUMENTS)
    }

    /// Returns whether values at a path outside the content are compared.
    pub(crate) fn covers(&self, path: &str) -> bool {
        find_required(path).map_or(true, |capability| self.has(capability))
    }

    /// Returns whether calls by this executor are compared.
    pub(crate) fn has_calls_of(&self, executor: &str) -> bool {
        self.has(if executor == "provider" { "provider_tools" } else { "tool_calls" })
    }
}

impl<S: Into<String>> FromIterator<S> for Claims {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Claims {
        Claims(names.into_iter().map(Into::into).collect())
    }
}

/// Returns the capability without which the value at a path is not compared.
fn find_required(path: &str) -> Option<&'static str> {
    Some(match path {
        "usage.reasoning" | "usage.web_searches" | "usage.cache_write_1h" => "usage_details",
        "usage.cache_read" | "usage.cache_write" => "cache_usage",
        "stop.raw" => "raw_stop",
        _ => match path.split('.').next()? {
            "usage" => "usage",
            "cost" => "cost",
            "error" => "errors",
            _ => return None,
        },
    })
}

/// Returns the claims of which the trial expects a value, each with whether one was compared.
pub(crate) fn find_compared(
    expect: &Expectation,
    outcome: &Outcome,
    claims: &Claims,
    checks: &[Check],
    raised: bool,
) -> BTreeMap<String, bool> {
    let mut found = BTreeMap::new();
    let mut add = |capability: &str, is_compared: bool| {
        *found.entry(capability.to_owned()).or_insert(false) |= is_compared;
    };
    let paths: BTreeSet<_> = checks.iter().map(|check| check.path.as_str()).collect();
    let is_expected_status =
        expect.fields.get("status").map_or(false, |leaf| leaf.matches(outcome.read("status"), false));
    for (path, leaf) in &sum_cache_usage(&expect.fields, claims) {
        let capability = match find_required(path) {
            Some(name) if claims.has(name) && !leaf.matches(&NULL, false) => name,
            _ => continue,
        };
        if outcome.omitted.contains(path.split('.').next().unwrap_or_default()) {
            // An answer that reports an unexpected error has no reason to contain the group.
            if !raised && is_expected_status {
                add(capability, false);
            }
        } else if paths.contains(path.as_str()) {
            add(capability, true);
        } else if outcome.absent.contains(path) {
            add(capability, false);
        }
    }
    if let Some(is_compared) = find_compared_signatures(expect, outcome, claims, checks) {
        add("signatures", is_compared);
    }
    found
}

/// Returns whether a signature was compared, or None if none must be there.
fn find_compared_signatures(
    expect: &Expectation,
    outcome: &Outcome,
    claims: &Claims,
    checks: &[Check],
) -> Option<bool> {
    // The content of a broken stream is compared without its signatures.
    if !claims.has("signatures") || expect.partial.is_some() {
        return None;
    }
    let must_be_signed = |block: &&ExpectedBlock| {
        block.fields.get("signature").map_or(false, |leaf| !leaf.matches(&NULL, false))
    };
    let signed: Vec<Kind> =
        expect.content.iter().flatten().filter(must_be_signed).map(|block| block.kind).collect();
    let compares_value = |check: &&Check| {
        let is_left_out = check.verdict == Verdict::Pass && check.got.is_null();
        let is_missing = check.message.as_deref() == Some(BLOCK_MISSING);
        !check.expected.is_null() && !is_missing && !is_left_out
    };
    let is_signature = |check: &&Check| {
        signed.iter().any(|kind| check.path.ends_with(&format!(".{}.signature", kind.name())))
    };
    let hides_signature = |block: &Block| {
        block.absent.contains("signature") && signed.contains(&block.kind) && is_judged(block, claims)
    };
    if checks.iter().filter(is_signature).any(|check| compares_value(&check)) {
        Some(true)
    } else {
        outcome.content.iter().any(hides_signature).then_some(false)
    }
}

fn is_judged(block: &Block, claims: &Claims) -> bool {
    match block.kind {
        Kind::Thinking => claims.has("thinking"),
        Kind::ToolCall => claims.has_calls_of(block.text("executor")),
        _ => true,
    }
}
