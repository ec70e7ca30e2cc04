//! Gives expected and received blocks one form: what is not judged is left out, neighbors are joined, and calls
//! are put in the order of the stream.

use crate::{
    judge::Context,
    leaf::{hash_text, Leaf},
    outcome::{Block, Kind},
    value::NULL,
    Claims,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The types of which neighbors are joined, and whose text has no name of its own in paths.
pub(crate) const JOINED_KINDS: &[Kind] = &[Kind::Text, Kind::Refusal];
/// The fields that may distinguish adjacent texts.
const SEPARATORS: &[&str] = &["phase", "signature"];

/// An expected content block, with one leaf per judged field.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ExpectedBlock {
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    pub(crate) fields: BTreeMap<String, Leaf>,
}

impl ExpectedBlock {
    pub(crate) fn get(&self, name: &str) -> Option<&Leaf> {
        self.fields.get(name)
    }

    pub(crate) fn is(&self, name: &str, value: impl Into<Value>) -> bool {
        self.get(name).map_or(false, |leaf| leaf.is(&value.into()))
    }

    /// Returns whether a field is neither null nor empty, as far as the case says.
    fn has(&self, name: &str) -> bool {
        self.get(name).map_or(false, |leaf| !leaf.is(&NULL) && !leaf.is(&"".into()))
    }

    pub(crate) fn is_call(&self) -> bool {
        self.kind == Kind::ToolCall
    }

    pub(crate) fn is_of_provider(&self) -> bool {
        self.is_call() && self.is("executor", "provider")
    }

    pub(crate) fn id(&self) -> Option<&str> {
        self.get("id")?.literal_text()
    }

    fn is_signed(&self, claims: &Claims) -> bool {
        claims.has("signatures") && self.has("signature")
    }

    fn is_redacted(&self) -> bool {
        self.is("redacted", true)
    }

    /// Returns whether the case means the call `block` by this one; a wrong value in it is then a difference.
    fn names(&self, block: &Block) -> bool {
        let (id, name) = (self.get("id").and_then(Leaf::literal), self.get("name"));
        if id.map_or(false, |id| !id.is_null() && id == block.get("id")) {
            return true;
        }
        match name {
            // `present` fits every name, so only the arguments tell which call is meant.
            Some(Leaf::Present { .. }) => {
                (id.is_none() || block.get("id").is_null())
                    && matches_or_absent(self.get("arguments"), block, "arguments")
            }
            Some(leaf) => leaf.matches(block.get("name"), false),
            None => false,
        }
    }

    /// Returns whether `block` is this call, with its name and arguments.
    pub(crate) fn is_exactly(&self, block: &Block) -> bool {
        // A call that was cut has no arguments, like a call whose arguments are malformed.
        self.is_call()
            && block.is_call()
            && !block.get("arguments").is_null()
            && ["name", "arguments"]
                .iter()
                .all(|name| self.get(name).map_or(false, |leaf| leaf.is(block.get(name))))
    }
}

fn matches_or_absent(leaf: Option<&Leaf>, block: &Block, name: &str) -> bool {
    leaf.map_or(true, |leaf| leaf.matches(block.get(name), false))
}

/// The blocks to compare.
pub(crate) struct Aligned {
    pub(crate) expected: Vec<ExpectedBlock>,
    pub(crate) received: Vec<Block>,
    /// The ids of the calls in the order in which they were received, if that is not the stream's order.
    pub(crate) former_ids: Vec<String>,
    /// The number of signatures that were reported as a block of their own.
    pub(crate) moved: usize,
}

/// Returns both sides in one form; `named` are the blocks that the case names, and `separators` the fields
/// that distinguish adjacent texts in this answer.
pub(crate) fn align<'a>(
    expected: impl Iterator<Item = &'a ExpectedBlock>,
    received: &[Block],
    named: &[ExpectedBlock],
    context: Context<'_>,
    separators: &[&str],
) -> Aligned {
    let expected = normalize_expected(expected, &find_hidden(received), context, separators);
    let received = normalize_received(received, named, context, separators);
    let (received, moved) = return_signatures(&expected, received, context.mentions);
    let received = join_split_thoughts(&expected, received);
    let (received, former_ids) = order_calls(&expected, received, context.mentions);
    Aligned { expected, received, former_ids, moved }
}

