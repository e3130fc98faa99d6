package structure

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"moriens/analysis/program"
	"moriens/analysis/program/text"
	"moriens/app/pairing"
	"moriens/app/question"
	"moriens/internal/hint"
	"moriens/internal/plain"
	"moriens/trace/rundir"
)

// Lines are where a shell reads commands; io.EOF is the end.
type Lines interface{ ReadLine() (string, error) }

// longestLine is how many bytes a line of a file or a pipe may have.
const longestLine = 1 << 16

// errLong is of a line that is longer, and that was left out.
var errLong = fmt.Errorf("a line is longer than %d bytes", longestLine)

// piped are lines of a file or a pipe.
type piped struct{ *bufio.Reader }

func (p piped) ReadLine() (string, error) {
	line, more, err := p.Reader.ReadLine()
	if err != nil || !more {
		return string(line), err
	}
	for more && err == nil {
		_, more, err = p.Reader.ReadLine()
	}
	return "", errLong
}

// LinesOf are the lines of a file or a pipe.
func LinesOf(from io.Reader) Lines { return piped{bufio.NewReaderSize(from, longestLine)} }

// A Shell answers commands about one program.
type Shell struct {
	*Answer
	In       Lines
	Out, Err io.Writer
	Width    func() int // of lines of Out; 0 = as wide as they are

	codes map[int]string // pseudocode by number
	nodes map[int]*program.Node
	in    map[int][]*program.Node // what a node lies in, outermost first
}

// errQuit ends a shell.
var errQuit = errors.New("quit")

// Run answers commands until there are no more, and says whether all were understood.
func (s *Shell) Run() (understood bool, err error) {
	s.number()
	understood = true
	for {
		line, err := s.In.ReadLine()
		if errors.Is(err, errLong) {
			understood = false
			s.complain(question.Misuse("no command is that long", "%w", err))
			continue
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return understood, err
		}
		switch err := s.answer(line); {
		case errors.Is(err, errQuit):
			return understood, nil
		case err != nil:
			var mistake question.UsageError
			if !errors.As(err, &mistake) {
				return understood, err
			}
			understood = false
			s.complain(err)
		}
	}
}

// complain says what went wrong with a command.
func (s *Shell) complain(err error) {
	fmt.Fprintf(s.Err, "error: %s\n", plain.Line(err.Error()))
	if advice := hint.Of(err); advice != "" {
		fmt.Fprintf(s.Err, "hint: %s\n", plain.Line(advice))
	}
}

// number finds the lines of the program by their numbers.
func (s *Shell) number() {
	s.codes, s.nodes, s.in = make(map[int]string), make(map[int]*program.Node), make(map[int][]*program.Node)
	whole := plain.Of(s.Program)
	for _, l := range text.Lines(whole) {
		s.codes[l.Node.ID] = l.Code
	}
	program.Walk(whole.Body, func(n *program.Node, in []*program.Node) { s.nodes[n.ID], s.in[n.ID] = n, in })
	s.view.Open, s.view.Closed = make(map[int]bool), make(map[int]bool)
}

// A command is what a shell understands.
type command struct {
	name, argument, about string
	run                   func(s *Shell, argument string) error
}

func commands() []command {
	return []command{
		{"show", "", "print the program", (*Shell).show},
		{"rank", "LIST", "what these ranks do: rank 3, rank 0-7,12; rank all", (*Shell).rank},
		{"above", "P%", "sum up lines that take less of the time: above 5%; above 0 shows all", (*Shell).setAbove},
		{"depth", "N", "print N levels; depth all", (*Shell).depth},
		{"open", "ID", "show what lies in a line, at any depth", (*Shell).open},
		{"close", "ID", "sum up what lies in a line", (*Shell).close},
		{"metric", "LIST", "figures of each line: metric time,mean,ipc; metric all lists them", (*Shell).metric},
		{"loops", "", "all loops, by the share of the elapsed time that they take", (*Shell).loops},
		{"find", "TEXT", "lines that have a text", (*Shell).find},
		{"why", "ID", "the evidence for a line", (*Shell).why},
		{"source", "ID", "the source round a line", (*Shell).showSource},
		{"reading", "NAME", "how loops are found: reading code, order or thesis (the published method)", (*Shell).reading},
		{"plot", "", "what the published method takes for loops, by repetitions and time; the page that shows it", (*Shell).plot},
		{"json", "", "print what is shown as JSON", (*Shell).json},
		{"help", "", "print this list", (*Shell).help},
		{"quit", "", "end", func(*Shell, string) error { return errQuit }},
	}
}

