// Package tracetest makes runs for the tests of the formats: a small fixed one for golden files, random ones for
// properties. They are valid models; times are nanoseconds. Only tests import it.
package tracetest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"moriens/trace"
)

var functions = []string{
	"MPI_Init", "MPI_Finalize", "MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Waitall", "MPI_Comm_split", "MPI_Isend", "",
}

var counterNames = []string{"PAPI_TOT_INS", "PAPI_TOT_CYC", "RESOURCE_STALLS", "hw::L3:MISS [odd]x", "PAPI_L1_DCM"}

// Run draws a random run: several worlds, ranks without records, threads without calls, calls and bursts of zero
// length, missing counters, calls cut off by the process's end.
func Run(t *rapid.T) *trace.Run {
	small := func(hi int, what string) int { return rapid.IntRange(0, hi).Draw(t, what) }
	run := &trace.Run{CallPaths: []trace.CallPath{{}}}
	if rapid.Bool().Draw(t, "started") {
		run.Start = time.Unix(1_700_000_000+int64(small(1e6, "start")), 0).UTC()
	}
	for i := range 1 + small(2, "nodes") {
		run.Nodes = append(run.Nodes, trace.Node{Name: fmt.Sprintf("node%d", i), CPUs: 1 + small(3, "cpus")})
	}
	for i := range 1 + small(6, "paths") {
		f := functions[small(len(functions)-2, "function")]
		path := trace.CallPath{Function: f}
		for k := range 1 + small(2, "frames") {
			path.Frames = append(path.Frames, frame(t, uint64(0x1000+i+0x100*k)))
		}
		run.CallPaths = append(run.CallPaths, path)
	}
	for i := range small(3, "counters") {
		run.Counters = append(run.Counters, trace.Counter{Name: counterNames[i]})
	}
	clusters := small(4, "clusters")
	for w := range 1 + small(2, "worlds") {
		world := trace.World{Executable: fmt.Sprintf("app %d", w), MPILibrary: "MPICH Version: 4.0.2", Size: 1 + small(2, "size")}
		run.Worlds = append(run.Worlds, world)
		for r := range world.Size {
			node := small(len(run.Nodes)-1, "node")
			for th := range small(2, "threads") {
				run.Threads = append(run.Threads, thread(t, run, trace.Thread{World: w, Rank: r, Thread: th, Node: node}, clusters))
			}
		}
	}
	for i := range run.Threads {
		run.DurationNS = max(run.DurationNS, run.Threads[i].EndNS)
	}
	run.DurationNS += int64(small(10, "after"))
	messages(t, run)
	collectives(t, run)
	marks(t, run)
	waits(t, run)
	run.SummariseClusters()
	return run
}

// frame draws a frame of which only the place, the function too, or the line too is known.
func frame(t *rapid.T, offset uint64) trace.Frame {
	f := trace.Frame{Module: "app", BuildID: "00ff", Offset: offset}
	if f.Function = rapid.SampledFrom([]string{"", "main", "Halo::exchange", "List<int (*)(char, int)>::sort"}).Draw(t, "caller"); f.Function == "" {
		return f
	}
	if f.Line = rapid.IntRange(0, 2).Draw(t, "line"); f.Line > 0 {
		f.File = rapid.SampledFrom([]string{"/src/halo.cc", "../lib/list.h", "odd name (1).c"}).Draw(t, "file")
	}
	f.FirstFile, f.FirstLine = defined(t)
	for range rapid.IntRange(0, 2).Draw(t, "scopes") {
		s := trace.Scope{Function: rapid.SampledFrom([]string{"main", "f", "a \"quoted\", one\n"}).Draw(t, "scope"), File: rapid.SampledFrom([]string{"", "/src/halo.cc"}).Draw(t, "file")}
		s.Line = rapid.IntRange(0, 2).Draw(t, "line")
		s.FirstFile, s.FirstLine = defined(t)
		f.Inlined = append(f.Inlined, s)
	}
	return f
}

