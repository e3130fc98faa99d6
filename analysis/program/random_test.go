package program_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/program"
	"moriens/analysis/program/drawn"
)

// input makes of a drawn program what an inference is given.
func input(p *drawn.Program) *program.Input {
	in := &program.Input{Worlds: []int{p.Ranks}}
	for i := range p.Functions {
		f := &p.Functions[i]
		in.Functions = append(in.Functions, program.Function{Name: f.Name, File: "drawn.c", Code: &f.Code})
	}
	in.Paths = append(in.Paths, program.Path{}) // number 0 is that of no call
	for _, x := range p.Paths {
		path := program.Path{MPI: x.MPI, Whole: true}
		for _, s := range x.Steps {
			path.Steps = append(path.Steps, program.Step{Function: s.Function, Offset: s.Site, File: "drawn.c", Line: p.Functions[s.Function].Lines[s.Site]})
		}
		in.Paths = append(in.Paths, path)
	}
	for rank, list := range p.Sequences {
		calls := make([]uint32, len(list))
		for k, x := range list {
			calls[k] = uint32(x) + 1
		}
		in.Threads = append(in.Threads, program.Thread{Rank: rank, Calls: program.Calls{Path: calls}})
	}
	return in
}

func drawnProgram(t *rapid.T, recursion bool) *drawn.Program {
	return drawn.Draw(func(least, most int, what string) int { return rapid.IntRange(least, most).Draw(t, what) },
		drawn.Options{Functions: 4, Depth: 4, Ranks: 8, Recursion: recursion})
}

// Of programs at random all is found that is written in them.
func TestDrawnPrograms(t *testing.T) {
	for name, recursion := range map[string]bool{"without recursion": false, "with recursion": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawnProgram(t, recursion)
				in := input(p)
				s, err := program.Build(in)
				if err != nil {
					t.Fatal(err)
				}
				for rank, thread := range in.Threads {
					out := s.Expand(s.GroupOf(rank))
					if len(out) != len(thread.Calls.Path) {
						t.Fatalf("rank %d: %d calls, want %d", rank, len(out), len(thread.Calls.Path))
					}
					for k := range out {
						if out[k] != thread.Calls.Path[k] {
							t.Fatalf("rank %d: call %d is %d, want %d", rank, k, out[k], thread.Calls.Path[k])
						}
					}
				}
				made := s.Solve()
				if err := made.Check(); err != nil {
					t.Fatal(err)
				}
				if differs := made.Texts(); differs != "" {
					t.Fatal(differs)
				}
				if faults := p.Check(made.Body); faults != nil {
					t.Fatal(strings.Join(faults, "\n"))
				}
			})
		})
	}
}

// Of programs at random some ranks of which end anywhere a program is made that can be read.
func TestDrawnProgramsThatAreCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := input(drawnProgram(t, rapid.Bool().Draw(t, "recursion")))
		for i := range in.Threads {
			x := &in.Threads[i]
			if n := len(x.Calls.Path); n > 1 && rapid.Bool().Draw(t, "cut") {
				x.Calls.Path, x.Cut = x.Calls.Path[:rapid.IntRange(1, n-1).Draw(t, "calls")], true
			}
		}
		s, err := program.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		made := s.Solve()
		if err := made.Check(); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := made.Write(&b); err != nil {
			t.Fatal(err)
		}
		back, err := program.Read(b.Bytes())
		if err != nil {
			t.Fatalf("%v in\n%s", err, b.Bytes())
		}
		if differs := back.Texts(); differs != "" {
			t.Fatalf("%s in\n%s", differs, b.Bytes())
		}
		for i := range in.Threads {
			x, k := &in.Threads[i], 0
			err := made.Evaluate(x.Rank, x.Thread, func(n *program.Node) bool {
				if k == len(x.Calls.Path) && x.Cut {
					return false
				}
				if k == len(x.Calls.Path) || !slices.Contains(n.Paths, int(x.Calls.Path[k])) {
					t.Fatalf("rank %d: call %d of %d is %s in\n%s", x.Rank, k, len(x.Calls.Path), n.Function, b.Bytes())
				}
				k++
				return true
			})
			if err == nil && k < len(x.Calls.Path) {
				t.Fatalf("rank %d: %d calls of %d in\n%s", x.Rank, k, len(x.Calls.Path), b.Bytes())
			}
		}
	})
}
