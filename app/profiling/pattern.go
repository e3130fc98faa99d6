package profiling

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"moriens/app/question"
	"moriens/trace"
)

// A Pattern is of paths of phases, "solve/iteration": * within a name stands for any text, as a name for any one phase,
// ** for any number of phases. A \ takes its meaning from the character behind it.
type Pattern struct {
	text     string
	elements []string // as a pattern of filepath.Match, ** apart
	known    map[string]bool
	matched  []string // paths that match themselves
	others   []string // other paths that were asked about
}

// UnmarshalText reads a pattern.
func (p *Pattern) UnmarshalText(text []byte) error {
	*p = Pattern{text: string(text), known: make(map[string]bool)}
	var element strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			element.WriteString(literal(text[i]))
		case c == '/':
			p.elements = append(p.elements, element.String())
			element.Reset()
		case c == '*':
			element.WriteByte(c)
		default:
			element.WriteString(literal(c))
		}
	}
	p.elements = append(p.elements, element.String())
	return nil
}

// PatternOf is the pattern of a text.
func PatternOf(text string) (*Pattern, error) {
	p := new(Pattern)
	return p, p.UnmarshalText([]byte(text))
}

// slash stands for a / within a name: filepath.Match takes none for a *.
const slash = "\x00"

func literal(c byte) string {
	switch c {
	case '/':
		return slash
	case '*', '?', '[', '\\':
		return `\` + string(rune(c))
	}
	return string([]byte{c})
}

func (p *Pattern) String() string { return p.text }

// Holds reports whether a phase matches, or lies in one that does.
func (p *Pattern) Holds(path string, inPhase bool) bool {
	if !inPhase {
		return false
	}
	in, known := p.known[path]
	if known {
		return in
	}
	names := trace.PhaseNames(path)
	for n := 1; n <= len(names) && !in; n++ {
		in = p.fits(names[:n])
	}
	p.known[path] = in
	if p.fits(names) {
		p.matched = append(p.matched, path)
	} else {
		p.others = append(p.others, path)
	}
	return in
}

// Is reports whether the phase itself matches.
func (p *Pattern) Is(path string) bool { return p.fits(trace.PhaseNames(path)) }

func (p *Pattern) fits(names []string) bool {
	// A row for each element: how many names may be matched by those up to it.
	at := make([]bool, len(names)+1)
	at[0] = true
	for _, element := range p.elements {
		next := make([]bool, len(names)+1)
		for n := range at {
			switch {
			case element == "**":
				next[n] = at[n] || n > 0 && next[n-1]
			case n > 0 && at[n-1]:
				next[n] = matches(element, names[n-1])
			}
		}
		at = next
	}
	return at[len(names)]
}

func matches(element, name string) bool {
	ok, err := filepath.Match(element, strings.ReplaceAll(name, "/", slash))
	return ok && err == nil
}

// anywhere is the pattern with any phases round it.
func (p *Pattern) anywhere() *Pattern {
	return &Pattern{text: p.text, elements: append([]string{"**"}, p.elements...), known: make(map[string]bool)}
}

// checkIn refuses a pattern that no phase matches.
func (s *Source) checkIn(shape Shape, b *builder) error {
	if shape.In == nil || len(shape.In.matched) > 0 {
		return nil
	}
	return noPhase(shape.In, shape.In.others, s)
}

// patternOfPath is the pattern of one path, in quotes: of a long one its begin, and an ellipsis behind it.
func patternOfPath(path string) string {
	const most = 60
	names, more := []rune(strings.ReplaceAll(path, "*", `\*`)), ""
	if len(names) > most {
		names, more = names[:most], "…"
	}
	return strconv.Quote(string(names)) + more
}

// A noPhaseError is of a pattern that no phase matches.
type noPhaseError struct{ error }

func (e noPhaseError) Unwrap() error { return e.error }

// noPhase says that no phase matches, and what there is.
func noPhase(in *Pattern, there []string, s *Source) error {
	if len(there) == 0 {
		return noPhaseError{question.Misuse("leave out --in; docs/annotations.md says how to name phases", "there is no phase %q: the run has none", in.text)}
	}
	slices.Sort(there)
	return noPhaseError{question.Misuse("give one of: "+listed(there), "there is no phase %q", in.text)}
}
