package streamconform

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Options say what Test runs and how strict it is.
type Options struct {
	// Suites are the files of the APIs that the parser reads: suite-<api>.json.gz.
	Suites []string
	// Claims are the capabilities that the parser has; without any, all but documents.
	Claims []Capability
	// Set is the selection of trials; Standard if empty.
	Set Set
	// Level is the least strict level of the trials that run; all run if empty.
	Level Level
	// Select are patterns on ids, such as openai-chat/tool-calls/**; all trials run if empty. A pattern without
	// star and slash matches any id that contains it.
	Select []string
	// Strict makes warnings failures.
	Strict bool
	// KnownFailures is the path of a file of known failures, or empty.
	KnownFailures string
}

// Test judges a parser on every selected trial, each in a subtest with the trial's id as its name. At the end,
// it fails for entries of the known failures that are out of date, and for claims of which no value was ever
// compared.
func Test(t *testing.T, parse Parser, options Options) {
	t.Helper()
	session, err := newSession(options)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range session.trials {
		trial := trial
		t.Run(trial.ID(), func(t *testing.T) {
			t.Helper()
			switch result := session.settle(trial, Judge(trial, parse, session.claims)); {
			case result.isFailure:
				t.Error(result.text)
			case result.isKnown:
				t.Skip(result.text)
			case result.text != "":
				t.Log(result.text)
			}
		})
	}
	t.Log(session.summarize())
	// If only some subtests ran, nothing is known about the others.
	if session.judged == len(session.trials) {
		for _, complaint := range session.finish(time.Now().Format("2006-01-02")) {
			t.Error(complaint)
		}
	}
}

// A session is the state of Test.
type session struct {
	options Options
	claims  Claims
	suites  []*Suite
	known   *KnownFailures
	trials  []*Trial
	// leftOut counts the cases for which a capability is not claimed.
	leftOut map[Capability]int
	judged  int
	counts  map[string]int
	// compared has the claims of which a value was compared; expected counts the trials that expected one.
	compared map[Capability]bool
	expected map[Capability]int
}

func newSession(options Options) (*session, error) {
	s := &session{
		options: options, leftOut: map[Capability]int{}, counts: map[string]int{},
		compared: map[Capability]bool{}, expected: map[Capability]int{},
	}
	if s.options.Set == "" {
		s.options.Set = Standard
	}
	if s.options.Level == "" {
		s.options.Level = May
	}
	if _, ok := sets[s.options.Set]; !ok {
		return nil, fmt.Errorf("unknown set `%s`; known: fast, standard, full", s.options.Set)
	}
	if _, ok := levels[s.options.Level]; !ok {
		return nil, fmt.Errorf("unknown level `%s`; known: must, should, may", s.options.Level)
	}
	var err error
	if s.claims, err = NewClaims(options.Claims...); err != nil {
		return nil, err
	}
	if options.KnownFailures != "" {
		if s.known, err = ReadKnownFailures(options.KnownFailures); err != nil {
			return nil, err
		}
	}
	for _, path := range options.Suites {
		suite, err := Load(path)
		if err != nil {
			return nil, err
		}
		s.suites = append(s.suites, suite)
		s.selectTrials(suite)
	}
	if len(s.trials) == 0 {
		return nil, errors.New("no trial is selected")
	}
	return s, nil
}

func (s *session) selectTrials(suite *Suite) {
	for _, c := range suite.Cases {
		var selected []*Trial
		for _, trial := range c.Trials {
			isInSet := sets[trial.Set] <= sets[s.options.Set] && levels[trial.Level] <= levels[s.options.Level]
			if isInSet && trial.IsCovered() && matchesAny(s.options.Select, trial.ID()) {
				selected = append(selected, trial)
			}
		}
		if missing := s.claims.missing(c); missing == "" {
			s.trials = append(s.trials, selected...)
		} else if len(selected) > 0 {
			s.leftOut[missing]++
		}
	}
}

// matchesAny says whether a pattern matches a trial, or there is none. A pattern without @ is compared only with
// the case's id.
func matchesAny(patterns []string, id string) bool {
	for _, pattern := range patterns {
		pattern = updateID(pattern)
		subject := id
		if !strings.Contains(pattern, "@") {
			subject, _, _ = strings.Cut(id, "@")
		}
		if !strings.ContainsAny(pattern, "*/") {
			if strings.Contains(id, pattern) {
				return true
			}
		} else if compileGlob(pattern).MatchString(subject) {
			return true
		}
	}
	return len(patterns) == 0
}

