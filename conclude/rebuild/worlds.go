package rebuild

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/collector/store"
	"moriens/trace"
)

// A World is the processes of one MPI_COMM_WORLD, by rank.
type World struct {
	size    int
	members map[int32]*store.Process
	interval
}

// assembleWorlds sorts the processes into worlds, and those by start time.
//
// Most launchers name a world. Where one does not (MPICH's hydra), processes with one parent belong
// together, and so do those of different parents, as on several nodes, that ran at the same time. A rank
// that is taken already opens the next world: so two programs that a script starts one after the other
// are two worlds, whether the launcher names them or not.
func assembleWorlds(processes []*store.Process, span map[*store.Process]interval) []*World {
	var bundles []*bundle
	byParent := make(map[string]*bundle)
	ordered := slices.Clone(processes)
	slices.SortStableFunc(ordered, func(a, b *store.Process) int { return cmp.Compare(span[a].startNS, span[b].startNS) })
	for _, p := range ordered {
		i := p.Info
		if i.World != "" {
			bundles = append(bundles, &bundle{fmt.Sprintf("world %s of %d", i.World, i.Size), true, span[p], []*store.Process{p}})
			continue
		}
		launch := fmt.Sprintf("of %d, %s", i.Size, i.MpiLibrary)
		key := launch + i.Parent
		b := byParent[key]
		if b == nil || slices.ContainsFunc(b.members, func(q *store.Process) bool { return q.Info.Rank == i.Rank }) {
			b = &bundle{launch, false, span[p], nil}
			byParent[key] = b
			bundles = append(bundles, b)
		}
		b.members = append(b.members, p)
		b.interval = b.union(span[p])
	}

	var worlds []*World
	open := make(map[string][]*World) // by launch
	for _, b := range bundles {
		var w *World
		for _, candidate := range open[b.launch] {
			if (b.named || candidate.overlaps(b.interval)) && !candidate.holdsAnyRankOf(b) {
				w = candidate
				break
			}
		}
		if w == nil {
			w = &World{size: int(b.members[0].Info.Size), members: make(map[int32]*store.Process), interval: b.interval}
			worlds = append(worlds, w)
			open[b.launch] = append(open[b.launch], w)
		}
		w.interval = w.union(b.interval)
		for _, p := range b.members {
			w.members[p.Info.Rank] = p
		}
	}
	slices.SortStableFunc(worlds, func(a, b *World) int { return cmp.Compare(a.startNS, b.startNS) })
	return worlds
}

// worlds sorts the processes with a usable clock into worlds, by when they ran; notes say which are left out.
func (s *commonTime) worlds(f store.Frozen) (list []*World, notes []string) {
	var processes []*store.Process
	span := make(map[*store.Process]interval)
	for _, p := range f.Processes {
		counter, line, fitted := s.clocks.local(p)
		if !fitted {
			notes = append(notes, fmt.Sprintf("rank %d on %s is left out: the rate of its clock is not known",
				p.Info.Rank, p.Agent.Hello.Host))
			continue
		}
		processes = append(processes, p)
		ran := interval{math.MaxInt64, math.MinInt64} // never, as long as no call is known
		for _, ticks := range spans(p) {
			ran = ran.union(interval{s.at(counter, line.at(ticks.first)), s.at(counter, line.at(ticks.last))})
		}
		span[p] = ran
	}
	return assembleWorlds(processes, span), notes
}

// A bundle is processes that are known to belong together.
type bundle struct {
	launch string // what bundles of one world have in common
	named  bool   // the launcher's name for the world says that they belong together
	interval
	members []*store.Process
}

// An interval is when something ran, in nanoseconds.
type interval struct{ startNS, endNS int64 }

func (a interval) union(b interval) interval {
	return interval{min(a.startNS, b.startNS), max(a.endNS, b.endNS)}
}

func (a interval) overlaps(b interval) bool { return a.startNS <= b.endNS && b.startNS <= a.endNS }

func (w *World) holdsAnyRankOf(b *bundle) bool {
	return slices.ContainsFunc(b.members, func(p *store.Process) bool { return w.members[p.Info.Rank] != nil })
}

// Ranks returns the world's processes by rank.
func (w *World) Ranks() []*store.Process {
	list := make([]*store.Process, 0, len(w.members))
	for _, p := range w.members {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *store.Process) int { return cmp.Compare(a.Info.Rank, b.Info.Rank) })
	return list
}

// executable names the program, or, where ranks run different ones, each of them once, in the order of the ranks, as in
// trace.World.
func (w *World) executable() string {
	var names []string
	for _, p := range w.Ranks() {
		if !slices.Contains(names, p.Info.Executable) {
			names = append(names, p.Info.Executable)
		}
	}
	return strings.Join(names, trace.ProgramSeparator)
}
