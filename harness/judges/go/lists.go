package streamconform

import (
	"sort"
	"strings"
)

type set map[string]bool

func setOf(names ...string) set {
	members := make(set, len(names))
	for _, name := range names {
		members[name] = true
	}
	return members
}

func filter[T any](items []T, holds func(T) bool) []T {
	var kept []T
	for _, item := range items {
		if holds(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

func some[T any](items []T, holds func(T) bool) bool {
	for _, item := range items {
		if holds(item) {
			return true
		}
	}
	return false
}

func every[T any](items []T, holds func(T) bool) bool {
	return !some(items, func(item T) bool { return !holds(item) })
}

func sortedKeys[K ~string, V any](values map[K]V) []K {
	keys := make([]K, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	return keys
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func max(a, b int) int { return -min(-a, -b) }

// list returns the items in words, separated by commas; an ellipsis stands for those above the limit.
func list[T any](items []T, limit int, format func(T) string) string {
	var words []string
	for _, item := range items[:min(len(items), limit)] {
		words = append(words, format(item))
	}
	if len(items) > limit {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}
