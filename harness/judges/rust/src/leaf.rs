//! The expectation for one value: a literal or a matcher.

use crate::value::{is_equal, is_equal_amount, to_canonical_json};
use regex::{Captures, Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use sha2::{Digest as _, Sha256};
use std::{cell::RefCell, collections::HashMap};

/// The most memory for a compiled pattern; the suite has some that match a hundred thousand characters.
const PATTERN_SIZE: usize = 1 << 28;

/// What one value must be.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum Leaf {
    Equals {
        equals: Value,
    },
    /// One of the values; if some are preferred, the others are a warning.
    AnyOf {
        any_of: Vec<Value>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prefer: Vec<Value>,
    },
    /// Text that contains a match for the pattern.
    Matches {
        matches: String,
    },
    /// Not null if true, otherwise null.
    Present {
        present: bool,
    },
    PrefixOf {
        prefix_of: String,
    },
    /// Text in adjacent parts: each part's number of characters and SHA-256.
    Digest {
        digest: Vec<(usize, String)>,
    },
}

impl From<Value> for Leaf {
    fn from(equals: Value) -> Leaf {
        Leaf::Equals { equals }
    }
}

impl Leaf {
    /// Returns whether `got` matches; with `money`, decimal texts are compared by value.
    pub(crate) fn matches(&self, got: &Value, money: bool) -> bool {
        let equals = |value: &Value| if money { is_equal_amount(value, got) } else { is_equal(value, got) };
        let text = got.as_str();
        match self {
            Leaf::Equals { equals: value } => equals(value),
            Leaf::AnyOf { any_of, .. } => any_of.iter().any(equals),
            Leaf::Matches { matches } => text.map_or(false, |text| has_match(matches, text)),
            Leaf::Present { present } => got.is_null() != *present,
            Leaf::PrefixOf { prefix_of } => text.map_or(false, |text| prefix_of.starts_with(text)),
            Leaf::Digest { digest } => !got.is_null() && has_digest(digest, got),
        }
    }

    pub(crate) fn literal(&self) -> Option<&Value> {
        match self {
            Leaf::Equals { equals } => Some(equals),
            _ => None,
        }
    }

    pub(crate) fn literal_text(&self) -> Option<&str> {
        self.literal()?.as_str()
    }

    /// Returns whether this is the literal `value`.
    pub(crate) fn is(&self, value: &Value) -> bool {
        self.literal().map_or(false, |own| is_equal(own, value))
    }

    /// Returns the values that match, or none if they are not listed.
    pub(crate) fn values(&self) -> &[Value] {
        match self {
            Leaf::Equals { equals } => std::slice::from_ref(equals),
            Leaf::AnyOf { any_of, .. } => any_of,
            _ => &[],
        }
    }

    /// Returns the values that match without a warning.
    pub(crate) fn preferred(&self) -> &[Value] {
        match self {
            Leaf::AnyOf { prefer, .. } if !prefer.is_empty() => prefer,
            _ => self.values(),
        }
    }

    /// Returns the JSON form for messages.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Leaf::Equals { equals } => equals.clone(),
            Leaf::Digest { digest } => json!({"length": digest.iter().map(|part| part.0).sum::<usize>()}),
            matcher => json!(matcher),
        }
    }
}

/// Returns whether text contains a match. As in Python, `$` also matches before a line break at the end.
fn has_match(pattern: &str, text: &str) -> bool {
    thread_local! {
        static PATTERNS: RefCell<HashMap<String, Option<Regex>>> = RefCell::default();
    }
    PATTERNS.with(|patterns| {
        let mut patterns = patterns.borrow_mut();
        let regex = patterns.entry(pattern.to_owned()).or_insert_with(|| {
            RegexBuilder::new(&escape_braces(pattern)).size_limit(PATTERN_SIZE).build().ok()
        });
        regex.as_ref().map_or(false, |regex| {
            regex.is_match(text) || text.strip_suffix('\n').map_or(false, |text| regex.is_match(text))
        })
    })
}

/// Escapes each brace that begins no repetition: in other languages, it stands for itself.
fn escape_braces(pattern: &str) -> String {
    let braces = Regex::new(r"\\.|\{(\d+(,\d*)?\})?").expect("the pattern is right");
    let escape = |found: &Captures<'_>| if &found[0] == "{" { r"\{".into() } else { found[0].to_owned() };
    braces.replace_all(pattern, escape).into_owned()
}

fn has_digest(parts: &[(usize, String)], got: &Value) -> bool {
    let text = got.as_str().map_or_else(|| to_canonical_json(got), str::to_owned);
    let mut rest = text.as_str();
    for (length, digest) in parts {
        if rest.chars().count() < *length {
            return false;
        }
        let end = rest.char_indices().nth(*length).map_or(rest.len(), |(at, _)| at);
        if hash_text(&rest[..end]) != *digest {
            return false;
        }
        rest = &rest[end..];
    }
    rest.is_empty()
}

/// Returns the SHA-256 of a text, in hexadecimal.
pub(crate) fn hash_text(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
