package moriens

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/collector/store"
)

// A world is the processes of one MPI_COMM_WORLD, by rank.
type world struct {
	size    int
	members map[int32]*store.Process
	startNS int64 // its earliest process
}

// assembleWorlds sorts the processes into worlds, and those by start time.
//
// Most launchers name a world. Where one does not (MPICH's hydra), processes with one parent belong
// together, and a rank that is taken already opens the next world: so two programs that a script
// starts one after the other are two worlds, whether the launcher names them or not.
func assembleWorlds(processes []*store.Process, startNS func(*store.Process) int64) []*world {
	type bundle struct {
		launch  string
		startNS int64
		members []*store.Process
	}
	var bundles []*bundle
	byParent := make(map[string]*bundle)
	ordered := slices.Clone(processes)
	slices.SortStableFunc(ordered, func(a, b *store.Process) int { return cmp.Compare(startNS(a), startNS(b)) })
	for _, p := range ordered {
		i := p.Info
		if i.World != "" {
			bundles = append(bundles, &bundle{fmt.Sprintf("world %s of %d", i.World, i.Size), startNS(p), []*store.Process{p}})
			continue
		}
		launch := fmt.Sprintf("%s of %d, %s", i.Executable, i.Size, i.MpiLibrary)
		key := launch + i.Parent
		b := byParent[key]
		if b == nil || slices.ContainsFunc(b.members, func(q *store.Process) bool { return q.Info.Rank == i.Rank }) {
			b = &bundle{launch: launch, startNS: startNS(p)}
			byParent[key] = b
			bundles = append(bundles, b)
		}
		b.members = append(b.members, p)
	}

	var worlds []*world
	open := make(map[string][]*world) // by launch
	for _, b := range bundles {
		var w *world
		for _, candidate := range open[b.launch] {
			if !slices.ContainsFunc(b.members, func(p *store.Process) bool { return candidate.members[p.Info.Rank] != nil }) {
				w = candidate
				break
			}
		}
		if w == nil {
			w = &world{size: int(b.members[0].Info.Size), members: make(map[int32]*store.Process), startNS: math.MaxInt64}
			worlds = append(worlds, w)
			open[b.launch] = append(open[b.launch], w)
		}
		w.startNS = min(w.startNS, b.startNS)
		for _, p := range b.members {
			w.members[p.Info.Rank] = p
		}
	}
	slices.SortStableFunc(worlds, func(a, b *world) int { return cmp.Compare(a.startNS, b.startNS) })
	return worlds
}

// ranks returns the world's processes by rank.
func (w *world) ranks() []*store.Process {
	list := make([]*store.Process, 0, len(w.members))
	for _, p := range w.members {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *store.Process) int { return cmp.Compare(a.Info.Rank, b.Info.Rank) })
	return list
}