/// Returns the fields that separate adjacent texts: those the case names and every text exposes.
pub(crate) fn find_separators(
    expected: &[ExpectedBlock],
    received: &[Block],
    claims: &Claims,
) -> Vec<&'static str> {
    let is_named =
        |name| expected.iter().any(|block| block.kind == Kind::Text && block.fields.contains_key(name));
    let is_absent =
        |name| received.iter().any(|block| block.kind == Kind::Text && block.absent.contains(name));
    let is_separator = |name: &&'static str| {
        is_named(*name) && !is_absent(*name) && (*name != "signature" || claims.has("signatures"))
    };
    SEPARATORS.iter().copied().filter(is_separator).collect()
}

/// Returns the optional keys of thinking that are left out of all thinking blocks.
fn find_hidden(received: &[Block]) -> BTreeSet<&'static str> {
    let mut thoughts =
        received.iter().filter(|block| block.kind == Kind::Thinking).map(|block| &block.absent);
    let first = thoughts.next().cloned().unwrap_or_default();
    thoughts.fold(first, |hidden, absent| &hidden & absent)
}

fn normalize_expected<'a>(
    blocks: impl Iterator<Item = &'a ExpectedBlock>,
    hidden: &BTreeSet<&'static str>,
    context: Context<'_>,
    separators: &[&str],
) -> Vec<ExpectedBlock> {
    let Context { claims, ordered, .. } = context;
    let is_expected = |block: &ExpectedBlock| match block.kind {
        Kind::Text => !block.is("text", "") || (separators.contains(&"signature") && block.is_signed(claims)),
        Kind::Refusal => claims.has("refusals") && !block.is("text", ""),
        Kind::Thinking => {
            let has_text = block.get("text").map_or(true, |leaf| !leaf.is(&NULL) && !leaf.is(&"".into()));
            claims.has("thinking") && (block.is_signed(claims) || block.is_redacted() || has_text)
        }
        Kind::ToolCall => claims.has_calls_of(if block.is_of_provider() { "provider" } else { "client" }),
        Kind::Other => true,
    };
    let is_only_hidden = |block: &ExpectedBlock| {
        block.kind == Kind::Thinking
            && !block.has("text")
            && hidden.contains("signature")
            && (hidden.contains("redacted") || !block.is_redacted())
    };
    let phase = |block: &ExpectedBlock| block.get("phase").cloned().unwrap_or(Leaf::from(Value::Null));
    let can_join = |before: &ExpectedBlock, block: &ExpectedBlock| match (before.kind, block.kind) {
        (Kind::Text, Kind::Text) => {
            let is_signed = separators.contains(&"signature") && before.is_signed(claims);
            !is_signed && (phase(before) == phase(block) || !separators.contains(&"phase"))
        }
        (Kind::Refusal, Kind::Refusal) => true,
        (Kind::Thinking, Kind::Thinking) => {
            !ordered
                && ![before, block].iter().any(|thought| thought.is_signed(claims) || thought.is_redacted())
        }
        _ => false,
    };
    let mut kept: Vec<_> =
        blocks.filter(|block| is_expected(block) && !is_only_hidden(block)).cloned().collect();
    if !ordered {
        kept.sort_by_key(|block| block.kind);
    }
    join_runs(kept, can_join, join_expected)
}

