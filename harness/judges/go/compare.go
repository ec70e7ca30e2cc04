package streamconform

import (
	"encoding/json"
	"fmt"
	"math/big"
	"sort"
	"strings"
)

// requiredClaims has the capability without which a path and all paths below it are not judged.
var requiredClaims = map[string]Capability{
	"usage":                "usage",
	"usage.reasoning":      "usage_details",
	"usage.web_searches":   "usage_details",
	"usage.cache_write_1h": "usage_details",
	"usage.cache_read":     "cache_usage",
	"usage.cache_write":    "cache_usage",
	"stop.raw":             "raw_stop",
	"cost":                 "cost",
	"error":                "errors",
}

func requiredClaim(path string) Capability {
	if claim, ok := requiredClaims[path]; ok {
		return claim
	}
	name, _, _ := strings.Cut(path, ".")
	return requiredClaims[name]
}

func (claims Claims) judges(path string) bool {
	claim := requiredClaim(path)
	return claim == "" || claims[claim]
}

const (
	maxTypes     = 12
	maxArguments = 80
	blockMissing = "content block missing"
	unfinished   = "must be left out, or have `complete: false` or `arguments: null`"
)

// lostWithContent are the fields that a client that raises may drop with the content.
var lostWithContent = setOf("usage", "cost", "model", "response_id", "continuation")

// A comparison collects the checks of an outcome.
type comparison struct {
	trial  *Trial
	expect *expectation
	got    *outcome
	claims Claims
	level  Level
	// tolerant says that the outcome rightly reports that the stream broke or failed. Raising is safe even if
	// the client drops what it has received; keeping it is a should.
	tolerant bool
	checks   []Check
}

func compare(trial *Trial, got *outcome, claims Claims) *comparison {
	c := &comparison{trial: trial, expect: trial.expectation(), got: got, claims: claims, level: trial.Level}
	status := c.expect.Fields.get("status")
	c.tolerant = status != nil && got.status != "complete" && status.matches(got.status)
	c.compareFields()
	switch {
	case c.expect.Content == nil:
	case c.expect.Partial != nil:
		c.comparePartial()
	default:
		aligner := newAligner(trial, claims, c.expect.Content)
		aligner.findSeparators(got.content)
		both := aligner.align(c.expect.Content, got.content)
		c.checkOrder(both)
		c.compareContent(both)
	}
	return c
}

func (c *comparison) add(check Check) { c.checks = append(c.checks, check) }

// levelOfLoss returns the level of a difference that may only be what a client lost when it raised.
func (c *comparison) levelOfLoss(isLoss bool) Level {
	if c.tolerant && isLoss {
		return lower(c.level, Should)
	}
	return c.level
}

func (c *comparison) compareFields() {
	fields := sumCacheUsage(c.expect.Fields, c.claims)
	for _, field := range fields {
		path, l := field.name, field.leaf
		if !c.claims.judges(path) || isHidden(path, c.got, c.claims) {
			continue
		}
		got := c.got.read(path)
		if path == "echo" {
			got = selectEcho(l, got)
		}
		name, _, _ := strings.Cut(path, ".")
		check := checkLeaf(path, l, got, c.levelOfLoss(got == nil && lostWithContent[name]), false)
		if path == "usage.input" {
			check = c.explainInput(check)
		}
		c.add(check)
	}
}

// isHidden says whether an outcome leaves out a value that it may leave out. A claim of stop promises a reason
// in every outcome; without it, a reason that is reported is still judged.
func isHidden(path string, got *outcome, claims Claims) bool {
	return got.absent[path] && !(path == "stop.reason" && claims["stop"])
}

