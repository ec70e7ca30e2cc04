package streamconform

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxCalls is the maximum number of calls to show in a message.
const maxCalls = 3

// comparePartial checks the content of a stream that broke. Blocks may be missing. Each received block must
// match one in the whole stream, in order, and its texts must be prefixes. An executable call must have its
// complete arguments, and no more of the client's calls may be executable than had ended. Text that had arrived
// should be kept.
func (c *comparison) comparePartial() {
	// A client that raises while it builds a call loses the call, and the texts around it become neighbors.
	hasCalls := some(c.got.content, func(got *block) bool { return got.kind == "tool_call" })
	whole := filter(c.expect.Content, func(w expectedBlock) bool {
		return w.Type != "other" && (hasCalls || w.Type != "tool_call")
	})
	both := newAligner(c.trial, c.claims, filter(c.expect.Content, isExpectedCall)).align(whole, c.got.content)
	expected, got := both.expected, both.received
	c.checkOrder(both)
	pairs := pairBlocks(expected, got)
	message := explainUnpaired(pairs, expected, got)
	if message != "" {
		message += describeMislabeled(c.expect.Content, expected, got)
	}
	length := checkRule("content.length", c.level, message, len(expected), len(got))
	c.add(warnOfSignatures(length, both.moved))
	executable := listExecutable(got, findMislabeled(c.expect.Content, expected, got))
	ended := c.expect.Partial.CallsEnded
	isExcess := len(executable) > ended
	for i, position := range pairs {
		if position >= 0 {
			c.comparePart(i, expected[i], got[position], isExcess)
		}
	}
	message = ""
	if isExcess {
		message = explainExecutable(executable, ended)
	}
	c.add(checkRule("content.complete_calls", c.level, message, ended, len(executable)))
	c.checkKeptText(got)
}

// listExecutable returns the client's calls that are reported as executable. Only their number is compared:
// without a parser, nobody knows which calls had ended. A call that is mislabeled is another bug.
func listExecutable(got []*block, mislabeled map[*block]bool) []*block {
	return filter(got, func(one *block) bool {
		return one.kind == "tool_call" && one.is("executor", "client") && one.isExecutable() && !mislabeled[one]
	})
}

func (c *comparison) checkKeptText(got []*block) {
	kept, arrived := 0, c.expect.Partial.TextArrived
	for _, one := range got {
		if one.kind == "text" {
			kept += utf8.RuneCountInString(one.text("text"))
		}
	}
	message := ""
	if kept < arrived {
		message = fmt.Sprintf(
			"%d characters of text had arrived before the break, but the content has only %d", arrived, kept,
		)
	}
	c.add(checkRule("content.kept", lower(c.level, Should), message, arrived, kept))
}

// explainUnpaired returns a message about the received blocks without a counterpart, or "".
func explainUnpaired(pairs []int, expected []expectedBlock, got []*block) string {
	paired := map[int]bool{}
	var missing []expectedBlock
	for i, position := range pairs {
		paired[position] = true
		if position < 0 {
			missing = append(missing, expected[i])
		}
	}
	var unpaired, added []string
	isElsewhere := true
	for position, one := range got {
		if paired[position] {
			continue
		}
		unpaired = append(unpaired, one.kind)
		if !isSplit(one.kind, expected, got) {
			added = append(added, one.kind)
			isElsewhere = isElsewhere && isAmong(one, missing)
		}
	}
	kinds, problem := added, "blocks that are not in the complete stream: "
	switch {
	case unpaired == nil:
		return ""
	case added == nil:
		kinds, problem = unpaired, "blocks that are only parts of one in the complete stream: "
	case isElsewhere:
		problem = "blocks that are at another place in the complete stream: "
	}
	return problem + strings.Join(kinds[:min(len(kinds), maxTypes)], ", ")
}

// isAmong says whether one of the missing blocks of the complete stream is this block, or more of it.
func isAmong(got *block, missing []expectedBlock) bool {
	name := "id"
	if got.text(name) == "" {
		name = "text"
	}
	return got.text(name) != "" && some(missing, func(w expectedBlock) bool {
		whole, ok := literalText(w.Fields.get(name))
		return ok && w.Type == got.kind && strings.HasPrefix(whole, got.text(name))
	})
}

// isSplit says whether the texts of the blocks of this type, joined, begin the complete text.
func isSplit(kind string, expected []expectedBlock, got []*block) bool {
	var whole, received strings.Builder
	blocks, pieces := 0, 0
	for _, wanted := range expected {
		if wanted.Type == kind {
			text, ok := literalText(wanted.Fields.get("text"))
			if !ok {
				return false
			}
			whole.WriteString(text)
			blocks++
		}
	}
	for _, one := range got {
		if one.kind == kind && (kind == "text" || kind == "thinking") {
			received.WriteString(one.text("text"))
			pieces++
		}
	}
	return blocks > 0 && pieces > 1 && strings.HasPrefix(whole.String(), received.String())
}

func explainExecutable(calls []*block, ended int) string {
	names := list(calls, maxCalls, formatCall)
	if len(calls) == 1 {
		return fmt.Sprintf("the call had not ended when the stream broke; it %s; got %s", unfinished, names)
	}
	return fmt.Sprintf(
		"%d calls are reported as executable, but only %d had ended when the stream broke;"+
			" each of the others %s; got %s", len(calls), ended, unfinished, names,
	)
}

func (c *comparison) comparePart(i int, wanted expectedBlock, got *block, isExcess bool) {
	complete := wanted.Fields.get("complete")
	for _, field := range wanted.Fields {
		l, value, path := field.leaf, got.fields[field.name], blockPath(i, wanted.Type, field.name)
		switch field.name {
		// A thought's signature is not judged: OpenAI sends a provisional one at the start of an item, and a
		// broken answer is not sent back.
		case "text", "name", "arguments_text":
			// A field is null if nothing of it had arrived.
			if text, ok := literalText(l); ok && value != nil {
				c.add(checkLeaf(path, prefixOf(text), value, c.level, false))
			}
		case "arguments":
			// A truncated call should have null arguments or be marked as incomplete.
			if wanted.Type != "tool_call" || !got.isExecutable() || complete == nil || !complete.matches(true) {
				continue
			}
			check := checkLeaf(path, l, value, c.level, false)
			if isExcess && check.Verdict != Pass {
				// It may be the call that was cut, and nobody knows how its arguments would have ended.
				check.Expected = nil
				check.Message = "the arguments may have been cut; a call that had not ended " + unfinished
			}
			c.add(check)
		}
	}
}