func defined(t *rapid.T) (file string, line int) {
	if line = rapid.IntRange(0, 2).Draw(t, "first line"); line > 0 {
		file = rapid.SampledFrom([]string{"/src/halo.cc", "h.h"}).Draw(t, "first file")
	}
	return file, line
}

// thread draws what a thread has recorded.
func thread(t *rapid.T, run *trace.Run, th trace.Thread, clusters int) trace.Thread {
	b := &th.Bursts
	b.Counters = make([][]int64, len(run.Counters))
	length := func(what string) int64 {
		return rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(0, 5), rapid.Int64Range(0, 1e12)).Draw(t, what)
	}
	calls := rapid.IntRange(0, 8).Draw(t, "calls")
	now := length("begin")
	th.BeginNS = now
	for i := range calls {
		path := uint32(rapid.IntRange(1, len(run.CallPaths)-1).Draw(t, "path"))
		th.Calls.EnterNS = append(th.Calls.EnterNS, now)
		if n := b.Len(); n > len(b.After) {
			b.After = append(b.After, path)
		}
		now += length("call")
		th.Calls.ExitNS = append(th.Calls.ExitNS, now)
		th.Calls.Path = append(th.Calls.Path, path)
		th.EndNS = now
		if i == calls-1 {
			break
		}
		if rapid.IntRange(0, 5).Draw(t, "dropped") == 0 {
			now += 1 + length("gap") // no burst between: records were lost here
			continue
		}
		b.StartNS = append(b.StartNS, now)
		d := length("burst")
		b.DurationNS = append(b.DurationNS, d)
		b.Before = append(b.Before, path)
		b.Cluster = append(b.Cluster, int32(rapid.IntRange(-3, clusters).Draw(t, "cluster")))
		for k := range b.Counters {
			v := rapid.Int64().Filter(func(v int64) bool { return v != trace.NoCount }).Draw(t, "count")
			if rapid.IntRange(0, 5).Draw(t, "missing") == 0 {
				v = trace.NoCount
			}
			b.Counters[k] = append(b.Counters[k], v)
		}
		now += d
	}
	th.Calls.Unfinished = calls > 0 && rapid.IntRange(0, 3).Draw(t, "unfinished") == 0
	return th
}

// marks draws phases that nest, and events.
func marks(t *rapid.T, run *trace.Run) {
	run.MarkNames = []string{"?", "", "solve", "a name of\ntwo lines \"→\""}
	for i := range run.Threads {
		th := &run.Threads[i]
		if th.Calls.Len() > 0 {
			phases(t, th, 0, th.BeginNS, th.EndNS)
		}
		th.LocatePhases()
		for range rapid.IntRange(0, 2).Draw(t, "events") * min(th.Calls.Len(), 1) {
			at := th.BeginNS
			if n := len(th.Events); n > 0 {
				at = th.Events[n-1].TimeNS
			}
			at = rapid.Int64Range(at, th.EndNS).Draw(t, "event")
			th.Events = append(th.Events, trace.Event{Name: uint32(rapid.IntRange(0, 3).Draw(t, "name")), TimeNS: at, Value: rapid.Int64().Draw(t, "value")})
		}
	}
}

func phases(t *rapid.T, th *trace.Thread, depth int32, from, to int64) {
	for range rapid.IntRange(0, 2).Draw(t, "phases") {
		p := trace.Phase{Name: uint32(rapid.IntRange(0, 3).Draw(t, "name")), Depth: depth}
		p.BeginNS = rapid.Int64Range(from, to).Draw(t, "begin")
		p.EndNS = rapid.Int64Range(p.BeginNS, to).Draw(t, "end")
		th.Phases = append(th.Phases, p)
		if depth < 2 {
			phases(t, th, depth+1, p.BeginNS, p.EndNS)
		}
		from = p.EndNS
	}
}

