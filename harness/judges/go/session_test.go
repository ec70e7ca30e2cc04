package streamconform

import (
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, options Options, entries ...KnownFailure) *Session {
	t.Helper()
	known := &KnownFailures{Path: "known.yaml"}
	for i, entry := range entries {
		entry.Reason, entry.Issue = "accents", "o/r#1"
		if err := known.Add(i+3, entry); err != nil {
			t.Fatal(err)
		}
	}
	session, err := NewSession([]*Suite{load(t)}, known, options)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// run judges every trial outside of subtests, and returns the failures and what is wrong with the run.
func (s *Session) run(parse Parser) (failed, complaints []string) {
	for _, trial := range s.Trials {
		judgement := Judge(trial, parse, s.Claims)
		result := s.Settle(trial, judgement)
		if result.IsFailure {
			failed = append(failed, trial.ID()+" "+result.Text)
		}
	}
	return failed, s.Finish(time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC))
}

func TestTheSelectionIsBySetLevelAndPattern(t *testing.T) {
	for _, one := range []struct {
		options  Options
		expected string
	}{
		{Options{}, "text/plain@as-is text/plain@bytewise tool-use/two-calls@as-is"},
		{Options{Set: Fast}, "text/plain@as-is tool-use/two-calls@as-is"},
		{Options{Set: Full, Level: Must}, "text/plain@as-is text/plain@bytewise text/plain@cut-after-frame.0"},
		{Options{Select: []string{"bytewise"}}, "text/plain@bytewise"},
		{Options{Select: []string{"toy-chat/*/plain"}}, "text/plain@as-is text/plain@bytewise"},
		{Options{Select: []string{"**@recorded"}}, "text/plain@as-is tool-use/two-calls@as-is"},
		{Options{Claims: []Capability{"stop"}}, "text/plain@as-is text/plain@bytewise"},
	} {
		var ids []string
		for _, trial := range start(t, one.options).Trials {
			ids = append(ids, strings.TrimPrefix(trial.ID(), "toy-chat/"))
		}
		if got := strings.Join(ids, " "); got != one.expected {
			t.Errorf("%+v: %s", one.options, got)
		}
	}
}

func TestAWrongOptionIsAnError(t *testing.T) {
	for expected, options := range map[string]Options{
		"no trial is selected": {Select: []string{"nothing"}},
		"unknown set `all`":    {Set: "all"},
		"unknown level `some`": {Level: "some"},
		"unknown capability":   {Claims: []Capability{"x"}},
	} {
		_, err := NewSession([]*Suite{load(t)}, nil, options)
		fails(t, err, expected)
	}
}

func TestCasesThatAreNotClaimedAreCounted(t *testing.T) {
	session := start(t, Options{Claims: []Capability{"stop"}})
	session.run(answer("café"))
	expected := "2 of 2 trials judged: 2 passed; 1 case left out, because `parallel_tool_calls` is not claimed"
	if got := session.Summarize(); got != expected {
		t.Error(got)
	}
}

func TestAClaimOfWhichNothingIsComparedFails(t *testing.T) {
	suite := strings.Replace(small, `"any_of": [null, 0], "prefer": [null]`, `"equals": 3`, 1)
	loaded, err := Load(writeSuite(t, suite))
	if err != nil {
		t.Fatal(err)
	}
	session, err := NewSession([]*Suite{loaded}, nil, Options{Claims: []Capability{"stop", "usage"}})
	if err != nil {
		t.Fatal(err)
	}
	_, complaints := session.run(func(input Input) (Outcome, error) {
		outcome, err := answer("café")(input)
		outcome["usage"] = map[string]any{"output": 1}
		return outcome, err
	})
	expected := "`usage` is claimed, but none of the 2 trials that expect one compared a value"
	if len(complaints) != 1 || !strings.HasPrefix(complaints[0], expected) {
		t.Error(complaints)
	}
}

func TestWarningsFailOnlyIfStrict(t *testing.T) {
	zero := func(input Input) (Outcome, error) {
		outcome, err := answer("café")(input)
		outcome["usage"] = map[string]any{"input": 0}
		return outcome, err
	}
	for _, strict := range []bool{false, true} {
		failed, _ := start(t, Options{Strict: strict, Select: []string{"plain"}}).run(zero)
		if (len(failed) == 2) != strict {
			t.Error(strict, failed)
		}
	}
}

func TestAListedFailureDoesNotFail(t *testing.T) {
	message := `content.0.text: expected "café", got "caf`
	for _, entry := range []KnownFailure{
		{Match: "toy-chat/text/*", Verdict: "fail"},
		{Match: "toy-chat/text/plain@**", Verdict: "fail"},
		{Match: "toy-chat/text/plain:content.0.*", Verdict: "fail"},
		{Match: "toy-chat/text/*", Verdict: "fail", Message: message},
	} {
		failed, complaints := start(t, Options{Select: []string{"plain"}}, entry).run(answer("cafe"))
		if len(failed) != 0 || len(complaints) != 0 {
			t.Error(entry, failed, complaints)
		}
	}
}

