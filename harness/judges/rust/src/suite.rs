//! Reads the suite of one API, and makes the bytes of its trials.

use crate::{align::ExpectedBlock, leaf::Leaf, Claims, Level};
use flate2::read::GzDecoder;
use serde::{de::Error as _, Deserialize, Deserializer};
use serde_json::{value::RawValue, Value};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

/// Every case about the streams and documents of one API.
#[derive(Debug)]
pub struct Suite {
    /// The API.
    pub api: String,
    /// The cases, in the suite's order.
    pub cases: Vec<Case>,
    /// Whether the API's messages record the order of text and calls.
    pub(crate) ordered: bool,
    /// The ids of all cases, also of those that need more than bytes.
    pub(crate) ids: Vec<String>,
}

/// One expectation, and the trials that deliver its stream in different ways.
#[derive(Debug, Deserialize)]
pub struct Case {
    /// `api/topic/name`.
    pub id: String,
    /// What the case shows.
    pub title: String,
    /// The spec file that the case comes from.
    pub spec: String,
    /// The line in the spec file.
    pub line: usize,
    /// `stream`, or `document` for an answer that is not streamed.
    pub kind: String,
    /// The capabilities that a client needs for the case.
    pub capabilities: Vec<String>,
    /// The deliveries of the stream, and the ways to break it.
    pub trials: Vec<Trial>,
    pub(crate) expect: Expectation,
    /// The ids and signatures in the stream, in the order in which they are first mentioned.
    #[serde(default)]
    pub(crate) mentions: Vec<String>,
    stream: Exchange,
    #[serde(default)]
    pricing: Value,
}

#[derive(Debug, Deserialize)]
struct Exchange {
    status: u16,
    headers: BTreeMap<String, String>,
    request: Value,
    #[serde(default)]
    body: String,
    #[serde(default, deserialize_with = "decode_base64")]
    body_base64: Vec<u8>,
}

/// One delivery of a case's stream, or one way to break it.
#[derive(Debug, Deserialize)]
pub struct Trial {
    /// The case's id, `@` and the delivery.
    #[serde(rename = "name")]
    pub id: String,
    /// How strict the trial is.
    pub level: Level,
    /// The smallest set that has this trial.
    pub set: Set,
    /// What is expected instead of the case's own expectation.
    pub(crate) expect: Option<Expectation>,
    /// What the stream mentions, if that is not what the case's stream mentions.
    pub(crate) mentions: Option<Vec<String>>,
    inputs: Vec<String>,
    transport: Option<String>,
    prefix: Option<usize>,
    #[serde(default)]
    append: String,
    #[serde(default, deserialize_with = "decode_base64")]
    append_base64: Vec<u8>,
    /// Where the chunks after the first begin, or `every` if each byte is a chunk.
    cuts: Value,
}

/// A set of trials; each has those of the smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    /// A few per case.
    Fast,
    /// Those that `conform run` uses by default.
    Standard,
    /// All of them.
    Full,
}

/// An expected outcome.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Expectation {
    /// The content; if absent, it is not judged.
    pub(crate) content: Option<Vec<ExpectedBlock>>,
    /// The leaves outside the content, by path; other paths are not judged.
    pub(crate) fields: BTreeMap<String, Leaf>,
    /// Present if the stream is broken: any beginning of the content is then correct.
    pub(crate) partial: Option<Partial>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Partial {
    /// Number of calls that ended before the break.
    pub(crate) calls_ended: usize,
    /// Number of characters of text that arrived before the break.
    pub(crate) text_arrived: usize,
}

/// What a client gets in a trial.
#[derive(Debug)]
pub struct Input<'a> {
    /// The API, such as `anthropic-messages`.
    pub api: &'a str,
    /// Whether the answer is a stream, not one document.
    pub stream: bool,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The answer's headers, by lower-case name.
    pub headers: &'a BTreeMap<String, String>,
    /// The request that the bytes answer: `method`, `path`, `headers` and `body`.
    pub request: &'a Value,
    /// The prices for `cost`, or null.
    pub pricing: &'a Value,
    /// The body, one chunk per network read.
    pub chunks: Vec<Vec<u8>>,
}

