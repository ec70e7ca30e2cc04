package streamconform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
)

// JSON values are those of encoding/json, with two differences: a number is a json.Number, so that every
// integer is exact, and half of a surrogate pair, which Go would replace, is a character of its own.

// halves is added to half of a surrogate pair; the result is for private use, so no text contains it.
const halves = 0x100000

// decodeJSON decodes the only JSON value in data into target.
func decodeJSON(data []byte, target any) error {
	decoder := json.NewDecoder(bytes.NewReader(keepHalves(data)))
	decoder.UseNumber()
	if err := decoder.Decode(target); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("text after the JSON value")
	}
	return nil
}

// keepHalves returns JSON in which each escaped half of a surrogate pair is escaped as its own character.
func keepHalves(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) {
		return data
	}
	kept := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		unit, ok := readEscape(data[i:])
		switch {
		case data[i] != '\\':
			kept = append(kept, data[i])
			i++
		case !ok:
			end := i + 2
			if end > len(data) {
				end = len(data)
			}
			kept = append(kept, data[i:end]...)
			i = end
		case !utf16.IsSurrogate(unit):
			kept = append(kept, data[i:i+6]...)
			i += 6
		default:
			next, _ := readEscape(data[i+6:])
			if utf16.DecodeRune(unit, next) != '\uFFFD' {
				kept = append(kept, data[i:i+12]...)
				i += 12
				continue
			}
			high, low := utf16.EncodeRune(unit + halves)
			kept = append(kept, fmt.Sprintf(`\u%04x\u%04x`, high, low)...)
			i += 6
		}
	}
	return kept
}

// readEscape returns the code unit of the escape with which data begins, such as \u00e9.
func readEscape(data []byte) (rune, bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(unit), err == nil
}

// half returns the half of a surrogate pair for which a character stands.
func half(r rune) (rune, bool) {
	return r - halves, r > halves && utf16.IsSurrogate(r-halves)
}

// toUTF16 returns the code units of a text.
func toUTF16(text string) []uint16 {
	runes := []rune(text)
	units := make([]uint16, 0, len(runes))
	for _, r := range runes {
		if unit, ok := half(r); ok {
			units = append(units, uint16(unit))
		} else {
			units = append(units, utf16.Encode([]rune{r})...)
		}
	}
	return units
}

// equal says whether two JSON values are equal. Numbers are compared by value.
func equal(one, other any) bool {
	switch a := one.(type) {
	case json.Number:
		b, ok := other.(json.Number)
		return ok && equalNumbers(a, b)
	case []any:
		b, ok := other.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := other.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			if found, ok := b[key]; !ok || !equal(value, found) {
				return false
			}
		}
		return true
	}
	switch other.(type) {
	case json.Number, []any, map[string]any:
		return false
	}
	return one == other
}

func equalNumbers(one, other json.Number) bool {
	if one == other {
		return true
	}
	a, b := toRat(one), toRat(other)
	if a == nil || b == nil { // a number beyond the floats is infinite
		return a == b && (one[0] == '-') == (other[0] == '-')
	}
	return a.Cmp(b) == 0
}

// toRat returns the exact value of an integer, or of the float nearest to another number; nil if infinite.
func toRat(number json.Number) *big.Rat {
	if integer := toInt(number); integer != nil {
		return new(big.Rat).SetInt(integer)
	}
	float, _ := strconv.ParseFloat(string(number), 64)
	return new(big.Rat).SetFloat64(float)
}

// toInt returns the value of a number that is written as an integer, or nil.
func toInt(value any) *big.Int {
	number, ok := value.(json.Number)
	if !ok || strings.ContainsAny(string(number), ".eE") {
		return nil
	}
	integer, ok := new(big.Int).SetString(string(number), 10)
	if !ok {
		return nil
	}
	return integer
}

// hasUnsafeInteger says whether a value contains an integer that a float of 64 bits may not represent.
func hasUnsafeInteger(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			if hasUnsafeInteger(item) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if hasUnsafeInteger(item) {
				return true
			}
		}
	case json.Number:
		integer := toInt(v)
		return integer != nil && new(big.Int).Abs(integer).Cmp(big.NewInt(1<<53)) > 0
	}
	return false
}

// formatJSON returns a value for a message: {"city": "Oslo"}.
func formatJSON(value any) string { return writeJSON(value, ", ", ": ", false) }

// formatCanonicalJSON returns the form of which a digest is made: no spaces, and 1 for 1.0.
func formatCanonicalJSON(value any) string { return writeJSON(value, ",", ":", true) }

func writeJSON(value any, comma, colon string, unified bool) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case string:
		return quote(v)
	case json.Number:
		return formatNumber(v, unified)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = writeJSON(item, comma, colon, unified)
		}
		return "[" + strings.Join(items, comma) + "]"
	case map[string]any:
		items := make([]string, 0, len(v))
		for _, key := range sortedKeys(v) {
			items = append(items, quote(key)+colon+writeJSON(v[key], comma, colon, unified))
		}
		return "{" + strings.Join(items, comma) + "}"
	}
	return fmt.Sprint(value)
}

// formatNumber returns an integer as it is, and a float in the shortest form; if unified, 1 for 1.0.
func formatNumber(number json.Number, unified bool) string {
	if integer := toInt(number); integer != nil {
		return integer.String()
	}
	float, _ := strconv.ParseFloat(string(number), 64)
	if unified && float == math.Trunc(float) && !math.IsInf(float, 0) {
		integer, _ := big.NewFloat(float).Int(nil)
		return integer.String()
	}
	size := math.Abs(float)
	if size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(float, 'e', -1, 64)
	}
	text := strconv.FormatFloat(float, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\b", `\b`, "\f", `\f`)

// quote returns a text as JSON, with no unnecessary escapes.
func quote(text string) string {
	var quoted strings.Builder
	for _, r := range escapes.Replace(text) {
		if unit, ok := half(r); ok || r < ' ' {
			if !ok {
				unit = r
			}
			fmt.Fprintf(&quoted, `\u%04x`, unit)
		} else {
			quoted.WriteRune(r)
		}
	}
	return `"` + quoted.String() + `"`
}
