package streamconform

import (
	"reflect"
	"sort"
	"strings"
	"unicode/utf8"
)

// Content blocks of both sides are brought to one form before they are compared. Dropped are blocks of type
// other (unless the case names their kind), types that are not claimed, empty texts and refusals, thinking
// without text or signature, and calls of the provider that the case does not name. Calls that both sides
// identify by id are paired by id, and the pieces of a thought are joined. Texts and refusals that are then
// adjacent are joined, unless the case names a phase or signature that separates them and the outcome has it.
// If the API's messages have no order, blocks are sorted by type, and thoughts without signature are joined.

// aligned are the blocks to compare.
type aligned struct {
	expected []expectedBlock
	received []*block
	// formerIDs are the ids of the calls as they were received, if that is not the stream's order.
	formerIDs []string
	// moved is the number of signatures that were reported as a block of their own.
	moved int
}

// ranks is the order of types if the API does not order the blocks of a message.
var ranks = map[string]int{"thinking": 0, "text": 1, "refusal": 2, "tool_call": 3, "other": 4}

// maxPairs limits the search for the best alignment; above it, blocks are paired by position.
const maxPairs = 250_000

// An aligner knows what decides the form of the blocks.
type aligner struct {
	claims Claims
	// named are the blocks of the case, including those that expected lacks.
	named   []expectedBlock
	ordered bool
	find    func(string) (int, bool)
	// separators are the fields that separate adjacent texts: those of phase and signature that the case names
	// and every text exposes.
	separators set
	// hidden are the keys that the outcome leaves out of all its thinking blocks.
	hidden set
}

func newAligner(trial *Trial, claims Claims, named []expectedBlock) *aligner {
	return &aligner{claims, named, trial.isOrdered(), trial.findMention, nil, nil}
}

func (a *aligner) align(expected []expectedBlock, received []*block) aligned {
	a.hidden = findHidden(received)
	wanted := a.normalizeExpected(expected)
	blocks, moved := a.returnSignatures(wanted, a.normalizeReceived(received))
	blocks, formerIDs := a.orderCalls(wanted, joinSplitThoughts(wanted, blocks))
	return aligned{wanted, blocks, formerIDs, moved}
}

// findSeparators sets separators.
func (a *aligner) findSeparators(received []*block) {
	a.separators = set{}
	for _, name := range []string{"phase", "signature"} {
		isNamed := some(a.named, func(w expectedBlock) bool { return w.Type == "text" && w.Fields.get(name) != nil })
		isAbsent := some(received, func(got *block) bool { return got.kind == "text" && got.absent[name] })
		a.separators[name] = isNamed && !isAbsent && (name == "phase" || a.claims["signatures"])
	}
}

func findHidden(received []*block) set {
	hidden, thoughts := set{}, filter(received, func(got *block) bool { return got.kind == "thinking" })
	for _, name := range []string{"signature", "redacted"} {
		isAbsent := func(got *block) bool { return got.absent[name] }
		hidden[name] = len(thoughts) > 0 && every(thoughts, isAbsent)
	}
	return hidden
}

func (a *aligner) normalizeExpected(blocks []expectedBlock) []expectedBlock {
	kept := filter(blocks, func(w expectedBlock) bool { return a.isExpected(w) && !a.isOnlyHidden(w) })
	if !a.ordered {
		sort.SliceStable(kept, func(i, j int) bool { return ranks[kept[i].Type] < ranks[kept[j].Type] })
	}
	return joinRuns(kept, a.canJoinExpected, joinExpected)
}

func (a *aligner) canJoinExpected(before, wanted expectedBlock) bool {
	switch {
	case before.Type != wanted.Type:
		return false
	case before.Type == "text":
		isSamePhase := reflect.DeepEqual(orNull(before.Fields.get("phase")), orNull(wanted.Fields.get("phase")))
		isEnded := a.separators["signature"] && a.isSigned(before)
		return !isEnded && (isSamePhase || !a.separators["phase"])
	case before.Type == "thinking":
		return !a.ordered && !a.isSigned(before) && !a.isSigned(wanted) &&
			!isRedacted(before) && !isRedacted(wanted)
	}
	return before.Type == "refusal"
}

func (a *aligner) normalizeReceived(blocks []*block) []*block {
	kept := filter(blocks, func(got *block) bool { return a.isJudged(got) && !a.isUnnamedProviderCall(got) })
	if !a.ordered {
		sort.SliceStable(kept, func(i, j int) bool { return ranks[kept[i].kind] < ranks[kept[j].kind] })
	}
	return joinRuns(kept, a.canJoinReceived, joinReceived)
}

func (a *aligner) canJoinReceived(before, got *block) bool {
	switch {
	case before.kind != got.kind:
		return false
	case before.kind == "text":
		isEnded := a.separators["signature"] && before.text("signature") != ""
		return !isEnded && (before.fields["phase"] == got.fields["phase"] || !a.separators["phase"])
	case before.kind == "thinking":
		isSigned := before.text("signature") != "" || got.text("signature") != ""
		return !a.ordered && before.is("redacted", false) && got.is("redacted", false) &&
			!(a.claims["signatures"] && isSigned)
	}
	return before.kind == "refusal"
}

// joinRuns joins each run of neighbors that can be joined.
func joinRuns[B any](blocks []B, canJoin func(before, next B) bool, join func([]B) B) []B {
	var joined []B
	for start := 0; start < len(blocks); {
		end := start + 1
		for end < len(blocks) && canJoin(blocks[end-1], blocks[end]) {
			end++
		}
		joined = append(joined, join(blocks[start:end]))
		start = end
	}
	return joined
}