fn normalize_received(
    blocks: &[Block],
    named: &[ExpectedBlock],
    context: Context<'_>,
    separators: &[&str],
) -> Vec<Block> {
    let Context { claims, ordered, .. } = context;
    let has_kind = |kind: &Value| {
        named
            .iter()
            .any(|block| block.kind == Kind::Other && block.get("kind").and_then(Leaf::literal) == Some(kind))
    };
    let is_judged = |block: &Block| match block.kind {
        Kind::Text => {
            !block.text("text").is_empty()
                || (separators.contains(&"signature") && !block.text("signature").is_empty())
        }
        Kind::Refusal => claims.has("refusals") && !block.text("text").is_empty(),
        Kind::Thinking => {
            let is_signed = claims.has("signatures") && !block.text("signature").is_empty();
            claims.has("thinking") && (is_signed || block.is_redacted() || !block.text("text").is_empty())
        }
        // A library may show a provider's call that the case does not name in any form, or not at all.
        Kind::ToolCall => {
            claims.has_calls_of(block.text("executor"))
                && (block.is_of_client() || named.iter().any(|call| call.is_call() && call.names(block)))
        }
        Kind::Other => has_kind(block.get("kind")),
    };
    let can_join = |before: &Block, block: &Block| match (before.kind, block.kind) {
        (Kind::Text, Kind::Text) => {
            let is_signed = separators.contains(&"signature") && !before.text("signature").is_empty();
            !is_signed && (before.get("phase") == block.get("phase") || !separators.contains(&"phase"))
        }
        (Kind::Refusal, Kind::Refusal) => true,
        (Kind::Thinking, Kind::Thinking) => {
            let is_signed = |block: &Block| claims.has("signatures") && !block.text("signature").is_empty();
            !ordered && ![before, block].iter().any(|thought| thought.is_redacted() || is_signed(thought))
        }
        _ => false,
    };
    let mut judged: Vec<_> = blocks.iter().filter(|block| is_judged(block)).cloned().collect();
    if !ordered {
        judged.sort_by_key(|block| block.kind);
    }
    join_runs(judged, can_join, join_received)
}

/// Returns the blocks with each run of neighbors that can be joined as one block.
fn join_runs<B>(blocks: Vec<B>, can_join: impl Fn(&B, &B) -> bool, join: impl Fn(&[B]) -> B) -> Vec<B> {
    let mut runs: Vec<Vec<B>> = Vec::new();
    for block in blocks {
        match runs.last_mut() {
            Some(run) if can_join(&run[run.len() - 1], &block) => run.push(block),
            _ => runs.push(vec![block]),
        }
    }
    runs.into_iter().map(|mut run| if run.len() > 1 { join(&run) } else { run.remove(0) }).collect()
}

/// Returns the joined block; if one of the texts is a matcher, the joined text is not checked.
fn join_expected(blocks: &[ExpectedBlock]) -> ExpectedBlock {
    let mut fields = BTreeMap::new();
    let leaves: Vec<_> = blocks.iter().map(|block| block.get("text")).collect();
    let literals: Vec<_> = leaves.iter().filter_map(|leaf| leaf.and_then(Leaf::literal_text)).collect();
    let digest = |leaf: &Option<&Leaf>| match leaf {
        Some(Leaf::Digest { digest }) => Some(digest.clone()),
        leaf => leaf.and_then(Leaf::literal_text).map(|text| vec![(text.chars().count(), hash_text(text))]),
    };
    if literals.len() == leaves.len() {
        fields.insert("text".to_owned(), Value::from(literals.concat()).into());
        if blocks.iter().any(|block| block.fields.contains_key("citations")) {
            let none = Value::Array(Vec::new());
            let lists =
                blocks.iter().map(|block| block.get("citations").and_then(Leaf::literal).unwrap_or(&none));
            fields.insert("citations".to_owned(), join_citations(literals.into_iter().zip(lists)).into());
        }
    } else if let Some(parts) = leaves.iter().map(digest).collect::<Option<Vec<_>>>() {
        fields.insert("text".to_owned(), Leaf::Digest { digest: parts.concat() });
    }
    let last = &blocks[blocks.len() - 1];
    if let Some(leaf) = last.get("signature") {
        fields.insert("signature".to_owned(), leaf.clone());
    }
    if let Some(phase) =
        last.get("phase").filter(|_| blocks.iter().all(|block| block.get("phase") == last.get("phase")))
    {
        fields.insert("phase".to_owned(), phase.clone());
    }
    ExpectedBlock { kind: last.kind, fields }
}

