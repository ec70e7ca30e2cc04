//! Compares an outcome with an expectation: one check per judged leaf.

use crate::{
    align::{self, Aligned, ExpectedBlock, JOINED_KINDS},
    judge::{Check, Context},
    leaf::Leaf,
    outcome::{Block, Kind, Outcome},
    pair::pair_blocks,
    suite::Expectation,
    value::{from_integer, has_unsafe_integer, integer, is_equal, to_json, NULL},
    Claims, Level, Verdict,
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The message for checks on a block that is absent from the outcome.
pub(crate) const BLOCK_MISSING: &str = "content block missing";
/// What a message demands of a call that must not be executed.
pub(crate) const MARKED_UNFINISHED: &str = "must be left out, or have `complete: false` or `arguments: null`";
const UNCACHED: &str = "this is the part of the prompt that was not cached; \
    if the library counts the cached part separately, claim `cache_usage`";
const SIGNATURE_AS_THINKING: &str =
    "the signature of another block is reported as a thinking block without text";
/// The counts that a library may include in its input, by the words for them.
const CACHE_BUCKETS: &[(&str, &str)] =
    &[("usage.cache_read", "cache reads"), ("usage.cache_write", "cache writes")];
/// The fields that a client that raises may drop with the content.
const LOST_WITH_CONTENT: &[&str] = &["usage", "cost", "model", "response_id", "continuation"];
const MAX_ARGUMENTS: usize = 80;
pub(crate) const MAX_LISTED: usize = 12;

/// Returns a check for every leaf that is judged. Broken content is compared by `compare_partial` instead.
pub(crate) fn compare_outcome(expect: &Expectation, outcome: &Outcome, context: Context<'_>) -> Vec<Check> {
    let tolerant = may_lose_content(expect, outcome);
    let mut checks = Vec::new();
    for (path, leaf) in &sum_cache_usage(&expect.fields, context.claims) {
        if !context.claims.covers(path) || is_hidden(path, outcome, context.claims) {
            continue;
        }
        let got = outcome.read(path);
        let got = if path == "echo" { select_echo(leaf, got) } else { got.clone() };
        let group = path.split('.').next().unwrap_or_default();
        let is_lost = tolerant && got.is_null() && LOST_WITH_CONTENT.contains(&group);
        let level = if is_lost { context.level.lower(Level::Should) } else { context.level };
        let mut check = check_leaf(path, leaf, got, level);
        if path == "usage.input" {
            explain_uncached(&mut check, &expect.fields[path]);
            accept_hidden_buckets(&mut check, &expect.fields, outcome, context.claims);
        }
        checks.push(check);
    }
    if let (Some(content), None) = (&expect.content, &expect.partial) {
        let separators = align::find_separators(content, &outcome.content, context.claims);
        let aligned = align::align(content.iter(), &outcome.content, content, context, &separators);
        checks.extend(check_call_order(&aligned, context.level));
        compare_content(&aligned, content, context, tolerant, &mut checks);
    }
    checks
}

/// Returns whether an outcome leaves out a value that it may leave out.
fn is_hidden(path: &str, outcome: &Outcome, claims: &Claims) -> bool {
    // A claim of `stop` promises a reason in every outcome. Without it, a reported reason is still judged.
    outcome.absent.contains(path) && !(path == "stop.reason" && claims.has("stop"))
}

/// Returns whether the outcome correctly reports that the stream broke or failed.
fn may_lose_content(expect: &Expectation, outcome: &Outcome) -> bool {
    let is_expected = |leaf: &Leaf| leaf.matches(outcome.read("status"), false);
    outcome.status() != "complete" && expect.fields.get("status").map_or(false, is_expected)
}

/// Returns the fields for these claims: without `cache_usage`, `usage.input` includes cache reads and writes.
pub(crate) fn sum_cache_usage(fields: &BTreeMap<String, Leaf>, claims: &Claims) -> BTreeMap<String, Leaf> {
    let mut fields = fields.clone();
    if fields.contains_key("usage.input") && !claims.has("cache_usage") {
        let sums = list_sums(&fields, &["usage.cache_read", "usage.cache_write"], Leaf::values);
        let preferred = list_sums(&fields, &["usage.cache_read", "usage.cache_write"], Leaf::preferred);
        let values = |sums: &BTreeSet<Option<i128>>| sums.iter().map(to_count).collect::<Vec<_>>();
        let leaf = match sums.len() {
            0 => return fields,
            1 => values(&sums).remove(0).into(),
            _ if preferred == sums => Leaf::AnyOf { any_of: values(&sums), prefer: Vec::new() },
            _ => Leaf::AnyOf { any_of: values(&sums), prefer: values(&preferred) },
        };
        fields.insert("usage.input".to_owned(), leaf);
    }
    fields
}

fn to_count(count: &Option<i128>) -> Value {
    count.map_or(Value::Null, |count| from_integer(&count.to_string()))
}

/// Returns the possible sums of the input and the counts in `buckets`; null plus anything is null.
fn list_sums(
    fields: &BTreeMap<String, Leaf>,
    buckets: &[&str],
    list: fn(&Leaf) -> &[Value],
) -> BTreeSet<Option<i128>> {
    let mut sums: BTreeSet<Option<i128>> = list(&fields["usage.input"]).iter().map(integer).collect();
    for path in buckets {
        // A bucket that is null or absent adds nothing, and neither does a matcher, which lists no values.
        let listed = fields.get(*path).map_or(&[][..], list);
        let parts: Vec<i128> = listed.iter().map(|part| integer(part).unwrap_or(0)).collect();
        let parts = if parts.is_empty() { vec![0] } else { parts };
        sums = sums.iter().flat_map(|sum| parts.iter().map(move |part| sum.map(|sum| sum + part))).collect();
    }
    sums
}

/// Says so if the count lacks exactly what `sum_cache_usage` has added.
fn explain_uncached(check: &mut Check, uncached: &Leaf) {
    if check.verdict != Verdict::Pass
        && check.expected != uncached.to_value()
        && uncached.matches(&check.got, false)
    {
        check.message = Some(format!("{}; {UNCACHED}", describe_values(check)));
    }
}

/// Turns the check into a warning if the count includes exactly the cached tokens that are not exposed.
///
/// A client cannot subtract a number that the library does not expose.
fn accept_hidden_buckets(
    check: &mut Check,
    fields: &BTreeMap<String, Leaf>,
    outcome: &Outcome,
    claims: &Claims,
) {
    let hidden: Vec<_> = CACHE_BUCKETS
        .iter()
        .filter(|(path, _)| fields.contains_key(*path) && outcome.absent.contains(*path))
        .collect();
    if check.verdict == Verdict::Pass || !claims.has("cache_usage") || hidden.is_empty() {
        return;
    }
    let paths: Vec<_> = hidden.iter().map(|(path, _)| *path).collect();
    let got = integer(&check.got);
    if got.is_some() && list_sums(fields, &paths, Leaf::values).contains(&got) {
        let names: Vec<_> = hidden.iter().map(|(_, name)| *name).collect();
        let included = format!("this includes the number of {}, which is not exposed", names.join(" and "));
        let message = format!("{}; {included}", describe_values(check));
        check.warn();
        check.message = Some(message);
    }
}

/// Returns the check that the calls are in the order of the stream, if there are several.
pub(crate) fn check_call_order(aligned: &Aligned, level: Level) -> Option<Check> {
    // The order alone does not matter to an agent that runs the calls: results refer to them by id.
    let calls = aligned.expected.iter().filter(|block| block.is_call()).count();
    let ids = list_first(aligned.former_ids.iter().cloned());
    let message =
        (!ids.is_empty()).then(|| format!("the calls are in another order than in the stream: {ids}"));
    (calls > 1).then(|| Check::of_rule("content.order", level.lower(Level::Should), message))
}

fn compare_content(
    aligned: &Aligned,
    named: &[ExpectedBlock],
    context: Context<'_>,
    tolerant: bool,
    checks: &mut Vec<Check>,
) {
    let Context { claims, level, .. } = context;
    let (expected, got) = (&aligned.expected, &aligned.received);
    let pairs = pair_blocks(expected, got);
    let loss_level = if tolerant { level.lower(Level::Should) } else { level };
    // Leaving out a call that must not be executed is as safe as marking it.
    let is_left_out = |i: usize| pairs[i].is_none() && must_not_run(&expected[i]);
    let length = (0..expected.len()).filter(|i| !is_left_out(*i)).count();
    // A client that raises may drop blocks, but a block that was never sent is still wrong.
    let is_only_less = got.len() == pairs.iter().flatten().count();
    let message = (length != got.len()).then(|| {
        let wanted = format_kinds(expected.iter().map(|block| block.kind));
        let blocks = if expected.len() == 1 { "block" } else { "blocks" };
        let message = format!(
            "expected {} {blocks} {wanted}, got {} {}",
            expected.len(),
            got.len(),
            format_kinds(got.iter().map(|block| block.kind))
        );
        add_mislabeled(message, got, &align::find_mislabeled(named, expected, got))
    });
    checks.push(check_length(aligned, if is_only_less { loss_level } else { level }, message));
    for (i, block) in expected.iter().enumerate() {
        for (name, leaf) in &block.fields {
            let path = block_path(i, block.kind, name);
            match pairs[i] {
                // Always passes: the ids of a trial's checks do not depend on the answer.
                None if is_left_out(i) => checks.push(Check::new(&path, level, leaf, Value::Null, true)),
                None if is_claimed(block, name, claims) => {
                    let mut check =
                        Check::new(&path, lower_for_unsafe(leaf, loss_level), leaf, Value::Null, false);
                    check.message = Some(BLOCK_MISSING.to_owned());
                    checks.push(check);
                }
                None => {}
                Some(j) => checks.extend(compare_field(block, name, leaf, &got[j], context, tolerant, &path)),
            }
        }
    }
}

/// Returns the check on the number of blocks, a warning if only signatures are in excess.
pub(crate) fn check_length(aligned: &Aligned, level: Level, message: Option<String>) -> Check {
    let is_signature = message.is_none() && aligned.moved > 0;
    let message = if is_signature { Some(SIGNATURE_AS_THINKING.to_owned()) } else { message };
    let level = if is_signature { level.lower(Level::Should) } else { level };
    let mut check = Check::of_rule("content.length", level, message);
    if check.verdict != Verdict::Pass {
        check.expected = aligned.expected.len().into();
        check.got = aligned.received.len().into();
    }
    check
}

/// Adds the provider's calls that are reported as the client's to a message about wrong blocks.
pub(crate) fn add_mislabeled(message: String, got: &[Block], mislabeled: &[usize]) -> String {
    let calls = list_first(mislabeled.iter().map(|i| format_call(&got[*i])));
    if calls.is_empty() {
        return message;
    }
    format!("{message}; calls that the provider ran are reported as the client's: {calls}")
}

fn compare_field(
    expected: &ExpectedBlock,
    name: &str,
    leaf: &Leaf,
    got: &Block,
    context: Context<'_>,
    tolerant: bool,
    path: &str,
) -> Option<Check> {
    let unfinished =
        is_unfinished(expected, got) || (tolerant && got.is_call() && *got.get("complete") == false);
    if !is_claimed(expected, name, context.claims) || (name == "arguments" && unfinished) {
        return None;
    }
    let value = got.get(name);
    // An empty signature is as good as none.
    let value = if name == "signature" && *value == "" { &NULL } else { value };
    if got.is_call() && matches!(name, "complete" | "arguments") && must_not_run(expected) {
        return Some(check_not_executable(path, name, leaf, got, context.level));
    }
    if is_left_out(expected, name, got) {
        return None;
    }
    let lowered = context.level.lower(Level::Should);
    Some(match (name, leaf) {
        ("echo", _) => check_leaf(path, leaf, select_echo(leaf, value), context.level),
        ("citations", Leaf::Equals { equals: citations }) => {
            check_citations(path, leaf, citations, value, if tolerant { lowered } else { context.level })
        }
        _ => {
            let is_loss = tolerant && is_part(leaf, name, value);
            check_leaf(path, leaf, value.clone(), if is_loss { lowered } else { context.level })
        }
    })
}

/// Returns the members that a case names; the provider may add others at any time.
fn select_echo(leaf: &Leaf, got: &Value) -> Value {
    match (leaf.literal().and_then(Value::as_object), got) {
        (Some(named), Value::Object(got)) => {
            let pick = |name: &String| Some((name.clone(), got.get(name)?.clone()));
            Value::Object(named.keys().filter_map(pick).collect())
        }
        _ => got.clone(),
    }
}

/// Returns the check that a truncated or malformed call is not executable.
///
/// It passes for both `complete: false` and `arguments: null`, whichever the case expects, because libraries use one
/// or the other. A failure is reported for the leaf that the case expects.
fn check_not_executable(path: &str, name: &str, leaf: &Leaf, got: &Block, level: Level) -> Check {
    let says_so = if name == "complete" { leaf.is(&false.into()) } else { leaf.is(&NULL) };
    let fails = says_so && got.is_executable();
    let mut check = Check::new(path, level, leaf, got.get(name).clone(), !fails);
    if fails {
        let call = format_call(got);
        check.message = Some(format!(
            "a call that must not be executed is reported as executable: {call}; it {MARKED_UNFINISHED}"
        ));
    }
    check
}

/// Returns the check on a text's citations; a key that is left out is not judged.
fn check_citations(path: &str, leaf: &Leaf, citations: &Value, got: &Value, level: Level) -> Check {
    let objects = |value: &Value| -> Vec<Map<String, Value>> {
        value.as_array().into_iter().flatten().filter_map(Value::as_object).cloned().collect()
    };
    let (expected, mut shown) = (objects(citations), objects(got));
    let judged: BTreeSet<_> = expected.iter().flat_map(Map::keys).collect();
    for citation in &mut shown {
        *citation = std::mem::take(citation).into_iter().filter(|(key, _)| judged.contains(key)).collect();
    }
    let is_same = |(named, citation): (&Map<String, Value>, &Map<String, Value>)| {
        named.iter().all(|(key, value)| citation.get(key).map_or(true, |got| is_equal(value, got)))
    };
    let holds = expected.len() == shown.len() && expected.iter().zip(&shown).all(is_same);
    Check::new(path, level, leaf, shown.into_iter().map(Value::Object).collect(), holds)
}

/// Returns whether a client does not expose a block's field.
fn is_left_out(expected: &ExpectedBlock, name: &str, got: &Block) -> bool {
    if !matches!(got.kind, Kind::ToolCall | Kind::Thinking | Kind::Text) {
        return false;
    }
    if got.absent.contains(name) {
        return true;
    }
    // Many libraries expose only the parsed arguments.
    if name == "arguments_text" && got.is_call() && got.get(name).is_null() {
        return match expected.get("arguments") {
            Some(leaf) => leaf.matches(got.get("arguments"), false),
            None => is_text_in(got.get("arguments"), &expected.fields[name]),
        };
    }
    // Libraries that return only complete calls have no such flag.
    name == "complete" && got.get(name).is_null()
}

/// Returns whether arguments have a text in some form: as it is, as JSON, or in an object.
///
/// The case leaves the form open, because a custom tool's text is not JSON.
fn is_text_in(arguments: &Value, text: &Leaf) -> bool {
    let literal = match text.literal() {
        Some(literal) => literal,
        None => return true,
    };
    let parsed = literal.as_str().and_then(|text| serde_json::from_str(text).ok());
    let held = arguments.as_object().into_iter().flat_map(Map::values);
    let mut values = std::iter::once(arguments).chain(held);
    values.any(|value| {
        is_equal(literal, value) || parsed.as_ref().map_or(false, |parsed| is_equal(parsed, value))
    })
}

/// Returns whether `value` is a part of the expected value that can remain if content was lost.
fn is_part(leaf: &Leaf, name: &str, value: &Value) -> bool {
    if name == "complete" {
        return *value == false;
    }
    let begins = |whole: &str| value.as_str().map_or(false, |text| whole.starts_with(text));
    value.is_null() || leaf.literal_text().map_or(false, begins)
}

/// Returns whether a call must not be executed, because it did not end or its arguments are not JSON.
pub(crate) fn must_not_run(block: &ExpectedBlock) -> bool {
    block.is_call() && (block.is("complete", false) || block.is("arguments", Value::Null))
}

/// Returns whether a call did not end, in which case its arguments are not checked.
fn is_unfinished(block: &ExpectedBlock, got: &Block) -> bool {
    // If the case accepts a call that did not end, the client may report it as open, without final arguments.
    let is_open = got.is_call() && !got.is_executable();
    let accepts_open = |leaf: &Leaf| leaf.matches(&false.into(), false);
    block.is("complete", false) || (is_open && block.get("complete").map_or(false, accepts_open))
}

fn is_claimed(block: &ExpectedBlock, name: &str, claims: &Claims) -> bool {
    let is_signature =
        name == "signature" && matches!(block.kind, Kind::Thinking | Kind::Text | Kind::ToolCall);
    !is_signature || claims.has("signatures")
}

/// Returns the level for a literal: JavaScript cannot represent some integers, so a difference is a warning.
fn lower_for_unsafe(leaf: &Leaf, level: Level) -> Level {
    let is_unsafe = leaf.literal().map_or(false, has_unsafe_integer);
    if is_unsafe {
        level.lower(Level::Should)
    } else {
        level
    }
}

/// Returns the check on one leaf.
pub(crate) fn check_leaf(path: &str, leaf: &Leaf, got: Value, level: Level) -> Check {
    let money = path.starts_with("cost.") && path != "cost.currency";
    let is_preferred = match leaf {
        Leaf::AnyOf { prefer, .. } if !prefer.is_empty() => {
            Leaf::AnyOf { any_of: prefer.clone(), prefer: Vec::new() }.matches(&got, money)
        }
        _ => true,
    };
    let holds = leaf.matches(&got, money);
    let level = lower_for_unsafe(leaf, level);
    let level = if holds && !is_preferred { level.lower(Level::Should) } else { level };
    Check::new(path, level, leaf, got, holds && is_preferred)
}

pub(crate) fn block_path(i: usize, kind: Kind, name: &str) -> String {
    match name {
        "text" if JOINED_KINDS.contains(&kind) => format!("content.{i}.{}", kind.name()),
        _ => format!("content.{i}.{}.{name}", kind.name()),
    }
}

fn describe_values(check: &Check) -> String {
    format!("expected {}, got {}", to_json(&check.expected), to_json(&check.got))
}

/// Returns a call for a message, on one line with its arguments shortened: `get_time({"city": "Oslo"})`.
pub(crate) fn format_call(call: &Block) -> String {
    let name = call.get("name").as_str().filter(|name| !name.is_empty()).unwrap_or("a call without a name");
    let arguments: Vec<char> = to_json(call.get("arguments")).chars().collect();
    let text: String = if arguments.len() > MAX_ARGUMENTS {
        let (start, end) = (&arguments[..MAX_ARGUMENTS - 12], &arguments[arguments.len() - 10..]);
        start.iter().chain(&['…']).chain(end).collect()
    } else {
        arguments.iter().collect()
    };
    format!("{}({})", escape_unprintable(name), escape_unprintable(&text))
}

/// Escapes control characters, as the Python judge does in the messages of exceptions.
pub(crate) fn escape_unprintable(text: &str) -> String {
    let escape = |character: char| match character {
        '\n' | '\r' | '\t' => character.escape_default().to_string(),
        _ if character.is_control() => format!("\\x{:02x}", character as u32),
        _ => character.to_string(),
    };
    text.chars().map(escape).collect()
}

/// Returns the first few of the names, separated by commas.
fn list_first(names: impl Iterator<Item = String>) -> String {
    names.take(MAX_LISTED).collect::<Vec<_>>().join(", ")
}

/// Returns the types of blocks, abbreviated: `[text, tool_call]`.
fn format_kinds(kinds: impl ExactSizeIterator<Item = Kind>) -> String {
    let more = if kinds.len() > MAX_LISTED { ", …" } else { "" };
    format!("[{}{more}]", list_first(kinds.map(|kind| kind.name().to_owned())))
}
