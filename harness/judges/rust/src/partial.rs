//! Compares the content of a broken stream with the beginning of the complete content.

use crate::{
    align::{align, find_mislabeled, Aligned, ExpectedBlock},
    compare::{
        add_mislabeled, block_path, check_call_order, check_leaf, check_length, format_call,
        MARKED_UNFINISHED, MAX_LISTED,
    },
    judge::{Check, Context},
    leaf::Leaf,
    outcome::{Block, Kind},
    pair::pair_blocks,
    suite::Expectation,
    Level, Verdict,
};
use serde_json::Value;

const MAX_CALLS: usize = 3;
/// Fields that may be received partially. A thought's signature is not judged: OpenAI sends a provisional one at the
/// start of an item, and a broken answer is not sent back.
const PREFIX_FIELDS: &[&str] = &["text", "name", "arguments_text"];

/// Returns checks on the content of a stream that broke.
///
/// Blocks may be missing. Each received block must match one in the whole stream, in order, and its texts must be
/// prefixes. An executable call must have its complete arguments, and no more of the client's calls may be executable
/// than had ended. Text that had arrived should be kept.
pub(crate) fn compare_partial(expect: &Expectation, content: &[Block], context: Context<'_>) -> Vec<Check> {
    let (named, partial) = match (&expect.content, &expect.partial) {
        (Some(content), Some(partial)) => (content, partial),
        _ => return Vec::new(),
    };
    let level = context.level;
    // A client that raises while it builds a call loses the call, and the texts around it become neighbors.
    let has_calls = content.iter().any(Block::is_call);
    let whole = named.iter().filter(|block| block.kind != Kind::Other && (has_calls || !block.is_call()));
    let calls: Vec<_> = named.iter().filter(|block| block.is_call()).cloned().collect();
    let aligned = align(whole, content, &calls, context, &[]);
    let (expected, got) = (&aligned.expected, &aligned.received);
    let pairs = pair_blocks(expected, got);
    let mislabeled = find_mislabeled(named, expected, got);
    let mut checks: Vec<_> = check_call_order(&aligned, level).into_iter().collect();
    let message = explain_unpaired(&aligned, &pairs).map(|message| add_mislabeled(message, got, &mislabeled));
    checks.push(check_length(&aligned, level, message));
    // Only their number is compared: which calls had ended cannot be known without a parser.
    let is_executable =
        |i: &usize| got[*i].is_of_client() && got[*i].is_executable() && !mislabeled.contains(i);
    let executable: Vec<_> = (0..got.len()).filter(is_executable).map(|i| &got[i]).collect();
    let may_be_cut = executable.len() > partial.calls_ended;
    for (i, block) in expected.iter().enumerate() {
        if let Some(j) = pairs[i] {
            let fields = block.fields.iter();
            checks.extend(fields.filter_map(|(name, leaf)| {
                let check =
                    compare_field(block, name, leaf, &got[j], &block_path(i, block.kind, name), level)?;
                Some(if may_be_cut { hide_unknown_arguments(check) } else { check })
            }));
        }
    }
    let message = may_be_cut.then(|| explain_executable(&executable, partial.calls_ended));
    checks.push(Check::of_rule("content.complete_calls", level, message));
    checks.push(check_kept_text(got, partial.text_arrived, level));
    checks
}

/// Returns the check that the text that had arrived is kept; `arrived` is its length.
fn check_kept_text(got: &[Block], arrived: usize, level: Level) -> Check {
    let texts = got.iter().filter(|block| block.kind == Kind::Text);
    let kept: usize = texts.map(|block| block.text("text").chars().count()).sum();
    let message = (kept < arrived).then(|| {
        format!("{arrived} characters of text had arrived before the break, but the content has only {kept}")
    });
    Check::of_rule("content.kept", level.lower(Level::Should), message)
}

