package prv

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A section costs what it is long: values of a type that it names again and again, or of types that take none, are
// given once. Product by product the last one would take hours.
func TestTypesOfSection(t *testing.T) {
	for name, tt := range map[string]struct {
		types  func(i int) string
		n      int
		values int // for each line, to how many types
	}{
		"one again and again": {func(int) string { return "9 50000001 x\n" }, 200_000, 1},
		"all":                 {func(i int) string { return fmt.Sprintf("9 %d x\n", 50000001+i) }, 200_000, 5},
		"levels of callers":   {func(i int) string { return fmt.Sprintf("0 %d x\n", 70000001+i%100+i%2*10000000) }, 200_000, 2},
		"none that count":     {func(i int) string { return fmt.Sprintf("0 %d x\n", i) }, 200_000, 0},
	} {
		var text strings.Builder
		text.WriteString("EVENT_TYPE\n")
		for i := range tt.n {
			text.WriteString(tt.types(i))
		}
		text.WriteString("VALUES\n")
		for i := range tt.n {
			fmt.Fprintf(&text, "%d f%d\n", i+2, i)
		}
		l, err := readLabels(strings.NewReader(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		if l.given != tt.n*tt.values || len(l.calls)+len(l.callers) != l.given {
			t.Errorf("%s: %d values given, %d and %d kept, want %d", name, l.given, len(l.calls), len(l.callers), tt.n*tt.values)
		}
		if got := l.calls[callEvent{50000001, 7}]; tt.values%2 == 1 && got != "f5" {
			t.Errorf("%s: %q", name, got)
		}
		if got := l.callers[callEvent{typeCallerLine, 7}]; tt.values == 2 && got != "f5" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

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
