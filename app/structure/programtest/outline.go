package programtest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"moriens/internal/files"
)

// An Outline is what is planted in a program.
type Outline struct {
	Path string
	// Flags are the compiler's, beside those of the variant.
	Flags []string
	// Dies says that the program does not end by itself.
	Dies bool
	// NeedsLines says that without debugging information not all of it can be found.
	NeedsLines bool
	// Ranks are the numbers that it runs with; empty = any even one.
	Ranks []int

	lines   []*line
	labels  map[string]int // lines of the source, by the label that stands there
	source  string         // file name of the source
	unknown bool           // some condition has no rule
}

// A line of an outline with those that belong to it.
type line struct {
	number  int
	text    string
	kind    string // "FOR", "CALL", "RECURSION", "IF", "ELSE IF", "ELSE", "MPI"
	name    string // of the function
	trips   string
	when    *expression
	unknown bool
	options map[string]string
	peers   []wantedPeer
	label   string
	maybe   bool // a function that may be inlined: without debugging information it may be missing
	body    []*line
}

// A wantedPeer is whom messages go to, or are from, on the ranks for which holds is true.
type wantedPeer struct {
	way, kind, text string // kind: of what cannot be evaluated; "" = it must be
	holds           *expression
}

var label = regexp.MustCompile(`@(\w+)`)

// longest is how many bytes an outline or a source may have.
const longest = 1 << 20

// Read reads an outline, and the labels of the source beside it.
func Read(path string) (*Outline, error) {
	text, err := files.ReadFile(path, longest)
	if err != nil {
		return nil, err
	}
	o, err := Parse(path, string(text))
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(path, ".want")
	for _, ext := range []string{".c", ".cc", ".F90"} {
		source, err := files.ReadFile(base+ext, longest)
		if err != nil {
			continue
		}
		o.source = filepath.Base(base + ext)
		for n, row := range strings.Split(string(source), "\n") {
			for _, found := range label.FindAllStringSubmatch(row, -1) {
				if o.labels[found[1]] > 0 {
					return nil, fmt.Errorf("%s%s:%d: a second @%s", base, ext, n+1, found[1])
				}
				o.labels[found[1]] = n + 1
			}
		}
	}
	if o.source == "" {
		return nil, fmt.Errorf("%s has no source beside it", path)
	}
	return o, o.checkLabels(o.lines)
}

func (o *Outline) checkLabels(lines []*line) error {
	for _, l := range lines {
		if l.label != "" && o.labels[l.label] == 0 {
			return fmt.Errorf("%s:%d: there is no @%s in %s", o.Path, l.number, l.label, o.source)
		}
		if err := o.checkLabels(l.body); err != nil {
			return err
		}
	}
	return nil
}

// Source is the path of the program's source.
func (o *Outline) Source() string { return filepath.Join(filepath.Dir(o.Path), o.source) }

// Name is the program's.
func (o *Outline) Name() string { return strings.TrimSuffix(filepath.Base(o.Path), ".want") }

// Parse reads the text of an outline. path is for messages.
func Parse(path, text string) (*Outline, error) {
	o := &Outline{Path: path, labels: make(map[string]int)}
	type level struct {
		depth int
		body  *[]*line
	}
	open := []level{{-1, &o.lines}}
	for n, row := range strings.Split(text, "\n") {
		fail := func(err error) (*Outline, error) { return nil, fmt.Errorf("%s:%d: %w", path, n+1, err) }
		content := strings.TrimSpace(row)
		if content == "" || content[0] == '#' {
			continue
		}
		if key, value, ok := strings.Cut(content, ": "); ok && len(o.lines) == 0 {
			if err := o.setting(key, strings.Fields(value)); err != nil {
				return fail(err)
			}
			continue
		}
		depth := len(row) - len(strings.TrimLeft(row, " "))
		l, err := parseLine(content)
		if err != nil {
			return fail(err)
		}
		l.number = n + 1
		o.unknown = o.unknown || l.unknown
		for depth <= open[len(open)-1].depth {
			open = open[:len(open)-1]
		}
		body := open[len(open)-1].body
		if body == nil {
			return fail(fmt.Errorf("below a line that has no body"))
		}
		if strings.HasPrefix(l.kind, "ELSE") {
			if k := len(*body); k == 0 || (*body)[k-1].kind != "IF" && (*body)[k-1].kind != "ELSE IF" {
				return fail(fmt.Errorf("%s without IF", l.kind))
			}
		}
		*body = append(*body, l)
		if l.kind != "MPI" && l.kind != "RECURSION" {
			open = append(open, level{depth, &l.body})
		} else {
			open = append(open, level{depth, nil})
		}
	}
	if len(o.lines) == 0 {
		return nil, fmt.Errorf("%s is empty", path)
	}
	return o, nil
}

