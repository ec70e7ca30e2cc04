package streamconform

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// An Outcome is the result of reading one answer, in the normal form of docs/outcome.md: status, content, stop,
// usage and so on. A key that is left out is not judged; null says that there is no value, and is judged. Its
// values are anything that encoding/json can encode; json.RawMessage suits the arguments of a call.
type Outcome map[string]any

// An outcome is an Outcome after its form was checked.
type outcome struct {
	status  string
	content []*block
	// values are the members that are no groups.
	values map[string]any
	// groups are stop, usage, cost and error, with all their keys; nil if there is no cost or error.
	groups map[string]map[string]any
	// absent are the paths outside the content that were left out.
	absent set
	// omitted are the groups without any known key; if claimed, they count as null.
	omitted set
}

type block struct {
	kind   string
	fields map[string]any
	// absent are the keys that were left out.
	absent set
}

// text returns the text of a field, or "" if it is null.
func (b *block) text(name string) string {
	text, _ := b.fields[name].(string)
	return text
}

func (b *block) is(name string, value any) bool { return b.fields[name] == value }

// isExecutable says whether an agent that gets this call runs it.
func (b *block) isExecutable() bool { return !b.is("complete", false) && b.fields["arguments"] != nil }

// A member is one key of the normal form; an optional one is not judged if it is absent.
type member struct {
	name, form string
	optional   bool
}

// members are those of the outcome itself, of each group and of each type of block.
var members = map[string][]member{
	"outcome": {
		{"status", "status", false}, {"model", "text", true}, {"response_id", "text", true},
		{"continuation", "text", true}, {"echo", "object", true},
	},
	"stop": {
		{"reason", "reason", false}, {"raw", "text", true}, {"sequence", "text", true}, {"details", "any", true},
	},
	"usage": {
		{"input", "count", true}, {"cache_read", "count", true}, {"cache_write", "count", true},
		{"cache_write_1h", "count", true}, {"output", "count", true}, {"reasoning", "count", true},
		{"web_searches", "count", true},
	},
	"cost": {
		{"currency", "currency", false}, {"input", "money", true}, {"cache_read", "money", true},
		{"cache_write", "money", true}, {"output", "money", true}, {"other", "money", true}, {"total", "money", true},
	},
	"error": {{"type", "text", true}, {"message", "text", false}, {"status", "count", true}},
	"text": {
		{"text", "some text", false}, {"phase", "text", true}, {"signature", "text", true},
		{"citations", "citations", true}, {"echo", "object", true},
	},
	"refusal": {{"text", "some text", false}},
	"thinking": {
		{"text", "text", false}, {"signature", "text", true}, {"redacted", "flag", true}, {"echo", "object", true},
	},
	"tool_call": {
		{"id", "text", true}, {"name", "text", false}, {"arguments", "any", false}, {"arguments_text", "text", true},
		{"complete", "flag", true}, {"executor", "executor", false}, {"signature", "text", true},
		{"echo", "object", true},
	},
	"other": {{"kind", "text", false}, {"data", "any", false}},
	"citation": {
		{"source", "text", true}, {"title", "text", true}, {"quote", "text", true}, {"start", "count", true},
		{"end", "count", true},
	},
}

// words are the forms that allow only some texts, or null except for status.
var words = map[string]set{
	"status":   setOf("complete", "incomplete", "error"),
	"reason":   setOf("stop", "length", "tool_use", "content_filter", "refusal", "pause", "error", "other"),
	"executor": setOf("client", "provider"),
	"currency": setOf("USD"),
}

// defaults are the values that null stands for.
var defaults = map[string]any{
	"thinking.text": "", "thinking.redacted": false, "tool_call.executor": "client", "cost.currency": "USD",
}

// claimedGroups are the groups that a claim promises as a whole.
var claimedGroups = []string{"usage", "cost", "error"}

var money = regexp.MustCompile(`^-?[0-9]{1,15}(\.[0-9]{1,30})?$`)

// decodeOutcome returns the outcome in a JSON value, or else what is wrong with it.
func decodeOutcome(value any) (*outcome, string) {
	d := new(decoder)
	entry := d.object("outcome", value)
	result := &outcome{groups: map[string]map[string]any{}, omitted: set{}}
	result.values, result.absent = d.members("outcome", "", entry)
	result.status, _ = result.values["status"].(string)
	content, ok := entry["content"].([]any)
	if !ok {
		d.reject("content", "a list", entry["content"])
	}
	for i, item := range content {
		result.content = append(result.content, d.block(fmt.Sprintf("content.%d.", i), item))
	}
	if _, ok := entry["stop"]; !ok {
		result.absent["stop.reason"] = true
	}
	for _, name := range append([]string{"stop"}, claimedGroups...) {
		group, absent := map[string]any(nil), set(nil)
		given, isObject := entry[name].(map[string]any)
		if _, isPresent := entry[name]; entry[name] != nil && !isObject {
			d.reject(name, "an object or null", entry[name])
		} else if name != "stop" && (isObject || !isPresent) && !hasKey(name, given) {
			result.omitted[name] = true
		}
		// Nothing but nulls is no group. Its paths are judged as null, because the claim promises them.
		if isEmpty := entry[name] == nil || result.omitted[name]; !isEmpty || name == "stop" || name == "usage" {
			group, absent = d.members(name, name+".", given)
		}
		result.groups[name] = group
		if name == "stop" || hasValue(given, name) {
			for key := range absent {
				result.absent[name+"."+key] = true
			}
		}
	}
	return result, d.problem
}

