//! Decodes an outcome (`outcome.v1`), and keeps what it leaves out apart from what it says is null.

use crate::value::{from_integer, integer, number_text, parse_amount, NULL};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

pub(crate) const STATUSES: &[&str] = &["complete", "incomplete", "error"];
const REASONS: &[&str] =
    &["stop", "length", "tool_use", "content_filter", "refusal", "pause", "error", "other"];

/// The type of a content block, in the order in which blocks of an API without an order are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Thinking,
    Text,
    Refusal,
    ToolCall,
    Other,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Thinking => "thinking",
            Kind::Text => "text",
            Kind::Refusal => "refusal",
            Kind::ToolCall => "tool_call",
            Kind::Other => "other",
        }
    }
}

/// A received content block. `absent` are its optional keys that were left out; its value is then null.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) kind: Kind,
    pub(crate) fields: Map<String, Value>,
    pub(crate) absent: BTreeSet<&'static str>,
}

impl Block {
    pub(crate) fn new(kind: Kind) -> Block {
        Block { kind, fields: Map::new(), absent: BTreeSet::new() }
    }

    pub(crate) fn get(&self, name: &str) -> &Value {
        self.fields.get(name).unwrap_or(&NULL)
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.fields.insert(name.to_owned(), value.into());
    }

    /// Returns a member's text, or an empty one if it has none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).as_str().unwrap_or_default()
    }

    pub(crate) fn is_call(&self) -> bool {
        self.kind == Kind::ToolCall
    }

    pub(crate) fn is_redacted(&self) -> bool {
        *self.get("redacted") == true
    }

    /// Returns whether this is a call that the client runs, not the provider.
    pub(crate) fn is_of_client(&self) -> bool {
        self.is_call() && self.text("executor") == "client"
    }

    /// Returns whether an agent that receives this call would run it.
    pub(crate) fn is_executable(&self) -> bool {
        self.is_call() && *self.get("complete") != false && !self.get("arguments").is_null()
    }
}

/// A decoded outcome.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) content: Vec<Block>,
    /// The members outside the content; each group has all its members, or is null.
    fields: Map<String, Value>,
    /// The optional paths that were left out: `model`, `stop.raw`, `usage.reasoning`.
    pub(crate) absent: BTreeSet<String>,
    /// The groups without any known key; if claimed, they count as null.
    pub(crate) omitted: BTreeSet<&'static str>,
}

impl Outcome {
    /// Decodes an outcome, or says what is not in the normal form.
    pub(crate) fn decode(value: &Value) -> Result<Outcome, String> {
        let entry = value.as_object().ok_or("the outcome is not an object")?;
        let status = entry.get("status").and_then(Value::as_str).filter(|status| STATUSES.contains(status));
        let blocks = entry.get("content").and_then(Value::as_array).ok_or("content: expected a list")?;
        let mut outcome = Outcome {
            content: Vec::with_capacity(blocks.len()),
            fields: decode_members(entry, ANSWER).map_err(|error| error.to_string())?,
            absent: ANSWER.iter().filter(|member| !entry.contains_key(member.0)).map(path("")).collect(),
            omitted: BTreeSet::new(),
        };
        for (i, block) in blocks.iter().enumerate() {
            outcome.content.push(decode_block(block).map_err(|error| format!("content.{i}.{error}"))?);
        }
        outcome
            .fields
            .insert("status".to_owned(), status.ok_or("status: expected one of its values")?.into());
        for (name, members) in [("usage", USAGE), ("cost", COST), ("error", ERROR), ("stop", STOP)] {
            outcome
                .decode_group(name, members, entry.get(name))
                .map_err(|error| format!("{name}.{error}"))?;
        }
        Ok(outcome)
    }

