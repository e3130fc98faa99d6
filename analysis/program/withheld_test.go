package program_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/program"
)

// differs says where what a program claims is not what a rank did: each call, or where a line has no rule those before
// it, and how often each path was called.
func differs(p *program.Program, rank int, calls []uint32) (text string) {
	at := 0
	err := p.Evaluate(rank, 0, func(n *program.Node) bool {
		switch {
		case at >= len(calls):
			text = fmt.Sprintf("the program goes on with line %d after all %d calls", n.ID, at)
		case !slices.Contains(n.Paths, int(calls[at])):
			text = fmt.Sprintf("call %d is of path %d, in the program of line %d with paths %v", at, calls[at], n.ID, n.Paths)
		}
		at++
		return text == ""
	})
	if text != "" {
		return text
	}
	if err != nil && !errors.Is(err, program.ErrNoRule) {
		return err.Error()
	}
	if err == nil && at < len(calls) {
		return fmt.Sprintf("the program ends after %d of %d calls", at, len(calls))
	}
	counts, cerr := p.Counts(rank, 0)
	if cerr != nil {
		return cerr.Error()
	}
	want, got := make(map[int]int64), make(map[int]int64)
	several := make(map[int]bool)
	for _, path := range calls {
		want[int(path)]++
	}
	for n, count := range counts {
		for _, path := range n.Paths {
			got[path] += count
			several[path] = several[path] || len(n.Paths) > 1
		}
	}
	for path, n := range want {
		if !several[path] && got[path] != n {
			return fmt.Sprintf("path %d was called %d times, in the program %d times", path, n, got[path])
		}
	}
	return ""
}

// With the machine code withheld a program may have other loops than were written, but each claim holds for what was
// recorded.
func TestDrawnProgramsWithoutCode(t *testing.T) {
	for name, withheld := range map[string]func(in *program.Input, k int) bool{
		"of all":  func(*program.Input, int) bool { return true },
		"of some": func(_ *program.Input, k int) bool { return k%2 == 0 },
		"of none": func(*program.Input, int) bool { return false },
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				in := input(drawnProgram(t, rapid.Bool().Draw(t, "recursion")))
				for k := range in.Functions {
					if withheld(in, k) {
						in.Functions[k].Code = nil
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
				for rank, x := range in.Threads {
					if text := differs(made, rank, x.Calls.Path); text != "" {
						t.Fatalf("rank %d: %s", rank, text)
					}
				}
			})
		})
	}
}
