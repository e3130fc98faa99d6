package levels

import (
	"cmp"
	"slices"
	"strings"

	"moriens/trace"
)

// A function that is left by a tail call, a jump to another one at its end, has no frame when that one calls MPI: the
// call path says that its caller has called that one. The machine code of both knows better, if not always which of
// several chains of tail calls it was: the inference has all of them then.

// maxChain bounds the tail calls that follow each other without a frame, maxSearched how many are looked at for one
// chain, and maxChains how many chains a call path may stand for.
const (
	maxChain    = 8
	maxSearched = 10_000
	maxChains   = 16
)

// An entryKey is a function with machine code.
type entryKey struct {
	module, buildID string
	entry           uint64
}

func (e entryKey) compare(o entryKey) int {
	return cmp.Or(cmp.Compare(e.module, o.module), cmp.Compare(e.buildID, o.buildID), cmp.Compare(e.entry, o.entry))
}

// A gap is what a call path lacks between a call of a function and what comes next in it.
type gap struct {
	called entryKey
	next   uint64 // entry of the next function, in the same module; 0 = it is in another one, or MPI
	name   string // of the next function there, or of that of MPI
	mpi    bool
}

// A chain is tail calls that followed each other, the first one first.
type chain []*trace.CodeSite

// tails find the tail calls that call paths lack.
type tails struct {
	functions map[entryKey]*trace.CodeFunction
	sites     Codes
	seen      map[frameID][]entryKey // by return address: what is called there, as call paths have it
	known     map[gap][]chain
	ended     map[entryKey]map[entryKey]bool
	rounds    map[round]bool
}

func tailsOf(run *trace.Run, sites Codes) *tails {
	t := &tails{
		functions: make(map[entryKey]*trace.CodeFunction), sites: sites, seen: make(map[frameID][]entryKey),
		known: make(map[gap][]chain), ended: make(map[entryKey]map[entryKey]bool), rounds: make(map[round]bool),
	}
	for i := range run.Code {
		f := &run.Code[i]
		t.functions[entryKey{f.Module, f.BuildID, f.Entry}] = f
	}
	for i := range run.CallPaths {
		frames := run.CallPaths[i].Frames
		for k := 1; k < len(frames); k++ {
			if f := t.entry(&frames[k-1]); f.entry != 0 && frames[k].Located() {
				at := frameID{frames[k].Module, frames[k].BuildID, frames[k].Offset}
				if n, ok := slices.BinarySearchFunc(t.seen[at], f, entryKey.compare); !ok {
					t.seen[at] = slices.Insert(t.seen[at], n, f)
				}
			}
		}
	}
	return t
}

// entry is the function that holds a frame; 0: it is not known.
func (t *tails) entry(at *trace.Frame) entryKey {
	if f, _ := t.sites.At(at); f != nil {
		return entryKey{f.Module, f.BuildID, f.Entry}
	}
	return entryKey{}
}

// between returns the chains of tail calls by which what is called in a frame may have come to the next frame, or to
// MPI where that is nil. None: the call is of what comes next, or nothing is known. An empty one among others says that
// this is possible too. More than maxChains: there are others still.
func (t *tails) between(at, next *trace.Frame, mpi string) (chains []chain) {
	to := entryKey{}
	switch {
	case !at.Located() || next != nil && !next.Located() || next == nil && mpi == "":
		return nil
	case next != nil:
		to = t.entry(next)
	}
	called, certain := t.called(at)
	for _, c := range called {
		g := gap{called: c}
		switch {
		case next == nil:
			g.name, g.mpi = mpiName(mpi), true
		case c == to:
			if certain {
				return nil
			}
			continue
		case c.module != next.Module || c.buildID != next.BuildID:
			g.name = next.Function
			if len(next.Inlined) > 0 {
				g.name = next.Inlined[0].Function
			}
		default:
			g.next = to.entry
		}
		list, ok := t.known[g]
		if !ok {
			list = t.search(g)
			t.known[g] = list
		}
		chains = append(chains, list...)
	}
	if len(chains) > 0 && !certain {
		chains = append(chains, nil)
	}
	return chains
}