// sumCacheUsage adapts fields to the claims: without cache_usage, usage.input includes cache reads and writes.
func sumCacheUsage(fields leaves, claims Claims) leaves {
	sums := listSums(fields, listValues)
	if claims["cache_usage"] || len(sums) == 0 {
		return fields
	}
	var sum leaf = literally{sums[0]}
	if len(sums) > 1 {
		preferred := listSums(fields, listPreferred)
		if equal(preferred, sums) {
			preferred = nil
		}
		sum = anyOf{sums, preferred}
	}
	adapted := append(leaves(nil), fields...)
	for i, field := range adapted {
		if field.name == "usage.input" {
			adapted[i].leaf = sum
		}
	}
	return adapted
}

// listSums returns the possible sums of input, cache reads and cache writes, null first. A bucket that is
// null, absent or a matcher adds nothing.
func listSums(fields leaves, list func(leaf) []any) []any {
	sums := list(fields.get("usage.input"))
	for _, path := range []string{"usage.cache_read", "usage.cache_write"} {
		parts := list(fields.get(path))
		if len(parts) == 0 {
			parts = []any{nil}
		}
		var next []any
		for _, one := range sums {
			for _, part := range parts {
				next = append(next, addCounts(one, part))
			}
		}
		sums = next
	}
	var unique []any
	for _, one := range sums {
		if !contains(unique, one) {
			unique = append(unique, one)
		}
	}
	sort.Slice(unique, func(i, j int) bool {
		a, b := toInt(unique[i]), toInt(unique[j])
		return b != nil && (a == nil || a.Cmp(b) < 0)
	})
	return unique
}

func addCounts(one, part any) any {
	a, b := toInt(one), toInt(part)
	if a == nil || b == nil {
		return one
	}
	return json.Number(new(big.Int).Add(a, b).String())
}

var hiddenBuckets = []struct{ path, name string }{
	{"usage.cache_read", "cache reads"}, {"usage.cache_write", "cache writes"},
}

// explainInput adds why an input count is wrong if it lacks exactly the cached tokens, or includes exactly
// those that are not exposed; the latter is only a warning, since an adapter cannot subtract what it lacks.
func (c *comparison) explainInput(check Check) Check {
	if check.Verdict == Pass {
		return check
	}
	fields := c.expect.Fields
	difference := fmt.Sprintf("expected %s, got %s; ", formatJSON(check.Expected), formatJSON(check.Got))
	uncached := fields.get("usage.input")
	if !equal(check.Expected, uncached.describe()) && uncached.matches(check.Got) {
		check.Message = difference + "this is the part of the prompt that was not cached; " +
			"if the library counts the cached part separately, claim `cache_usage`"
	}
	hidden := leaves{{"usage.input", uncached}}
	var names []string
	for _, bucket := range hiddenBuckets {
		if l := fields.get(bucket.path); l != nil && c.got.absent[bucket.path] {
			hidden = append(hidden, namedLeaf{bucket.path, l})
			names = append(names, bucket.name)
		}
	}
	if names == nil || !c.claims["cache_usage"] || check.Got == nil || !contains(listSums(hidden, listValues), check.Got) {
		return check
	}
	check.Level = lower(check.Level, Should)
	check.Verdict = failed[check.Level]
	check.Message = fmt.Sprintf(
		"%sthis includes the number of %s, which is not exposed", difference, strings.Join(names, " and "),
	)
	return check
}

// checkOrder checks that the calls are in the stream's order. It hardly matters: results refer to calls by id.
func (c *comparison) checkOrder(both aligned) {
	if len(filter(both.expected, isExpectedCall)) < 2 {
		return
	}
	message := ""
	if ids := both.formerIDs; len(ids) > 0 {
		message = "the calls are in another order than in the stream: " +
			strings.Join(ids[:min(len(ids), maxTypes)], ", ")
	}
	c.add(checkRule("content.order", lower(c.level, Should), message, nil, nil))
}

