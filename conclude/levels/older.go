package levels

import (
	"errors"
	"fmt"
	"strings"

	"moriens/analysis/program"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// ErrNoOrder says that structure.json does not have the order of all calls.
var ErrNoOrder = errors.New(rundir.StructureFile + " does not have the order of all calls")

// ErrNoPaths says that structure.json does not distinguish call paths.
var ErrNoPaths = errors.New(rundir.StructureFile + " has places, not call paths")

// mostRestored is how many bursts of threads that differ are taken from structure.json: some 80 bytes each.
const mostRestored = 100_000_000

// whyOlder is what a program made of structure.json lacks.
const whyOlder = "A version of moriens that made no program wrote this run directory: the program is that of " + rundir.StructureFile +
	". Partners, bytes and waits are not known, times are sums of means, and deviations are of those."

// OlderProgram is the structure of a run as a program, made of structure.json and callpaths.json of a directory that an
// earlier version wrote.
func OlderProgram(m *rundir.Manifest, s *rundir.Structure, paths *rundir.CallPathTable) (*program.Program, error) {
	run := paths.Run()
	numbers, err := numbersOf(s, run)
	if err != nil {
		return nil, err
	}
	for _, w := range m.Worlds {
		run.Worlds = append(run.Worlds, trace.World{Size: w.Size})
	}
	o := &older{structure: s, run: run, numbers: numbers, sequences: make([]*trace.Thread, len(s.Sequences))}
	for _, t := range s.Threads {
		if t.World < 0 || t.World >= len(run.Worlds) || t.Rank < 0 || t.Rank >= run.Worlds[t.World].Size {
			return nil, fmt.Errorf("%s: there is no rank %d of world %d", rundir.StructureFile, t.Rank, t.World)
		}
		sequence, err := o.sequence(int(t.Sequence))
		if err != nil {
			return nil, err
		}
		thread := *sequence
		thread.World, thread.Rank, thread.Thread = t.World, t.Rank, t.Thread
		run.Threads = append(run.Threads, thread)
	}
	p, err := Program(run, team.Threads{}, 1)
	if err != nil {
		return nil, err
	}
	p.Why = append([]string{whyOlder}, p.Why...)
	return p, nil
}

type older struct {
	structure *rundir.Structure
	run       *trace.Run
	numbers   []uint32 // of the call paths that symbols have
	sequences []*trace.Thread
	restored  int64
}

// sequence is what the threads of a sequence did: bursts of their mean duration, and calls between them.
func (o *older) sequence(n int) (*trace.Thread, error) {
	if o.sequences[n] != nil {
		return o.sequences[n], nil
	}
	s := o.structure
	q := &s.Sequences[n]
	if q.Mixed > 0 || q.Unordered > 0 {
		return nil, ErrNoOrder
	}
	if o.restored += q.Bursts; o.restored > mostRestored {
		return nil, fmt.Errorf("%s has more than %d bursts of threads that differ", rundir.StructureFile, mostRestored)
	}
	t := new(trace.Thread)
	c, b := &t.Calls, &t.Bursts
	call := func(path uint32, enter, exit int64) {
		last := len(c.Path) - 1
		if path != 0 && !(last >= 0 && c.Path[last] == path && trace.IsOnce(o.run.CallPaths[path].Function)) {
			c.Path, c.EnterNS, c.ExitNS = append(c.Path, path), append(c.EnterNS, enter), append(c.ExitNS, exit)
		}
	}
	now := int64(0)
	for x := range s.Timed(q.Body) {
		symbol := &s.Symbols[x.Symbol]
		before, after := o.numbers[symbol.Before], o.numbers[symbol.After]
		if b.Len() == 0 {
			call(before, 0, 0)
		}
		cluster := trace.LabelNoise
		if symbol.Cluster != nil {
			cluster = *symbol.Cluster
		}
		for range x.Times {
			b.Before, b.After, b.Cluster = append(b.Before, before), append(b.After, after), append(b.Cluster, cluster)
			b.StartNS, b.DurationNS = append(b.StartNS, now), append(b.DurationNS, x.MeanNS)
			now += x.MeanNS
			call(after, now, now+x.GapNS)
			now += x.GapNS
		}
	}
	o.sequences[n] = t
	return t, nil
}

// numbersOf finds the call paths that symbols have.
func numbersOf(s *rundir.Structure, run *trace.Run) ([]uint32, error) {
	of := make(map[string]uint32)
	places := make(map[string]bool) // of call paths that have callers
	for i, name := range run.PathNames {
		of[name] = uint32(i)
		if place, _, more := strings.Cut(name, "<"); more {
			places[place] = true
		}
	}
	numbers := make([]uint32, len(s.Paths))
	for k, name := range s.Paths {
		i, known := of[name]
		if !known || places[name] {
			return nil, fmt.Errorf("%w: %s stands for several", ErrNoPaths, name)
		}
		numbers[k] = i
	}
	return numbers, nil
}