func messages(t *rapid.T, run *trace.Run) {
	var at int64
	var busy []int
	for i := range run.Threads {
		if run.Threads[i].Calls.Len() > 0 {
			busy = append(busy, i)
		}
	}
	for range rapid.IntRange(0, 4).Draw(t, "messages") {
		if len(busy) == 0 {
			return
		}
		at = rapid.Int64Range(at, run.DurationNS).Draw(t, "send")
		any := rapid.Int64Range(0, run.DurationNS)
		run.Messages = append(run.Messages, trace.Message{
			From: rapid.SampledFrom(busy).Draw(t, "from"), To: rapid.SampledFrom(busy).Draw(t, "to"),
			SendNS: at, PhysicalSendNS: any.Draw(t, "psend"), RecvNS: any.Draw(t, "recv"), PhysicalRecvNS: any.Draw(t, "precv"),
			Bytes: rapid.Int64Range(0, 1<<40).Draw(t, "bytes"), Tag: rapid.Int64().Draw(t, "tag"),
		})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "communicators") {
		w := rapid.IntRange(0, len(run.Worlds)-1).Draw(t, "world")
		c := trace.Communicator{World: w, ID: int64(i + 1), Inter: rapid.Bool().Draw(t, "inter"), Window: rapid.IntRange(0, 3).Draw(t, "window") == 0}
		if !c.Inter {
			for r := range run.Worlds[w].Size {
				c.Ranks = append(c.Ranks, r)
			}
		}
		run.Communicators = append(run.Communicators, c)
	}
}

// Completed is a run of which is known, for most threads, which call completed each collective, and of which calls that
// are none have started some of persistent requests. All else is the run's. No file has that.
func Completed(t *rapid.T, run *trace.Run) *trace.Run {
	c := *run
	c.Threads = slices.Clone(run.Threads)
	for i := range c.Threads {
		if rapid.IntRange(0, 3).Draw(t, "completed") > 0 {
			complete(t, &c.Threads[i], int32(min(len(run.Communicators), 1)-1))
		}
	}
	return &c
}

// complete has starts of persistent requests on a communicator.
func complete(t *rapid.T, th *trace.Thread, comm int32) {
	was := th.Collectives
	c := trace.Collectives{Done: []int32{}, Instance: []int32{}}
	end := func(call uint32, instance int32) {
		c.Call, c.Instance = append(c.Call, call), append(c.Instance, instance)
		c.Done = append(c.Done, int32(rapid.IntRange(-1, th.Calls.Len()-1).Draw(t, "done")))
	}
	k := 0
	for call := range uint32(th.Calls.Len()) {
		if k < was.Len() && was.Call[k] == call {
			c.Comm, c.Ordinal, c.Root = append(c.Comm, was.Comm[k]), append(c.Ordinal, was.Ordinal[k]), append(c.Root, was.Root[k])
			c.Sent, c.Received = append(c.Sent, was.Sent[k]), append(c.Received, was.Received[k])
			end(call, -1)
			k++
			continue
		}
		for n := range rapid.IntRange(0, 2).Draw(t, "starts") {
			c.Comm, c.Ordinal, c.Root = append(c.Comm, comm), append(c.Ordinal, int64(n)), append(c.Root, 0)
			c.Sent, c.Received = append(c.Sent, 1<<40), append(c.Received, 1<<41)
			end(call, int32(call))
		}
	}
	th.Collectives = c
}

func collectives(t *rapid.T, run *trace.Run) {
	for i := range run.Threads {
		c := &run.Threads[i].Collectives
		for call := range run.Threads[i].Calls.Len() {
			if rapid.IntRange(0, 2).Draw(t, "collective") > 0 {
				continue
			}
			any := rapid.Int64Range(0, 1<<40)
			c.Call = append(c.Call, uint32(call))
			c.Comm = append(c.Comm, int32(rapid.IntRange(-1, len(run.Communicators)-1).Draw(t, "comm")))
			c.Ordinal = append(c.Ordinal, any.Draw(t, "ordinal"))
			c.Sent, c.Received = append(c.Sent, any.Draw(t, "sent")), append(c.Received, any.Draw(t, "received"))
			c.Root = append(c.Root, rapid.SampledFrom([]int32{-3, -1, 0, 1, 2}).Draw(t, "root"))
		}
	}
}