// answer runs one command.
func (s *Shell) answer(line string) error {
	name, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
	argument = strings.TrimSpace(argument)
	if name == "" || strings.HasPrefix(name, "#") {
		return nil
	}
	list := commands()
	i := slices.IndexFunc(list, func(c command) bool { return c.name == name })
	if i < 0 {
		var names []string
		for _, c := range list {
			names = append(names, c.name)
		}
		return question.Misuse(question.Meant(name, names, "help lists the commands"), "no command %q", name)
	}
	switch c := list[i]; {
	case c.argument == "" && argument != "":
		return question.Misuse("write it alone", "%s takes no argument", name)
	case c.argument != "" && argument == "":
		return question.Misuse(c.about, "%s needs %s", name, c.argument)
	default:
		return c.run(s, argument)
	}
}

func (s *Shell) show(string) error { return s.write(s.Out, s.Shown(), s.Width(), true) }
func (s *Shell) json(string) error { return s.JSON(s.Out) }

func (s *Shell) help(string) error {
	for _, c := range commands() {
		if _, err := fmt.Fprintf(s.Out, "%-12s %s\n", strings.TrimSpace(c.name+" "+c.argument), c.about); err != nil {
			return err
		}
	}
	return nil
}

// anything stands for all in the place of a list or a number.
const anything = "all"

func (s *Shell) rank(list string) error {
	if list == anything {
		if err := s.selectRanks(nil); err != nil {
			return err
		}
		return s.show("")
	}
	var ranks pairing.RankList
	if err := ranks.UnmarshalText([]byte(list)); err != nil {
		return question.Misuse("rank all shows those of all", "%w", err)
	}
	if err := s.selectRanks(ranks); err != nil {
		return err
	}
	return s.show("")
}

func (s *Shell) setAbove(share string) error {
	var x Share
	if err := x.UnmarshalText([]byte(share)); err != nil {
		return question.Misuse("above 0 shows all", "%w", err)
	}
	s.above = float64(x)
	return s.show("")
}

func (s *Shell) depth(levels string) error {
	n := 0
	if levels != anything {
		var err error
		if n, err = strconv.Atoi(levels); err != nil || n < 1 {
			return question.Misuse("write it like depth 3, or depth all", "%q is no number of levels", levels)
		}
	}
	s.view.Depth = n
	clear(s.view.Open)
	clear(s.view.Closed)
	return s.show("")
}

// node is the line of a number.
func (s *Shell) node(id string) (*program.Node, error) {
	n, err := strconv.Atoi(id)
	if err != nil {
		return nil, question.Misuse("show prints the number of each line before it", "%q is no number of a line", id)
	}
	node := s.nodes[n]
	if node == nil {
		return nil, question.Misuse("show prints the number of each line before it", "no line has number %d", n)
	}
	return node, nil
}

func (s *Shell) open(id string) error {
	n, err := s.node(id)
	if err != nil {
		return err
	}
	for _, x := range append(slices.Clip(s.in[n.ID]), n) {
		s.view.Open[x.ID] = true
		delete(s.view.Closed, x.ID)
	}
	return s.show("")
}

func (s *Shell) close(id string) error {
	n, err := s.node(id)
	if err != nil {
		return err
	}
	if len(n.Body) == 0 {
		return question.Misuse("close is for loops, calls and conditions", "nothing lies in line %d", n.ID)
	}
	s.view.Closed[n.ID] = true
	delete(s.view.Open, n.ID)
	return s.show("")
}

func (s *Shell) metric(list string) error {
	if list == anything {
		_, err := fmt.Fprintln(s.Out, strings.Join(text.Names(s.Program), " "))
		return err
	}
	names := strings.Split(strings.ReplaceAll(list, " ", ""), ",")
	if err := s.selectMetrics(names); err != nil {
		return err
	}
	s.question.Metrics = names
	return s.show("")
}

// place is where a line is in the source.
func place(n *program.Node) string {
	switch {
	case n.File == "":
		return ""
	case n.Line == 0:
		return filepath.Base(n.File)
	}
	return fmt.Sprintf("%s:%d", filepath.Base(n.File), n.Line)
}

// line is a line as lists have it.
func (s *Shell) line(n *program.Node) string {
	code, note, noted := strings.Cut(s.codes[n.ID], "  # ")
	if n.Kind == program.KindLoop && n.Function != "" {
		code += " in " + n.Function
	}
	if noted {
		code += "  # " + note
	}
	text := fmt.Sprintf("%d  %s", n.ID, code)
	if at := place(n); at != "" {
		text += " (" + at + ")"
	}
	return text
}