/// Returns the block that joins these texts, refusals or thoughts.
fn join_received(blocks: &[Block]) -> Block {
    let last = &blocks[blocks.len() - 1];
    let mut joined = Block::new(last.kind);
    joined.set("text", blocks.iter().map(|block| block.text("text")).collect::<String>());
    match last.kind {
        Kind::Text => {
            // A key that one part leaves out is unknown for the joined text.
            joined.absent = blocks.iter().flat_map(|block| block.absent.iter().copied()).collect();
            joined.set("signature", last.get("signature").clone());
            joined.set(
                "citations",
                join_citations(blocks.iter().map(|block| (block.text("text"), block.get("citations")))),
            );
            if blocks.iter().all(|block| block.get("phase") == last.get("phase")) {
                joined.set("phase", last.get("phase").clone());
            } else {
                joined.absent.insert("phase");
            }
        }
        // Thoughts are joined only if their signatures are absent or not judged, so no signature is lost here.
        Kind::Thinking => joined.set("redacted", false),
        _ => {}
    }
    joined
}

/// Returns the citations of joined texts, with their positions in the joined text.
fn join_citations<'a>(parts: impl Iterator<Item = (&'a str, &'a Value)>) -> Value {
    let mut joined = Vec::new();
    let mut length = 0;
    for (text, citations) in parts {
        for citation in citations.as_array().into_iter().flatten() {
            let mut citation = citation.clone();
            for key in ["start", "end"] {
                if let Some(place) = citation.get(key).and_then(Value::as_u64) {
                    citation[key] = (place + length).into();
                }
            }
            joined.push(citation);
        }
        length += text.chars().count() as u64;
    }
    Value::Array(joined)
}

/// Returns the blocks with the signatures of calls and texts on their blocks, and the number of moves.
///
/// Some libraries report such a signature as a thinking block without text before the block.
fn return_signatures(
    expected: &[ExpectedBlock],
    received: Vec<Block>,
    mentions: &[String],
) -> (Vec<Block>, usize) {
    let has_thoughts = expected.iter().any(|block| block.kind == Kind::Thinking);
    let others = expected
        .iter()
        .filter(|block| block.kind != Kind::Thinking)
        .filter_map(|block| block.get("signature"));
    let is_moved = |block: &Block| {
        let signature = block.text("signature");
        block.kind == Kind::Thinking
            && block.text("text").is_empty()
            && !block.is_redacted()
            && !signature.is_empty()
            && (others.clone().any(|leaf| leaf.matches(block.get("signature"), false))
                // A case need not name the signature, but the stream has it. It may belong to any thought.
                || (!has_thoughts && mentions.iter().any(|text| text == signature)))
    };
    let mut returned = Vec::with_capacity(received.len());
    let mut moved: Option<Value> = None;
    let mut count = 0;
    for mut block in received {
        if is_moved(&block) {
            moved = Some(block.get("signature").clone());
            count += 1;
            continue;
        }
        if let Some(signature) = moved.take() {
            if matches!(block.kind, Kind::ToolCall | Kind::Text) && block.text("signature").is_empty() {
                block.set("signature", signature);
                block.absent.remove("signature");
            }
        }
        returned.push(block);
    }
    (returned, count)
}

/// Returns the blocks with the pieces of each thought joined, if only the last piece has a signature.
///
/// A library may show each delta of a thought as a block. Two thoughts in one block remain a difference, because
/// their signatures belong to different texts.
pub(crate) fn join_split_thoughts(expected: &[ExpectedBlock], received: Vec<Block>) -> Vec<Block> {
    let mut thoughts = expected.iter().filter(|block| block.kind == Kind::Thinking);
    // If the stream broke, not all thoughts arrived, so the number of blocks does not show that one is split.
    let count = received.iter().filter(|block| block.kind == Kind::Thinking).count();
    let has_pieces = thoughts.clone().count() < count;
    let mut joined: Vec<Block> = Vec::with_capacity(received.len());
    let mut thought: Option<&ExpectedBlock> = None;
    for mut block in received {
        if block.kind == Kind::Thinking && !block.is_redacted() {
            let is_piece = |last: &&mut Block| {
                let text = format!("{}{}", last.text("text"), block.text("text"));
                let begins =
                    |leaf: &Leaf| leaf.literal_text().map_or(false, |whole| whole.starts_with(&text));
                last.kind == Kind::Thinking
                    && last.text("signature").is_empty()
                    && !last.is_redacted()
                    && thought.map_or(false, |thought| {
                        let leaf = thought.get("text");
                        leaf.map_or(0, measure) >= text.chars().count()
                            && (has_pieces || (!block.text("text").is_empty() && leaf.map_or(false, begins)))
                    })
            };
            if let Some(last) = joined.last_mut().filter(is_piece) {
                block.set("text", format!("{}{}", last.text("text"), block.text("text")));
                *last = block;
                continue;
            }
            thought = thoughts.next();
        }
        joined.push(block);
    }
    joined
}