// joinSplitThoughts joins the pieces of each thought, if only the last piece has a signature: a library may
// show each delta as a block.
func joinSplitThoughts(expected []expectedBlock, received []*block) []*block {
	thoughts := filter(expected, func(w expectedBlock) bool { return w.Type == "thinking" })
	pieces := filter(received, func(got *block) bool { return got.kind == "thinking" })
	// If the stream broke, not all thoughts arrived, so the number of blocks does not show that one is split.
	hasPieces := len(thoughts) < len(pieces)
	var joined []*block
	var thought *expectedBlock
	for _, got := range received {
		if got.kind == "thinking" && got.is("redacted", false) {
			if last := len(joined) - 1; thought != nil && last >= 0 && isPiece(joined[last], got, *thought, hasPieces) {
				joined[last] = got.withField("text", joined[last].text("text")+got.text("text"))
				continue
			}
			thought = nil
			if len(thoughts) > 0 {
				thought, thoughts = &thoughts[0], thoughts[1:]
			}
		}
		joined = append(joined, got)
	}
	return joined
}

func isPiece(last, got *block, thought expectedBlock, hasPieces bool) bool {
	text := last.text("text") + got.text("text")
	if last.kind != "thinking" || last.text("signature") != "" || last.is("redacted", true) {
		return false
	}
	whole, _ := literalText(thought.Fields.get("text"))
	return maxLength(thought.Fields.get("text")) >= utf8.RuneCountInString(text) &&
		(hasPieces || got.text("text") != "" && strings.HasPrefix(whole, text))
}

// withField returns a copy with another value of one field.
func (b *block) withField(name string, value any) *block {
	changed := &block{b.kind, map[string]any{}, set{}}
	for key, old := range b.fields {
		changed.fields[key] = old
		changed.absent[key] = b.absent[key] && key != name
	}
	changed.fields[name] = value
	return changed
}

// maxLength returns the length of an expected text, at most, or 0 if it is unknown.
func maxLength(l leaf) int {
	if digest, ok := l.(digest); ok {
		return digest.length()
	}
	longest := 0
	for _, value := range listValues(l) {
		if text, ok := value.(string); ok && utf8.RuneCountInString(text) > longest {
			longest = utf8.RuneCountInString(text)
		}
	}
	return longest
}

// returnSignatures puts the signatures of calls and texts on their blocks, and counts them: some libraries
// report such a signature as a thinking block without text before the block.
func (a *aligner) returnSignatures(expected []expectedBlock, received []*block) ([]*block, int) {
	hasThoughts := some(expected, func(w expectedBlock) bool { return w.Type == "thinking" })
	isMoved := func(got *block) bool {
		signature := got.text("signature")
		if got.kind != "thinking" || got.text("text") != "" || got.is("redacted", true) || signature == "" {
			return false
		}
		// A case need not name the signature, but the stream has it. It may belong to any thought.
		_, isMentioned := a.find(signature)
		return !hasThoughts && isMentioned || some(expected, func(w expectedBlock) bool {
			l := w.Fields.get("signature")
			return w.Type != "thinking" && l != nil && l.matches(signature)
		})
	}
	var returned []*block
	moved, count := "", 0
	for _, got := range received {
		if isMoved(got) {
			moved = got.text("signature")
			count++
			continue
		}
		if moved != "" && (got.kind == "tool_call" || got.kind == "text") && got.text("signature") == "" {
			got = got.withField("signature", moved)
		}
		moved = ""
		returned = append(returned, got)
	}
	return returned, count
}

func (a *aligner) isExpected(wanted expectedBlock) bool {
	switch text := wanted.Fields.get("text"); wanted.Type {
	case "text":
		return !isLiteral(text, "") || a.separators["signature"] && a.isSigned(wanted)
	case "refusal":
		return a.claims["refusals"] && !isLiteral(text, "")
	case "thinking":
		return a.claims["thinking"] && (a.isSigned(wanted) || isRedacted(wanted) || !isEmpty(text, true))
	case "tool_call":
		if isLiteral(wanted.Fields.get("executor"), "provider") {
			return a.claims["provider_tools"]
		}
		return a.claims["tool_calls"]
	}
	return true
}

// isOnlyHidden says whether thinking consists only of keys that nothing in the outcome shows.
func (a *aligner) isOnlyHidden(wanted expectedBlock) bool {
	if wanted.Type != "thinking" || !isEmpty(wanted.Fields.get("text"), false) {
		return false
	}
	return a.hidden["signature"] && (a.hidden["redacted"] || !isRedacted(wanted))
}

func (a *aligner) isSigned(wanted expectedBlock) bool {
	return a.claims["signatures"] && !isEmpty(wanted.Fields.get("signature"), false)
}

// isEmpty says whether a leaf expects null or the empty text, or is absent unless isNamed.
func isEmpty(l leaf, isNamed bool) bool {
	return l == nil && !isNamed || isLiteral(l, nil) || isLiteral(l, "")
}

func isRedacted(wanted expectedBlock) bool { return isLiteral(wanted.Fields.get("redacted"), true) }

func orNull(l leaf) leaf {
	if l == nil {
		return literally{nil}
	}
	return l
}

func (a *aligner) isJudged(got *block) bool {
	switch got.kind {
	case "text":
		return got.text("text") != "" || a.separators["signature"] && got.text("signature") != ""
	case "refusal":
		return a.claims["refusals"] && got.text("text") != ""
	case "thinking":
		isSigned := a.claims["signatures"] && got.text("signature") != ""
		return a.claims["thinking"] && (isSigned || got.is("redacted", true) || got.text("text") != "")
	case "tool_call":
		if got.is("executor", "provider") {
			return a.claims["provider_tools"]
		}
		return a.claims["tool_calls"]
	}
	return some(a.named, func(w expectedBlock) bool {
		return w.Type == "other" && isLiteral(w.Fields.get("kind"), got.fields["kind"])
	})
}
