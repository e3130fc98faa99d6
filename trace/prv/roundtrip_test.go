package prv

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"moriens/trace"
	"moriens/trace/tracetest"
)

type fatal interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func write(t fatal, run *trace.Run) (prv, pcf, row []byte) {
	t.Helper()
	var a, b, c bytes.Buffer
	for _, err := range []error{WriteTrace(&a, run), WriteLabels(&b, run), WriteNames(&c, run)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return a.Bytes(), b.Bytes(), c.Bytes()
}

func roundTrip(t fatal, run *trace.Run) *trace.Run {
	t.Helper()
	prv, pcf, row := write(t, run)
	r, err := Read(bytes.NewReader(prv), Options{Labels: bytes.NewReader(pcf), Names: bytes.NewReader(row), Own: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, prv)
	}
	return r.Run
}

func diff(t fatal, want, got *trace.Run) {
	t.Helper()
	if d := cmp.Diff(canonical(want), canonical(got), cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("read back (+) differs from what was written (-):\n%s", d)
	}
}

// canonical is the run as far as a Paraver trace can hold it: call paths by function and callers and numbered as they
// come, counters by name, the minute of the start, no Eps; phases and events are written and not read.
func canonical(run *trace.Run) *trace.Run {
	c := *run
	c.Start = run.Start.UTC().Truncate(time.Minute)
	c.CallPaths, c.Counters, c.Threads, c.MarkNames = nil, nil, nil, nil
	number := map[string]uint32{pathText(trace.CallPath{}): 0}
	c.CallPaths = []trace.CallPath{{}}
	path := func(old []uint32) []uint32 {
		var ids []uint32
		for _, p := range old {
			path := trace.CallPath{Function: run.CallPaths[p].Function}
			frames := run.CallPaths[p].Frames
			if !run.WholePaths {
				frames = frames[:min(len(frames), writtenLevels)]
			}
			for _, f := range frames {
				f = trace.Frame{Function: f.Function, File: f.File, Line: f.Line}
				if f.File != "" {
					f.File = filepath.Base(f.File)
				}
				path.Frames = append(path.Frames, f)
			}
			for n := len(path.Frames); n > 0 && path.Frames[n-1].Same(&trace.Frame{}); n-- {
				path.Frames = path.Frames[:n-1]
			}
			id, ok := number[pathText(path)]
			if !ok {
				id = uint32(len(c.CallPaths))
				number[pathText(path)] = id
				c.CallPaths = append(c.CallPaths, path)
			}
			ids = append(ids, id)
		}
		return ids
	}
	used := make(map[string]bool)
	for _, t := range run.Threads {
		for k, column := range t.Bursts.Counters {
			for _, v := range column {
				used[run.Counters[k].Name] = used[run.Counters[k].Name] || v != trace.NoCount
			}
		}
	}
	var order []int // columns that hold something, by name
	for k, counter := range run.Counters {
		if used[counter.Name] {
			i := 0
			for i < len(order) && run.Counters[order[i]].Name < counter.Name {
				i++
			}
			order = append(order[:i], append([]int{k}, order[i:]...)...)
		}
	}
	for _, k := range order {
		c.Counters = append(c.Counters, run.Counters[k])
	}
	place := make([]int, len(run.Threads))
	for i, t := range run.Threads {
		if t.Calls.Len() == 0 && t.Bursts.Len() == 0 && run.Windows == nil {
			place[i] = -1
			continue
		}
		place[i] = len(c.Threads)
		t.Phases, t.Events, t.Bursts.Phase = nil, nil, nil
		t.Calls.Path = path(t.Calls.Path)
		forgetDroppedCalls(&t)
		t.Bursts.Before, t.Bursts.After = path(t.Bursts.Before), path(t.Bursts.After)
		var columns [][]int64
		for _, k := range order {
			columns = append(columns, t.Bursts.Counters[k])
		}
		t.Bursts.Counters = columns
		t.Collectives = canonicalCollectives(run, &t)
		c.Threads = append(c.Threads, t)
	}
	for i := range c.Threads {
		w := &c.Threads[i].Waits
		w.For = slices.Clone(w.For)
		for k, thread := range w.For {
			if thread >= 0 {
				w.For[k] = int32(place[thread])
			}
		}
	}
	c.Communicators = nil
	for _, x := range run.Communicators {
		if !x.Window && !x.File {
			c.Communicators = append(c.Communicators, x)
		}
	}
	c.Messages = nil
	for _, m := range run.Messages {
		m.From, m.To = place[m.From], place[m.To]
		c.Messages = append(c.Messages, m)
	}
	c.Clusters = nil
	c.SummariseClusters()
	c.Worlds = nil
	for _, w := range run.Worlds {
		w.MPILibrary = ""
		c.Worlds = append(c.Worlds, w)
	}
	return &c
}

// forgetDroppedCalls forgets the calls before the first burst of a span, and behind the last, where they were cut off.
func forgetDroppedCalls(t *trace.Thread) {
	b := &t.Bursts
	b.Before, b.After = slices.Clone(b.Before), slices.Clone(b.After)
	for k, begin := range b.StartNS {
		end := begin + b.DurationNS[k]
		for _, s := range t.Kept {
			if begin < end && begin == s.BeginNS {
				b.Before[k] = 0
			}
			if begin < end && end == s.EndNS {
				b.After[k] = 0
			}
		}
	}
}

// canonicalCollectives leaves of a thread's collectives what a Paraver trace can hold: no ordinals, no windows and
// files, no communicators of another world, and of roots only whether the rank itself is it.
func canonicalCollectives(run *trace.Run, t *trace.Thread) trace.Collectives {
	c := t.Collectives
	n := c.Len()
	c.Ordinal, c.Comm, c.Root = make([]int64, n), make([]int32, n), make([]int32, n)
	for i, k := range t.Collectives.Comm {
		root := t.Collectives.Root[i]
		c.Comm[i], c.Root[i] = -1, -1
		if k < 0 {
			continue
		}
		comm := run.Communicators[k]
		own := slices.Index(comm.Ranks, t.Rank)
		if comm.World == t.World && !comm.Window {
			for _, x := range run.Communicators[:k+1] {
				if !x.Window {
					c.Comm[i]++
				}
			}
			if root == -3 && comm.Inter {
				c.Root[i] = -3
			} else if own >= 0 && (int(root) == own || root == -3) {
				c.Root[i] = int32(own)
			}
		}
	}
	return c
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		for i := range run.Threads {
			c := &run.Threads[i].Calls
			for k := range c.Len() * rapid.IntRange(0, 1).Draw(t, "polls") {
				c.Count = append(c.Count, rapid.Int64Range(int64(1+k%2), 1<<40).Draw(t, "polls"))
			}
			if !slices.ContainsFunc(c.Count, func(n int64) bool { return n != 1 }) {
				c.Count = nil
			}
		}
		diff(t, run, roundTrip(t, run))
	})
}
