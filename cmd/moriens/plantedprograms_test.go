package main_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/program"
	"moriens/app/profiling"
	"moriens/app/structure/programtest"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

var allVariants = flag.Bool("variants", false, "whether TestPlantedVariants compiles and runs the programs of testdata/programs in all ways")

// plantedOutlines are those of testdata/programs.
func plantedOutlines(t *testing.T) (outlines []*programtest.Outline) {
	t.Helper()
	for _, folder := range []string{"programs", filepath.Join("programs", "kernels")} {
		paths, err := filepath.Glob(filepath.Join("..", "..", "testdata", folder, "*.want"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no outlines in %s: %v", folder, err)
		}
		for _, path := range paths {
			o, err := programtest.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			outlines = append(outlines, o)
		}
	}
	return outlines
}

// runPlanted compiles a planted program, measures it and returns the run directory. What the outline says of how often
// it calls MPI must be what was recorded.
func runPlanted(t *testing.T, mpi mpitest.MPI, o *programtest.Outline, ranks int, options ...string) (dir string) {
	t.Helper()
	app := mpi.Planted(t, o.Source(), append(slices.Clone(options), o.Flags...)...)
	dir = filepath.Join(t.TempDir(), "run")
	args := append([]string{binary(t), "run", "--moriens-timeout", "10m", "--out", dir, "--"}, mpi.Args(ranks, "", app)...)
	if r := execute(t, nil, args...); (r.status == 0) == o.Dies {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	m := readManifest(t, dir)
	want, err := o.Calls(ranks)
	if err != nil {
		t.Fatalf("%s: %v", o.Path, err)
	}
	for function, calls := range want {
		if uint64(m.MPICalls[function]) != uint64(calls) {
			t.Errorf("%s was called %d times, the outline has %d", function, m.MPICalls[function], calls)
		}
	}
	if m.Dropped != 0 {
		t.Errorf("%d calls were lost", m.Dropped)
	}
	return dir
}

// readProgram reads what was inferred.
func readProgram(t *testing.T, dir string) *program.Program {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "program.json"))
	if err != nil {
		t.Fatal(err)
	}
	p := new(program.Program)
	if err := json.Unmarshal(text, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// verified says whether going through the program gives back what was recorded.
func verified(t *testing.T, dir string) bool {
	t.Helper()
	r := execute(t, nil, binary(t), "structure", dir, "--verify")
	if r.status != 0 {
		t.Errorf("moriens structure --verify: status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	return r.status == 0
}

// Of each program of testdata/programs all is found that is planted, and nothing else.
func TestPlantedPrograms(t *testing.T) {
	testenv.Need(t, mpitest.OpenMPI.Launcher)
	appendToTable(t, "\n| program | code: essentials | loops | order: essentials | loops | calls in the same loops | thesis: loops | calls in the same loops | left out |\n"+
		strings.Repeat("| --- ", 9)+"|\n")
	for _, o := range plantedOutlines(t) {
		t.Run(o.Name(), func(t *testing.T) {
			dir := runPlanted(t, mpitest.OpenMPI, o, 4, "-O2", "-g")
			p := readProgram(t, dir)
			r := o.Check(p, programtest.Variant{Debug: true})
			for _, fault := range r.Faults {
				t.Error(fault)
			}
			appendToTable(t, fmt.Sprintf("| %s | %d of %d | %s |\n", o.Name(), r.Right, r.Essentials, compared(t, o, p)))
			verified(t, dir)
			profiledByLoop(t, dir, p)
		})
	}
}

// compared says how many loops a program has, and how many its other readings; of these also of how many lines that
// call MPI the loops round them have the same trips, and how much of the outline is right.
func compared(t *testing.T, o *programtest.Outline, p *program.Program) string {
	t.Helper()
	if p.Readings == nil || p.Readings.Thesis == nil || p.Readings.Order == nil && !p.Readings.OrderSame {
		t.Error("the program has not all readings")
		return ""
	}
	loops, own := roundCalls(p)
	same := func(other map[int]string) string {
		n := 0
		for path, round := range own {
			if other[path] == round {
				n++
			}
		}
		return fmt.Sprintf("%d of %d", n, len(own))
	}
	lines := p.Readings.Order
	if lines == nil {
		lines = p.ByOrder()
	}
	order, byOrder := roundCalls(lines)
	right := o.Check(lines, programtest.Variant{Debug: true})
	thesis, published := roundCalls(p.Readings.Thesis.Program)
	for path := range own {
		if _, ok := published[path]; !ok {
			published[path] = "left out"
		}
	}
	leftOut := 0
	for _, round := range published {
		if round == "left out" {
			leftOut++
		}
	}
	return fmt.Sprintf("%d | %d of %d | %d | %s | %d | %s | %d", loops, right.Right, right.Essentials, order, same(byOrder), thesis, same(published), leftOut)
}

// roundCalls counts the loops of a program, and lists of each call path the trips of those round it.
func roundCalls(p *program.Program) (loops int, round map[int]string) {
	round = make(map[int]string)
	program.Walk(p.Body, func(n *program.Node, in []*program.Node) {
		if n.Kind == program.KindLoop && n.Trips.Most > 1 {
			loops++
		}
		if n.Kind != program.KindMPI {
			return
		}
		text := ""
		for _, x := range in {
			if x.Kind == program.KindLoop && x.Trips.Most > 1 {
				text += fmt.Sprintf(" %d..%d, %d", x.Trips.Least, x.Trips.Most, x.Trips.Total)
			}
		}
		for _, path := range n.Paths {
			round[path] = text
		}
	})
	return loops, round
}

// profiledByLoop holds moriens profile --by loop against the program, which has its sums from the calls and bursts
// themselves: the time in each loop to the nanosecond, and the calls directly in it.
func profiledByLoop(t *testing.T, dir string, p *program.Program) {
	t.Helper()
	a, err := profiling.Ask(profiling.Question{Dir: dir, By: profiling.ByLoop, Found: -1, Top: -1})
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[int]*profiling.Row)
	var sum int64
	for i := range a.Table.Rows {
		r := &a.Table.Rows[i]
		sum += r.ExclusiveNS.Sum
		if r.Loop != nil {
			rows[r.Loop.ID] = r
		}
	}
	if all := a.Table.Total.InclusiveNS.Sum; sum != all {
		t.Errorf("by loop: rows have %d ns of %d", sum, all)
	}
	unsure := slices.ContainsFunc(a.Notes, func(note string) bool { return strings.Contains(note, "one of several loops") })
	var calls func(list []*program.Node) int64
	calls = func(list []*program.Node) (n int64) {
		for _, x := range list {
			switch {
			case x.Kind == program.KindMPI:
				n += x.Count
			case x.Kind != program.KindLoop || rows[x.ID] == nil && x.Trips.Most == 1: // those of one trip are no rows
				n += calls(x.Body)
			}
		}
		return n
	}
	found := 0
	program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind != program.KindLoop || rows[n.ID] == nil {
			return
		}
		found++
		var ns int64
		program.Walk(n.Body, func(x *program.Node, _ []*program.Node) { ns += x.ComputeNS + x.MPINS })
		r := rows[n.ID]
		if got := r.InclusiveNS.Sum; got > ns || got < ns && !unsure {
			t.Errorf("by loop: %s has %d ns, in the program %d", r.Name, got, ns)
		}
		if got, want := r.Subcalls.Sum, calls(n.Body); got != want {
			t.Errorf("by loop: %s has %d calls directly in it, in the program %d", r.Name, got, want)
		}
	})
	if found != len(rows) {
		t.Errorf("by loop: %d loops, %d of them in the program", len(rows), found)
	}
}

// A program that is not what was recorded is found: a trip fewer, a condition that holds elsewhere, a call that is
// gone, a text that says something else.
func TestVerifyFindsDifferences(t *testing.T) {
	testenv.Need(t, mpitest.OpenMPI.Launcher)
	o, err := programtest.Read(filepath.Join("..", "..", "testdata", "programs", "nest.want"))
	if err != nil {
		t.Fatal(err)
	}
	dir := runPlanted(t, mpitest.OpenMPI, o, 2, "-O2", "-g")
	verified(t, dir)
	path := filepath.Join(dir, "program.json")
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := func(p *program.Program, is func(n *program.Node) bool) *program.Node {
		var found *program.Node
		program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
			if found == nil && is(n) {
				found = n
			}
		})
		return found
	}
	for name, change := range map[string]func(p *program.Program){
		"a text": func(p *program.Program) {
			first(p, func(n *program.Node) bool { return n.WhenText == "i % 10 == 0" }).WhenText = "i % 10 == 1"
		},
		"a trip fewer": func(p *program.Program) {
			t := first(p, func(n *program.Node) bool { return n.Trips != nil && n.Trips.Most == 100 }).Trips
			t.Least, t.Most, t.Mean, t.Total = 99, 99, 99, 99*t.Entries
		},
		"another trip": func(p *program.Program) {
			first(p, func(n *program.Node) bool { return n.When != nil && n.When.Kind == program.WhenEvery }).When.Offset = 1
		},
		"a call that is gone": func(p *program.Program) {
			loop := first(p, func(n *program.Node) bool { return n.Trips != nil && n.Trips.Most == 7 })
			loop.Body = slices.DeleteFunc(loop.Body, func(n *program.Node) bool { return n.Kind == program.KindMPI })
		},
	} {
		p := readProgram(t, dir)
		change(p)
		var text bytes.Buffer
		if err := p.Write(&text); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		want := "the program is not what was recorded: rank 0: "
		if name == "a text" {
			want = `of the text has "i % 10 == 1", its figures say "i % 10 == 0"`
		}
		if r := execute(t, nil, binary(t), "structure", dir, "--verify"); r.status != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d\n%s%s", name, r.status, r.stdout, r.stderr)
		}
		if err := os.WriteFile(path, written, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A variantCell is a cell of the table of variants: sums over numbers of ranks.
type variantCell struct{ essentials, right, runs, verified int }

func (c variantCell) String() string {
	if c.runs == 0 {
		return "–"
	}
	return fmt.Sprintf("%d/%d, %d/%d", c.right, c.essentials, c.verified, c.runs)
}

// The same with other compiler options, numbers of ranks, and MPICH; with the flag -variants, as make soak has it.
func TestPlantedVariants(t *testing.T) {
	if !*allVariants {
		t.Skip("only with -variants: 600 jobs")
	}
	testenv.Need(t, mpitest.OpenMPI.Launcher, mpitest.MPICH.Launcher)
	type variant struct {
		mpi     mpitest.MPI
		ranks   []int
		options []string
	}
	var variants []variant
	for _, level := range []string{"-O1", "-O2"} {
		for _, debug := range []string{"-g", "-g0"} {
			for _, more := range [][]string{nil, {"-fcf-protection=full", "-march=native"}} {
				variants = append(variants, variant{mpitest.OpenMPI, []int{2, 4, 6, 8}, append([]string{level, debug}, more...)})
			}
		}
	}
	variants = append(variants, variant{mpitest.MPICH, []int{2}, []string{"-O2", "-g"}})
	table := "\nWhat is found of what is planted in the programs of testdata/programs, by options of gcc and gfortran, with 2,\n" +
		"4, 6 and 8 ranks under Open MPI, and once with 2 under MPICH. Cells: lines of the outline that are right, of all;\n" +
		"runs for which `moriens structure --verify` holds, of all. –: not with that number of ranks, or nothing that can be\n" +
		"found without lines.\n\n| program |"
	for _, v := range variants {
		table += fmt.Sprintf(" %s |", strings.Join(append(slices.Clone(v.options), map[bool]string{true: "MPICH", false: ""}[v.mpi == mpitest.MPICH]), " "))
	}
	appendToTable(t, table+"\n|---|"+strings.Repeat("---|", len(variants))+"\n")
	for _, o := range plantedOutlines(t) {
		row := "| " + o.Name() + " |"
		for _, v := range variants {
			var cell variantCell
			debug := slices.Contains(v.options, "-g")
			for _, ranks := range v.ranks {
				if len(o.Ranks) > 0 && !slices.Contains(o.Ranks, ranks) || o.NeedsLines && !debug {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s/%d", o.Name(), v.mpi.Name, strings.Join(v.options, ""), ranks), func(t *testing.T) {
					dir := runPlanted(t, v.mpi, o, ranks, v.options...)
					r := o.Check(readProgram(t, dir), programtest.Variant{Debug: debug})
					for _, fault := range r.Faults {
						t.Error(fault)
					}
					cell.runs++
					cell.essentials += r.Essentials
					cell.right += r.Right
					if verified(t, dir) {
						cell.verified++
					}
				})
			}
			row += " " + cell.String() + " |"
		}
		appendToTable(t, row+"\n")
	}
}
