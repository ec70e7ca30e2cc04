package streamconform

import (
	"errors"
	"fmt"
	"strings"
)

// Failures returns the checks that fail, and with warnings also those that warn.
func (judgement Judgement) Failures(withWarnings bool) []Check {
	return filter(judgement.Checks, func(check Check) bool {
		return check.Verdict == Fail || withWarnings && check.Verdict == Warn
	})
}

const (
	maxReported = 8
	maxShown    = 240
)

// Report returns the failed checks of a trial, and where its case is.
func Report(trial *Trial, judgement Judgement, withWarnings bool) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%s: specs/%s, line %d\n", trial.Case.Title, trial.Case.ID, trial.Case.Spec, trial.Case.Line)
	checks := judgement.Failures(withWarnings)
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
	return strings.TrimRight(text.String(), "\n")
}

func show(value any) string { return shorten(formatJSON(value), maxShown) }