/// Returns a message about the received blocks without a counterpart, or None if there are none.
fn explain_unpaired(aligned: &Aligned, pairs: &[Option<usize>]) -> Option<String> {
    let (expected, got) = (&aligned.expected, &aligned.received);
    let unpaired: Vec<_> = (0..got.len()).filter(|j| !pairs.contains(&Some(*j))).map(|j| &got[j]).collect();
    let missing: Vec<_> =
        expected.iter().zip(pairs).filter(|(_, j)| j.is_none()).map(|(block, _)| block).collect();
    let added: Vec<_> =
        unpaired.iter().copied().filter(|block| !is_split(block.kind, expected, got)).collect();
    let (start, blocks) = if !added.is_empty() && added.iter().all(|block| is_elsewhere(block, &missing)) {
        ("blocks that are at another place in the complete stream", added)
    } else if !added.is_empty() {
        ("blocks that are not in the complete stream", added)
    } else {
        ("blocks that are only parts of one in the complete stream", unpaired)
    };
    let kinds: Vec<_> = blocks.iter().take(MAX_LISTED).map(|block| block.kind.name()).collect();
    (!kinds.is_empty()).then(|| format!("{start}: {}", kinds.join(", ")))
}

/// Returns whether one of the `missing` blocks of the complete stream is this block, or more of it.
fn is_elsewhere(block: &Block, missing: &[&ExpectedBlock]) -> bool {
    let begins = |name: &str, other: &ExpectedBlock| {
        let whole = other.get(name).and_then(Leaf::literal_text);
        other.kind == block.kind && whole.map_or(false, |whole| whole.starts_with(block.text(name)))
    };
    let name = ["id", "text"].into_iter().find(|name| !block.text(name).is_empty());
    name.map_or(false, |name| missing.iter().any(|other| begins(name, other)))
}

/// Returns whether the texts of the blocks of this type, joined, are a prefix of the complete text.
fn is_split(kind: Kind, expected: &[ExpectedBlock], got: &[Block]) -> bool {
    let leaves: Vec<_> =
        expected.iter().filter(|block| block.kind == kind).map(|block| block.get("text")).collect();
    let whole: Option<Vec<_>> = leaves.iter().map(|leaf| leaf.and_then(Leaf::literal_text)).collect();
    let received: Vec<_> =
        got.iter().filter(|block| block.kind == kind).map(|block| block.text("text")).collect();
    matches!(kind, Kind::Text | Kind::Thinking)
        && received.len() > 1
        && whole.map_or(false, |whole| !whole.is_empty() && whole.concat().starts_with(&received.concat()))
}

/// Returns the message about more executable `calls` than had `ended` when the stream broke.
fn explain_executable(calls: &[&Block], ended: usize) -> String {
    let more = if calls.len() > MAX_CALLS { ", …" } else { "" };
    let names: Vec<_> = calls.iter().take(MAX_CALLS).map(|call| format_call(call)).collect();
    let names = format!("{}{more}", names.join(", "));
    if calls.len() == 1 {
        return format!("the call had not ended when the stream broke; it {MARKED_UNFINISHED}; got {names}");
    }
    format!(
        "{} calls are reported as executable, but only {ended} had ended when the stream broke; \
         each of the others {MARKED_UNFINISHED}; got {names}",
        calls.len()
    )
}

/// Returns a failed check on the arguments of a call without the expected value: nobody can know from a cut stream
/// how they would have ended.
fn hide_unknown_arguments(mut check: Check) -> Check {
    if check.verdict != Verdict::Pass && check.path.ends_with(".tool_call.arguments") {
        check.expected = Value::Null;
        check.message =
            Some(format!("the arguments may have been cut; a call that had not ended {MARKED_UNFINISHED}"));
    }
    check
}

fn compare_field(
    expected: &ExpectedBlock,
    name: &str,
    leaf: &Leaf,
    got: &Block,
    path: &str,
    level: Level,
) -> Option<Check> {
    let value = got.get(name);
    if PREFIX_FIELDS.contains(&name) {
        // A field is null if nothing of it had arrived.
        let whole = leaf.literal_text().filter(|_| !value.is_null())?;
        return Some(check_leaf(path, &Leaf::PrefixOf { prefix_of: whole.to_owned() }, value.clone(), level));
    }
    // A truncated call should have null arguments or be marked as incomplete.
    let expects_complete = expected.get("complete").map_or(false, |leaf| leaf.matches(&true.into(), false));
    let is_judged = name == "arguments" && got.is_executable() && expects_complete;
    is_judged.then(|| check_leaf(path, leaf, value.clone(), level))
}
