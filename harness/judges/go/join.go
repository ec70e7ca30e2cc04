package streamconform

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"unicode/utf8"
)

// joinExpected returns the joined block; if one of the texts is a matcher, the joined text is not checked.
// Digests do not count, because a text can be checked against the digests of its parts.
func joinExpected(run []expectedBlock) expectedBlock {
	if len(run) == 1 {
		return run[0]
	}
	fields := leaves{}
	var texts []string
	var parts digest
	var cited [][]any
	isCited, isText, isDigest := false, true, true
	for _, wanted := range run {
		l := wanted.Fields.get("text")
		text, ok := literalText(l)
		texts = append(texts, text)
		isText = isText && ok
		if one, isOne := l.(digest); isOne {
			parts = append(parts, one...)
		} else {
			parts = append(parts, digestText(text)...)
			isDigest = isDigest && ok
		}
		citations := wanted.Fields.get("citations")
		isCited = isCited || citations != nil
		literal, _ := citations.(literally)
		list, _ := literal.value.([]any)
		cited = append(cited, list)
	}
	last := run[len(run)-1]
	switch {
	case isText:
		fields = append(fields, namedLeaf{"text", literally{strings.Join(texts, "")}})
		if isCited {
			fields = append(fields, namedLeaf{"citations", literally{joinCitations(texts, cited)}})
		}
	case isDigest:
		fields = append(fields, namedLeaf{"text", parts})
	}
	if l := last.Fields.get("signature"); l != nil {
		fields = append(fields, namedLeaf{"signature", l})
	}
	if l := last.Fields.get("phase"); l != nil && every(run, func(wanted expectedBlock) bool {
		return reflect.DeepEqual(wanted.Fields.get("phase"), l)
	}) {
		fields = append(fields, namedLeaf{"phase", l})
	}
	return expectedBlock{last.Type, fields}
}

// joinReceived returns the block that joins texts, refusals or thoughts. Thoughts are joined only if their
// signatures are absent or not judged. A phase counts as exposed only if all texts have it.
func joinReceived(run []*block) *block {
	last := run[len(run)-1]
	if len(run) == 1 {
		return last
	}
	var texts []string
	var cited [][]any
	absent := set{}
	for _, got := range run {
		citations, _ := got.fields["citations"].([]any)
		texts, cited = append(texts, got.text("text")), append(cited, citations)
		for name := range got.absent {
			absent[name] = absent[name] || got.absent[name]
		}
	}
	joined := &block{kind: last.kind, fields: map[string]any{"text": strings.Join(texts, "")}}
	switch last.kind {
	case "thinking":
		joined.fields["signature"], joined.fields["redacted"], joined.fields["echo"] = nil, false, nil
	case "text":
		joined.fields["signature"], joined.fields["echo"] = last.fields["signature"], nil
		joined.fields["citations"] = joinCitations(texts, cited)
		joined.fields["phase"], joined.absent = last.fields["phase"], absent
		if !every(run, func(got *block) bool { return got.fields["phase"] == last.fields["phase"] }) {
			joined.fields["phase"] = nil
			absent["phase"] = true
		}
	}
	return joined
}

// joinCitations returns the citations of joined texts, with their positions in the joined text.
func joinCitations(texts []string, citations [][]any) []any {
	joined := []any{}
	length := big.NewInt(0)
	for i, text := range texts {
		for _, item := range citations[i] {
			citation := map[string]any{}
			for key, value := range item.(map[string]any) {
				citation[key] = value
			}
			for _, key := range []string{"start", "end"} {
				if place := toInt(citation[key]); place != nil {
					citation[key] = json.Number(place.Add(place, length).String())
				}
			}
			joined = append(joined, citation)
		}
		length.Add(length, big.NewInt(int64(utf8.RuneCountInString(text))))
	}
	return joined
}
