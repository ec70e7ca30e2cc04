package streamconform

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// KnownFailures are the failures that a file lists, each with its reason: the file of conform run
// (docs/known-failures.md). A listed failure does not fail, and an entry that is out of date does.
type KnownFailures struct {
	Path    string
	Entries []*KnownFailure
	// Causes is the number of entries by cause, which only conform run can match.
	Causes int
}

// A KnownFailure lists the trials or checks that a pattern matches.
type KnownFailure struct {
	Match   string
	Verdict string
	Message string
	Reason  string
	Issue   string
	Expires string
	// Cause, API, Trials and Example are those of an entry by cause, which is only counted.
	Cause, API, Example string
	Trials              int

	line                  int
	trials, names, checks *regexp.Regexp
	counts                map[status]int
}

// A status says how a trial relates to an entry that names it.
type status int

const (
	unnamed status = iota
	matched
	passing
	mismatched
	// inconclusive is a trial whose only difference is at level may, or that does not make the check.
	inconclusive
)

// Add adds an entry of a line of the file.
func (known *KnownFailures) Add(line int, entry KnownFailure) error {
	if entry.Cause != "" {
		known.Causes++
		return nil
	}
	if err := entry.check(); err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	subject, check, hasCheck := strings.Cut(updateID(entry.Match), ":")
	name, delivery, hasDelivery := strings.Cut(subject, "@")
	entry.line, entry.trials, entry.counts = line, compileGlob(name), map[status]int{}
	if hasDelivery {
		entry.names = compileGlob(delivery)
	}
	if hasCheck {
		entry.checks = compileGlob(check)
	}
	known.Entries = append(known.Entries, &entry)
	return nil
}

func (k *KnownFailure) check() error {
	for name, text := range map[string]string{"match": k.Match, "reason": k.Reason, "issue": k.Issue} {
		if text == "" {
			return fmt.Errorf("`%s` is missing", name)
		}
	}
	if !setOf("fail", "hang", "faulted")[k.Verdict] {
		return fmt.Errorf("`verdict` is %q; expected fail, hang or faulted", k.Verdict)
	}
	if _, err := time.Parse("2006-01-02", k.Expires); err != nil && k.Expires != "" {
		return fmt.Errorf("`expires` is %q, which is not a date", k.Expires)
	}
	return nil
}

var oldName = regexp.MustCompile(`@recorded([:.]|$)`)

// updateID returns an id or a pattern with the current names of deliveries.
func updateID(pattern string) string { return oldName.ReplaceAllString(pattern, "@as-is$1") }

// compileGlob returns the expression for a pattern on ids, whose components are separated by / @ : and a dot.
// One star matches one component or a part of one, and two match any number.
func compileGlob(pattern string) *regexp.Regexp {
	source := regexp.QuoteMeta(pattern)
	source = strings.ReplaceAll(source, `\*\*`, `.*`)
	source = strings.ReplaceAll(source, `\*`, `[^/@:.]*`)
	return regexp.MustCompile(`(?s)^` + source + `$`)
}

// settle counts how a trial relates to the entries. It returns why its failure is known, or, if it passes, a
// complaint about an entry that lists it.
func (known *KnownFailures) settle(trial *Trial, judgement Judgement, strict bool) (reason, complaint string) {
	if known == nil {
		return "", ""
	}
	var reasons []string
	var covering []*regexp.Regexp
	isCovered := false
	for _, entry := range known.Entries {
		status := entry.find(trial, judgement)
		entry.counts[status]++
		switch {
		case status == passing && judgement.Verdict == Pass && complaint == "":
			complaint = fmt.Sprintf("passes, but %s:%d lists it as a known failure (%s)", known.Path, entry.line, entry.Reason)
		case status != matched:
		case entry.checks == nil:
			reasons, isCovered = append(reasons, entry.reason()), true
		default:
			reasons, covering = append(reasons, entry.reason()), append(covering, entry.checks)
		}
	}
	failures := judgement.Failures(strict)
	if len(failures) > 0 && (isCovered || every(failures, func(check Check) bool {
		return some(covering, func(pattern *regexp.Regexp) bool { return pattern.MatchString(check.Path) })
	})) {
		return strings.Join(reasons, "; "), ""
	}
	return "", complaint
}