func (c *comparison) compareContent(both aligned) {
	expected, got := both.expected, both.received
	pairs := pairBlocks(expected, got)
	// Leaving out a call that must not be executed is as safe as marking it.
	length, paired := len(expected), 0
	for i, position := range pairs {
		if position >= 0 {
			paired++
		} else if mustNotRun(expected[i]) {
			length--
		}
	}
	message := ""
	if length != len(got) {
		message = fmt.Sprintf("expected %s %s, got %d %s", formatCount(len(expected), "block"),
			formatTypes(expected, func(wanted expectedBlock) string { return wanted.Type }),
			len(got), formatTypes(got, func(one *block) string { return one.kind }))
		message += describeMislabeled(c.expect.Content, expected, got)
	}
	// A client that raises may drop blocks, but a block that was never sent is still wrong.
	level := c.levelOfLoss(len(got) == paired)
	c.add(warnOfSignatures(checkRule("content.length", level, message, len(expected), len(got)), both.moved))
	for i, position := range pairs {
		wanted := expected[i]
		switch {
		case position >= 0:
			c.compareBlock(i, wanted, got[position])
		case mustNotRun(wanted):
			for _, field := range wanted.Fields {
				path := blockPath(i, wanted.Type, field.name)
				c.add(Check{Path: path, Level: c.level, Verdict: Pass, Expected: field.leaf.describe()})
			}
		default:
			// A missing block fails each of its leaves, so that the paths do not depend on the outcome.
			for _, field := range wanted.Fields {
				if field.name != "signature" || c.claims["signatures"] {
					path := blockPath(i, wanted.Type, field.name)
					c.add(checkLeaf(path, field.leaf, nil, c.levelOfLoss(true), true))
				}
			}
		}
	}
}

// warnOfSignatures returns the check on the number of blocks, as a warning if only moved signatures are in
// excess.
func warnOfSignatures(check Check, moved int) Check {
	if check.Verdict != Pass || moved == 0 {
		return check
	}
	message := "the signature of another block is reported as a thinking block without text"
	return checkRule(check.Path, lower(check.Level, Should), message, nil, nil)
}

// describeMislabeled returns the end of a message: the provider's calls that are reported as the client's.
func describeMislabeled(named, expected []expectedBlock, received []*block) string {
	mislabeled := findMislabeled(named, expected, received)
	calls := filter(received, func(got *block) bool { return mislabeled[got] })
	if len(calls) == 0 {
		return ""
	}
	return "; calls that the provider ran are reported as the client's: " +
		list(calls[:min(len(calls), maxTypes)], maxTypes, formatCall)
}

func (c *comparison) compareBlock(i int, wanted expectedBlock, got *block) {
	isOpen := isUnfinished(wanted, got) || c.tolerant && got.is("complete", false)
	for _, field := range wanted.Fields {
		name, l, value := field.name, field.leaf, got.fields[field.name]
		if name == "signature" && value == "" {
			value = nil // the two mean the same
		}
		if name == "signature" && !c.claims["signatures"] || name == "arguments" && isOpen {
			continue
		}
		path := blockPath(i, wanted.Type, name)
		literal, ok := l.(literally)
		switch {
		case (name == "complete" || name == "arguments") && mustNotRun(wanted):
			c.add(checkNotExecutable(path, name, l, got, c.level))
		case isLeftOut(wanted, name, got):
		case name == "echo":
			c.add(checkLeaf(path, l, selectEcho(l, value), c.level, false))
		case name == "citations" && ok:
			c.add(checkCitations(path, literal, value, c.levelOfLoss(true)))
		default:
			c.add(checkLeaf(path, l, value, c.levelOfLoss(isPart(l, name, value)), false))
		}
	}
}

// selectEcho returns the members that a case names; the provider may add others at any time.
func selectEcho(l leaf, got any) any {
	literal, isLiteral := l.(literally)
	members, ok := got.(map[string]any)
	named, areNamed := literal.value.(map[string]any)
	if !isLiteral || !ok || !areNamed {
		return got
	}
	selected := map[string]any{}
	for name := range named {
		if value, ok := members[name]; ok {
			selected[name] = value
		}
	}
	return selected
}

