package levels

import (
	"strings"

	"moriens/trace"
)

// A function that is left by a tail call, a jump to another one at its end, has no frame when that one calls MPI: the
// call path says that its caller has called that one. The machine code of both knows better.

// maxChain bounds the tail calls that follow each other without a frame, and maxSearched how many are looked at for
// one.
const (
	maxChain    = 8
	maxSearched = 10_000
)

// An entryKey is a function with machine code.
type entryKey struct {
	module, buildID string
	entry           uint64
}

// A gap is what a call path lacks between a call of a function and what comes next in it.
type gap struct {
	called entryKey
	next   uint64 // entry of the next function, in the same module; 0 = it is in another one, or MPI
	name   string // of the next function there, or of that of MPI
}

// tails find the tail calls that call paths lack.
type tails struct {
	functions map[entryKey]*trace.CodeFunction
	sites     Codes
	known     map[gap][]*trace.CodeSite
}

func tailsOf(run *trace.Run, sites Codes) *tails {
	t := &tails{functions: make(map[entryKey]*trace.CodeFunction), sites: sites, known: make(map[gap][]*trace.CodeSite)}
	for i := range run.Code {
		f := &run.Code[i]
		t.functions[entryKey{f.Module, f.BuildID, f.Entry}] = f
	}
	return t
}

// between returns the tail calls, outermost first, by which the function that is called in a frame has come to the
// next frame, or to MPI where that is nil; none: the call is of what comes next, or nothing is known, or several ways
// lead there.
func (t *tails) between(at, next *trace.Frame, mpi string) []*trace.CodeSite {
	s := t.site(at)
	if s == nil || s.Tail || s.Target == 0 {
		return nil
	}
	g := gap{called: entryKey{at.Module, at.BuildID, s.Target}, name: mpi}
	switch {
	case next == nil:
		if mpi == "" || s.Name != "" && mpiName(s.Name) == mpiName(mpi) {
			return nil
		}
		g.name = mpiName(mpi)
	case !next.Located():
		return nil
	case next.Module != at.Module || next.BuildID != at.BuildID:
		g.name = next.Function
		if len(next.Inlined) > 0 {
			g.name = next.Inlined[0].Function
		}
	default:
		f, _ := t.sites.At(next)
		if f == nil || f.Entry == 0 || f.Entry == s.Target {
			return nil
		}
		g.next, g.name = f.Entry, ""
	}
	chain, ok := t.known[g]
	if !ok {
		chain = t.search(g, next == nil)
		t.known[g] = chain
	}
	return chain
}

// site is what is known of the call in a frame.
func (t *tails) site(at *trace.Frame) *trace.CodeSite {
	f, _ := t.sites.At(at)
	if f == nil || !at.Located() {
		return nil
	}
	for i := range f.Sites {
		if f.Sites[i].Offset == at.Offset {
			return &f.Sites[i]
		}
	}
	return nil
}

// search returns the only chain of tail calls that closes a gap.
func (t *tails) search(g gap, mpi bool) (found []*trace.CodeSite) {
	if g.next == 0 && g.name == "" {
		return nil
	}
	var chain []*trace.CodeSite
	open := make(map[uint64]bool)
	count, looked := 0, 0
	var from func(entry uint64)
	from = func(entry uint64) {
		f := t.functions[entryKey{g.called.module, g.called.buildID, entry}]
		if f == nil || f.Refused != "" || open[entry] || len(chain) == maxChain {
			return
		}
		open[entry] = true
		for i := range f.Sites {
			s := &f.Sites[i]
			if !s.Tail || s.Place == nil || count > 1 || looked == maxSearched {
				continue
			}
			looked++
			chain = append(chain, s)
			switch {
			case g.next != 0 && s.Target == g.next, g.next == 0 && mpi && mpiName(s.Name) == g.name, g.next == 0 && !mpi && s.Name == g.name:
				count++
				found = append([]*trace.CodeSite(nil), chain...)
			case s.Target != 0:
				from(s.Target)
			}
			chain = chain[:len(chain)-1]
		}
		open[entry] = false
	}
	from(g.called.entry)
	if count != 1 || looked == maxSearched {
		return nil
	}
	return found
}

// mpiName is an MPI function however it is called: MPI_Send, PMPI_Send, mpi_send_.
func mpiName(symbol string) string {
	name := strings.TrimRight(strings.ToLower(symbol), "_")
	if rest, ok := strings.CutPrefix(name, "p"); ok && strings.HasPrefix(rest, "mpi_") {
		return rest
	}
	return name
}
