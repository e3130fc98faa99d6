package perfetto

import (
	"cmp"
	"fmt"
	"math"

	"moriens/trace"
)

// A rate is a counter track that every thread has.
type rate struct {
	name, unit string
	column     int // of the bursts' counters
	per        int // another column; -1 = the duration in seconds
}

// ratesOf are the counters by time, and instructions by cycle.
func ratesOf(run *trace.Run) []rate {
	var list []rate
	instructions, cycles := -1, -1
	for i, c := range run.Counters {
		switch c.Name {
		case "PAPI_TOT_INS":
			instructions = i
		case "PAPI_TOT_CYC":
			cycles = i
		}
	}
	if instructions >= 0 && cycles >= 0 {
		list = append(list, rate{"IPC", "instructions/cycle", instructions, cycles})
	}
	for i, c := range run.Counters {
		list = append(list, rate{c.Name + " per second", cmp.Or(c.Unit, "1") + "/s", i, -1})
	}
	return list
}

// of computes the value over a burst.
func (r *rate) of(b *trace.Bursts, k int) (v float64, ok bool) {
	x, per := b.Counters[r.column][k], b.DurationNS[k]
	if r.per >= 0 {
		per = b.Counters[r.per][k]
	}
	if x == trace.NoCount || per == trace.NoCount || per == 0 {
		return 0, false
	}
	if v = float64(x) / float64(per); r.per < 0 {
		v *= 1e9
	}
	return v, true
}

// A threadWriter writes what happened on a thread.
type threadWriter struct {
	*writer
	t        *trace.Thread
	counters []uint64 // tracks, by rate
	messages *messageWalk
	moves    movesWalk
	wait     int // next
}

func (w *writer) thread(i, pid int) error {
	t := &w.run.Threads[i]
	if len(t.Bursts.Counters) != len(w.run.Counters) {
		return fmt.Errorf("%d columns of counters, not %d", len(t.Bursts.Counters), len(w.run.Counters))
	}
	track := w.nextID()
	w.track(track, func(b []byte) []byte {
		p := appendUint(appendUint(nil, threadPID, uint64(pid)), threadTID, uint64(pid+t.Thread))
		p = appendText(p, threadName, fmt.Sprintf("thread %d", t.Thread))
		return appendUint(appendBytes(b, trackThread, p), trackOrdering, orderExplicit)
	})
	x := &threadWriter{writer: w, t: t, messages: w.flows.of(i), moves: movesWalk{run: w.run, t: t}}
	place := uint64(0)
	child := func(name string, fill func([]byte) []byte) uint64 {
		place++
		return w.newTrack(name, track, func(b []byte) []byte {
			b = appendUint(b, trackRank, place)
			if fill != nil {
				b = fill(b)
			}
			return b
		})
	}
	if len(t.Phases)+len(t.Events) > 0 {
		x.marks(child("phases", nil))
	}
	if len(t.Critical) > 0 {
		path := child("critical path", nil)
		for k, s := range t.Critical {
			x.plain(item{index: k, beginNS: s.BeginNS, endNS: s.EndNS}, path, categoryCritical, "critical path")
		}
	}
	dropped := droppedTime(w.run, t)
	all := []kind{isCall, isBurst, isDropped, isPause}
	tracks := []uint64{track}
	sets := [][]kind{all}
	if !apart(t, dropped) {
		// A thread may be running inside MPI, in a trace that was read.
		tracks, sets = nil, nil
		for _, k := range all {
			on := track
			if k != isCall {
				on = child(kindNames[k]+"s", nil)
			}
			tracks, sets = append(tracks, on), append(sets, []kind{k})
		}
	}
	for _, r := range w.rates {
		x.counters = append(x.counters, child(r.name, func(b []byte) []byte {
			return appendBytes(b, trackCounter, appendText(nil, counterUnitName, r.unit))
		}))
	}
	for k, on := range tracks {
		if err := x.slices(newItems(t, dropped, sets[k]...), on); err != nil {
			return err
		}
	}
	x.strays(track)
	return nil
}

func (x *threadWriter) slices(list *items, track uint64) error {
	lastNS := [kinds]int64{math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64}
	for {
		i, ok := list.take()
		if !ok {
			return nil
		}
		if err := i.check(lastNS[i.kind]); err != nil {
			return err
		}
		lastNS[i.kind] = i.endNS
		switch i.kind {
		case isCall:
			x.call(i, track)
		case isBurst:
			x.burst(i, track)
		case isDropped:
			x.plain(i, track, categoryDropped, "dropped")
		case isPause:
			x.plain(i, track, categoryPause, "paused")
		}
	}
}

// plain writes a slice without annotations.
func (x *threadWriter) plain(i item, track uint64, category, name string) {
	x.open(sliceBegin, track, category, name)
	x.at(i.beginNS)
	x.packetWriter.close(track)
	x.at(i.endNS)
}

// clusterName names the bursts of a label; each name is made once.
func (w *writer) clusterName(label int32) string {
	switch {
	case label == trace.LabelNoise:
		return "noise"
	case label == trace.LabelFiltered:
		return "filtered"
	case label == trace.LabelMissing:
		return "missing data"
	case label <= 0:
		return "burst"
	}
	name, ok := w.clusters[label]
	if !ok {
		name = fmt.Sprintf("cluster %d", label)
		w.clusters[label] = name
	}
	return name
}

func (x *threadWriter) burst(i item, track uint64) {
	b, k := &x.t.Bursts, i.index
	x.open(sliceBegin, track, categoryBurst, x.clusterName(b.Cluster[k]))
	n := x.notes()
	n.int("cluster", int64(b.Cluster[k]))
	if kind := b.Kinds()[k]; kind != b.Cluster[k] {
		n.int("kind", int64(kind))
	}
	n.int("duration_ns", b.DurationNS[k])
	n.text("call_path_before", x.names[b.Before[k]])
	n.text("call_path_after", x.names[b.After[k]])
	if b.Weight != nil && b.Weight[k] != 1 {
		n.float("weight", b.Weight[k])
	}
	if b.Phase != nil && b.Phase[k] >= 0 {
		n.text("phase", x.run.MarkNames[x.t.Phases[b.Phase[k]].Name])
	}
	for c := range b.Counters {
		if v := b.Counters[c][k]; v != trace.NoCount {
			n.int(x.run.Counters[c].Name, v)
		}
	}
	n.done()
	x.at(i.beginNS)
	for r := range x.rates {
		if v, ok := x.rates[r].of(b, k); ok {
			x.count(x.counters[r], i.beginNS, v)
			x.count(x.counters[r], i.endNS, 0)
		}
	}
	x.packetWriter.close(track)
	x.at(i.endNS)
}

// marks writes the phases and events that the program has named.
func (x *threadWriter) marks(track uint64) {
	x.t.EachPhase(func(p *trace.Phase) {
		x.open(sliceBegin, track, categoryPhase, x.run.MarkNames[p.Name])
		if p.Unfinished {
			n := x.notes()
			n.yes("unfinished")
			n.done()
		}
		x.at(p.BeginNS)
	}, func(p *trace.Phase) {
		x.packetWriter.close(track)
		x.at(p.EndNS)
	})
	for _, e := range x.t.Events {
		x.open(instant, track, categoryEvent, x.run.MarkNames[e.Name])
		n := x.notes()
		n.int("value", e.Value)
		n.done()
		x.at(e.TimeNS)
	}
}
