package moriens

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"moriens/collector/store"
	"moriens/trace"
)

// A history is a run as the store held it, on one time line.
type history struct {
	run       *trace.Run
	worlds    []*world // of run.Worlds
	timelines map[clockKey]timeline
	notes     []string
}

// recount turns what the store held into a trace: ticks become nanoseconds, processes become ranks of
// worlds, and the columns that came over the wire become calls and the bursts between them.
func recount(f store.Frozen) *history {
	h := &history{run: &trace.Run{CallPaths: f.CallPaths}}
	h.timelines, h.notes = timelines(f)
	node := make(map[*store.Agent]int)
	for i, a := range f.Agents {
		node[a] = i
		h.run.Nodes = append(h.run.Nodes, trace.Node{Name: a.Hello.Host, CPUs: int(a.Hello.Cpus)})
	}

	var processes []*store.Process
	span := make(map[*store.Process]interval)
	origin := int64(math.MaxInt64)
	for _, p := range f.Processes {
		line, fitted := h.timelines[clockKey{p.Agent, p.Info.Clock}]
		if !fitted {
			h.notes = append(h.notes, fmt.Sprintf("rank %d on %s is left out: the rate of its clock is not known",
				p.Info.Rank, p.Agent.Hello.Host))
			continue
		}
		processes = append(processes, p)
		ran := interval{math.MaxInt64, math.MinInt64} // never, as long as no call is known
		for _, r := range p.Rings {
			if r.Calls > 0 {
				first, last := r.Span()
				ran = ran.union(interval{line.at(first), line.at(last)})
			}
		}
		span[p] = ran
		origin = min(origin, ran.startNS)
	}
	if origin == math.MaxInt64 {
		origin = 0
	} else {
		h.run.Start = time.Unix(0, origin)
	}

	h.worlds = assembleWorlds(processes, span)
	for i, w := range h.worlds {
		ranks := w.ranks()
		h.run.Worlds = append(h.run.Worlds, trace.World{
			Executable: w.executable(),
			MPILibrary: ranks[0].Info.MpiLibrary,
			Size:       w.size,
		})
		for _, p := range ranks {
			line := h.timelines[clockKey{p.Agent, p.Info.Clock}]
			rings := slices.Clone(p.Rings)
			slices.SortFunc(rings, func(a, b *store.Ring) int { return cmp.Compare(a.Info.Thread, b.Info.Thread) })
			for _, r := range rings {
				if r.Calls == 0 {
					continue
				}
				t := thread(r, func(ticks uint64) int64 { return line.at(ticks) - origin })
				t.World, t.Rank, t.Thread = i, int(p.Info.Rank), int(r.Info.Thread)
				t.Node = node[p.Agent]
				h.run.Threads = append(h.run.Threads, t)
				h.run.DurationNS = max(h.run.DurationNS, t.EndNS)
			}
		}
	}
	return h
}

// thread spreads a ring's chunks over a thread's columns.
func thread(r *store.Ring, at func(ticks uint64) int64) trace.Thread {
	n := int(r.Calls)
	without := 0
	for _, c := range r.Chunks {
		without += len(c.NoBurst)
	}
	t := trace.Thread{
		Calls: trace.Calls{EnterNS: make([]int64, 0, n), ExitNS: make([]int64, 0, n), Path: make([]uint32, 0, n)},
		Bursts: trace.Bursts{
			StartNS: make([]int64, 0, n-without), DurationNS: make([]int64, 0, n-without),
			Before: make([]uint32, 0, n-without), After: make([]uint32, 0, n-without),
			Cluster: make([]int32, n-without),
		},
	}
	before := uint32(0)
	exitNS := int64(0)
	for _, c := range r.Chunks {
		ticks := c.Origin
		noBurst := c.NoBurst
		for i, path := range c.Path {
			enter := ticks + c.Burst[i]
			exit := enter + c.Call[i]
			enterNS := at(enter)
			if len(noBurst) > 0 && int(noBurst[0]) == i {
				noBurst = noBurst[1:]
			} else {
				t.Bursts.StartNS = append(t.Bursts.StartNS, exitNS)
				t.Bursts.DurationNS = append(t.Bursts.DurationNS, enterNS-exitNS)
				t.Bursts.Before = append(t.Bursts.Before, before)
				t.Bursts.After = append(t.Bursts.After, path)
			}
			exitNS = at(exit)
			t.Calls.EnterNS = append(t.Calls.EnterNS, enterNS)
			t.Calls.ExitNS = append(t.Calls.ExitNS, exitNS)
			t.Calls.Path = append(t.Calls.Path, path)
			before, ticks = path, exit
		}
		t.Calls.Unfinished = c.Unfinished
	}
	t.BeginNS, t.EndNS = t.Calls.EnterNS[0], exitNS
	return t
}
