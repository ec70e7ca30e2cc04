package streamconform

import (
	"fmt"
	"strings"
)

// Level says how strict a check is: a difference in a must fails, in a should it warns, and in a may it is
// only recorded.
type Level string

// The levels, from strict to loose.
const (
	Must   Level = "must"
	Should Level = "should"
	May    Level = "may"
)

var levels = map[Level]int{Must: 0, Should: 1, May: 2}

func lower(one, other Level) Level {
	if levels[one] >= levels[other] {
		return one
	}
	return other
}

// Verdict is the result of a check or of a trial.
type Verdict string

// The verdicts. OfMay is that of a check whose difference has no consequences; a trial with it passes.
const (
	Pass  Verdict = "pass"
	Warn  Verdict = "warn"
	Fail  Verdict = "fail"
	OfMay Verdict = "may"
)

var failed = map[Level]Verdict{Must: Fail, Should: Warn, May: OfMay}

// A Check is one comparison in a trial.
type Check struct {
	// Path is the place of the compared value, such as content.0.text.
	Path    string
	Level   Level
	Verdict Verdict
	// Expected is the value, or the matcher as JSON; Got is nil if the value is absent.
	Expected, Got any
	// Message says what is wrong if the values alone do not.
	Message string
}

// String returns the difference in one line.
func (c Check) String() string {
	if c.Message != "" {
		return c.Path + ": " + c.Message
	}
	return fmt.Sprintf("%s: expected %s, got %s", c.Path, formatJSON(c.Expected), formatJSON(c.Got))
}

func checkLeaf(path string, l leaf, got any, level Level, isAbsent bool) Check {
	// Not every language can represent such an integer, so a difference is at most a warning.
	if literal, ok := l.(literally); ok && hasUnsafeInteger(literal.value) {
		level = lower(level, Should)
	}
	matches := leaf.matches
	if strings.HasPrefix(path, "cost.") && path != "cost.currency" {
		matches = matchesAmount
	}
	holds := !isAbsent && matches(l, got)
	if l, ok := l.(anyOf); ok && holds && len(l.preferred) > 0 && !matches(anyOf{values: l.preferred}, got) {
		holds, level = false, lower(level, Should)
	}
	check := Check{Path: path, Level: level, Verdict: Pass, Expected: l.describe(), Got: got}
	if !holds {
		check.Verdict = failed[level]
	}
	if isAbsent {
		check.Message = blockMissing
	}
	return check
}

// checkRule returns the check for a rule: failed with a message, or passed without one.
func checkRule(path string, level Level, message string, expected, got any) Check {
	if message == "" {
		return Check{Path: path, Level: level, Verdict: Pass}
	}
	return Check{path, level, failed[level], expected, got, message}
}

// blockPath returns the path of a block's field: content.0.text, content.1.tool_call.arguments.
func blockPath(i int, kind, name string) string {
	return fmt.Sprintf("content.%d.%s", i, fieldPath(kind, name))
}

func fieldPath(kind, name string) string {
	if name == "text" && (kind == "text" || kind == "refusal") {
		return kind
	}
	return kind + "." + name
}

// formatCall returns a call on one line, with its arguments shortened: get_time({"city": "Oslo"}).
func formatCall(call *block) string {
	name := call.text("name")
	if name == "" {
		name = "a call without a name"
	}
	return fmt.Sprintf("%s(%s)", shorten(name, lineWidth), shorten(formatJSON(call.fields["arguments"]), maxArguments))
}

func formatTypes[B any](blocks []B, kind func(B) string) string {
	return "[" + list(blocks, maxTypes, kind) + "]"
}
