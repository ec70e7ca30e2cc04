package streamconform

// pairBlocks returns, for each expected block, the position of the received block that matches it, or -1. If
// both lists have the same types, blocks match by position, so that a wrong text is one difference. Otherwise,
// the result is the alignment in order with the most pairs of equal type, and among these the one with the
// most equal names, texts and arguments: one lost block is then one difference.
func pairBlocks(expected []expectedBlock, got []*block) []int {
	pairs := make([]int, len(expected))
	isSame := len(expected) == len(got)
	for i, wanted := range expected {
		pairs[i] = -1
		if i < len(got) && got[i].kind == wanted.Type {
			pairs[i] = i
		} else {
			isSame = false
		}
	}
	if isSame || len(expected)*len(got) > maxPairs {
		return pairs
	}
	scores := scorePairs(expected, got)
	best := sumScores(scores, len(got))
	j := 0
	for i, row := range scores {
		// Skip received blocks that the best alignment leaves out.
		for j < len(got) && best[i][j] == best[i][j+1] {
			j++
		}
		pairs[i] = -1
		if j < len(got) && row[j] > 0 && best[i][j] == best[i+1][j+1]+row[j] {
			pairs[i] = j
			j++
		}
	}
	return pairs
}

// scorePairs returns the score of each expected block with each received one, 0 for those that cannot match.
func scorePairs(expected []expectedBlock, got []*block) [][]int {
	// Larger than the similarity of all pairs together, so that the number of pairs comes first.
	weight := 2 * min(len(expected), len(got))
	ids := set{}
	for _, wanted := range expected {
		if id, ok := literalText(wanted.Fields.get("id")); ok {
			ids[id] = true
		}
	}
	scores := make([][]int, len(expected))
	for i := range scores {
		scores[i] = make([]int, len(got))
	}
	for j, one := range got {
		exact := make([]bool, len(expected))
		isExact := false
		for i, wanted := range expected {
			exact[i] = isExactly(wanted, one)
			isExact = isExact || exact[i]
		}
		for i, wanted := range expected {
			scores[i][j] = scorePair(wanted, one, weight, ids, isExact && !exact[i])
		}
	}
	return scores
}

// scorePair returns 0 for blocks that cannot match, and otherwise weight plus 1 to 3, by similarity. Blocks
// of different types cannot match, nor can calls if one has the id of another expected call, or is exactly
// another one (isOther).
func scorePair(wanted expectedBlock, got *block, weight int, ids set, isOther bool) int {
	if wanted.Type != got.kind {
		return 0
	}
	wantedID, isNamed := literalText(wanted.Fields.get("id"))
	gotID, hasID := got.fields["id"].(string)
	if isNamed && hasID {
		if wantedID == gotID {
			return weight + 3
		}
		if ids[gotID] {
			return 0
		}
	}
	if isOther {
		return 0
	}
	name := "text"
	if got.kind == "tool_call" {
		name = "name"
	}
	if !isLiteral(wanted.Fields.get(name), got.fields[name]) {
		return weight + 1
	}
	// Some of several calls to one tool may be missing: the arguments show which.
	if isExactly(wanted, got) {
		return weight + 3
	}
	return weight + 2
}

// isExactly says whether a received block is the expected call, with its name and arguments. A call that was
// cut has no arguments, like one whose arguments are malformed.
func isExactly(wanted expectedBlock, got *block) bool {
	return wanted.Type == "tool_call" && got.kind == "tool_call" && got.fields["arguments"] != nil &&
		isLiteral(wanted.Fields.get("name"), got.fields["name"]) &&
		isLiteral(wanted.Fields.get("arguments"), got.fields["arguments"])
}

// sumScores returns the score of the best alignment of the blocks from each position on.
func sumScores(scores [][]int, columns int) [][]int {
	best := make([][]int, len(scores)+1)
	for i := range best {
		best[i] = make([]int, columns+1)
	}
	// Filled from the end, so that the pairs can then be read off from the beginning.
	for i := len(scores) - 1; i >= 0; i-- {
		for j := columns - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if scores[i][j] > 0 {
				best[i][j] = max(best[i][j], best[i+1][j+1]+scores[i][j])
			}
		}
	}
	return best
}
