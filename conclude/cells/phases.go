package cells

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"moriens/analysis/moment"
	"moriens/analysis/phase"
	"moriens/collector/store"
	"moriens/conclude/rebuild"
	"moriens/conclude/retention"
	moriensv1 "moriens/proto/moriens/v1"
)

// ringPhases are the phases of a ring, by its own numbers of their paths; names are the store's.
type ringPhases struct {
	paths []phase.Node // from 1 on
	sums  []phase.Sum
	idle  []phase.Idle
}

// phasesByRing are those of rings whose agents know of phases.
type phasesByRing map[uint64]*ringPhases

// take takes what a part of an agent's sums says of phases.
func (p phasesByRing) take(f *store.Frozen, agent uint64, list []*moriensv1.CellsPhases) error {
	for _, m := range list {
		r := f.Ring(m.Ring)
		if r == nil || r.Process.Agent.Hello.Agent != agent {
			return fmt.Errorf("phases of ring %016x, which is not one of the agent's", m.Ring)
		}
		of := p[m.Ring]
		if of == nil {
			of = new(ringPhases)
			p[m.Ring] = of
		}
		for i, parent := range m.Parent {
			if int(parent) > len(of.paths) {
				return fmt.Errorf("phase path %d of ring %016x is in path %d, which follows", len(of.paths)+1, m.Ring, parent)
			}
			of.paths = append(of.paths, phase.Node{Parent: int32(parent), Name: f.MarkName(r.Process, m.Name[i])})
		}
		for i, path := range m.Path {
			if int(path) > len(of.paths) {
				return fmt.Errorf("sum of phase path %d of ring %016x, of %d", path, m.Ring, len(of.paths))
			}
			of.sums = append(of.sums, phase.Sum{
				Path: int32(path), Intervals: whole(m.Intervals[i]), ExclusiveNS: whole(m.ExclusiveNs[i]),
				Instances: sumOf(m.Instances[i], whole(m.TotalNs[i]), m.SquaresHigh[i], m.SquaresLow[i], whole(m.MinNs[i]), whole(m.MaxNs[i])),
			})
			if m.Paused[i]+m.Unrecorded[i] > 0 {
				of.idle = append(of.idle, phase.Idle{
					Path: int32(path), PausedNS: whole(m.PausedNs[i]), PausedParts: whole(m.Paused[i]), UnrecordedNS: whole(m.UnrecordedNs[i]), UnrecordedParts: whole(m.Unrecorded[i]),
				})
			}
		}
	}
	return nil
}

// numberedPhases are those of a run, with the run's numbers of the paths of rings.
type numberedPhases struct {
	*retention.Phases
	of map[uint64][]int32 // by ring; the program's first
}

// number numbers the phase paths of all threads in their order, as where their marks are all in one place; nil: no
// agent knows of phases.
func (p phasesByRing) number(f *store.Frozen, r *rebuild.Rebuilt) *numberedPhases {
	if len(p) == 0 {
		return nil
	}
	n := len(r.Run.Threads)
	rings, lists := make([]*ringPhases, n), make([][]phase.Node, n)
	ids := make([]uint64, n)
	for id, own := range p {
		thread, there := r.Thread(f.Ring(id))
		if !there {
			continue
		}
		rings[thread], ids[thread] = own, id
		for _, x := range own.paths {
			lists[thread] = append(lists[thread], phase.Node{Parent: x.Parent, Name: f.Name(x.Name)})
		}
	}
	all, to := phase.Unite(lists)
	x := &numberedPhases{&retention.Phases{Paths: all, Sums: make([][]phase.Sum, n), Idle: make([][]phase.Idle, n)}, make(map[uint64][]int32)}
	for thread, p := range rings {
		if p == nil {
			continue
		}
		x.of[ids[thread]] = to[thread]
		x.Sums[thread], x.Idle[thread] = p.united(to[thread])
	}
	return x
}

// united are the sums by the run's numbers of paths, in their order. An agent distinguishes names that have one text
// here, as those for which the log had no room; their paths may be one. Where that lies in itself the time of the outer
// one has that of the inner one, whose instances are part of the outer one's.
func (p *ringPhases) united(to []int32) (sums []phase.Sum, idle []phase.Idle) {
	within := func(path int32) bool { return path > 0 && to[p.paths[path-1].Parent] == to[path] }
	byPath := make(map[int32]*phase.Sum)
	for _, s := range p.sums {
		inner := within(s.Path)
		s.Path = to[s.Path]
		if inner {
			s.Instances = moment.Sum{}
		}
		all := byPath[s.Path]
		if all == nil {
			byPath[s.Path] = &s
			continue
		}
		all.Intervals += s.Intervals
		all.ExclusiveNS += s.ExclusiveNS
		all.Instances.Merge(s.Instances)
	}
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		sums = append(sums, *byPath[path])
	}
	idleOf := make(map[int32]*phase.Idle)
	for _, s := range p.idle {
		s.Path = to[s.Path]
		all := idleOf[s.Path]
		if all == nil {
			idleOf[s.Path] = &s
			continue
		}
		all.PausedNS, all.PausedParts = all.PausedNS+s.PausedNS, all.PausedParts+s.PausedParts
		all.UnrecordedNS, all.UnrecordedParts = all.UnrecordedNS+s.UnrecordedNS, all.UnrecordedParts+s.UnrecordedParts
	}
	for _, path := range slices.Sorted(maps.Keys(idleOf)) {
		idle = append(idle, *idleOf[path])
	}
	return sums, idle
}

// path is the run's number of a phase path of a ring.
func (x *numberedPhases) path(ring uint64, own int32) int32 {
	if x == nil {
		return 0
	}
	if to := x.of[ring]; int(own) < len(to) {
		return to[own]
	}
	return 0
}

// whole is a number as far as it can be one of rows.
func whole(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

func sumOf(n uint64, total int64, high, low uint64, least, largest int64) moment.Sum {
	return moment.Sum{N: whole(n), Total: total, Squares: moment.Wide{High: high, Low: low}, Min: least, Max: largest}
}
