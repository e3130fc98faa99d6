package structure

import (
	"fmt"
	"slices"

	"moriens/analysis/program"
	"moriens/internal/units"
)

// folded is what a program that was folded to fit into its file has no lines of.
type folded struct {
	lines    int          // that were summed up
	places   map[int]bool // in structure.json of their calls
	anywhere bool         // they may have calls from other places too
}

// whyFolded says what was compared of a program that was folded.
func (v *verifier) whyFolded() string {
	text := "the program is folded to fit into its file: the number of each call was compared, of " + units.Counted(v.folded.lines, "line") + " that it sums up "
	if v.sums {
		return text + "the number of their calls in all"
	}
	return text + "nothing"
}

func (f *folded) has(place int) bool { return f.anywhere || f.places[place] }

// foldedIn finds the lines that were summed up, and what calls they have.
func (v *verifier) foldedIn() folded {
	f := folded{places: make(map[int]bool)}
	program.Walk(v.program.Body, func(n *program.Node, round []*program.Node) {
		recursive := slices.ContainsFunc(round, func(x *program.Node) bool { return x.Recursive }) // perhaps it calls itself there
		if n.Kind != program.KindOther || n.Count == 0 && !recursive {
			return
		}
		f.lines += n.Lines
		for place := range v.places[n] {
			f.places[place] = true
		}
		f.anywhere = f.anywhere || recursive || len(n.Paths) == 0
	})
	return f
}

// sum compares the number of all calls, where it is not known of which call paths those of some lines are.
func (v *verifier) sum(p *profiled) string {
	var got, want int64
	program.Walk(v.program.Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind == program.KindMPI || n.Kind == program.KindOther {
			got += n.Count
		}
	})
	for key, n := range p.calls {
		if key != unknownPath {
			want += n
		}
	}
	if got != want {
		return fmt.Sprintf("MPI was called %d times, in all lines of the text %d times", want, got)
	}
	return ""
}
