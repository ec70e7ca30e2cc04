package streamconform

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// small is a suite of two cases, one with a trial that breaks the stream.
const small = `{"suite": 1, "api": "toy-chat", "ordered_content": true, "cases": [
	{"id": "toy-chat/text/plain", "kind": "stream", "title": "Two words", "level": "must",
	 "capabilities": [], "spec": "toy-chat/text.yaml", "line": 7, "mentions": [],
	 "stream": {"request": {"body": {"model": "toy"}}, "status": 200, "headers": {}, "body": "café\n"},
	 "expect": {"content": [{"type": "text", "fields": {"text": {"equals": "café"}}}],
		"fields": {"status": {"equals": "complete"}, "stop.reason": {"equals": "stop"},
			"usage.input": {"any_of": [null, 0], "prefer": [null]}, "model": {"equals": "toy"}}},
	 "trials": [
		{"name": "as-is", "level": "must", "set": "fast", "inputs": ["bytes", "http"], "cuts": []},
		{"name": "bytewise", "level": "must", "set": "standard", "inputs": ["bytes", "http"], "cuts": "every"},
		{"name": "gzip", "level": "should", "set": "standard", "inputs": ["http"], "cuts": []},
		{"name": "cut-after-frame.0", "level": "must", "set": "full", "inputs": ["bytes"], "prefix": 3, "cuts": [1],
		 "append": "!", "ends": "close", "expect": {"content": [], "fields": {"status": {"equals": "incomplete"}},
			"partial": {"calls_ended": 0, "text_arrived": 0}}}]},
	{"id": "toy-chat/tool-use/two-calls", "kind": "stream", "title": "Two calls", "level": "should",
	 "capabilities": ["parallel_tool_calls"], "spec": "toy-chat/tool-use.yaml", "line": 3, "mentions": [],
	 "stream": {"request": {"body": {}}, "status": 200, "headers": {}, "body": "x"},
	 "expect": {"content": [], "fields": {"status": {"equals": "complete"}}},
	 "trials": [{"name": "as-is", "level": "should", "set": "fast", "inputs": ["bytes"], "cuts": []}]},
	{"id": "toy-chat/requests/plain", "kind": "request", "title": "A request", "level": "must", "capabilities": [],
	 "spec": "toy-chat/requests.yaml", "line": 1, "input": {}, "expect": {"must": {"members": {}}, "headers": {}}}]}`

func writeFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func writeSuite(t *testing.T, text string) string {
	t.Helper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	if _, err := writer.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "suite-toy-chat.json.gz", buffer.Bytes())
}

func load(t *testing.T) *Suite {
	t.Helper()
	suite, err := Load(writeSuite(t, small))
	if err != nil {
		t.Fatal(err)
	}
	return suite
}

func claim(t *testing.T, names ...Capability) Claims {
	t.Helper()
	claims, err := NewClaims(names...)
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

// answer returns a parser that always returns a complete answer with this text.
func answer(text string) Parser {
	return func(Input) (Outcome, error) {
		return Outcome{
			"status":  "complete",
			"content": []map[string]string{{"type": "text", "text": text}},
			"stop":    map[string]any{"reason": "stop"},
			"usage":   map[string]any{"input": nil},
		}, nil
	}
}

func fails(t *testing.T, err error, expected string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), expected) {
		t.Errorf("expected an error with %q, got %v", expected, err)
	}
}

func TestAReaderReturnsOneChunkPerRead(t *testing.T) {
	trials := load(t).Cases[0].Trials
	for i, expected := range []string{"café\n", "c|a|f|\xc3|\xa9|\n", "", "c|af!"} {
		if i == 2 {
			continue // only over HTTP
		}
		var chunks []string
		reader, buffer := trials[i].Input().Reader(), make([]byte, 64)
		for {
			n, err := reader.Read(buffer)
			if n > 0 {
				chunks = append(chunks, string(buffer[:n]))
			}
			if err == io.EOF {
				break
			}
		}
		if got := strings.Join(chunks, "|"); got != expected {
			t.Errorf("%s: expected %q, got %q", trials[i].Name, expected, got)
		}
	}
}

func TestOnlyStreamsAndDocumentsInBytesAreCovered(t *testing.T) {
	var covered []string
	for _, c := range load(t).Cases {
		for _, trial := range c.Trials {
			if trial.IsCovered() {
				covered = append(covered, trial.Name)
			}
		}
	}
	if got := strings.Join(covered, " "); got != "as-is bytewise cut-after-frame.0 as-is" {
		t.Error(got)
	}
}

func TestAWrongTextFailsWithBothValuesAndTheCasesPlace(t *testing.T) {
	trial := load(t).Cases[0].Trials[0]
	judgement := Judge(trial, answer("cafe"), claim(t))
	if judgement.Verdict != Fail || judgement.Culprit != Implementation {
		t.Fatal(judgement)
	}
	expected := `Two words
toy-chat/text/plain: specs/toy-chat/text.yaml, line 7
  content.0.text (must)
    expected "café"
    got      "cafe"`
	if got := Report(trial, judgement, false); got != expected {
		t.Error(got)
	}
}

func TestALeftOutKeyIsNotJudgedAndANullIs(t *testing.T) {
	trial := load(t).Cases[0].Trials[0]
	if judgement := Judge(trial, answer("café"), claim(t)); judgement.Verdict != Pass {
		t.Error(judgement.Checks)
	}
	withNull := func(input Input) (Outcome, error) {
		outcome, err := answer("café")(input)
		outcome["model"] = nil
		return outcome, err
	}
	if judgement := Judge(trial, withNull, claim(t)); judgement.Verdict != Fail {
		t.Error(judgement.Checks)
	}
}

