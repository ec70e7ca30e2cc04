// Package streamconform judges whether a parser of LLM streams reads them correctly.
//
// It reads the suite of an API (suite-<api>.json.gz), hands the bytes of each trial to a function of yours, and
// compares what it returns with what the case expects. The package conformtest makes one subtest per trial.
package streamconform

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
)

// A Culprit is at fault for a failure: the implementation, or the function that calls it.
type Culprit string

// The culprits.
const (
	Implementation Culprit = "implementation"
	Adapter        Culprit = "adapter"
)

// A Judgement is the verdict on one trial.
type Judgement struct {
	Verdict Verdict
	// Culprit is empty if no check failed.
	Culprit Culprit
	// Checks are all checks, passed or failed.
	Checks []Check
	// Compared has the claimed capabilities of which the trial expects a value, and whether one was compared.
	Compared map[Capability]bool
	// Raised is the error of the parser, if any.
	Raised error
}

// A Parser reads one answer. Its error is what the library returned; the outcome may then be nil, or have the
// content that had arrived. An error of a broken stream is as good as the status incomplete.
type Parser func(Input) (Outcome, error)

// A Panic is the error of a parser that panicked.
type Panic struct {
	Value any
	Stack string
}

func (p Panic) Error() string { return fmt.Sprint("panic: ", p.Value) }

var raisedOutcome = Outcome{"status": "error", "content": []any{}, "stop": map[string]any{"reason": "error"}}

// Judge runs a parser on a trial and judges what it returns.
func Judge(trial *Trial, parse Parser, claims Claims) Judgement {
	outcome, raised := run(parse, trial.Input())
	if raised == nil {
		return JudgeAnswer(trial, outcome, nil, claims)
	}
	if outcome == nil {
		outcome = raisedOutcome
	}
	// On one line, like the text that is looked for in it.
	judgement := JudgeAnswer(trial, outcome, errors.New(escapeUnprintable(raised.Error())), claims)
	judgement.Raised = raised
	return judgement
}

func run(parse Parser, input Input) (outcome Outcome, err error) {
	defer func() {
		if value := recover(); value != nil {
			outcome, err = nil, Panic{value, string(debug.Stack())}
		}
	}()
	return parse(input)
}

var unfinishedCall = regexp.MustCompile(`^content\.(complete_calls|\d+\.tool_call\.(complete|arguments))$`)

// JudgeAnswer judges an answer to a trial: an Outcome, or anything else that encoding/json encodes as
// docs/outcome.md describes, and the parser's error, if any, whose text has no line breaks.
func JudgeAnswer(trial *Trial, answer any, raised error, claims Claims) Judgement {
	got, problem := normalize(answer)
	if problem != "" {
		check := checkRule("invariant.outcome-schema", trial.Level, problem, nil, nil)
		return Judgement{Verdict: decideVerdict([]Check{check}), Culprit: Adapter, Checks: []Check{check}}
	}
	readError(trial.expectation(), got, raised)
	comparison := compare(trial, got, claims)
	checks := comparison.checks
	compared := comparison.findCompared(raised != nil)
	if raised != nil && got.status != "complete" {
		for i, check := range checks {
			checks[i] = excuseCall(check)
		}
	}
	if claims["tool_calls"] || claims["provider_tools"] {
		checks = append(checks, checkUniqueIDs(got, trial.Level))
	}
	judgement := Judgement{Verdict: decideVerdict(checks), Checks: checks, Compared: compared}
	for _, check := range checks {
		if check.Verdict != Pass {
			judgement.Culprit = Implementation
		}
	}
	return judgement
}

func normalize(answer any) (*outcome, string) {
	data, err := json.Marshal(answer)
	if err != nil {
		return nil, err.Error()
	}
	var value any
	if err := decodeJSON(data, &value); err != nil {
		return nil, err.Error()
	}
	return decodeOutcome(value)
}

// readError adds the error that was returned to an outcome that reports none. Its text contains the provider's
// message, often with other text around it; type and status count as not exposed.
func readError(expect *expectation, got *outcome, raised error) {
	isJudged := false
	for _, field := range expect.Fields {
		isJudged = isJudged || strings.HasPrefix(field.name, "error.")
	}
	if raised == nil || got.groups["error"] != nil || !isJudged {
		return
	}
	message := raised.Error()
	for _, value := range listValues(expect.Fields.get("error.message")) {
		if text, ok := value.(string); ok && text != "" && strings.Contains(message, escapeUnprintable(text)) {
			message = text
			break
		}
	}
	got.groups["error"] = map[string]any{"type": nil, "message": message, "status": nil}
	got.absent["error.type"], got.absent["error.status"], got.omitted["error"] = true, true, false
}

// excuseCall makes a failed check that a call must not be executed a warning. The caller gets the error instead
// of the outcome, so nobody runs a call in it.
func excuseCall(check Check) Check {
	if check.Verdict == Fail && unfinishedCall.MatchString(check.Path) {
		check.Level, check.Verdict = Should, Warn
	}
	return check
}

// checkUniqueIDs checks that no two calls have the same id; calls without an id are not compared.
func checkUniqueIDs(got *outcome, level Level) Check {
	message, seen := "", map[any]bool{}
	for _, one := range got.content {
		id := one.fields["id"]
		if one.kind != "tool_call" || id == nil {
			continue
		}
		if seen[id] && message == "" {
			message = fmt.Sprintf("two tool calls have the id `%s`", id)
		}
		seen[id] = true
	}
	return checkRule("invariant.unique-ids", level, message, nil, nil)
}

// decideVerdict returns the worst check's verdict; a difference at level may passes.
func decideVerdict(checks []Check) Verdict {
	verdict := Pass
	for _, check := range checks {
		if check.Verdict == Fail || check.Verdict == Warn && verdict == Pass {
			verdict = check.Verdict
		}
	}
	return verdict
}