    fn decode_group(
        &mut self,
        name: &'static str,
        members: &'static [Member],
        value: Option<&Value>,
    ) -> Result<(), String> {
        let empty = Map::new();
        let group = match value.unwrap_or(&NULL) {
            Value::Null => &empty,
            Value::Object(group) => group,
            _ => return Err("expected an object".to_owned()),
        };
        let decoded = decode_members(group, members)?;
        let has =
            |test: fn(&Value) -> bool| members.iter().any(|member| group.get(member.0).map_or(false, test));
        let left_out = members.iter().filter(|member| member.2 && !group.contains_key(member.0));
        if name == "stop" {
            self.absent.extend(left_out.map(path("stop.")));
            if value.is_none() {
                self.absent.insert("stop.reason".to_owned());
            }
        } else {
            // A group that has only nulls counts as null.
            if has(|value| !value.is_null()) {
                self.absent.extend(left_out.map(path(&format!("{name}."))));
            }
            if !has(|_| true) && !value.map_or(false, Value::is_null) {
                self.omitted.insert(name);
            }
        }
        // Usage is never null as a whole, so a group without a value is one of nulls.
        let is_null = value.map_or(true, Value::is_null) || self.omitted.contains(name);
        let is_group = !is_null || matches!(name, "usage" | "stop");
        self.fields.insert(name.to_owned(), if is_group { Value::Object(decoded) } else { Value::Null });
        Ok(())
    }

    pub(crate) fn status(&self) -> &str {
        self.fields["status"].as_str().unwrap_or_default()
    }

    /// Returns the value at a path: `stop.reason`, `usage.input`, `error`.
    pub(crate) fn read(&self, path: &str) -> &Value {
        let (group, name) = path.split_once('.').map_or((path, None), |(group, name)| (group, Some(name)));
        let value = self.fields.get(group).unwrap_or(&NULL);
        match (name, value) {
            (Some(name), _) => value.get(name).unwrap_or(&NULL),
            // A case's `usage: null` stands for usage without any count.
            (None, Value::Object(usage)) if group == "usage" && usage.values().all(Value::is_null) => &NULL,
            (None, _) => value,
        }
    }

    /// Sets the error to the message of an exception, whose other members are not exposed.
    pub(crate) fn set_error(&mut self, message: &str) {
        let error = Map::from_iter([("message".to_owned(), message.into())]);
        self.fields.insert("error".to_owned(), Value::Object(error));
        self.absent.extend(["error.type".to_owned(), "error.status".to_owned()]);
        self.omitted.remove("error");
    }
}

fn path(group: &str) -> impl Fn(&Member) -> String + '_ {
    move |member| format!("{group}{}", member.0)
}