// again reports whether what is called in a frame may have called itself by tail calls before the next frame, or before
// MPI where that is nil: each time it is as if it had been called in the frame.
func (t *tails) again(at, next *trace.Frame, mpi string) bool {
	to := entryKey{}
	if next != nil {
		to, mpi = t.entry(next), ""
	}
	called, _ := t.called(at)
	return slices.ContainsFunc(called, func(c entryKey) bool {
		key := round{c, to, mpiName(mpi)}
		is, ok := t.rounds[key]
		if !ok {
			is = t.goesRound(key)
			t.rounds[key] = is
		}
		return is
	})
}

// A round is a function that is called, and what comes next on a call path: another one, or one of MPI.
type round struct {
	called, next entryKey
	mpi          string
}

// goesRound reports whether tail calls can lead from a function to one that they lead to again, and on to what comes
// next.
func (t *tails) goesRound(r round) bool {
	for x := range t.ends(r.called) {
		list := t.ends(x)
		if !list[x] {
			continue
		}
		if list[r.next] {
			return true
		}
		for y := range list {
			if r.mpi != "" && slices.ContainsFunc(t.functions[y].Sites, func(s trace.CodeSite) bool { return s.Tail && mpiName(s.Name) == r.mpi }) {
				return true
			}
		}
	}
	return false
}

// ends are the functions to which tail calls lead from one.
func (t *tails) ends(of entryKey) map[entryKey]bool {
	list := t.ended[of]
	if list != nil {
		return list
	}
	list = make(map[entryKey]bool)
	for open := []entryKey{of}; len(open) > 0; open = open[1:] {
		f := t.functions[open[0]]
		if f == nil || f.Refused != "" {
			continue
		}
		for i := range f.Sites {
			x := entryKey{of.module, of.buildID, f.Sites[i].Target}
			if f.Sites[i].Tail && x.entry != 0 && t.functions[x] != nil && !list[x] {
				list[x] = true
				open = append(open, x)
			}
		}
	}
	t.ended[of] = list
	return list
}

// called are the functions that may be called in a frame; certain: there are no others. Through a pointer they are
// those that are called there on some call path.
func (t *tails) called(at *trace.Frame) (list []entryKey, certain bool) {
	s := t.site(at)
	switch {
	case s == nil || s.Target == 0 && s.Name == "" && !s.Tail:
		return t.seen[frameID{at.Module, at.BuildID, at.Offset}], false
	case s.Target == 0 || s.Tail:
		return nil, true
	}
	return []entryKey{{at.Module, at.BuildID, s.Target}}, true
}

// site is what is known of the call in a frame.
func (t *tails) site(at *trace.Frame) *trace.CodeSite {
	f, _ := t.sites.At(at)
	if f == nil {
		return nil
	}
	for i := range f.Sites {
		if f.Sites[i].Offset == at.Offset {
			return &f.Sites[i]
		}
	}
	return nil
}

// search returns the chains of tail calls that close a gap: more than maxChains where it has not found all.
func (t *tails) search(g gap) (found []chain) {
	if g.next == 0 && g.name == "" {
		return nil
	}
	var open chain
	in := make(map[uint64]bool)
	looked := 0
	var from func(entry uint64)
	from = func(entry uint64) {
		f := t.functions[entryKey{g.called.module, g.called.buildID, entry}]
		if f == nil || f.Refused != "" || in[entry] || len(open) == maxChain {
			return
		}
		in[entry] = true
		for i := range f.Sites {
			s := &f.Sites[i]
			if !s.Tail || s.Place == nil || len(found) > maxChains || looked == maxSearched {
				continue
			}
			looked++
			open = append(open, s)
			switch {
			case g.next != 0 && s.Target == g.next, g.next == 0 && g.mpi && mpiName(s.Name) == g.name, g.next == 0 && !g.mpi && s.Name == g.name:
				found = append(found, slices.Clone(open))
			case s.Target != 0:
				from(s.Target)
			}
			open = open[:len(open)-1]
		}
		in[entry] = false
	}
	from(g.called.entry)
	if looked == maxSearched && len(found) > 0 {
		found = slices.Concat(found, make([]chain, maxChains))
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
