package rebuild

import (
	"cmp"
	"slices"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
)

// An Absentee is a rank without a record, as its node reports.
type Absentee struct {
	who    *moriensv1.Process // as far as it is known; of size 0 where only the rank is, and of rank -1 where not even that is
	Host   string
	Reason string
}

// Unrecorded are the ranks of which agents say that they go unrecorded.
func Unrecorded(f store.Frozen) []Absentee {
	var list []Absentee
	for a, fault := range store.Unrecorded(f.Agents) {
		who := fault.Who
		if who == nil {
			who = &moriensv1.Process{Rank: fault.Rank}
		}
		list = append(list, Absentee{who, cmp.Or(who.Host, a.Hello.Host), store.Why(fault)})
	}
	return list
}

// A roster says to which world absentees belong: a known one, or one without any record.
type roster struct {
	worlds     []*World
	taken      []map[int32]bool // of each, ranks that agents report
	ghosts     []*ghost         // numbered after the worlds
	absent     []rundir.Absence
	unrecorded int // of those, the ones without any record
}

// A ghost is a world of which no rank has a record.
type ghost struct {
	who   *moriensv1.Process // the first that is reported
	size  int
	ranks map[int32]bool
}

// assign finds the world of each absentee. The launcher's name for it decides, where there is one; else it is the first
// world of that size in which the rank is missing.
func assign(worlds []*World, list []Absentee) *roster {
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

func (r *roster) add(world int, rank int32, a Absentee) {
	r.absent = append(r.absent, rundir.Absence{World: world, Rank: int(rank), Host: a.Host, Reason: a.Reason})
}

func (r *roster) place(a Absentee) {
	rank := a.who.Rank
	if at := slices.IndexFunc(r.worlds, func(w *World) bool { return w.has(a.who) }); at >= 0 {
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
			return // it is reported already
		}
	}
	r.unrecorded++
	r.add(len(r.worlds)+r.ghost(a.who), rank, a)
}

// misses says whether a process may be a rank of the world that has not connected.
func (w *World) misses(p *moriensv1.Process) bool {
	if p.Size != 0 && int(p.Size) != w.size || int(p.Rank) >= w.size || w.members[p.Rank] != nil {
		return false
	}
	return p.World == "" || w.named(p.World)
}

// named says whether the launcher has a name for the world, and this is it.
func (w *World) named(name string) bool {
	for _, m := range w.members {
		return m.Info.World == name
	}
	return false
}

// has says whether a process has connected.
func (w *World) has(p *moriensv1.Process) bool {
	m := w.members[p.Rank]
	return m != nil && p.Process != 0 && m.Info.Process == p.Process
}

// ghost finds or makes the world of a process of which no rank has connected, and returns its number among those.
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

// unseen are the worlds without a record, as the manifest has them.
func (r *roster) unseen() (list []rundir.World) {
	for _, g := range r.ghosts {
		list = append(list, rundir.World{Executable: g.who.Executable, MPI: rundir.ParseMPILibrary(g.who.MpiLibrary), Size: g.size})
	}
	return list
}

// silent are the ranks that have connected, and without any call.
func silent(worlds []*World) []rundir.Absence {
	var list []rundir.Absence
	for i, w := range worlds {
		for _, p := range w.Ranks() {
			if len(RingsOf(p)) > 0 {
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

// diedFirst says whether a process without received calls had made none: its agent has read all that it left, and there
// was nothing.
func diedFirst(p *store.Process) bool {
	e := p.End
	if p.Agent.Done == nil || len(p.Agent.Refused) > 0 || e.GetHow() != moriensv1.ProcessEnd_HOW_DIED || e.ThreadsFailed > 0 || e.Unrecorded > 0 {
		return false
	}
	return !slices.ContainsFunc(p.Rings, func(r *store.Ring) bool { return r.End == nil || r.End.Dropped > 0 || r.End.Corrupt != "" })
}

// clockless is why a process is in no world.
const clockless = "the rate of its clock is not known"

// leftOut are the processes that are in no world, because it is not known when they ran.
func (c *clocks) leftOut(f store.Frozen) []Absentee {
	var list []Absentee
	for _, p := range f.Processes {
		if _, _, fitted := c.local(p); !fitted {
			list = append(list, Absentee{p.Info, p.Info.Host, clockless})
		}
	}
	return list
}