/// A member's name, its form, and whether an outcome may leave it out.
type Member = (&'static str, Form, bool);

#[derive(Clone, Copy)]
enum Form {
    Any,
    Text,
    RequiredText,
    ThoughtText,
    Flag,
    Redacted,
    Count,
    Amount,
    Currency,
    Reason,
    Executor,
    Object,
    Citations,
}

const ANSWER: &[Member] = &[
    ("model", Form::Text, true),
    ("response_id", Form::Text, true),
    ("continuation", Form::Text, true),
    ("echo", Form::Object, true),
];
const STOP: &[Member] = &[
    ("reason", Form::Reason, false),
    ("raw", Form::Text, true),
    ("sequence", Form::Text, true),
    ("details", Form::Any, true),
];
const USAGE: &[Member] = &[
    ("input", Form::Count, true),
    ("cache_read", Form::Count, true),
    ("cache_write", Form::Count, true),
    ("cache_write_1h", Form::Count, true),
    ("output", Form::Count, true),
    ("reasoning", Form::Count, true),
    ("web_searches", Form::Count, true),
];
const COST: &[Member] = &[
    ("currency", Form::Currency, false),
    ("input", Form::Amount, true),
    ("cache_read", Form::Amount, true),
    ("cache_write", Form::Amount, true),
    ("output", Form::Amount, true),
    ("other", Form::Amount, true),
    ("total", Form::Amount, true),
];
const ERROR: &[Member] =
    &[("type", Form::Text, true), ("message", Form::Text, false), ("status", Form::Count, true)];
const TEXT: &[Member] = &[
    ("text", Form::RequiredText, false),
    ("phase", Form::Text, true),
    ("signature", Form::Text, true),
    ("citations", Form::Citations, true),
    ("echo", Form::Object, true),
];
const THINKING: &[Member] = &[
    ("text", Form::ThoughtText, false),
    ("signature", Form::Text, true),
    ("redacted", Form::Redacted, true),
    ("echo", Form::Object, true),
];
const TOOL_CALL: &[Member] = &[
    ("id", Form::Text, true),
    ("name", Form::Text, false),
    ("arguments", Form::Any, false),
    ("arguments_text", Form::Text, true),
    ("complete", Form::Flag, true),
    ("executor", Form::Executor, false),
    ("signature", Form::Text, true),
    ("echo", Form::Object, true),
];
const CITATION: &[Member] = &[
    ("source", Form::Text, true),
    ("title", Form::Text, true),
    ("quote", Form::Text, true),
    ("start", Form::Count, true),
    ("end", Form::Count, true),
];

fn decode_block(value: &Value) -> Result<Block, String> {
    let entry = value.as_object().ok_or("expected an object")?;
    let kind =
        Kind::deserialize(entry.get("type").unwrap_or(&NULL)).map_err(|error| format!("type: {error}"))?;
    let members = match kind {
        Kind::Text => TEXT,
        Kind::Thinking => THINKING,
        Kind::ToolCall => TOOL_CALL,
        Kind::Refusal => &[("text", Form::RequiredText, false)],
        Kind::Other => &[("kind", Form::Text, false), ("data", Form::Any, false)],
    };
    let left_out = members.iter().filter(|member| member.2 && !entry.contains_key(member.0));
    Ok(Block {
        kind,
        fields: decode_members(entry, members)?,
        absent: left_out.map(|member| member.0).collect(),
    })
}

fn decode_members(entry: &Map<String, Value>, members: &[Member]) -> Result<Map<String, Value>, String> {
    members
        .iter()
        .map(|(name, form, _)| {
            let value = decode(*form, entry.get(*name).unwrap_or(&NULL));
            Ok(((*name).to_owned(), value.map_err(|needed| format!("{name}: expected {needed}"))?))
        })
        .collect()
}

/// Returns a member in the form in which it is compared, or what was expected instead.
fn decode(form: Form, value: &Value) -> Result<Value, &'static str> {
    let is_one_of = |names: &[&str]| value.as_str().map_or(false, |text| names.contains(&text));
    let keep = |is_valid: bool, needed| if is_valid { Ok(value.clone()) } else { Err(needed) };
    match (form, value) {
        (Form::RequiredText, _) => keep(value.is_string(), "a string"),
        (Form::ThoughtText, Value::Null) => Ok("".into()),
        (Form::Redacted, Value::Null) => Ok(false.into()),
        (Form::Executor, Value::Null) => Ok("client".into()),
        (Form::Citations, Value::Null) => Ok(Value::Array(Vec::new())),
        (Form::Currency, Value::Null) => Ok("USD".into()),
        (Form::Any, _) | (_, Value::Null) => Ok(value.clone()),
        (Form::Text | Form::ThoughtText, _) => keep(value.is_string(), "a string or null"),
        (Form::Flag | Form::Redacted, _) => keep(value.is_boolean(), "true, false or null"),
        (Form::Object, _) => keep(value.is_object(), "an object or null"),
        (Form::Currency, _) => keep(is_one_of(&["USD"]), "`USD`"),
        (Form::Reason, _) => keep(is_one_of(REASONS), "a stop reason of the normal form, or null"),
        (Form::Executor, _) => keep(is_one_of(&["client", "provider"]), "`client`, `provider` or null"),
        (Form::Amount, _) => {
            keep(value.as_str().and_then(parse_amount).is_some(), "decimal text, such as \"0.0028\", or null")
        }
        // In JSON Schema, 5.0 is an integer.
        (Form::Count, _) => match integer(value) {
            Some(0..) => Ok(from_integer(&number_text(value).unwrap_or_default())),
            _ => Err("a count or null"),
        },
        (Form::Citations, _) => {
            let citations = value.as_array().ok_or("a list of objects or null")?;
            let is_valid = |citation: &Value| {
                citation.as_object().map_or(false, |entry| decode_members(entry, CITATION).is_ok())
            };
            keep(citations.iter().all(is_valid), "citations of the normal form")
        }
    }
}