// checkNotExecutable passes for both complete: false and arguments: null, whichever the case expects, because
// libraries use one or the other.
func checkNotExecutable(path, name string, l leaf, got *block, level Level) Check {
	var says any
	if name == "complete" {
		says = false
	}
	message := ""
	if isLiteral(l, says) && got.isExecutable() {
		message = fmt.Sprintf(
			"a call that must not be executed is reported as executable: %s; it %s", formatCall(got), unfinished,
		)
	}
	check := checkRule(path, level, message, nil, nil)
	check.Expected, check.Got = l.describe(), got.fields[name]
	return check
}

// checkCitations checks a text's citations; a key that the outcome leaves out is not judged.
func checkCitations(path string, l literally, got any, level Level) Check {
	wanted, _ := l.value.([]any)
	received, _ := got.([]any)
	judged := set{}
	for _, citation := range wanted {
		for key := range citation.(map[string]any) {
			judged[key] = true
		}
	}
	shown := []any{}
	for _, citation := range received {
		members := map[string]any{}
		for key, value := range citation.(map[string]any) {
			if judged[key] {
				members[key] = value
			}
		}
		shown = append(shown, members)
	}
	isSame := len(wanted) == len(shown)
	for i := 0; isSame && i < len(wanted); i++ {
		members := shown[i].(map[string]any)
		for key, value := range wanted[i].(map[string]any) {
			found, ok := members[key]
			isSame = isSame && (!ok || equal(value, found))
		}
	}
	check := Check{Path: path, Level: level, Verdict: Pass, Expected: l.value, Got: shown}
	if !isSame {
		check.Verdict = failed[level]
	}
	return check
}

// isLeftOut says whether an outcome does not expose a field of a block.
func isLeftOut(wanted expectedBlock, name string, got *block) bool {
	if got.absent[name] {
		return true
	}
	// Many libraries expose only the parsed arguments.
	if name == "arguments_text" && got.fields[name] == nil {
		if l := wanted.Fields.get("arguments"); l != nil {
			return l.matches(got.fields["arguments"])
		}
		return hasText(got.fields["arguments"], wanted.Fields.get(name))
	}
	// Libraries that return only complete calls have no such flag.
	return name == "complete" && got.fields[name] == nil
}

// hasText says whether arguments have a text in some form: as it is, as JSON, or in an object. The case leaves
// the form open, because the text of a custom tool is not JSON.
func hasText(arguments any, l leaf) bool {
	text, ok := literalText(l)
	if !ok {
		return true
	}
	forms := []any{text}
	var parsed any
	if decodeJSON([]byte(text), &parsed) == nil {
		forms = append(forms, parsed)
	}
	values := []any{arguments}
	if members, ok := arguments.(map[string]any); ok {
		for _, value := range members {
			values = append(values, value)
		}
	}
	return some(forms, func(form any) bool { return contains(values, form) })
}

// isPart says whether a value is a part of the expected one that can remain if content was lost.
func isPart(l leaf, name string, value any) bool {
	if name == "complete" {
		return value == false
	}
	whole, isWhole := literalText(l)
	text, isText := value.(string)
	return value == nil || isWhole && isText && strings.HasPrefix(whole, text)
}

// mustNotRun says whether a call must not be executed: it did not end, or its arguments are not JSON.
func mustNotRun(wanted expectedBlock) bool {
	return wanted.Type == "tool_call" &&
		(isLiteral(wanted.Fields.get("complete"), false) || isLiteral(wanted.Fields.get("arguments"), nil))
}

// isUnfinished says whether a call did not end; its arguments are then not checked.
func isUnfinished(wanted expectedBlock, got *block) bool {
	complete := wanted.Fields.get("complete")
	if isLiteral(complete, false) {
		return true
	}
	// If the case accepts a call that did not end, the client may report it as open, without final arguments.
	return got.kind == "tool_call" && !got.isExecutable() && complete != nil && complete.matches(false)
}
