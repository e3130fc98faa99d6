// Package perfetto writes a trace.Run as a Perfetto trace, which ui.perfetto.dev and trace_processor open: protobuf,
// written field by field. Times are nanoseconds since the run's time 0.
//
// A rank is a process; a thread has slices for its bursts, its MPI calls with what they waited for, and the time that
// was dropped; counters and the critical path are tracks, messages are flows. docs/format/perfetto.md describes the
// trace. Memory holds the names of one rank, and two numbers for each message.
package perfetto

import (
	"bufio"
	"fmt"
	"io"

	"moriens/trace"
)

// Categories of events.
const (
	categoryBurst        = "burst"
	categoryMPI          = "mpi"
	categoryDropped      = "dropped"
	categoryPause        = "pause"
	categoryPhase        = "phase"
	categoryEvent        = "event"
	categoryMessage      = "message" // an end of one that lies in no call
	categoryWait         = "wait"
	categoryCritical     = "critical path"
	categoryWindow       = "window"
	categoryCommunicator = "communicator"
	categoryCluster      = "cluster"
)

// Write writes the trace. A run in which bursts, or calls, of a thread overlap is refused.
func Write(w io.Writer, run *trace.Run) error {
	flows, err := newFlows(run)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	t := &writer{packetWriter: packetWriter{out: out}, run: run, names: run.Names(), rates: ratesOf(run), flows: flows, clusters: make(map[int32]string)}
	t.begin(t.nextID())
	t.wholeRun()
	pid := 1
	for from := 0; from < len(run.Threads); {
		to, numbers := from, 0
		for first := &run.Threads[from]; to < len(run.Threads) && run.Threads[to].World == first.World && run.Threads[to].Rank == first.Rank; to++ {
			numbers = max(numbers, run.Threads[to].Thread+1)
		}
		if err := t.rank(from, to, pid); err != nil {
			return err
		}
		pid += numbers
		from = to
	}
	return out.Flush()
}

type writer struct {
	packetWriter
	run   *trace.Run
	names []string // of call paths
	rates []rate
	// Names of clusters by number.
	clusters map[int32]string
	flows    *flows
	last     uint64 // number given to a sequence or a track
}

// nextID numbers sequences and tracks: none may be 0.
func (w *writer) nextID() uint64 {
	w.last++
	return w.last
}

// newTrack writes a plain track and returns its number.
func (w *writer) newTrack(name string, parent uint64, fill func([]byte) []byte) uint64 {
	id := w.nextID()
	w.track(id, func(b []byte) []byte {
		b = appendText(b, trackName, name)
		if parent != 0 {
			b = appendUint(b, trackParent, parent)
		}
		if fill != nil {
			b = fill(b)
		}
		return b
	})
	return id
}

// wholeRun writes what is of no rank: the order of the processes, kept windows, communicators, clusters.
func (w *writer) wholeRun() {
	w.track(0, func(b []byte) []byte { return appendUint(b, trackOrder, orderRanked) })
	if len(w.run.Windows) > 0 {
		group := w.newTrack("kept windows", 0, func(b []byte) []byte { return appendUint(b, trackOrdering, orderExplicit) })
		for i := range w.run.Windows {
			w.window(i, group)
		}
	}
	if len(w.run.Communicators) > 0 {
		track := w.newTrack("communicators", 0, nil)
		for i := range w.run.Communicators {
			c := &w.run.Communicators[i]
			w.open(instant, track, categoryCommunicator, fmt.Sprintf("%s %d", c.Kind(), c.ID))
			n := w.notes()
			n.int("world", int64(c.World))
			n.int("id", c.ID)
			n.text("kind", c.Kind())
			n.text("ranks", c.RankList())
			n.done()
			w.at(0)
		}
	}
	if len(w.run.Clusters) > 0 {
		track := w.newTrack("clusters", 0, nil)
		for i := range w.run.Clusters {
			w.cluster(&w.run.Clusters[i], track)
		}
	}
}

// window gives each window a track of its own: they may overlap.
func (w *writer) window(i int, group uint64) {
	x := &w.run.Windows[i]
	name := fmt.Sprintf("window %d: %v", i, x.Why)
	track := w.newTrack(name, group, func(b []byte) []byte { return appendUint(b, trackRank, uint64(i)) })
	w.open(sliceBegin, track, categoryWindow, name)
	n := w.notes()
	n.text("why", x.Why.String())
	n.text("reason", x.Reason)
	if x.Phase >= 0 {
		n.int("phase", int64(x.Phase))
	}
	n.int("threads", int64(len(x.Threads)))
	n.done()
	w.at(x.BeginNS)
	w.close(track)
	w.at(x.EndNS)
}

func (w *writer) cluster(c *trace.Cluster, track uint64) {
	w.open(instant, track, categoryCluster, w.clusterName(c.ID))
	n := w.notes()
	n.int("id", int64(c.ID))
	n.int("bursts", int64(c.Bursts))
	n.int("time_ns", c.TimeNS)
	n.float("share", c.Share)
	n.float("mean_ns", c.MeanNS)
	n.float("std_ns", c.StdNS)
	if c.VariantOf != 0 {
		n.int("variant_of", int64(c.VariantOf))
	}
	if c.Score != 0 {
		n.float("score", c.Score)
	}
	if c.Rare {
		n.yes("rare")
	}
	n.done()
	w.at(0)
}

// rank writes the threads from to to, which are one rank's.
func (w *writer) rank(from, to, pid int) error {
	w.begin(w.nextID())
	first := &w.run.Threads[from]
	w.track(w.nextID(), func(b []byte) []byte {
		var p []byte
		p = appendUint(p, processPID, uint64(pid))
		if first.World < len(w.run.Worlds) {
			p = appendText(p, processCommand, w.run.Worlds[first.World].Executable)
		}
		p = appendUint(p, processSort, uint64(pid))
		p = appendText(p, processName, w.run.RankName(first.World, first.Rank))
		return appendUint(appendBytes(b, trackProcess, p), trackRank, uint64(pid))
	})
	for i := from; i < to; i++ {
		if err := w.thread(i, pid); err != nil {
			return fmt.Errorf("%s: %w", w.run.Threads[i].Name(), err)
		}
	}
	return nil
}
