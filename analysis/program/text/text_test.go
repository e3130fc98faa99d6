package text_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"moriens/analysis/program"
	"moriens/analysis/program/programtest"
	"moriens/analysis/program/text"
	"moriens/internal/golden"
)

func printed(t *testing.T, p *program.Program, o text.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := text.Write(&b, p, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What the programs read like, to the letter.
func TestGolden(t *testing.T) {
	for name, p := range programtest.All() {
		golden.Check(t, name+".txt", []byte(printed(t, p.Select(program.View{MinShare: .005}), text.Options{Name: name})))
		var data bytes.Buffer
		if err := p.Write(&data); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name+".json", data.Bytes()) // viewer/test/program.spec.ts has the page print it
		golden.Check(t, name+".all.txt", []byte(printed(t, p.Select(program.View{All: true}), text.Options{Name: name, IDs: true})))
	}
}

// Lines are as wide as they may be; names are shortened for it, figures never.
func TestWidth(t *testing.T) {
	p := programtest.Odd()
	whole := printed(t, p, text.Options{})
	narrow := printed(t, p, text.Options{Width: 110, Columns: text.Defaults()})
	lines := strings.Split(strings.TrimSpace(narrow), "\n")
	rows := lines[len(lines)-strings.Count(whole[strings.Index(whole, "FILE:LINE"):], "\n"):]
	for _, line := range rows {
		if n := utf8.RuneCountInString(line); n > 110 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	for _, figures := range []string{"57 of 400 times, no rule found)", "244 KiB", "2.00 ms", "1 2 3 4 +1", "1..12"} {
		if !strings.Contains(narrow, figures) {
			t.Errorf("no %q in\n%s", figures, narrow)
		}
	}
	if !strings.Contains(narrow, "…") {
		t.Errorf("nothing is shortened in\n%s", narrow)
	}
}

// Where nobody asked for columns, some are left out before the pseudocode is shortened, which a note says; names of MPI
// functions are whole, and notes folded.
func TestNarrow(t *testing.T) {
	p := programtest.Nest()
	whole := printed(t, p, text.Options{})
	narrow := printed(t, p, text.Options{Width: 64})
	if want := "note: left out, as lines have 64 columns: cluster, bytes, mean,\n  share; --metric shows them\n"; !strings.Contains(narrow, want) {
		t.Errorf("no %q in\n%s", want, narrow)
	}
	if strings.Contains(narrow, "cluster\n") {
		t.Error(narrow)
	}
	for _, name := range regexp.MustCompile(`MPI_\w+\(`).FindAllString(whole, -1) {
		if !strings.Contains(narrow, name) {
			t.Errorf("no %s in\n%s", name, narrow)
		}
	}
	head, _, _ := strings.Cut(narrow, "\n\n")
	for line := range strings.Lines(head) {
		if n := utf8.RuneCountInString(line) - 1; n > 64 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	if wide := printed(t, p, text.Options{Width: 400}); wide != whole {
		t.Errorf("at 400 columns\n%s\nwant\n%s", wide, whole)
	}
}

// Nesting is seen however deep it is: by two columns a level, on a narrow terminal by one, or by the number of the
// depth.
func TestDeep(t *testing.T) {
	body := []*program.Node{{Kind: program.KindMPI, Function: "MPI_Barrier", Count: 1}}
	const levels = 45
	for i := range levels {
		body = []*program.Node{{Kind: program.KindCall, Function: fmt.Sprintf("f%d", levels-i), Body: body}}
	}
	p := &program.Program{Ranks: 2, Basis: program.ByCode, Body: body}
	at := func(width int, line string) int {
		whole := printed(t, p, text.Options{Width: width})
		for row := range strings.Lines(whole[strings.Index(whole, "PSEUDOCODE"):]) {
			if before, _, found := strings.Cut(row, line); found {
				return len(before) - len("FILE:LINE  ")
			}
		}
		t.Fatalf("no %s in\n%s", line, whole)
		return 0
	}
	for _, width := range []int{0, 400} {
		for level := 1; level <= levels; level++ {
			if got := at(width, fmt.Sprintf("f%d()", level)); got != 2*level {
				t.Errorf("width %d: level %d is at %d", width, level, got)
			}
		}
	}
	for level := 1; level <= levels; level++ {
		if got := at(154, fmt.Sprintf("f%d()", level)); got != level {
			t.Errorf("level %d is at %d", level, got)
		}
	}
	narrow := printed(t, p, text.Options{Width: 80})
	for level := 30; level <= levels; level++ {
		if line := fmt.Sprintf(" |%d f%d()\n", level, level); !strings.Contains(narrow, line) {
			t.Errorf("no %q in\n%s", line, narrow)
		}
	}
	if !strings.Contains(narrow, "|: ") {
		t.Errorf("nothing says what | is:\n%s", narrow)
	}
}

// Figures by name, counters too; what is no figure is named.
func TestColumns(t *testing.T) {
	p := programtest.Odd()
	columns, unknown := text.Columns(text.Names(p), []string{"time", "std", "late", "ipc", "mips", "PAPI_TOT_INS"})
	if unknown != "" {
		t.Fatal(unknown)
	}
	got := regexp.MustCompile(" +").ReplaceAllString(printed(t, p, text.Options{Columns: columns}), " ")
	for _, want := range []string{" time std late IPC MIPS PAPI_TOT_INS", " 192 ms 200 us 1.50 3,000 6,000,000", " 300 ns"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if _, unknown := text.Columns(nil, []string{"calls", "PAPI_TOT_INS"}); unknown != "PAPI_TOT_INS" {
		t.Errorf("%q", unknown)
	}
}

// Source stands behind the lines that have a place.
func TestSource(t *testing.T) {
	got := printed(t, programtest.TwoConnections(), text.Options{Width: 129, Source: func(file string, line int) string {
		if file == "test2.c" && line == 27 {
			return "MPI_Barrier(MPI_COMM_WORLD); /* " + strings.Repeat("long ", 40) + "*/"
		}
		return ""
	}})
	if !strings.Contains(got, "2.56 ms                  MPI_Barrier(MPI_COMM_WORLD); …\n") {
		t.Error(got)
	}
}

// Conditions of all kinds, by their own words or those they have, in the variables of the text.
func TestConditions(t *testing.T) {
	leaf := func() []*program.Node {
		return []*program.Node{{Kind: program.KindMPI, Function: "MPI_Barrier", Count: 1}}
	}
	for want, n := range map[string]*program.Node{
		"IF j % 3 == 1":                 {When: &program.When{Kind: program.WhenEvery, Variable: "j", Period: 3, Offset: 1}},
		"IF i % 3 != 0":                 {When: &program.When{Kind: program.WhenNotEvery, Variable: "i", Period: 3}},
		"IF k' == 4":                    {When: &program.When{Kind: program.WhenAt, Variable: "k", Trip: 4}},
		"IF j != 0":                     {When: &program.When{Kind: program.WhenNotAt, Variable: "j"}},
		"IF j >= 2":                     {When: &program.When{Kind: program.WhenFrom, Variable: "j", Trip: 2}},
		"IF j <= 2":                     {When: &program.When{Kind: program.WhenTo, Variable: "j", Trip: 2}},
		"IF j in 2..8:3":                {When: &program.When{Kind: program.WhenRange, Variable: "j", First: 2, Last: 8, Stride: 3}},
		"IF j in 2..8":                  {When: &program.When{Kind: program.WhenRange, Variable: "j", First: 2, Last: 8, Stride: 1}},
		"IF i != last":                  {When: &program.When{Kind: program.WhenNotLast, Variable: "i"}},
		"IF n == 2":                     {When: &program.When{Kind: program.WhenAt, Variable: "n", Trip: 2}},
		"IF j > 2 and j != 7":           {When: &program.When{Kind: program.WhenFrom, Variable: "j", Trip: 2}, WhenText: "j > 2 and j != 7"},
		"IF rank == 3":                  {Ranks: []int{3}},
		"IF rank in 0-2,5":              {Ranks: []int{0, 1, 2, 5}},
		"IF rank < 2 and j == 0":        {Ranks: []int{0, 1}, RanksText: "rank < 2", When: &program.When{Kind: program.WhenAt, Variable: "j"}},
		"IF rank in 0,2,4,6,8,10,… (8)": {Ranks: []int{0, 2, 4, 6, 8, 10, 12, 14}},
		"IF rank < 2 and (1 of 3 times, no rule found)": {Ranks: []int{0, 1}, RanksText: "rank < 2", When: &program.When{Kind: program.WhenUnknown}, Happened: 1, Of: 3},
	} {
		n.Kind, n.By, n.Body = program.KindIf, program.BySequence, leaf()
		inner := &program.Node{Kind: program.KindLoop, Variable: "j", By: program.ByCode, Trips: &program.Trips{Kind: program.TripsConstant, Expression: "9"}, Body: []*program.Node{n}}
		outer := &program.Node{Kind: program.KindLoop, Variable: "i", By: program.ByCode, Trips: inner.Trips, Body: []*program.Node{inner}}
		if got := text.Lines(&program.Program{Ranks: 16, Basis: program.ByCode, Body: []*program.Node{outer}})[2].Code; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A function in which threads began says which.
func TestThreads(t *testing.T) {
	p := &program.Program{Ranks: 4, Basis: program.ByCode, Body: []*program.Node{
		{Kind: program.KindCall, Function: "worker", Threads: []int{1, 2, 3, 5}, Ranks: []int{0, 2}, Body: []*program.Node{{Kind: program.KindMPI, Function: "MPI_Send"}}},
		{Kind: program.KindCall, Function: "main", Threads: []int{0}, Body: []*program.Node{{Kind: program.KindMPI, Function: "MPI_Recv"}}},
	}}
	lines := text.Lines(p)
	if lines[0].Code != "worker()  # of threads 1-3,5 of ranks 0,2" || lines[2].Code != "main()  # of thread 0" {
		t.Errorf("%+v", lines)
	}
	if got := text.Lines(p.Select(program.View{Ranks: []int{1}})); len(got) != 2 || got[1].Code != "MPI_Recv()" {
		t.Errorf("rank 1 has %+v", got)
	}
}

// A branch is ELSE where it takes all that those before it leave, else ELSE IF.
func TestElse(t *testing.T) {
	when := func(kind string, trip int64) *program.When {
		return &program.When{Kind: kind, Variable: "i", Period: 2, Offset: trip % 2, Trip: trip}
	}
	for _, c := range []struct {
		first, second program.Node
		want          bool
	}{
		{program.Node{Ranks: []int{0}}, program.Node{Ranks: []int{1, 2, 3}}, true},
		{program.Node{Ranks: []int{0}}, program.Node{Ranks: []int{1, 2}, RanksText: "rank in 1-2"}, false},
		{program.Node{When: when(program.WhenEvery, 0)}, program.Node{When: when(program.WhenNotEvery, 0)}, true},
		{program.Node{When: when(program.WhenNotEvery, 0)}, program.Node{When: when(program.WhenEvery, 0)}, true},
		{program.Node{When: when(program.WhenEvery, 0)}, program.Node{When: when(program.WhenEvery, 1)}, true},
		{program.Node{When: when(program.WhenAt, 3)}, program.Node{When: when(program.WhenNotAt, 3)}, true},
		{program.Node{When: when(program.WhenAt, 3)}, program.Node{When: when(program.WhenNotAt, 4), WhenText: "i != 4"}, false},
		{program.Node{When: when(program.WhenTo, 3)}, program.Node{When: when(program.WhenFrom, 4)}, true},
		{program.Node{When: when(program.WhenTo, 3)}, program.Node{When: when(program.WhenFrom, 5), WhenText: "i >= 5"}, false},
		{program.Node{When: when(program.WhenLast, 0)}, program.Node{When: when(program.WhenNotLast, 0)}, true},
		{program.Node{When: &program.When{Kind: program.WhenUnknown}, Happened: 48, Of: 112}, program.Node{When: &program.When{Kind: program.WhenUnknown}, Happened: 64, Of: 112}, true},
		{program.Node{When: &program.When{Kind: program.WhenUnknown}, Happened: 48, Of: 112}, program.Node{When: &program.When{Kind: program.WhenUnknown}, Happened: 48, Of: 112}, false}, // a third branch has the rest
		{program.Node{When: when(program.WhenAt, 3)}, program.Node{Ranks: []int{0}, RanksText: "rank == 0", When: when(program.WhenNotAt, 3)}, false},
		{program.Node{Ranks: []int{0}, When: when(program.WhenAt, 3)}, program.Node{Ranks: []int{1, 2, 3}, RanksText: "rank != 0"}, false},
		{program.Node{When: when(program.WhenAt, 3)}, program.Node{}, true},
		{program.Node{When: &program.When{Kind: program.WhenDepth, Variable: "depth", Trip: 3}, WhenText: "depth == 3"}, program.Node{When: &program.When{Kind: program.WhenNotAt, Variable: "depth", Trip: 3}}, true},
		{program.Node{Ranks: []int{1}, RanksText: "rank == 1"}, program.Node{Ranks: []int{3}}, true}, // of those that are in a condition round it
	} {
		body := []*program.Node{&c.first, &c.second}
		for i, n := range body {
			n.Kind, n.By, n.Else = program.KindIf, program.BySequence, i > 0
			n.Body = []*program.Node{{Kind: program.KindMPI, Function: "MPI_Barrier"}}
		}
		got := text.Lines(&program.Program{Ranks: 4, Basis: program.ByCode, Body: body})[2].Code
		if (got == "ELSE") != c.want || !strings.HasPrefix(got, "ELSE") {
			t.Errorf("%+v, %+v: %q", c.first, c.second, got)
		}
	}
}