impl Suite {
    /// Reads a `suite-API.json.gz`.
    ///
    /// Cases that need more than bytes are left out: requests, round trips, functions, and what only a server can do.
    pub fn read(path: impl AsRef<Path>) -> io::Result<Suite> {
        let path = path.as_ref();
        let mut text = String::new();
        File::open(path)
            .and_then(|file| GzDecoder::new(BufReader::new(file)).read_to_string(&mut text))
            .and_then(|_| Ok(parse(&text)?))
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    /// Returns the case and the trial with this id.
    pub fn find(&self, trial_id: &str) -> Option<(&Case, &Trial)> {
        let (case_id, _) = trial_id.split_once('@')?;
        let case = self.cases.iter().find(|case| case.id == case_id)?;
        Some((case, case.trials.iter().find(|trial| trial.id == trial_id)?))
    }
}

impl Case {
    /// Returns the capability that the case needs and that is not claimed, or None.
    pub fn find_unclaimed(&self, claims: &Claims) -> Option<&str> {
        self.capabilities.iter().map(String::as_str).find(|name| !claims.has(name))
    }

    /// Returns what a client gets in a trial.
    pub fn input(&self, trial: &Trial) -> Input<'_> {
        let Exchange { status, headers, request, body, body_base64 } = &self.stream;
        let whole = [body.as_bytes(), body_base64].concat();
        let kept = &whole[..trial.prefix.unwrap_or(whole.len())];
        let mut rest = [kept, trial.append.as_bytes(), &trial.append_base64].concat();
        let starts: Vec<_> = match trial.cuts.as_array() {
            Some(cuts) => cuts.iter().filter_map(Value::as_u64).map(|start| start as usize).collect(),
            None => (1..rest.len()).collect(),
        };
        let mut chunks: Vec<_> = starts.into_iter().rev().map(|start| rest.split_off(start)).collect();
        chunks.extend(Some(rest).filter(|first| !first.is_empty()));
        chunks.reverse();
        Input {
            api: self.id.split('/').next().unwrap_or_default(),
            stream: self.kind == "stream",
            status: *status,
            headers,
            request,
            pricing: &self.pricing,
            chunks,
        }
    }
}

pub(crate) fn parse(text: &str) -> serde_json::Result<Suite> {
    #[derive(Deserialize)]
    struct Document<'a> {
        suite: u32,
        api: String,
        ordered_content: Option<bool>,
        #[serde(borrow)]
        cases: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Head {
        id: String,
        kind: String,
    }
    let document: Document<'_> = serde_json::from_str(text)?;
    if document.suite != 1 {
        return Err(serde_json::Error::custom("not a suite of version 1"));
    }
    let (mut cases, mut ids) = (Vec::with_capacity(document.cases.len()), Vec::new());
    for case in document.cases {
        let head: Head = serde_json::from_str(case.get())?;
        if matches!(head.kind.as_str(), "stream" | "document") {
            cases.push(parse_case(case.get())?);
        }
        ids.push(head.id);
    }
    Ok(Suite { api: document.api, cases, ids, ordered: document.ordered_content.unwrap_or(true) })
}

fn parse_case(text: &str) -> serde_json::Result<Case> {
    let mut case: Case = serde_json::from_str(text)?;
    // Only a server can break a connection, and frames of a WebSocket are another format.
    case.trials
        .retain(|trial| trial.transport.is_none() && trial.inputs.iter().any(|input| input == "bytes"));
    for trial in &mut case.trials {
        trial.id = format!("{}@{}", case.id, trial.id);
    }
    Ok(case)
}

fn decode_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = String::deserialize(deserializer)?;
    let (mut bits, mut count, mut bytes) = (0u32, 0, Vec::with_capacity(text.len() / 4 * 3));
    for digit in text.trim_end_matches('=').bytes() {
        let place = ALPHABET.iter().position(|known| *known == digit);
        bits = bits << 6 | place.ok_or_else(|| D::Error::custom("not base64"))? as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Ok(bytes)
}
