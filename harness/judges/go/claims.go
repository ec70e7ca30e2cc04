package streamconform

import (
	"fmt"
	"strings"
)

// A Capability is something that a parser may expose; only what it claims is judged.
type Capability string

// Claims are the capabilities that a parser claims.
type Claims map[Capability]bool

// capabilities are all that concern streams and documents. The last, documents, must be claimed by name.
var capabilities = []Capability{
	"tool_calls", "parallel_tool_calls", "thinking", "signatures", "usage", "cache_usage", "usage_details",
	"cost", "errors", "refusals", "provider_tools", "stop", "raw_stop", "documents",
}

// NewClaims returns the claims with these names; without names, all but documents.
func NewClaims(names ...Capability) (Claims, error) {
	if len(names) == 0 {
		names = capabilities[:len(capabilities)-1]
	}
	claims := Claims{}
	for _, name := range names {
		if !some(capabilities, func(known Capability) bool { return name == known }) {
			return nil, fmt.Errorf("unknown capability `%s`; known: %v", name, capabilities)
		}
		claims[name] = true
	}
	return claims, nil
}

// missing returns the first capability that a case needs and that is not claimed, or "".
func (claims Claims) missing(c *Case) Capability {
	for _, name := range c.Capabilities {
		if !claims[name] {
			return name
		}
	}
	return ""
}

// findCompared returns the claims of which the case expects a value, and whether the checks compared one. An
// absent key is not judged, so a parser that never reports a claimed value would pass every trial. isRaised
// explains a group that is left out.
func (c *comparison) findCompared(isRaised bool) map[Capability]bool {
	compared, checked := map[Capability]bool{}, set{}
	for _, check := range c.checks {
		checked[check.Path] = true
	}
	for _, field := range sumCacheUsage(c.expect.Fields, c.claims) {
		path, l := field.name, field.leaf
		claim := requiredClaim(path)
		if claim == "" || !c.claims[claim] || l.matches(nil) {
			continue
		}
		name, _, _ := strings.Cut(path, ".")
		switch {
		case c.got.omitted[name]:
			// An answer that reports an unexpected error has no reason to contain the group, and fails anyway.
			if !isRaised && c.expect.Fields.get("status").matches(c.got.status) {
				compared[claim] = compared[claim] || false
			}
		case checked[path]:
			compared[claim] = true
		case c.got.absent[path]:
			compared[claim] = compared[claim] || false
		}
	}
	// The content of a broken stream is compared without its signatures.
	if c.claims["signatures"] && c.expect.Partial == nil {
		c.findSignatures(compared)
	}
	return compared
}

func (c *comparison) findSignatures(compared map[Capability]bool) {
	signed := set{}
	for _, wanted := range c.expect.Content {
		if l := wanted.Fields.get("signature"); l != nil && !l.matches(nil) {
			signed[wanted.Type] = true
		}
	}
	for _, check := range c.checks {
		isLeftOut := check.Verdict == Pass && check.Got == nil
		hasValue := check.Expected != nil && check.Message != blockMissing && !isLeftOut
		for kind := range signed {
			if hasValue && strings.HasSuffix(check.Path, "."+fieldPath(kind, "signature")) {
				compared["signatures"] = true
				return
			}
		}
	}
	for _, got := range c.got.content {
		if got.absent["signature"] && signed[got.kind] && c.claims.include(got) {
			compared["signatures"] = false
		}
	}
}

// include says whether a text, a thought or a call is judged.
func (claims Claims) include(got *block) bool {
	switch {
	case got.kind == "thinking":
		return claims["thinking"]
	case got.kind == "tool_call" && got.is("executor", "provider"):
		return claims["provider_tools"]
	case got.kind == "tool_call":
		return claims["tool_calls"]
	}
	return true
}
