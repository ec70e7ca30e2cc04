package streamconform

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A leaf is the expectation for one value.
type leaf interface {
	matches(got any) bool
	// describe returns the leaf as JSON, for messages.
	describe() any
}

type (
	// literally expects this value.
	literally struct{ value any }
	// anyOf expects one of these values; if some are preferred, each of the others is a warning.
	anyOf struct{ values, preferred []any }
	// pattern expects text that contains a match.
	pattern struct{ *regexp.Regexp }
	// present expects any value but null if true, otherwise null.
	present bool
	// prefixOf expects the beginning of this text.
	prefixOf string
	// digest expects text in adjacent parts; a value that is not text is compared as canonical JSON.
	digest []digestPart
)

// A digestPart is the number of characters of a text and the SHA-256 of its UTF-8 bytes.
type digestPart struct {
	length int
	sha256 string
}

func (l literally) matches(got any) bool { return equal(l.value, got) }
func (l literally) describe() any        { return l.value }

func (l anyOf) matches(got any) bool { return contains(l.values, got) }
func (l anyOf) describe() any {
	if len(l.preferred) > 0 {
		return map[string]any{"any_of": l.values, "prefer": l.preferred}
	}
	return map[string]any{"any_of": l.values}
}

func (l pattern) matches(got any) bool {
	text, ok := got.(string)
	return ok && l.MatchString(text)
}
func (l pattern) describe() any { return map[string]any{"matches": l.String()} }

func (l present) matches(got any) bool { return (got != nil) == bool(l) }
func (l present) describe() any        { return map[string]any{"present": bool(l)} }

func (l prefixOf) matches(got any) bool {
	text, ok := got.(string)
	if !ok || strings.HasPrefix(string(l), text) {
		return ok
	}
	// The beginning may end with the first half of a surrogate pair.
	start, whole := toUTF16(text), toUTF16(string(l))
	return len(start) <= len(whole) && reflect.DeepEqual(start, whole[:len(start)])
}
func (l prefixOf) describe() any { return map[string]any{"prefix_of": string(l)} }

func (l digest) matches(got any) bool {
	if got == nil {
		return false
	}
	text, ok := got.(string)
	if !ok {
		text = formatCanonicalJSON(got)
	}
	rest := []rune(text)
	if len(rest) != l.length() {
		return false
	}
	for _, part := range l {
		if digestText(string(rest[:part.length]))[0] != part {
			return false
		}
		rest = rest[part.length:]
	}
	return true
}

func (l digest) describe() any {
	if len(l) == 1 {
		return map[string]any{"length": l[0].length, "sha256": l[0].sha256}
	}
	return map[string]any{"length": l.length()}
}

func (l digest) length() int {
	total := 0
	for _, part := range l {
		total += part.length
	}
	return total
}

// digestText returns a digest whose only part is the whole text.
func digestText(text string) digest {
	var data []byte
	for _, r := range text {
		if unit, ok := half(r); ok { // as three bytes, although UTF-8 has no halves
			data = append(data, 0xE0|byte(unit>>12), 0x80|byte(unit>>6&0x3F), 0x80|byte(unit&0x3F))
		} else {
			data = utf8.AppendRune(data, r)
		}
	}
	sum := sha256.Sum256(data)
	return digest{{utf8.RuneCountInString(text), hex.EncodeToString(sum[:])}}
}

// UnmarshalJSON reads {"length", "sha256"} from a list of two.
func (p *digestPart) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&p.length, &p.sha256})
}

// matchesAmount is like l.matches, but compares decimal texts by value.
func matchesAmount(l leaf, got any) bool {
	if values := listValues(l); values != nil {
		return some(values, func(value any) bool { return equalAmounts(value, got) })
	}
	return l.matches(got)
}

// tolerance is the maximum difference, in USD, between amounts that count as equal.
var tolerance = big.NewRat(1, 1_000_000_000)

func equalAmounts(one, other any) bool {
	a, isText := one.(string)
	b, areTexts := other.(string)
	if !isText || !areTexts {
		return one == nil && other == nil
	}
	x, ok := new(big.Rat).SetString(a)
	y, bothOk := new(big.Rat).SetString(b)
	if !ok || !bothOk {
		return false
	}
	difference := x.Sub(x, y)
	return difference.Abs(difference).Cmp(tolerance) <= 0
}

// isLiteral says whether a leaf expects exactly this value.
func isLiteral(l leaf, value any) bool {
	literal, ok := l.(literally)
	return ok && equal(literal.value, value)
}

