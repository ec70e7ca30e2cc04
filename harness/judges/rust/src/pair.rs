//! Pairs expected blocks with received ones.

use crate::{align::ExpectedBlock, outcome::Block};
use std::collections::BTreeSet;

/// The most pairs of blocks for which the best alignment is searched; above it, blocks pair by position.
const MAX_PAIRS: usize = 250_000;

/// Returns for each expected block the place of the received block that matches it, or None.
///
/// If both lists have the same types, blocks match by position, so that a wrong text is one difference, not a lost
/// block and an extra block. Otherwise, the result is the in-order alignment with the most pairs of equal type; if
/// there are several, it is the one with the most equal names, texts and arguments.
pub(crate) fn pair_blocks(expected: &[ExpectedBlock], got: &[Block]) -> Vec<Option<usize>> {
    if expected.iter().map(|block| block.kind).eq(got.iter().map(|block| block.kind)) {
        return (0..got.len()).map(Some).collect();
    }
    if expected.len() * got.len() > MAX_PAIRS {
        let is_same_kind = |i: usize| got.get(i).map_or(false, |block| block.kind == expected[i].kind);
        return (0..expected.len()).map(|i| Some(i).filter(|i| is_same_kind(*i))).collect();
    }
    let scores = score_pairs(expected, got);
    let best = sum_scores(&scores, got.len());
    let mut pairs = Vec::with_capacity(expected.len());
    let mut j = 0;
    for (i, row) in scores.iter().enumerate() {
        // Skip received blocks that the best alignment leaves out.
        while j < got.len() && best[i][j] == best[i][j + 1] {
            j += 1;
        }
        if j < got.len() && row[j] > 0 && best[i][j] == best[i + 1][j + 1] + row[j] {
            pairs.push(Some(j));
            j += 1;
        } else {
            pairs.push(None);
        }
    }
    pairs
}

/// Returns the scores of each expected block with each received one, 0 for blocks that cannot match.
fn score_pairs(expected: &[ExpectedBlock], got: &[Block]) -> Vec<Vec<usize>> {
    // Larger than the total similarity of all pairs, so that the number of pairs takes precedence.
    let weight = 2 * expected.len().min(got.len());
    let ids: BTreeSet<_> = expected.iter().filter_map(ExpectedBlock::id).collect();
    let exact: Vec<BTreeSet<usize>> = got
        .iter()
        .map(|block| (0..expected.len()).filter(|i| expected[*i].is_exactly(block)).collect())
        .collect();
    let score = |i: usize, wanted: &ExpectedBlock, j: usize| {
        let is_other = !exact[j].is_empty() && !exact[j].contains(&i);
        score_pair(wanted, &got[j], &ids, is_other).map_or(0, |similarity| weight + similarity)
    };
    expected
        .iter()
        .enumerate()
        .map(|(i, wanted)| (0..got.len()).map(|j| score(i, wanted, j)).collect())
        .collect()
}

/// Returns the similarity, 1 to 3, or None for blocks that cannot match: blocks of different types, and calls if one
/// has the id of another, or is exactly another expected call (`is_other`).
fn score_pair(expected: &ExpectedBlock, got: &Block, ids: &BTreeSet<&str>, is_other: bool) -> Option<usize> {
    if expected.kind != got.kind {
        return None;
    }
    if let (Some(expected_id), Some(got_id)) = (expected.id(), got.get("id").as_str()) {
        if expected_id == got_id {
            return Some(3);
        }
        if ids.contains(got_id) {
            return None;
        }
    }
    if is_other {
        return None;
    }
    let name = if got.is_call() { "name" } else { "text" };
    if !expected.get(name).map_or(false, |leaf| leaf.is(got.get(name))) {
        return Some(1);
    }
    // Some of several calls to one tool may be missing: the arguments show which.
    Some(if expected.is_exactly(got) { 3 } else { 2 })
}

/// Returns the score of the best alignment of the blocks from each position on.
fn sum_scores(scores: &[Vec<usize>], columns: usize) -> Vec<Vec<usize>> {
    let mut best = vec![vec![0; columns + 1]; scores.len() + 1];
    // Filled from the end, so that the pairs can then be read off from the beginning.
    for i in (0..scores.len()).rev() {
        for j in (0..columns).rev() {
            let paired = if scores[i][j] > 0 { best[i + 1][j + 1] + scores[i][j] } else { 0 };
            best[i][j] = paired.max(best[i + 1][j]).max(best[i][j + 1]);
        }
    }
    best
}