func (s *Shell) loops(string) error {
	var list []*program.Node
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		if n := s.nodes[id]; n.Kind == program.KindLoop {
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b *program.Node) int { return cmp.Compare(b.Explains, a.Explains) })
	for _, n := range list {
		if _, err := fmt.Fprintf(s.Out, "%7s  %s\n", fmt.Sprintf("%.1f %%", 100*n.Explains), s.line(n)); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return question.Misuse("show prints the program", "the program has no loops")
	}
	return nil
}

func (s *Shell) find(part string) error {
	low := strings.ToLower(part)
	found := false
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		line := s.line(s.nodes[id])
		if _, code, _ := strings.Cut(line, "  "); strings.Contains(strings.ToLower(code), low) {
			found = true
			if _, err := fmt.Fprintln(s.Out, line); err != nil {
				return err
			}
		}
	}
	if !found {
		return question.Misuse("find looks at pseudocode and places, not at figures", "no line has %q", part)
	}
	return nil
}

// aroundSource is how many lines before and after one are shown.
const aroundSource = 3

func (s *Shell) showSource(id string) error {
	n, err := s.node(id)
	if err != nil {
		return err
	}
	switch {
	case n.File == "" || n.Line == 0:
		return question.Misuse("lines with a place have one", "line %d has no place in the source", n.ID)
	case s.source == nil:
		return question.Misuse("start with moriens structure --shell --source DIR", "it is not known where the source is")
	}
	lines := s.source.file(n.File)
	switch {
	case lines == nil:
		return question.Misuse("its path ends otherwise below "+s.source.dir, "no source of %s: %s", n.File, s.source.missing[n.File])
	case n.Line > len(lines):
		return question.Misuse("it is perhaps another version", "%s has %d lines, not %d", n.File, len(lines), n.Line)
	}
	for i := max(n.Line-aroundSource, 1); i <= min(n.Line+aroundSource, len(lines)); i++ {
		mark := " "
		if i == n.Line {
			mark = ">"
		}
		source := plain.Line(strings.TrimRight(strings.ReplaceAll(lines[i-1], "\t", "    "), "\r"))
		if _, err := fmt.Fprintln(s.Out, strings.TrimRight(fmt.Sprintf("%s%5d  %s", mark, i, source), " ")); err != nil {
			return err
		}
	}
	return nil
}

// reading goes on with another reading. Its lines have other numbers: which ones are open is forgotten.
func (s *Shell) reading(loops string) error {
	p, err := readingOf(s.file, loops)
	if err != nil {
		var mistake question.UsageError
		if errors.As(err, &mistake) {
			return err
		}
		return question.Misuse(hint.Of(err), "%w", err)
	}
	before := s.Program
	s.Program = p
	err = s.selectFunction(s.view.Function)
	if err == nil && s.columns != nil {
		err = s.selectMetrics(s.question.Metrics)
	}
	if err == nil && s.question.Source != "" {
		s.source, err = newSource(s.question.Source, p)
	}
	if err != nil {
		s.Program = before
		return err
	}
	s.question.Loops = loops
	s.number()
	return s.show("")
}

// plot draws what the published method has clustered, and says where the page shows it.
func (s *Shell) plot(string) error {
	drawn := s.file.Readings != nil && s.file.Readings.Thesis != nil
	if drawn {
		if _, err := io.WriteString(s.Out, plotText(&s.file.Readings.Thesis.Plot, s.Width(), namesOf(s.file))); err != nil {
			return err
		}
	}
	path, err := filepath.Abs(filepath.Join(s.question.Dir, rundir.ReportFile))
	if err == nil {
		_, err = os.Stat(path)
	}
	write := "moriens report " + s.question.Dir + " writes it"
	switch {
	case err == nil:
	case drawn:
		_, err = fmt.Fprintf(s.Out, "\nno page: %s\n", write)
		return err
	default:
		return question.Misuse(write, "no page: %w", err)
	}
	page := url.URL{Scheme: "file", Path: path, Fragment: "view=program"}
	if drawn {
		page.Fragment += "&loops=" + ByThesis
		_, err = io.WriteString(s.Out, "\nin the page: ")
	}
	if err == nil {
		_, err = fmt.Fprintf(s.Out, "%s\n", page.String())
	}
	return err
}
