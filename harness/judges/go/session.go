package streamconform

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Options say which trials a session has, and how strict it is.
type Options struct {
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
}

// A Session judges a parser on the trials of some suites.
type Session struct {
	Trials []*Trial
	Claims Claims

	options Options
	suites  []*Suite
	known   *KnownFailures
	// leftOut counts the cases for which a capability is not claimed.
	leftOut map[Capability]int
	judged  int
	counts  map[string]int
	// compared has the claims of which a value was compared; expected counts the trials that expected one.
	compared map[Capability]bool
	expected map[Capability]int
}

// NewSession selects the trials. There may be no known failures.
func NewSession(suites []*Suite, known *KnownFailures, options Options) (*Session, error) {
	if options.Set == "" {
		options.Set = Standard
	}
	if options.Level == "" {
		options.Level = May
	}
	if _, ok := sets[options.Set]; !ok {
		return nil, fmt.Errorf("unknown set `%s`; known: fast, standard, full", options.Set)
	}
	if _, ok := levels[options.Level]; !ok {
		return nil, fmt.Errorf("unknown level `%s`; known: must, should, may", options.Level)
	}
	claims, err := NewClaims(options.Claims...)
	if err != nil {
		return nil, err
	}
	s := &Session{
		Claims: claims, options: options, suites: suites, known: known, leftOut: map[Capability]int{},
		counts: map[string]int{}, compared: map[Capability]bool{}, expected: map[Capability]int{},
	}
	for _, suite := range suites {
		s.selectTrials(suite)
	}
	if len(s.Trials) == 0 {
		return nil, errors.New("no trial is selected")
	}
	return s, nil
}

func (s *Session) selectTrials(suite *Suite) {
	for _, c := range suite.Cases {
		var selected []*Trial
		for _, trial := range c.Trials {
			isInSet := sets[trial.Set] <= sets[s.options.Set] && levels[trial.Level] <= levels[s.options.Level]
			if isInSet && trial.IsCovered() && matchesAny(s.options.Select, trial.ID()) {
				selected = append(selected, trial)
			}
		}
		if missing := s.Claims.missing(c); missing == "" {
			s.Trials = append(s.Trials, selected...)
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

// A Result is what a trial means for the session.
type Result struct {
	IsFailure, IsKnown bool
	// Text is what a test says about the trial, or empty.
	Text string
}

// Settle counts a judgement, and returns what a test says about it.
func (s *Session) Settle(trial *Trial, judgement Judgement) Result {
	reason, complaint := s.known.settle(trial, judgement, s.options.Strict)
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
		return Result{IsKnown: true, Text: "known failure: " + reason}
	case len(judgement.Failures(s.options.Strict)) > 0:
		complaint = Report(trial, judgement, s.options.Strict)
	case judgement.Verdict == Warn:
		s.counts["warning"]++
		return Result{Text: Report(trial, judgement, true)}
	case complaint == "":
		return Result{}
	}
	s.counts["failure"]++
	return Result{IsFailure: true, Text: complaint}
}

// Summarize returns how many trials were judged, with what verdicts, and what was left out.
func (s *Session) Summarize() string {
	var parts []string
	passed := s.judged
	for _, kind := range []string{"failure", "warning", "known failure"} {
		if count := s.counts[kind]; count > 0 {
			parts = append(parts, formatCount(count, kind))
			passed -= count
		}
	}
	text := fmt.Sprintf("%d of %s judged: %s", s.judged, formatCount(len(s.Trials), "trial"),
		strings.Join(append([]string{fmt.Sprint(passed, " passed")}, parts...), ", "))
	for _, claim := range capabilities {
		if count := s.leftOut[claim]; count > 0 {
			text += fmt.Sprintf("; %s left out, because `%s` is not claimed", formatCount(count, "case"), claim)
		}
	}
	if s.known != nil && s.known.Causes > 0 {
		count := formatCount(s.known.Causes, "known failure")
		text += fmt.Sprintf("; %s ignored by cause, which only `conform run` knows", count)
	}
	return text
}

// Finish returns what is wrong with the session as a whole: nothing, if only some trials were judged.
func (s *Session) Finish(today time.Time) []string {
	if s.judged < len(s.Trials) {
		return nil
	}
	var complaints []string
	if s.known != nil {
		complaints = s.known.listOutdated(s.suites, today.Format("2006-01-02"))
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