// literalText returns the text that a leaf expects, if it is a single one.
func literalText(l leaf) (string, bool) {
	literal, _ := l.(literally)
	text, ok := literal.value.(string)
	return text, ok
}

// listValues returns the values that match a leaf, or nil if it does not list them.
func listValues(l leaf) []any {
	switch l := l.(type) {
	case literally:
		return []any{l.value}
	case anyOf:
		return l.values
	}
	return nil
}

// listPreferred returns the values that match a leaf without a warning, or nil if it does not list them.
func listPreferred(l leaf) []any {
	if l, ok := l.(anyOf); ok && len(l.preferred) > 0 {
		return l.preferred
	}
	return listValues(l)
}

func contains(values []any, value any) bool {
	return some(values, func(one any) bool { return equal(one, value) })
}

// leaves are the expected values of a block, or of an outcome outside the content, in the order of their checks.
type leaves []namedLeaf

type namedLeaf struct {
	name string
	leaf leaf
}

// get returns the leaf with a name, or nil.
func (ls leaves) get(name string) leaf {
	for _, one := range ls {
		if one.name == name {
			return one.leaf
		}
	}
	return nil
}

// UnmarshalJSON reads objects of which each names a matcher, as suite.v1.json describes them.
func (ls *leaves) UnmarshalJSON(data []byte) error {
	var entries map[string]leafEntry
	if err := decodeJSON(data, &entries); err != nil {
		return err
	}
	for _, name := range sortedKeys(entries) {
		read, err := entries[name].read()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*ls = append(*ls, namedLeaf{name, read})
	}
	return nil
}

// A leafEntry is a leaf in the file, of which one member is present.
type leafEntry struct {
	Equals   json.RawMessage `json:"equals"`
	AnyOf    []any           `json:"any_of"`
	Prefer   []any           `json:"prefer"`
	Matches  *string         `json:"matches"`
	Present  *bool           `json:"present"`
	PrefixOf *string         `json:"prefix_of"`
	Digest   digest          `json:"digest"`
}

func (entry leafEntry) read() (leaf, error) {
	switch {
	case entry.Equals != nil:
		var value any
		err := decodeJSON(entry.Equals, &value)
		return literally{restoreIntegers(value)}, err
	case entry.AnyOf != nil:
		restoreIntegers(entry.AnyOf)
		restoreIntegers(entry.Prefer)
		return anyOf{entry.AnyOf, entry.Prefer}, nil
	case entry.Matches != nil:
		return compilePattern(*entry.Matches)
	case entry.Present != nil:
		return present(*entry.Present), nil
	case entry.PrefixOf != nil:
		return prefixOf(*entry.PrefixOf), nil
	case entry.Digest != nil:
		return entry.Digest, nil
	}
	return nil, errors.New("no known matcher; is the file of a later version?")
}

var (
	largeRepeat = regexp.MustCompile(`(\[[^\]]*\]|\([^()]*\)|.)\{([0-9]{4,})\}`)
	smallRepeat = regexp.MustCompile(`\{([0-9]+)\}`)
)

// compiled has the patterns, which come again in many trials.
var compiled sync.Map

func compilePattern(source string) (leaf, error) {
	if found, ok := compiled.Load(source); ok {
		return found.(pattern), nil
	}
	expression, err := regexp.Compile(splitRepeats(source))
	compiled.Store(source, pattern{expression})
	return pattern{expression}, err
}

// splitRepeats writes a{2500} as a{1000}a{1000}a{500}: Go limits repeats, and nested ones together, to 1000.
func splitRepeats(source string) string {
	return largeRepeat.ReplaceAllStringFunc(source, func(repeat string) string {
		parts := largeRepeat.FindStringSubmatch(repeat)
		size := 1000
		for _, inner := range smallRepeat.FindAllStringSubmatch(parts[1], -1) {
			count, _ := strconv.Atoi(inner[1])
			size /= count
		}
		var split strings.Builder
		for count, _ := strconv.Atoi(parts[2]); count > 0; count -= size {
			fmt.Fprintf(&split, "%s{%d}", parts[1], min(count, size))
		}
		return split.String()
	})
}

// restoreIntegers returns a value in which each {"$integer": "12"} is the number.
func restoreIntegers(value any) any {
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			v[i] = restoreIntegers(item)
		}
	case map[string]any:
		if digits, ok := v["$integer"].(string); ok {
			return json.Number(digits)
		}
		for key, item := range v {
			v[key] = restoreIntegers(item)
		}
	}
	return value
}