func (k *KnownFailure) reason() string { return fmt.Sprintf("%s (%s)", k.Reason, k.Issue) }

// isAbout says whether an entry is about a trial, or a part of it.
func (k *KnownFailure) isAbout(trial *Trial) bool {
	return k.trials.MatchString(trial.Case.ID) && (k.names == nil || k.names.MatchString(trial.Name))
}

func (k *KnownFailure) find(trial *Trial, judgement Judgement) status {
	if !k.isAbout(trial) {
		return unnamed
	}
	isMade, isDifferent := false, false
	var worst *Check
	for i, check := range judgement.Checks {
		if k.checks != nil && !k.checks.MatchString(check.Path) {
			continue
		}
		isMade = true
		isDifferent = isDifferent || check.Verdict != Pass
		// The first one; of those in a whole trial, the first of the worst.
		isWorse := worst == nil || k.checks == nil && worst.Verdict == Warn && check.Verdict == Fail
		if check.Verdict != Pass && check.Verdict != OfMay && isWorse {
			worst = &judgement.Checks[i]
		}
	}
	switch {
	case worst != nil && k.Verdict == "fail" && strings.HasPrefix(worst.String(), k.Message):
		return matched
	case worst != nil, !isMade && judgement.Culprit == Adapter:
		return mismatched
	case isDifferent, !isMade:
		return inconclusive
	}
	return passing
}

// outside are topics of cases that the suites do not have, since they need a server or are made while they run.
var outside = regexp.MustCompile(`^[^/]+/(behavior|sizes|recorded-)`)

// listOutdated returns a complaint about each entry that is no longer true. An entry without a judged trial is
// left alone, unless it matches nothing in the suites.
func (known *KnownFailures) listOutdated(suites []*Suite, today string) []string {
	var complaints []string
	first := map[[3]string]int{}
	for _, entry := range known.Entries {
		complain := func(format string, values ...any) {
			message := fmt.Sprintf(format, values...)
			complaints = append(complaints, fmt.Sprintf("%s:%d: `%s` %s", known.Path, entry.line, entry.Match, message))
		}
		n := entry.counts
		count := n[passing] + n[inconclusive]
		switch {
		case n[matched] > 0 && n[passing] > 0:
			complain("fails in only %d of %d trials: narrow the pattern", n[matched], n[matched]+n[passing])
		case n[matched] > 0:
		case n[mismatched] > 0:
			complain("no longer fails like this, but in a different way: update or remove the entry")
		case count > 0:
			complain("is fixed, all %s pass: remove the entry", formatCount(count, "trial"))
		case entry.isUnmatched(suites):
			complain("matches nothing in the suite (was a case renamed?): fix the pattern or remove the entry")
		}
		if entry.Expires != "" && entry.Expires < today {
			complain("expired on %s: fix the failure or set a later date", entry.Expires)
		}
		key := [3]string{entry.Match, entry.Verdict, entry.Message}
		if line, ok := first[key]; ok {
			complain("is a duplicate of the entry on line %d: remove one", line)
		} else {
			first[key] = entry.line
		}
	}
	return complaints
}

// isUnmatched says whether an entry matches nothing in the suites, although they have its API.
func (k *KnownFailure) isUnmatched(suites []*Suite) bool {
	isOfSuite := false
	for _, suite := range suites {
		isOfSuite = isOfSuite || strings.HasPrefix(k.Match, suite.API+"/")
		if some(suite.Cases, func(c *Case) bool {
			return k.trials.MatchString(c.ID) && (!c.isAnswer() || some(c.Trials, k.isAbout))
		}) {
			return false
		}
	}
	return isOfSuite && !outside.MatchString(k.Match)
}
