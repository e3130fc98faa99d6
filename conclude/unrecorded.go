package conclude

import (
	"cmp"
	"slices"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
)

// An absentee is a rank that has no record, as its node tells.
type absentee struct {
	who    *moriensv1.Process // as far as it is known; of size 0 where only the rank is, and of rank -1 where not even that is
	host   string
	reason string
}

// absentees are the ranks of which agents say that they go unrecorded.
func absentees(f store.Frozen) []absentee {
	var list []absentee
	for a, fault := range store.Unrecorded(f.Agents) {
		who := fault.Who
		if who == nil {
			who = &moriensv1.Process{Rank: fault.Rank}
		}
		list = append(list, absentee{who, cmp.Or(who.Host, a.Hello.Host), store.Why(fault)})
	}
	return list
}

// A roster says to which world absentees belong: one that is known, or one of which nobody has recorded anything.
type roster struct {
	worlds     []*world
	taken      []map[int32]bool // of each, ranks that are told of
	ghosts     []*ghost         // behind the worlds
	absent     []rundir.Absence
	unrecorded int // of those that are told of, those of which nothing came
}

// A ghost is a world of which no rank has a record.
type ghost struct {
	who   *moriensv1.Process // the first that was told of
	size  int
	ranks map[int32]bool
}

// muster finds the world of each absentee. The launcher's name for it decides, where there is one; else it is the first world of that size in which the rank
// is missing.
func muster(worlds []*world, list []absentee) *roster {
	r := &roster{worlds: worlds}
	for range worlds {
		r.taken = append(r.taken, make(map[int32]bool))
	}
	for _, named := range []bool{true, false} { // those without a name then find the worlds of the others
		for _, a := range list {
			if a.who.Rank >= 0 && (a.who.World != "") == named {
				r.place(a)
			}
		}
	}
	for _, a := range list { // these take what place is left
		if a.who.Rank < 0 {
			r.unrecorded++
			r.add(r.room(), -1, a)
		}
	}
	return r
}

func (r *roster) add(world int, rank int32, a absentee) {
	r.absent = append(r.absent, rundir.Absence{World: world, Rank: int(rank), Host: a.host, Reason: a.reason})
}

func (r *roster) place(a absentee) {
	rank := a.who.Rank
	if at := slices.IndexFunc(r.worlds, func(w *world) bool { return w.has(a.who) }); at >= 0 {
		r.add(at, rank, a) // which says nothing if there are calls of it
		return
	}
	missing := func(i int) bool { return r.worlds[i].misses(a.who) }
	for i := range r.worlds {
		if missing(i) && !r.taken[i][rank] {
			r.unrecorded++
			r.taken[i][rank] = true
			r.add(i, rank, a)
			return
		}
	}
	for i := range r.worlds {
		if missing(i) && a.who.World != "" {
			return // it was told of before
		}
	}
	r.unrecorded++
	r.add(len(r.worlds)+r.ghost(a.who), rank, a)
}

// misses says whether a process may be a rank of the world that has not come.
func (w *world) misses(p *moriensv1.Process) bool {
	if p.Size != 0 && int(p.Size) != w.size || int(p.Rank) >= w.size || w.members[p.Rank] != nil {
		return false
	}
	return p.World == "" || w.named(p.World)
}

// named says whether the launcher has a name for the world, and this is it.
func (w *world) named(name string) bool {
	for _, m := range w.members {
		return m.Info.World == name
	}
	return false
}

// has says whether a process has come.
func (w *world) has(p *moriensv1.Process) bool {
	m := w.members[p.Rank]
	return m != nil && p.Process != 0 && m.Info.Process == p.Process
}

// ghost finds or makes the world of a process of which no rank has come, and returns its number among those.
func (r *roster) ghost(p *moriensv1.Process) int {
	at := slices.IndexFunc(r.ghosts, func(g *ghost) bool {
		return (p.World == "" || g.who.World == p.World) && (p.Size == 0 || g.who.Size == p.Size) && !g.ranks[p.Rank]
	})
	if at < 0 {
		at = len(r.ghosts)
		r.ghosts = append(r.ghosts, &ghost{who: p, size: int(p.Size), ranks: make(map[int32]bool)})
	}
	g := r.ghosts[at]
	g.ranks[p.Rank] = true
	g.size = max(g.size, int(p.Rank)+1)
	return at
}

// room finds a world with a place for a rank of which the number is not known.
func (r *roster) room() int {
	unknown := make(map[int]int) // ranks without a number, by world
	for _, a := range r.absent {
		if a.Rank < 0 {
			unknown[a.World]++
		}
	}
	for i, w := range r.worlds {
		if len(w.members)+len(r.taken[i])+unknown[i] < w.size {
			return i
		}
	}
	if len(r.ghosts) == 0 {
		r.ghosts = append(r.ghosts, &ghost{who: new(moriensv1.Process), ranks: make(map[int32]bool)})
	}
	last := len(r.ghosts) - 1
	g, at := r.ghosts[last], len(r.worlds)+last
	g.size = max(g.size, len(g.ranks)+unknown[at]+1)
	return at
}

// world is a ghost as the manifest has it.
func (g *ghost) world() rundir.World {
	return rundir.World{Executable: g.who.Executable, MPI: rundir.ParseMPILibrary(g.who.MpiLibrary), Size: g.size}
}

// silent are the ranks that have come, and of which no call did.
func silent(worlds []*world) []rundir.Absence {
	var list []rundir.Absence
	for i, w := range worlds {
		for _, p := range w.ranks() {
			if len(threadsOf(p)) > 0 {
				continue
			}
			reason := "it began to record, but none of its calls arrived"
			died := diedFirst(p)
			switch {
			case p.Agent.Done == nil:
				reason = "the agent there did not finish"
			case died:
				reason = "it died before its first call was recorded"
			}
			list = append(list, rundir.Absence{World: i, Rank: int(p.Info.Rank), Host: p.Info.Host, Reason: reason, Died: died})
		}
	}
	return list
}

// diedFirst says whether a process of which no call has come had made none: its agent has read all that it left, and there was nothing.
func diedFirst(p *store.Process) bool {
	e := p.End
	if p.Agent.Done == nil || len(p.Agent.Refused) > 0 || e.GetHow() != moriensv1.ProcessEnd_HOW_DIED || e.ThreadsFailed > 0 || e.Unrecorded > 0 {
		return false
	}
	return !slices.ContainsFunc(p.Rings, func(r *store.Ring) bool { return r.End == nil || r.End.Dropped > 0 || r.End.Corrupt != "" })
}

// clockless is why a process is in no world.
const clockless = "the rate of its clock is not known"

// leftOut are the processes that are in no world, because nobody can tell when they ran.
func (c *clocks) leftOut(f store.Frozen) []absentee {
	var list []absentee
	for _, p := range f.Processes {
		if _, _, fitted := c.local(p); !fitted {
			list = append(list, absentee{p.Info, p.Info.Host, clockless})
		}
	}
	return list
}
