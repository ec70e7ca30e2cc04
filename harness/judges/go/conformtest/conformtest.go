// Package conformtest runs the trials of streamconform's suites as subtests.
package conformtest

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	streamconform "github.com/streamconform/streamconform/harness/judges/go"
)

// Files are the paths of what Test reads.
type Files struct {
	// Suites are suite-<api>.json.gz for each API that the parser reads.
	Suites []string
	// KnownFailures is a file of known failures, or empty.
	KnownFailures string
}

// Test judges a parser on every selected trial, each in a subtest with the trial's id as its name. At the end,
// it fails for entries of the known failures that are out of date, and for claims of which no value was ever
// compared.
func Test(t *testing.T, parse streamconform.Parser, files Files, options streamconform.Options) {
	t.Helper()
	session, err := start(files, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range session.Trials {
		trial := trial
		t.Run(trial.ID(), func(t *testing.T) {
			t.Helper()
			switch result := session.Settle(trial, streamconform.Judge(trial, parse, session.Claims)); {
			case result.IsFailure:
				t.Error(result.Text)
			case result.IsKnown:
				t.Skip(result.Text)
			case result.Text != "":
				t.Log(result.Text)
			}
		})
	}
	t.Log(session.Summarize())
	for _, complaint := range session.Finish(time.Now()) {
		t.Error(complaint)
	}
}

func start(files Files, options streamconform.Options) (*streamconform.Session, error) {
	var suites []*streamconform.Suite
	for _, path := range files.Suites {
		suite, err := streamconform.Load(path)
		if err != nil {
			return nil, err
		}
		suites = append(suites, suite)
	}
	if files.KnownFailures == "" {
		return streamconform.NewSession(suites, nil, options)
	}
	known, err := ReadKnownFailures(files.KnownFailures)
	if err != nil {
		return nil, err
	}
	return streamconform.NewSession(suites, known, options)
}

// ReadKnownFailures reads the file that conform run also reads.
func ReadKnownFailures(path string) (*streamconform.KnownFailures, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Version        int `yaml:"known-failures"`
		Implementation string
		Scope          map[string]any
		Entries        []streamconform.KnownFailure
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if file.Version != 1 {
		return nil, fmt.Errorf("%s: expected `known-failures: 1`", path)
	}
	// Again, because only nodes have lines.
	var nodes struct{ Entries []yaml.Node }
	if err := yaml.Unmarshal(data, &nodes); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	known := &streamconform.KnownFailures{Path: path}
	for i, entry := range file.Entries {
		if err := known.Add(nodes.Entries[i].Line, entry); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return known, nil
}
