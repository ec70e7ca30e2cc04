package streamconform

import (
	"strings"
	"testing"
)

func start(t *testing.T, options Options) *session {
	t.Helper()
	options.Suites = []string{writeSuite(t, small)}
	session, err := newSession(options)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func known(t *testing.T, entries string) string {
	t.Helper()
	return writeFile(t, "known.yaml", []byte("known-failures: 1\nentries:\n"+entries))
}

// run judges every trial outside of subtests, and returns the failures and what is wrong with the run.
func (s *session) run(parse Parser) (failed, complaints []string) {
	for _, trial := range s.trials {
		judgement := Judge(trial, parse, s.claims)
		result := s.settle(trial, judgement)
		if result.isFailure {
			failed = append(failed, trial.ID()+" "+result.text)
		}
	}
	return failed, s.finish("2026-11-28")
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
		for _, trial := range start(t, one.options).trials {
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
		"no such file":         {KnownFailures: "missing.yaml"},
	} {
		options.Suites = []string{writeSuite(t, small)}
		_, err := newSession(options)
		fails(t, err, expected)
	}
}

func TestCasesThatAreNotClaimedAreCounted(t *testing.T) {
	session := start(t, Options{Claims: []Capability{"stop"}})
	session.run(answer("café"))
	expected := "2 of 2 trials judged: 2 passed; 1 case left out, because `parallel_tool_calls` is not claimed"
	if got := session.summarize(); got != expected {
		t.Error(got)
	}
}

func TestAClaimOfWhichNothingIsComparedFails(t *testing.T) {
	suite := strings.Replace(small, `"any_of": [null, 0], "prefer": [null]`, `"equals": 3`, 1)
	session, err := newSession(Options{Suites: []string{writeSuite(t, suite)}, Claims: []Capability{"stop", "usage"}})
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
	for _, entry := range []string{
		`match: toy-chat/text/*, verdict: fail`,
		`match: "toy-chat/text/plain@**", verdict: fail`,
		`match: "toy-chat/text/plain:content.0.*", verdict: fail`,
		`match: toy-chat/text/*, verdict: fail, message: 'content.0.text: expected "café", got "caf'`,
	} {
		path := known(t, "  - {"+entry+", reason: accents, issue: o/r#1}\n")
		failed, complaints := start(t, Options{KnownFailures: path, Select: []string{"plain"}}).run(answer("cafe"))
		if len(failed) != 0 || len(complaints) != 0 {
			t.Error(entry, failed, complaints)
		}
	}
}

func TestAnEntryThatIsOutOfDateFails(t *testing.T) {
	for entry, expected := range map[string]string{
		`match: toy-chat/text/gone, verdict: fail`:                         "matches nothing in the suite",
		`match: toy-chat/text/*, verdict: hang`:                            "in a different way",
		`match: toy-chat/text/*, verdict: fail, message: "stop.reason"`:    "in a different way",
		`match: "**@as-is", verdict: fail`:                                 "fails in only 1 of 2 trials",
		`match: "**/two-calls", verdict: fail`:                             "is fixed, all 1 trial pass",
		`match: "toy-chat/text/plain:stop.*", verdict: fail`:               "is fixed, all 2 trials pass",
		`match: toy-chat/text/plain, verdict: fail, expires: "2026-01-31"`: "expired on 2026-01-31",
	} {
		path := known(t, "  - {"+entry+", reason: accents, issue: o/r#1}\n")
		onlyText := func(input Input) (Outcome, error) {
			if len(input.Chunks[0]) == 1 && input.Chunks[0][0] == 'x' {
				return Outcome{"status": "complete", "content": []any{}, "stop": map[string]any{"reason": "stop"}}, nil
			}
			return answer("cafe")(input)
		}
		_, complaints := start(t, Options{KnownFailures: path}).run(onlyText)
		if len(complaints) != 1 || !strings.Contains(complaints[0], "known.yaml:3: `") ||
			!strings.Contains(complaints[0], expected) {
			t.Errorf("%s: %q", entry, complaints)
		}
	}
}

func TestEntriesAboutWhatIsNotJudgedHereAreLeftAlone(t *testing.T) {
	for _, match := range []string{"other-chat/text/gone", "toy-chat/behavior/abort", "toy-chat/requests/*", "toy-chat/text/plain@gzip"} {
		path := known(t, "  - {match: "+match+", verdict: fail, reason: accents, issue: o/r#1}\n")
		if _, complaints := start(t, Options{KnownFailures: path}).run(answer("cafe")); len(complaints) != 0 {
			t.Error(complaints)
		}
	}
}

func TestAListedTrialThatPassesFails(t *testing.T) {
	path := known(t, "  - {match: toy-chat/text/*, verdict: fail, reason: accents, issue: o/r#1}\n")
	failed, _ := start(t, Options{KnownFailures: path, Select: []string{"plain"}}).run(answer("café"))
	if len(failed) != 2 || !strings.Contains(failed[0], "passes, but ") || !strings.Contains(failed[0], "(accents)") {
		t.Error(failed)
	}
}

func TestEntriesByCauseAreCounted(t *testing.T) {
	path := known(t, "  - {cause: text-lost, api: toy-chat, trials: 2, reason: accents, issue: o/r#1}\n")
	session := start(t, Options{KnownFailures: path, Select: []string{"plain"}})
	session.run(answer("cafe"))
	expected := "1 known failure ignored by cause, which only `conform run` knows"
	if got := session.summarize(); !strings.HasSuffix(got, expected) {
		t.Error(got)
	}
}

func TestAMalformedFileOfKnownFailuresIsRejected(t *testing.T) {
	for entry, expected := range map[string]string{
		`{match: a, verdict: fail, reason: accents}`:                          "line 3: `issue` is missing",
		`{match: a, verdict: warn, reason: accents, issue: b}`:                "expected fail, hang or faulted",
		`{match: a, verdict: fail, reason: accents, issue: b, expires: soon}`: "is not a date",
		`{match: a, mesage: b}`:                                               "mesage",
	} {
		_, err := ReadKnownFailures(known(t, "  - "+entry+"\n"))
		fails(t, err, expected)
	}
	_, err := ReadKnownFailures(writeFile(t, "known.yaml", []byte("entries: []\n")))
	fails(t, err, "known-failures: 1")
}