func hasKey(kind string, entry map[string]any) bool {
	return some(members[kind], func(m member) bool { _, ok := entry[m.name]; return ok })
}

func hasValue(entry map[string]any, kind string) bool {
	return some(members[kind], func(m member) bool { return entry[m.name] != nil })
}

// read returns the value at a path outside the content: stop.reason, usage.input, error.
func (o *outcome) read(path string) any {
	name, key, isMember := strings.Cut(path, ".")
	group, isGroup := o.groups[name]
	switch {
	case !isGroup:
		return o.values[name]
	case isMember:
		return group[key]
	// Usage is never null, so the usage that a case expects to be null is one without any count.
	case group == nil || name == "usage" && !hasValue(group, name):
		return nil
	}
	return group
}

// A decoder remembers the first value that is not in the normal form.
type decoder struct{ problem string }

func (d *decoder) reject(path, expected string, got any) {
	if d.problem == "" {
		d.problem = fmt.Sprintf("%s: expected %s, got %s", path, expected, shorten(formatJSON(got), lineWidth))
	}
}

// members returns the values of all known keys, and the optional ones that are absent.
func (d *decoder) members(kind, path string, entry map[string]any) (map[string]any, set) {
	values, absent := map[string]any{}, set{}
	for _, m := range members[kind] {
		given, ok := entry[m.name]
		if !ok && m.optional {
			absent[m.name] = true
		}
		values[m.name] = d.value(path+m.name, m.form, given)
		if values[m.name] == nil {
			values[m.name] = defaults[kind+"."+m.name]
		}
	}
	return values, absent
}

func (d *decoder) block(path string, value any) *block {
	entry := d.object(strings.TrimSuffix(path, "."), value)
	kind, _ := entry["type"].(string)
	if !setOf("text", "refusal", "thinking", "tool_call", "other")[kind] {
		d.reject(path+"type", "text, refusal, thinking, tool_call or other", entry["type"])
	}
	fields, absent := d.members(kind, path, entry)
	return &block{kind, fields, absent}
}

func (d *decoder) object(path string, value any) map[string]any {
	entry, ok := value.(map[string]any)
	if !ok {
		d.reject(path, "an object", value)
	}
	return entry
}

func (d *decoder) value(path, form string, value any) any {
	text, isText := value.(string)
	_, isFlag := value.(bool)
	_, isObject := value.(map[string]any)
	switch {
	case form == "any":
		return value
	case form == "citations":
		return d.citations(path, value)
	case value == nil && form != "status" && form != "some text":
		return nil
	case words[form] != nil && !words[form][text]:
		d.reject(path, "one of "+strings.Join(sortedKeys(words[form]), ", "), value)
	case strings.HasSuffix(form, "text") && !isText:
		d.reject(path, "a string", value)
	case form == "flag" && !isFlag:
		d.reject(path, "a boolean or null", value)
	case form == "object" && !isObject:
		d.reject(path, "an object or null", value)
	case form == "money" && !money.MatchString(text):
		d.reject(path, `decimal text such as "0.002871", or null`, value)
	case form == "count":
		return d.count(path, value)
	}
	return value
}

// count returns an integer that is not negative; 5.0 is one.
func (d *decoder) count(path string, value any) any {
	integer := toInt(value)
	if number, ok := value.(json.Number); ok && integer == nil {
		float, err := strconv.ParseFloat(string(number), 64)
		if err == nil && float == math.Trunc(float) {
			integer, _ = big.NewFloat(float).Int(nil)
		}
	}
	if integer == nil || integer.Sign() < 0 {
		d.reject(path, "a count or null", value)
		return nil
	}
	return json.Number(integer.String())
}

func (d *decoder) citations(path string, value any) any {
	list, ok := value.([]any)
	if !ok && value != nil {
		d.reject(path, "a list or null", value)
	}
	for i, item := range list {
		of := fmt.Sprintf("%s.%d", path, i)
		d.members("citation", of+".", d.object(of, item))
	}
	return list
}
