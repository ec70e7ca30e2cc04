package streamconform

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	// lineWidth is the maximum number of characters of a value in a message.
	lineWidth = 60
	// tailWidth is how many of them come from the end: long texts often differ only there.
	tailWidth = 10
)

// shorten returns a text on one line: shortened in the middle, then escaped.
func shorten(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		text = string(runes[:width-tailWidth-2]) + "…" + string(runes[len(runes)-tailWidth:])
	}
	return escapeUnprintable(text)
}

// escapeUnprintable escapes every character that Unicode does not classify as graphic, but keeps spaces.
func escapeUnprintable(text string) string {
	var escaped strings.Builder
	for _, r := range text {
		unit, isHalf := half(r)
		switch {
		case unicode.IsPrint(r):
			escaped.WriteRune(r)
		case isHalf:
			fmt.Fprintf(&escaped, `\u%04x`, unit)
		case r == '\n' || r == '\r' || r == '\t':
			escaped.WriteString(map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}[r])
		case r < 0x100:
			fmt.Fprintf(&escaped, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&escaped, `\u%04x`, r)
		default:
			fmt.Fprintf(&escaped, `\U%08x`, r)
		}
	}
	return escaped.String()
}

// formatCount returns 1 block, 2 blocks.
func formatCount(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}