// A result is what a trial means for the session.
type result struct {
	isFailure, isKnown bool
	text               string
}

// settle counts a judgement, and returns what a subtest says about it.
func (s *session) settle(trial *Trial, judgement Judgement) result {
	isFailure := judgement.Verdict == Fail || s.options.Strict && judgement.Verdict == Warn
	reason, complaint := s.known.settle(trial, judgement, isFailure)
	s.judged++
	for claim, isCompared := range judgement.Compared {
		if isCompared {
			s.compared[claim] = true
		} else if reason == "" {
			s.expected[claim]++
		}
	}
	switch {
	case reason != "":
		s.counts["known failure"]++
		return result{isKnown: true, text: "known failure: " + reason}
	case isFailure:
		complaint = report(trial, judgement, s.options.Strict)
	case judgement.Verdict == Warn:
		s.counts["warning"]++
		return result{text: report(trial, judgement, true)}
	case complaint == "":
		return result{}
	}
	s.counts["failure"]++
	return result{isFailure: true, text: complaint}
}

// failures returns the checks that fail, and with warnings also those that warn.
func (judgement Judgement) failures(withWarnings bool) []Check {
	var checks []Check
	for _, check := range judgement.Checks {
		if check.Verdict == Fail || withWarnings && check.Verdict == Warn {
			checks = append(checks, check)
		}
	}
	return checks
}

const (
	maxReported = 8
	maxShown    = 240
)

// report returns the failed checks of a trial, and where its case is.
func report(trial *Trial, judgement Judgement, withWarnings bool) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%s: specs/%s, line %d\n", trial.Case.Title, trial.Case.ID, trial.Case.Spec, trial.Case.Line)
	checks := judgement.failures(withWarnings)
	for i, check := range checks {
		if i == maxReported {
			fmt.Fprintf(&text, "  and %s\n", formatCount(len(checks)-i, "other difference"))
			break
		}
		fmt.Fprintf(&text, "  %s (%s)\n", check.Path, check.Level)
		if check.Message != "" {
			fmt.Fprintf(&text, "    %s\n", check.Message)
		} else {
			fmt.Fprintf(&text, "    expected %s\n    got      %s\n", show(check.Expected), show(check.Got))
		}
	}
	if judgement.Raised != nil {
		fmt.Fprintf(&text, "  the parser returned the error: %s\n", shorten(judgement.Raised.Error(), maxShown))
	}
	var panicked Panic
	if errors.As(judgement.Raised, &panicked) {
		text.WriteString(panicked.Stack)
	}
	return text.String()
}

func show(value any) string { return shorten(formatJSON(value), maxShown) }

func (s *session) summarize() string {
	var parts []string
	passed := s.judged
	for _, kind := range []string{"failure", "warning", "known failure"} {
		if count := s.counts[kind]; count > 0 {
			parts = append(parts, formatCount(count, kind))
			passed -= count
		}
	}
	text := fmt.Sprintf("%d of %s judged: %s", s.judged, formatCount(len(s.trials), "trial"),
		strings.Join(append([]string{fmt.Sprint(passed, " passed")}, parts...), ", "))
	for _, claim := range capabilities {
		if count := s.leftOut[claim]; count > 0 {
			text += fmt.Sprintf("; %s left out, because `%s` is not claimed", formatCount(count, "case"), claim)
		}
	}
	if s.known != nil && s.known.Causes > 0 {
		text += fmt.Sprintf("; %s ignored by cause, which only `conform run` knows", formatCount(s.known.Causes, "known failure"))
	}
	return text
}

// finish returns what is wrong with the run as a whole.
func (s *session) finish(today string) []string {
	var complaints []string
	if s.known != nil {
		complaints = s.known.listOutdated(s.suites, today)
	}
	for _, claim := range capabilities {
		if count := s.expected[claim]; count > 0 && !s.compared[claim] {
			complaints = append(complaints, fmt.Sprintf(
				"`%s` is claimed, but none of the %s that expect one compared a value; report it, or leave it out of Claims",
				claim, formatCount(count, "trial"),
			))
		}
	}
	return complaints
}
