package streamconform

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// A Suite is every case of one API, as read from suite-<api>.json.gz.
type Suite struct {
	Version int     `json:"suite"`
	API     string  `json:"api"`
	Cases   []*Case `json:"cases"`
	// OrderedContent says whether the API records the order of text and calls.
	OrderedContent *bool `json:"ordered_content"`
}

// A Case is one expectation. Only a stream or a document has bytes; this package judges no other kind.
type Case struct {
	ID           string       `json:"id"`
	Kind         string       `json:"kind"`
	Title        string       `json:"title"`
	Capabilities []Capability `json:"capabilities"`
	// Spec and Line say where the case is in the suite's source.
	Spec   string   `json:"spec"`
	Line   int      `json:"line"`
	Trials []*Trial `json:"trials"`

	Expect   *expectation    `json:"expect"`
	Stream   stream          `json:"stream"`
	Pricing  json.RawMessage `json:"pricing"`
	Mentions []string        `json:"mentions"`

	suite *Suite
}

// A Trial is one delivery of a case's bytes, or one way to break them.
type Trial struct {
	Name  string `json:"name"`
	Level Level  `json:"level"`
	Set   Set    `json:"set"`

	Inputs    []string     `json:"inputs"`
	Transport string       `json:"transport"`
	Expect    *expectation `json:"expect"`
	Mentions  []string     `json:"mentions"`
	Cuts      cuts         `json:"cuts"`
	Prefix    *int         `json:"prefix"`
	Append    string       `json:"append"`
	AppendRaw []byte       `json:"append_base64"`

	Case *Case `json:"-"`
}

// A Set is the smallest selection that has a trial.
type Set string

// The sets, from small to large; each has the trials of the one before it.
const (
	Fast     Set = "fast"
	Standard Set = "standard"
	Full     Set = "full"
)

var sets = map[Set]int{Fast: 0, Standard: 1, Full: 2}

type stream struct {
	Request struct {
		Body json.RawMessage `json:"body"`
	} `json:"request"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	BodyRaw []byte            `json:"body_base64"`
}

type expectation struct {
	// Content is nil if the content is not judged.
	Content []expectedBlock `json:"content"`
	Fields  leaves          `json:"fields"`
	Partial *partial        `json:"partial"`
}

type expectedBlock struct {
	Type   string `json:"type"`
	Fields leaves `json:"fields"`
}

// partial marks the expectation of a broken stream: any prefix of the content is correct.
type partial struct {
	CallsEnded  int `json:"calls_ended"`
	TextArrived int `json:"text_arrived"`
}

// cuts are the offsets of all chunks but the first.
type cuts struct {
	every   bool
	offsets []int
}

// UnmarshalJSON reads the word every, or a list of offsets.
func (c *cuts) UnmarshalJSON(data []byte) error {
	if string(data) == `"every"` {
		c.every = true
		return nil
	}
	return json.Unmarshal(data, &c.offsets)
}

// Load reads a suite from a file, compressed with gzip.
func Load(path string) (*Suite, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	suite, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return suite, nil
}

func read(file io.Reader) (*Suite, error) {
	reader, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	suite := new(Suite)
	if err := decodeJSON(data, suite); err != nil {
		return nil, err
	}
	if suite.Version != 1 {
		return nil, fmt.Errorf("version %d of the format is not known; use a later release", suite.Version)
	}
	for _, c := range suite.Cases {
		c.suite = suite
		for _, trial := range c.Trials {
			trial.Case = c
		}
	}
	return suite, nil
}

// ID returns the trial's id in the suite: the case's, @ and the delivery or fault.
func (t *Trial) ID() string { return t.Case.ID + "@" + t.Name }

// IsCovered says whether this package can run and judge the trial: its bytes are handed over directly, not by
// a server.
func (t *Trial) IsCovered() bool {
	isInBytes := some(t.Inputs, func(input string) bool { return input == "bytes" })
	return isInBytes && t.Case.isAnswer() && t.Transport == ""
}

func (c *Case) isAnswer() bool { return c.Kind == "stream" || c.Kind == "document" }

func (t *Trial) expectation() *expectation {
	if t.Expect != nil {
		return t.Expect
	}
	return t.Case.Expect
}

func (t *Trial) isOrdered() bool {
	ordered := t.Case.suite.OrderedContent
	return ordered == nil || *ordered
}

// findMention returns the position of an id or a signature among those that the stream mentions.
func (t *Trial) findMention(text string) (int, bool) {
	mentions := t.Mentions
	if mentions == nil {
		mentions = t.Case.Mentions
	}
	for position, mention := range mentions {
		if mention == text {
			return position, true
		}
	}
	return 0, false
}

// An Input is what a parser gets: the response to a request, and the request.
type Input struct {
	API     string
	Status  int
	Headers map[string]string
	// Chunks are the body, one chunk per network read.
	Chunks [][]byte
	// Stream is false for a non-streaming answer.
	Stream bool
	// Request is the body of the request, and Pricing the prices for a cost (spec.v1), or nil.
	Request, Pricing json.RawMessage
}

// Input returns what the trial hands to a parser.
func (t *Trial) Input() Input {
	from := t.Case.Stream
	return Input{
		API:     t.Case.suite.API,
		Status:  from.Status,
		Headers: from.Headers,
		Chunks:  t.chunks(),
		Stream:  t.Case.Kind == "stream",
		Request: from.Request.Body,
		Pricing: t.Case.Pricing,
	}
}

// Reader returns the body; each call of Read returns at most one chunk.
func (input Input) Reader() io.Reader {
	readers := make([]io.Reader, len(input.Chunks))
	for i, chunk := range input.Chunks {
		readers[i] = bytes.NewReader(chunk)
	}
	return io.MultiReader(readers...)
}

func (t *Trial) chunks() [][]byte {
	body := t.Case.Stream.BodyRaw
	if body == nil {
		body = []byte(t.Case.Stream.Body)
	}
	if t.Prefix != nil {
		body = append(append(body[:*t.Prefix:*t.Prefix], t.Append...), t.AppendRaw...)
	}
	offsets := t.Cuts.offsets
	if t.Cuts.every {
		offsets = nil
		for i := 1; i < len(body); i++ {
			offsets = append(offsets, i)
		}
	}
	chunks, start := make([][]byte, 0, len(offsets)+1), 0
	for _, end := range append(offsets[:len(offsets):len(offsets)], len(body)) {
		chunks = append(chunks, body[start:end:end])
		start = end
	}
	return chunks
}
