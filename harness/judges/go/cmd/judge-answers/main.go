// Command judge-answers judges recorded answers, so that they can be compared with the judgements of another
// judge. It reads one JSON object per line, {"trial", "claims", "answer": {"outcome", "raised"}}, and writes one
// with the verdict, the culprit and all checks. Its arguments are the suites.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	streamconform "github.com/streamconform/streamconform/harness/judges/go"
)

type question struct {
	Trial  string                     `json:"trial"`
	Claims []streamconform.Capability `json:"claims"`
	Answer struct {
		Outcome json.RawMessage `json:"outcome"`
		Raised  *struct {
			Message string `json:"message"`
		} `json:"raised"`
	} `json:"answer"`
}

type reply struct {
	Trial    string                 `json:"trial"`
	Verdict  streamconform.Verdict  `json:"verdict"`
	Culprit  *streamconform.Culprit `json:"culprit"`
	Checks   []check                `json:"checks"`
	Compared [][2]any               `json:"compared"`
}

type check struct {
	Path    string                `json:"path"`
	Level   streamconform.Level   `json:"level"`
	Verdict streamconform.Verdict `json:"verdict"`
}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(paths []string, input io.Reader, output io.Writer) error {
	trials := map[string]*streamconform.Trial{}
	for _, path := range paths {
		suite, err := streamconform.Load(path)
		if err != nil {
			return err
		}
		for _, c := range suite.Cases {
			for _, trial := range c.Trials {
				trials[trial.ID()] = trial
			}
		}
	}
	lines, written := bufio.NewReader(input), bufio.NewWriter(output)
	encoder := json.NewEncoder(written)
	encoder.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 {
			break
		}
		if err != nil && err != io.EOF {
			return err
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			return err
		}
		trial, ok := trials[asked.Trial]
		if !ok {
			return fmt.Errorf("no trial %s in the suites", asked.Trial)
		}
		if err := encoder.Encode(answer(trial, asked)); err != nil {
			return err
		}
	}
	return written.Flush()
}

func answer(trial *streamconform.Trial, asked question) reply {
	claims := streamconform.Claims{}
	for _, name := range asked.Claims {
		claims[name] = true
	}
	var raised error
	if asked.Answer.Raised != nil {
		raised = errors.New(asked.Answer.Raised.Message)
	}
	judgement := streamconform.JudgeAnswer(trial, asked.Answer.Outcome, raised, claims)
	replied := reply{Trial: asked.Trial, Verdict: judgement.Verdict, Checks: []check{}, Compared: [][2]any{}}
	if judgement.Culprit != "" {
		replied.Culprit = &judgement.Culprit
	}
	for _, one := range judgement.Checks {
		replied.Checks = append(replied.Checks, check{one.Path, one.Level, one.Verdict})
	}
	for name, isCompared := range judgement.Compared {
		replied.Compared = append(replied.Compared, [2]any{name, isCompared})
	}
	sort.Slice(replied.Compared, func(i, j int) bool {
		return fmt.Sprint(replied.Compared[i]) < fmt.Sprint(replied.Compared[j])
	})
	return replied
}