func TestAnEntryMustCoverAllThatFails(t *testing.T) {
	entry := KnownFailure{Match: "toy-chat/text/plain:content.**", Verdict: "fail"}
	both := func(input Input) (Outcome, error) {
		outcome, err := answer("cafe")(input)
		outcome["usage"] = map[string]any{"input": 0}
		return outcome, err
	}
	for _, strict := range []bool{false, true} {
		failed, _ := start(t, Options{Strict: strict, Select: []string{"plain"}}, entry).run(both)
		if (len(failed) == 2) != strict {
			t.Error(strict, failed)
		}
	}
}

func TestAnEntryThatIsOutOfDateFails(t *testing.T) {
	message := "stop.reason"
	onlyText := func(input Input) (Outcome, error) {
		if string(input.Chunks[0]) == "x" {
			return Outcome{"status": "complete", "content": []any{}, "stop": map[string]any{"reason": "stop"}}, nil
		}
		return answer("cafe")(input)
	}
	for expected, entry := range map[string]KnownFailure{
		"matches nothing in the suite": {Match: "toy-chat/text/gone", Verdict: "fail"},
		"matches nothing":              {Match: "toy-chat/text/plain@gone", Verdict: "fail"},
		"fails like this":              {Match: "toy-chat/text/*", Verdict: "hang"},
		"in a different way":           {Match: "toy-chat/text/*", Verdict: "fail", Message: message},
		"fails in only 1 of 2 trials":  {Match: "**@as-is", Verdict: "fail"},
		"is fixed, all 1 trial pass":   {Match: "**/two-calls", Verdict: "fail"},
		"is fixed, all 2 trials pass":  {Match: "toy-chat/text/plain:stop.*", Verdict: "fail"},
		"is fixed, all 2 trials":       {Match: "toy-chat/text/plain:usage.output", Verdict: "fail"},
		"expired on 2026-01-31":        {Match: "toy-chat/text/plain", Verdict: "fail", Expires: "2026-01-31"},
	} {
		_, complaints := start(t, Options{}, entry).run(onlyText)
		isRight := len(complaints) == 1 && strings.HasPrefix(complaints[0], "known.yaml:3: `"+entry.Match+"` ")
		if !isRight || !strings.Contains(complaints[0], expected) {
			t.Errorf("%+v: %q", entry, complaints)
		}
	}
}

func TestASecondEntryForTheSameFails(t *testing.T) {
	entry := KnownFailure{Match: "toy-chat/text/*", Verdict: "fail"}
	_, complaints := start(t, Options{}, entry, entry).run(answer("cafe"))
	if len(complaints) != 1 || !strings.HasSuffix(complaints[0], "is a duplicate of the entry on line 3: remove one") {
		t.Error(complaints)
	}
}

func TestEntriesAboutWhatIsNotJudgedHereAreLeftAlone(t *testing.T) {
	for _, match := range []string{
		"other-chat/text/gone", "toy-chat/behavior/abort", "toy-chat/requests/*", "toy-chat/text/plain@gzip",
	} {
		entry := KnownFailure{Match: match, Verdict: "fail"}
		if _, complaints := start(t, Options{}, entry).run(answer("cafe")); len(complaints) != 0 {
			t.Error(complaints)
		}
	}
}

func TestAnEntryIsNotOutOfDateIfOnlySomeTrialsRan(t *testing.T) {
	session := start(t, Options{}, KnownFailure{Match: "toy-chat/text/*", Verdict: "fail"})
	session.Settle(session.Trials[0], Judge(session.Trials[0], answer("café"), session.Claims))
	if complaints := session.Finish(time.Now()); len(complaints) != 0 {
		t.Error(complaints)
	}
}

func TestAListedTrialThatPassesFails(t *testing.T) {
	entry := KnownFailure{Match: "toy-chat/text/*", Verdict: "fail"}
	failed, _ := start(t, Options{Select: []string{"plain"}}, entry).run(answer("café"))
	if len(failed) != 2 || !strings.HasSuffix(failed[0], "passes, but known.yaml:3 lists it as a known failure (accents)") {
		t.Error(failed)
	}
}

func TestEntriesByCauseAreCounted(t *testing.T) {
	session := start(t, Options{Select: []string{"plain"}}, KnownFailure{Cause: "text-lost"})
	session.run(answer("cafe"))
	expected := "1 known failure ignored by cause, which only `conform run` knows"
	if got := session.Summarize(); !strings.HasSuffix(got, expected) {
		t.Error(got)
	}
}