/// Returns the most characters that a text may have, or 0 if that is unknown.
fn measure(leaf: &Leaf) -> usize {
    match leaf {
        Leaf::Digest { digest } => digest.iter().map(|(length, _)| length).sum(),
        _ => {
            leaf.values().iter().filter_map(Value::as_str).map(|text| text.chars().count()).max().unwrap_or(0)
        }
    }
}

/// Returns the blocks with their calls in the order of the stream's ids, and the ids in their former order.
///
/// The calls that both sides have by id change places only among themselves. The ids are empty if the order was
/// right, or if ids do not identify the calls.
fn order_calls(
    expected: &[ExpectedBlock],
    received: Vec<Block>,
    mentions: &[String],
) -> (Vec<Block>, Vec<String>) {
    let positions = find_positions(expected, &received, mentions);
    let ids: Vec<_> = positions.iter().map(|(i, _)| received[*i].text("id").to_owned()).collect();
    let mut sorted = positions.clone();
    sorted.sort_by_key(|(_, position)| *position);
    if sorted == positions || ids.iter().collect::<BTreeSet<_>>().len() < ids.len() {
        return (received, Vec::new());
    }
    let mut ordered = received.clone();
    for ((place, _), (source, _)) in positions.iter().zip(&sorted) {
        ordered[*place] = received[*source].clone();
    }
    (ordered, ids)
}

/// Returns the calls that both sides have by id, each by its place, with the position of its id in the stream.
fn find_positions(
    expected: &[ExpectedBlock],
    received: &[Block],
    mentions: &[String],
) -> Vec<(usize, usize)> {
    let expected: Vec<_> = expected.iter().filter(|block| block.is_call()).collect();
    let calls: Vec<_> = received.iter().enumerate().filter(|(_, block)| block.is_call()).collect();
    let find = |place: &dyn Fn(&str) -> Option<usize>| -> Vec<(usize, usize)> {
        let find_one = |(i, block): &(usize, &Block)| Some((*i, place(block.get("id").as_str()?)?));
        calls.iter().filter_map(find_one).collect()
    };
    let ids: BTreeMap<_, _> =
        expected.iter().enumerate().filter_map(|(i, block)| Some((block.id()?, i))).collect();
    if ids.len() == expected.len() {
        return find(&|id| ids.get(id).copied());
    }
    // If the case does not name each call by an id of its own, all calls must have ids that are in the stream.
    let is_same = |(wanted, (_, got)): (&&ExpectedBlock, &(usize, &Block))| {
        ["name", "arguments"].iter().all(|name| matches_or_absent(wanted.get(name), got, name))
    };
    if calls.len() > expected.len() || expected.iter().zip(&calls).all(is_same) {
        return Vec::new();
    }
    let found = find(&|id| mentions.iter().position(|text| text == id));
    if found.len() == calls.len() {
        found
    } else {
        Vec::new()
    }
}

/// Returns the places of the client's calls that the case names as calls of the provider.
///
/// `expected` are the blocks that must be reported; a provider's call is not among them unless it is claimed.
pub(crate) fn find_mislabeled(
    named: &[ExpectedBlock],
    expected: &[ExpectedBlock],
    received: &[Block],
) -> Vec<usize> {
    let runs: Vec<_> = named.iter().filter(|block| block.is_of_provider()).collect();
    let own: Vec<_> = expected.iter().filter(|block| block.is_call() && !runs.contains(block)).collect();
    // A tool of the provider and one of the client may have the same name; then the id decides.
    let is_own = |block: &Block| {
        own.iter().any(|call| call.names(block) && call.id().map_or(true, |id| *block.get("id") == id))
    };
    let is_mislabeled =
        |block: &Block| block.is_of_client() && runs.iter().any(|run| run.names(block)) && !is_own(block);
    (0..received.len()).filter(|i| !runs.is_empty() && is_mislabeled(&received[*i])).collect()
}