func TestAnErrorAndAPanicAreReportedWithTheFailure(t *testing.T) {
	trial := load(t).Cases[0].Trials[0]
	returns := func(Input) (Outcome, error) { return nil, errors.New("bad\nline") }
	panics := func(Input) (Outcome, error) { panic("lost") }
	for expected, parse := range map[string]Parser{
		`the parser returned the error: bad\nline`:                   returns,
		`the parser returned the error: panic: lost` + "\ngoroutine": panics,
	} {
		judgement := Judge(trial, parse, claim(t))
		if got := Report(trial, judgement, false); judgement.Verdict != Fail || !strings.Contains(got, expected) {
			t.Error(got)
		}
	}
}

func TestAnErrorOfABrokenStreamPasses(t *testing.T) {
	trial := *load(t).Cases[0].Trials[3]
	trial.Expect.Fields = leaves{{"status", anyOf{values: []any{"incomplete", "error"}}}}
	returns := func(Input) (Outcome, error) { return nil, io.ErrUnexpectedEOF }
	if judgement := Judge(&trial, returns, claim(t)); judgement.Verdict != Pass {
		t.Error(judgement.Checks)
	}
}

func TestAMalformedOutcomeIsTheAdaptersFault(t *testing.T) {
	trial := load(t).Cases[0].Trials[0]
	for outcome, expected := range map[string]string{
		`{"status": "done", "content": []}`:                             "status: expected one of complete, error, incomplete, got \"done\"",
		`{"status": "complete", "content": [{"type": "image"}]}`:        "content.0.type: expected",
		`{"status": "complete", "content": [], "usage": {"input": -1}}`: "usage.input: expected a count or null, got -1",
		`{"status": "complete", "content": [], "cost": {"total": 0.1}}`: "cost.total: expected decimal text",
	} {
		judgement := JudgeAnswer(trial, json.RawMessage(outcome), nil, claim(t))
		if got := judgement.Checks[0].Message; judgement.Culprit != Adapter || !strings.HasPrefix(got, expected) {
			t.Error(got)
		}
	}
	unencodable := Outcome{"status": "complete", "content": []any{func() {}}}
	if judgement := JudgeAnswer(trial, unencodable, nil, claim(t)); judgement.Culprit != Adapter {
		t.Error(judgement)
	}
}

func TestNumbersAreEqualByValueAndBooleansAreNone(t *testing.T) {
	for text, expected := range map[string]bool{
		`[1, 1.0]`: true, `[9007199254740993, 9007199254740992]`: false, `[1, true]`: false, `[1e400, 1e401]`: true,
		`[9007199254740993, 9007199254740992.0]`: false, `[{"a": [1]}, {"a": [1.0]}]`: true, `[-0, 0]`: true,
		`["\ud83d", "\ud83e"]`: false, `["\ud83d\ude00", "😀"]`: true, `["\\ud83d", "\ud83d"]`: false,
	} {
		var pair []any
		if err := decodeJSON([]byte(text), &pair); err != nil {
			t.Fatal(err)
		}
		if equal(pair[0], pair[1]) != expected {
			t.Error(text)
		}
	}
}

func TestThePrefixOfATextMayEndInsideACharacter(t *testing.T) {
	var half string
	if err := decodeJSON([]byte(`"a\ud83d"`), &half); err != nil {
		t.Fatal(err)
	}
	if !prefixOf("a😀b").matches(half) || prefixOf("a😀b").matches("ab") {
		t.Error(half)
	}
}

func TestADigestIsOfCanonicalJSON(t *testing.T) {
	if got := formatCanonicalJSON(map[string]any{"b": json.Number("1.0"), "a": "é\n"}); got != `{"a":"é\n","b":1}` {
		t.Error(got)
	}
	text := "two parts"
	parts := append(digestText("two "), digestText("parts")...)
	if !parts.matches(text) || parts.matches("two party") || parts.matches(nil) {
		t.Error(parts)
	}
}

func TestAPatternMayRepeatMoreOftenThanGoAllows(t *testing.T) {
	matcher, err := compilePattern("^x{1001}(ab{2}c){1500}$")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 1001) + strings.Repeat("abbc", 1500)
	if !matcher.matches(text) || matcher.matches(text+"abbc") {
		t.Error("matches another number")
	}
	_, err = compilePattern("(")
	fails(t, err, "missing closing")
}

func TestAnUnknownCapabilityIsRejected(t *testing.T) {
	_, err := NewClaims("cache-usage")
	fails(t, err, "unknown capability `cache-usage`")
	if claims := claim(t); claims["documents"] || !claims["stop"] {
		t.Error(claims)
	}
}

func TestASuiteOfALaterVersionIsRejected(t *testing.T) {
	_, err := Load(writeSuite(t, `{"suite": 2}`))
	fails(t, err, "version 2")
	_, err = Load(writeSuite(t, strings.Replace(small, `"equals": "café"`, `"fuzzy": 1`, 1)))
	fails(t, err, "no known matcher")
	_, err = Load(writeFile(t, "plain.json.gz", []byte(small)))
	fails(t, err, "gzip")
}

func TestACallIsShownOnOneShortLine(t *testing.T) {
	call := &block{"tool_call", map[string]any{"name": "a\u202eb", "arguments": map[string]any{"x": "\n"}}, nil}
	if got := formatCall(call); got != `a\u202eb({"x": "\n"})` {
		t.Error(got)
	}
	if got := shorten(strings.Repeat("é", 70), 20); got != strings.Repeat("é", 8)+"…"+strings.Repeat("é", 10) {
		t.Error(got)
	}
}

func TestCountsOfCheckedTextAreOfCharacters(t *testing.T) {
	if got := fmt.Sprint(toUTF16("a😀")); got != "[97 55357 56832]" {
		t.Error(got)
	}
}
