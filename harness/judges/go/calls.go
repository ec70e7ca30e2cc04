package streamconform

import (
	"reflect"
	"sort"
)

// orderCalls brings the calls that both sides have by id to the stream's order, among themselves. The ids in
// their former order are empty if it was right, or if ids do not identify the calls.
func (a *aligner) orderCalls(expected []expectedBlock, received []*block) ([]*block, []string) {
	wanted := filter(expected, isExpectedCall)
	var calls []int
	for i, got := range received {
		if got.kind == "tool_call" {
			calls = append(calls, i)
		}
	}
	places, positions := a.findPositions(wanted, received, calls)
	sources := append([]int(nil), places...)
	sort.SliceStable(sources, func(i, j int) bool { return positions[sources[i]] < positions[sources[j]] })
	var ids []string
	seen := set{}
	for _, place := range places {
		id := received[place].text("id")
		ids = append(ids, id)
		seen[id] = true
	}
	if reflect.DeepEqual(sources, places) || len(seen) < len(ids) {
		return received, nil
	}
	ordered := append([]*block(nil), received...)
	for i, place := range places {
		ordered[place] = received[sources[i]]
	}
	return ordered, ids
}

// findPositions returns the places of the calls that both sides have by id, and by place their positions in
// the stream. If the case does not name each call by an id of its own, all calls must have ids of the stream.
func (a *aligner) findPositions(
	expected []expectedBlock, received []*block, calls []int,
) (places []int, positions map[int]int) {
	wanted, isNamed := map[string]int{}, true
	for place, one := range expected {
		id, ok := literalText(one.Fields.get("id"))
		_, isKnown := wanted[id]
		isNamed = isNamed && ok && !isKnown
		wanted[id] = place
	}
	find := func(id string) (int, bool) { place, ok := wanted[id]; return place, ok }
	if !isNamed {
		// The same calls in the same order are the common case.
		isSame := len(calls) <= len(expected)
		for n, i := range calls {
			isSame = isSame && isSameCall(expected[n], received[i])
		}
		if isSame || len(calls) > len(expected) {
			return nil, nil
		}
		find = a.find
	}
	positions = map[int]int{}
	for _, i := range calls {
		id, ok := received[i].fields["id"].(string)
		position, isFound := find(id)
		switch {
		case ok && isFound:
			positions[i] = position
			places = append(places, i)
		case !isNamed:
			return nil, nil
		}
	}
	return places, positions
}

func isExpectedCall(wanted expectedBlock) bool { return wanted.Type == "tool_call" }

func isSameCall(expected expectedBlock, got *block) bool {
	return every([]string{"name", "arguments"}, func(name string) bool {
		l := expected.Fields.get(name)
		return l == nil || l.matches(got.fields[name])
	})
}

// isUnnamedProviderCall says whether the provider ran a call that the case does not name. A library may show
// it as a block of another kind, or not at all; no agent runs it again.
func (a *aligner) isUnnamedProviderCall(got *block) bool {
	if got.kind != "tool_call" || !got.is("executor", "provider") {
		return false
	}
	return !some(a.named, func(w expectedBlock) bool { return w.Type == "tool_call" && names(w, got) })
}

// findMislabeled returns the received calls of the client that the case names as calls of the provider.
func findMislabeled(named, expected []expectedBlock, received []*block) map[*block]bool {
	isRun := func(w expectedBlock) bool {
		return w.Type == "tool_call" && isLiteral(w.Fields.get("executor"), "provider")
	}
	runs := filter(named, isRun)
	own := filter(expected, func(w expectedBlock) bool { return w.Type == "tool_call" && !isRun(w) })
	mislabeled := map[*block]bool{}
	for _, got := range received {
		if got.kind != "tool_call" || got.is("executor", "provider") {
			continue
		}
		isNamed := some(runs, func(run expectedBlock) bool { return names(run, got) })
		// A tool of the provider and one of the client may have the same name; then the id decides.
		mislabeled[got] = isNamed && !some(own, func(call expectedBlock) bool {
			id, hasID := literalText(call.Fields.get("id"))
			return names(call, got) && (!hasID || got.is("id", id))
		})
	}
	return mislabeled
}

// names says whether the case means a received call; a wrong value in it is then a difference.
func names(wanted expectedBlock, got *block) bool {
	id, hasID := wanted.Fields.get("id").(literally)
	if hasID && id.value != nil && id.value == got.fields["id"] {
		return true
	}
	switch name := wanted.Fields.get("name").(type) {
	case nil:
		return false
	case present:
		if hasID && got.fields["id"] != nil {
			return false
		}
		// It fits every name, so only the arguments tell which call is meant.
		arguments := wanted.Fields.get("arguments")
		return arguments == nil || arguments.matches(got.fields["arguments"])
	default:
		return name.matches(got.fields["name"])
	}
}
