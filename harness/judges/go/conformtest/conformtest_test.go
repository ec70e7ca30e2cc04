package conformtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "known.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFileOfKnownFailuresIsRead(t *testing.T) {
	known, err := ReadKnownFailures(write(t, `# a comment
known-failures: 1
implementation: "cmd:./mine"
scope: {deliver: full}
entries:
  - match: "openai-chat/**:usage.cache_read"
    verdict: fail
    message: "usage.cache_read: expected"
    reason: cached tokens are not read yet
    issue: o/r#1
    expires: "2026-12-31"
  - cause: tokens-too-many
    api: openai-chat
    trials: 66
    reason: both reports are added up
    issue: o/r#2
    example: openai-chat/cost/cost-plain@as-is
`))
	if err != nil {
		t.Fatal(err)
	}
	if known.Causes != 1 || len(known.Entries) != 1 || known.Entries[0].Match != "openai-chat/**:usage.cache_read" {
		t.Error(known)
	}
}

func TestAMalformedFileOfKnownFailuresIsRejected(t *testing.T) {
	head := "known-failures: 1\nentries:\n  - "
	for text, expected := range map[string]string{
		head + "{match: a, verdict: fail, reason: accents}":                          "line 3: `issue` is missing",
		head + "{match: a, verdict: warn, reason: accents, issue: b}":                "expected fail, hang or faulted",
		head + "{match: a, verdict: fail, reason: accents, issue: b, expires: soon}": "is not a date",
		head + "{match: a, mesage: b}":                                               "line 3: field mesage not found",
		"entries: []":                                                                "expected `known-failures: 1`",
		"known-failures: [":                                                          "known.yaml: yaml: ",
	} {
		_, err := ReadKnownFailures(write(t, text))
		if err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