func (o *Outline) setting(key string, values []string) error {
	switch key {
	case "flags":
		o.Flags = values
	case "dies":
		o.Dies = true
	case "needs":
		if len(values) != 1 || values[0] != "lines" {
			return fmt.Errorf("needs: %v", values)
		}
		o.NeedsLines = true
	case "ranks":
		for _, v := range values {
			n, err := strconv.Atoi(v)
			if err != nil {
				return err
			}
			o.Ranks = append(o.Ranks, n)
		}
	default:
		return fmt.Errorf("%q is no setting", key)
	}
	return nil
}

var columns = regexp.MustCompile(`\s{2,}`)

func parseLine(text string) (*line, error) {
	fields := columns.Split(text, -1)
	l := &line{text: text, options: make(map[string]string)}
	word, rest, _ := strings.Cut(fields[0], " ")
	var err error
	switch {
	case word == "FOR":
		l.kind, l.trips = "FOR", rest
	case word == "CALL", word == "CALL?":
		l.kind, l.name, l.maybe = "CALL", rest, word == "CALL?"
	case word == "RECURSION":
		l.kind, l.name = "RECURSION", rest
	case fields[0] == "ELSE":
		l.kind = "ELSE"
	case word == "IF", word == "ELSE":
		l.kind = word
		if condition, ok := strings.CutPrefix(rest, "IF "); word == "ELSE" {
			if !ok {
				return nil, fmt.Errorf("%q: ELSE of what?", text)
			}
			l.kind, rest = "ELSE IF", condition
		}
		if l.unknown = rest == "unknown"; !l.unknown {
			l.when, err = parse(rest)
		}
	case strings.HasPrefix(word, "MPI_") && rest == "":
		l.kind, l.name = "MPI", word
	default:
		return nil, fmt.Errorf("%q begins with none of FOR, CALL, RECURSION, IF, ELSE, MPI_", text)
	}
	if err != nil {
		return nil, err
	}
	for _, f := range fields[1:] {
		if err := l.option(f); err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
	}
	return l, nil
}

// options are those that a kind of line can have.
var options = map[string]string{
	"FOR": "unrolled loops", "CALL": "recursive apart", "MPI": "calls bytes root", "IF": "happened of", "ELSE IF": "happened of", "ELSE": "happened of",
}

func (l *line) option(f string) error {
	if name, ok := strings.CutPrefix(f, "@"); ok {
		l.label = name
		return nil
	}
	word, rest, _ := strings.Cut(f, " ")
	way, kind, _ := strings.Cut(word, ":")
	if l.kind == "MPI" && (way == "to" || way == "from") && rest != "" {
		p := wantedPeer{way: way, kind: kind}
		text, where, conditional := strings.Cut(rest, " where ")
		p.text = text
		if _, ok := peersOf(text, 2); !ok {
			return fmt.Errorf("%q cannot be evaluated", text)
		}
		if conditional {
			var err error
			if p.holds, err = parse(where); err != nil {
				return err
			}
		}
		l.peers = append(l.peers, p)
		return nil
	}
	key, value, _ := strings.Cut(f, "=")
	if !strings.Contains(" "+options[l.kind]+" ", " "+key+" ") {
		return fmt.Errorf("%s has no option %q", l.kind, f)
	}
	if value != "" {
		if _, err := parse(value); err != nil {
			return err
		}
	}
	l.options[key] = value
	return nil
}
