package prv

import (
	"slices"
	"strings"
	"testing"
)

// A line that no label needs is passed over, whatever its length; those round it count.
func TestTextLines(t *testing.T) {
	long := strings.Repeat("x", maxLabelBytes)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"a\r\nb\n", []string{"a", "b", ""}},
		{"a\nb", []string{"a", "b"}},
		{"a\n" + long + "\nb\n", []string{"a", "b", ""}},
		{"a\n" + long + long + long, []string{"a"}},
		{long[1:] + "\nb", []string{long[1:], "b"}},
	} {
		var got []string
		if err := textLines(strings.NewReader(c.text), func(line string) { got = append(got, line) }); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%.20q of %d bytes: %d lines, want %d; %v", c.text, len(c.text), len(got), len(c.want), err)
		}
	}
}
