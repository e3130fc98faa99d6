package structure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"moriens/analysis/program"
	"moriens/analysis/program/programtest"
	"moriens/app/pairing"
	"moriens/app/question"
	"moriens/internal/golden"
	"moriens/internal/hint"
	"moriens/trace/rundir"
)

// directory makes a run directory with a program; what a manifest says besides the number of ranks is added to it.
func directory(t *testing.T, p *program.Program, manifest map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	m := map[string]any{"format": rundir.ManifestFormat, "ranks": p.Ranks, "complete": true}
	for name, value := range manifest {
		m[name] = value
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := errors.Join(p.Write(&b), os.WriteFile(filepath.Join(dir, rundir.ProgramFile), b.Bytes(), 0o666), os.WriteFile(filepath.Join(dir, rundir.ManifestFile), text, 0o666)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func asked(t *testing.T, q Question) *Answer {
	t.Helper()
	a, err := Ask(q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func rankList(t *testing.T, text string) (l pairing.RankList) {
	t.Helper()
	if err := l.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return l
}

// Where there is no program, or none that can be read, the error says so, and what to do.
func TestMissing(t *testing.T) {
	given := map[string]any{"reduction": map[string]any{"missing": []string{"program.json is missing: out of time"}}}
	for what, c := range map[string]struct {
		manifest map[string]any
		text     string // of program.json; "" = it is not there
		want     string
		missing  bool
	}{
		"older":    {nil, "", "it has no program.json: a version of moriens wrote it that did not compute the structure of the program", true},
		"given up": {given, "", "program.json is missing: out of time", true},
		"cut":      {nil, `{"format": 1`, "program.json: it is cut short, at 12 bytes", false},
		"later":    {nil, `{"format": 2}`, "program.json: it has format 2, this moriens reads 1", false},
		"nobody":   {map[string]any{"ranks": 0, "empty": "no process called MPI"}, "{}", "no rank was recorded: no process called MPI", false},
	} {
		dir := directory(t, programtest.Nest(), c.manifest)
		file := filepath.Join(dir, rundir.ProgramFile)
		err := os.Remove(file)
		if c.text != "" {
			err = os.WriteFile(file, []byte(c.text), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = Ask(Question{Dir: dir})
		var mistake question.UsageError
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), dir+": ") || hint.Of(err) == "" || errors.As(err, &mistake) || errors.Is(err, fs.ErrNotExist) != c.missing {
			t.Errorf("%s: %v, hint %q", what, err, hint.Of(err))
		}
	}
}

// Ranks of several worlds are numbered by world and rank; those without a record are left out.
func TestRanksOfWorlds(t *testing.T) {
	p := programtest.Nest() // four ranks
	dir := directory(t, p, map[string]any{"worlds": []any{
		map[string]any{"executable": "/opt/a", "size": 2, "missing_ranks": []int{0}}, map[string]any{"executable": "/opt/b", "size": 3},
	}})
	for list, want := range map[string]string{"0:1": "rank 0", "1:0-1": "ranks 1-2", "1": "ranks 0,2", "1:2": "rank 3"} {
		a := asked(t, Question{Dir: dir, Ranks: rankList(t, list)})
		var b strings.Builder
		if err := a.Write(&b, 0); err != nil || !strings.Contains(b.String(), "note: what "+want+" do") || !strings.HasPrefix(b.String(), "a, b · 4 ranks") {
			t.Errorf("%s: %v\n%s", list, err, b.String())
		}
	}
	if _, err := Ask(Question{Dir: dir, Ranks: rankList(t, "0:0")}); err == nil || !strings.Contains(err.Error(), "no rank 0:0 is recorded") {
		t.Error(err)
	}
}

// A program says itself which worlds it has: ranks are named with theirs, and a mistake says how they are written.
func TestWorldsOfProgram(t *testing.T) {
	p := programtest.Nest()
	p.Worlds = []int{1, 3}
	dir := directory(t, p, map[string]any{"worlds": []any{map[string]any{"executable": "/opt/a", "size": 1}, map[string]any{"executable": "/opt/b", "size": 3}}})
	for list, want := range map[string]string{"0:0": "rank 0:0 does", "1:0-1": "ranks 1:0-1 do", "0": "ranks 0:0,1:0 do", "1:0,1:2": "ranks 1:0,1:2 do"} {
		a := asked(t, Question{Dir: dir, Ranks: rankList(t, list)})
		var b strings.Builder
		if err := a.Write(&b, 0); err != nil || !strings.Contains(b.String(), "note: what "+want+"; figures") {
			t.Errorf("%s: %v\n%s", list, err, b.String())
		}
	}
	want := "it has world 0 with 1 rank, world 1 with 3 ranks, each from 0: write WORLD:RANK, for example 1:0"
	if _, err := Ask(Question{Dir: dir, Ranks: rankList(t, "3")}); err == nil || hint.Of(err) != want {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

// Names that would do something on a terminal are spelled out in text, and are as they are in JSON.
func TestHostileNames(t *testing.T) {
	p := programtest.Nest()
	program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
		if n.Function == "halo" {
			n.Function, n.Note = "ha\x1b[2Jlo", "a\nb"
		}
	})
	dir := directory(t, p, map[string]any{"worlds": []any{map[string]any{"executable": "/opt/a\x1bb", "size": 4}}})
	a := asked(t, Question{Dir: dir})
	var b, j strings.Builder
	if err := a.Write(&b, 0); err != nil || strings.ContainsRune(b.String(), '\x1b') || !strings.Contains(b.String(), `ha\x1b[2Jlo()  # a\nb`) {
		t.Errorf("%v\n%q", err, b.String())
	}
	a = asked(t, Question{Dir: dir, All: true})
	if err := a.JSON(&j); err != nil {
		t.Fatal(err)
	}
	if back, err := program.Read([]byte(j.String())); err != nil || back.Functions()[1] != "ha\x1b[2Jlo" {
		t.Errorf("%v: %q", err, back.Functions())
	}
	var out, complaints bytes.Buffer
	s := Shell{Answer: a, In: LinesOf(strings.NewReader("find ha\nwhy 13\nopen \x1b[2J\n")), Out: &out, Err: &complaints, Width: func() int { return 0 }}
	if understood, err := s.Run(); understood || err != nil || strings.ContainsRune(out.String()+complaints.String(), '\x1b') {
		t.Errorf("%v: %q, %q", err, out.String(), complaints.String())
	}
	if _, err := Ask(Question{Dir: dir, Function: "halo"}); err == nil || strings.ContainsRune(hint.Of(err), '\x1b') {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

// The file of the source whose path ends most like the one that a compiler was given is taken; never one that another
// file of the program fits better, nor one of several.
func TestSource(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{
		"src/solver/step.f90": "one\n\ttwo\n", "old/step.f90": "other\n", "a/main.c": "a\n", "b/main.c": "b\n", ".git/git.c": "no\n", "only.c": "last\x1b",
	} {
		file := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	var body []*program.Node
	for i, file := range []string{"/build/src/solver/step.f90", "/build/mesh/only.c", "/x/main.c", "/x/git.c", "../solver/step.f90"} {
		body = append(body, &program.Node{ID: i + 1, Kind: program.KindMPI, Function: "MPI_Barrier", File: file, Line: 1})
	}
	s, err := newSource(dir, &program.Program{Ranks: 1, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file string
		line int
		want string
	}{
		{"/build/src/solver/step.f90", 1, "one"}, {"/build/src/solver/step.f90", 2, "two"}, {"/build/src/solver/step.f90", 9, ""}, {"/build/src/solver/step.f90", 0, ""},
		{"/build/mesh/only.c", 1, `last\x1b`}, {"/x/main.c", 1, ""}, {"/x/git.c", 1, ""},
	} {
		if got := s.line(c.file, c.line); got != c.want {
			t.Errorf("%s:%d: %q, want %q", c.file, c.line, got, c.want)
		}
	}
	var b strings.Builder
	if err := s.writeMissing(&b); err != nil || b.String() != "note: no source of /x/git.c below "+dir+": not found\nnote: no source of /x/main.c below "+dir+": several fit\n" {
		t.Errorf("%v: %s", err, b.String())
	}
}

// What a shell says of each kind of line, to the letter in what is rare.
func TestWhy(t *testing.T) {
	dir := directory(t, programtest.Odd(), nil)
	for id, want := range map[string][]string{
		"1": {"stands for 2 loops round each other, with nothing between them"}, "3": {"the machine code has 4 copies of the body"},
		"13": {"by order: the order of lines or addresses is so", "from 3 to 9, 4.50 on average", "quartiles 3, 4, 6"}, "11": {"happened 57 of 400 times", "neither rank nor trip says when: a rule that a single trip breaks is none"},
		"15": {"each time as 1..i+1 says"}, "17": {"the same each time on each rank: 1..rank+1"}, "23": {"on 3 ranks: 3,5,7"}, "29": {"note: caller unknown"}, "12": {"8 to 250000 bytes a call"},
	} {
		var out, complaints bytes.Buffer
		s := Shell{Answer: asked(t, Question{Dir: dir}), In: LinesOf(strings.NewReader("why " + id)), Out: &out, Err: &complaints, Width: func() int { return 0 }}
		if understood, err := s.Run(); !understood || err != nil {
			t.Fatalf("%v: %s", err, complaints.String())
		}
		for _, text := range want {
			if !strings.Contains(out.String(), "  "+text) {
				t.Errorf("why %s: no %q in\n%s", id, text, out.String())
			}
		}
	}
}

// A line of a pipe that is too long is said, and what follows it is answered.
func TestLongLine(t *testing.T) {
	var out, complaints bytes.Buffer
	in := "find " + strings.Repeat("x", 3<<20) + "\nfind nest.c:30\nfind " + strings.Repeat("y", longestLine) + "\nfind nest.c:25"
	s := Shell{Answer: asked(t, Question{Dir: directory(t, programtest.Nest(), nil)}), In: LinesOf(strings.NewReader(in)), Out: &out, Err: &complaints, Width: func() int { return 0 }}
	understood, err := s.Run()
	if understood || err != nil || strings.Count(complaints.String(), "error: a line is longer than 65536 bytes") != 2 || strings.Count(complaints.String(), "\n") != 4 {
		t.Errorf("%v, %v: %s", understood, err, complaints.String())
	}
	if !strings.Contains(out.String(), "MPI_Barrier") || !strings.Contains(out.String(), "MPI_Recv") {
		t.Error(out.String())
	}
}

// The address of the page is one that a browser takes.
func TestPlot(t *testing.T) {
	dir := directory(t, programtest.Nest(), nil)
	if err := os.WriteFile(filepath.Join(dir, rundir.ReportFile), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var out, complaints bytes.Buffer
	s := Shell{Answer: asked(t, Question{Dir: dir}), In: LinesOf(strings.NewReader("plot\nquit\nlops")), Out: &out, Err: &complaints, Width: func() int { return 0 }}
	if understood, err := s.Run(); !understood || err != nil || out.String() != "file://"+dir+"/report.html#view=program\n" {
		t.Errorf("%v: %s%s", err, out.String(), complaints.String())
	}
}

// A plot has a letter for each loop; where points of several are in one place it says so, and on an axis of many
// magnitudes it is logarithmic.
func TestPlotText(t *testing.T) {
	compared := programtest.Compared()
	plots := map[string]*program.Plot{
		"compared": &compared.Readings.Thesis.Plot,
		"same":     &programtest.Same().Readings.Thesis.Plot,
		"empty":    {Eps: .2, Delta: .1, Once: 3, Points: []program.Point{}},
		"one":      {Eps: .2, Delta: .1, Loops: 1, Points: []program.Point{{Path: 7, Ranks: 4, Repetitions: 40, MeanNS: 1e6, Delta: .98}}},
		"several": {Eps: .2, Delta: .1, Loops: 3, Joined: true, Others: 12, Points: []program.Point{
			{Path: 1, Ranks: 4, Repetitions: 1000, MeanNS: 1e6, Delta: .98}, {Path: 2, Ranks: 4, Repetitions: 1001, MeanNS: 1e6, Delta: .98, Loop: 1},
			{Path: 3, Ranks: 4, Repetitions: 10, MeanNS: 1e8, Delta: .98, Loop: 2}, {Path: 4, Ranks: 4, Repetitions: 1000, MeanNS: 1e6, Delta: .01, Loop: program.LeftOut},
			{Path: 5, Ranks: 1, Repetitions: 2, MeanNS: 0, Delta: 0, Loop: program.LeftOut},
		}},
	}
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(plots)) {
		for _, width := range []int{0, 60} {
			text := plotText(plots[name], width, namesOf(compared))
			if i := strings.Index(text, "+-"); width > 0 && i >= 0 {
				for line := range strings.Lines(text[strings.Index(text, "mean time"):i]) {
					if n := utf8.RuneCountInString(line) - 1; n > width {
						t.Errorf("%s: %d columns, want %d: %s", name, n, width, line)
					}
				}
			}
			fmt.Fprintf(&b, "== %s, %d columns\n%s\n", name, width, text)
		}
	}
	golden.Check(t, "plots.txt", b.Bytes())
}

// Of trips that depend on the rank, why says which ranks have how many.
func TestWhyTripsByRank(t *testing.T) {
	p := programtest.Nest()
	id := ""
	program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind == program.KindLoop && id == "" {
			id = fmt.Sprint(n.ID)
			n.Trips = &program.Trips{Kind: program.TripsByRank, Least: 10, Most: 15, Mean: 11.25, Entries: 4, Total: 45, Expression: "10..15 by rank", ByRank: []program.RankSum{{Ranks: []int{0, 1, 3}, Count: 10}, {Ranks: []int{2}, Count: 15}}}
		}
	})
	var out bytes.Buffer
	s := Shell{Answer: asked(t, Question{Dir: directory(t, p, nil)}), In: LinesOf(strings.NewReader("why " + id)), Out: &out, Err: &out, Width: func() int { return 0 }}
	if _, err := s.Run(); err != nil || !strings.Contains(out.String(), "the same each time on each rank: 10 trips on ranks 0-1,3; 15 trips on rank 2\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// A function is found by its name alone, as it stands in the source, if there is one of that name.
func TestNamed(t *testing.T) {
	functions := []string{"main", "LAMMPS_NS::Verlet::run", "solver::step(int, double)", "other::step(int)", "__deck_MOD_read_deck", "fft_", "run_all"}
	for name, want := range map[string]string{
		"main": "main", "run": "LAMMPS_NS::Verlet::run", "Verlet::run": "LAMMPS_NS::Verlet::run", "step": "solver::step(int, double)|other::step(int)",
		"solver::step": "solver::step(int, double)", "read_deck": "__deck_MOD_read_deck", "FFT": "fft_", "all": "", "un": "",
	} {
		if got := strings.Join(named(name, functions), "|"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
