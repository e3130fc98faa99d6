package prv

import (
	"cmp"
	"fmt"
	"slices"

	"moriens/trace"
)

// runEnd is where the header says, where that is later than the records, else where these end. A header that says more
// than farTimes their time is wrong, or of a longer trace: they decide.
func runEnd(headerNS, lastNS int64, trueEnd bool) int64 {
	if headerNS >= lastNS && (trueEnd || lastNS == 0 || headerNS/farTimes <= lastNS) {
		return headerNS
	}
	return lastNS
}

// run makes the model of what was read. Windows that do not fit what is there are a fault, or skipped.
func (r *reader) run(result *Result) error {
	h, n := r.header, r.names
	run := &trace.Run{
		Start: h.start, DurationNS: runEnd(h.endNS, r.endNS, r.trueEnd),
		CallPaths: r.callPaths(), Communicators: r.comms, Messages: r.messages,
	}
	run.WholePaths = (r.labels.whole || !r.own) && slices.ContainsFunc(run.CallPaths, func(p trace.CallPath) bool { return len(p.Frames) > 1 })
	for i, cpus := range h.cpus {
		run.Nodes = append(run.Nodes, trace.Node{Name: nameOf(n.nodes, i, "NODE"), CPUs: cpus})
	}
	if len(run.Nodes) == 0 {
		run.Nodes = []trace.Node{{Name: nameOf(n.nodes, 0, "NODE")}}
	}
	for i, tasks := range h.tasks {
		run.Worlds = append(run.Worlds, trace.World{Executable: nameOf(n.worlds, i, "APPL"), Size: len(tasks)})
	}
	run.Counters = r.named()
	slices.SortFunc(r.threads, func(a, b *threadReader) int {
		return cmp.Or(cmp.Compare(a.world, b.world), cmp.Compare(a.rank, b.rank), cmp.Compare(a.thread, b.thread))
	})
	place := make([]int, len(r.threads)) // by order of first record
	run.Threads = make([]trace.Thread, len(r.threads))
	for i, t := range r.threads {
		place[t.index] = i
		run.Threads[i] = t.close(len(run.Counters), run.DurationNS)
	}
	r.settleWaits(run)
	result.Applications = r.applications(run.Threads)
	otherMessages := int64(0)
	one := choose(result.Applications, r.application)
	if one >= 0 {
		r.threads = slices.DeleteFunc(r.threads, func(t *threadReader) bool { return t.world != one })
		otherMessages = keepOnly(run, one, place)
	}
	result.Reading = r.reading(run, r.threads)
	result.Reading.OtherMessages = otherMessages
	result.Reading.KeptRecords, result.Reading.KeptLost = r.shares(result.Applications, one)
	r.threads = nil
	for i := range run.Messages {
		m := &run.Messages[i]
		m.From, m.To = place[m.From], place[m.To]
	}
	slices.SortStableFunc(run.Messages, func(a, b trace.Message) int { return cmp.Compare(a.SendNS, b.SendNS) })
	settleRoots(run)
	if err := r.windows(run); err != nil {
		if !r.lenient {
			return err
		}
		r.skip(err, unknownWorld)
	}
	run.SummariseClusters()
	result.Run = run
	return nil
}

// named names the counter columns. The number of a preset says which it is, whatever its label; what others are, their
// labels say. Two types may have one label.
func (r *reader) named() []trace.Counter {
	list := make([]trace.Counter, len(r.counters))
	taken := make(map[string]bool)
	for i, t := range r.counters {
		list[i] = r.labels.counters[t]
		if name, is := presetName(t); is {
			list[i].Name = name
			taken[name] = true
		}
	}
	for i, t := range r.counters {
		if _, is := presetName(t); is {
			continue
		}
		c := &list[i]
		c.Name = cmp.Or(c.Name, fmt.Sprint(t))
		for taken[c.Name] {
			c.Name = fmt.Sprintf("%s#%d", c.Name, t)
		}
		taken[c.Name] = true
	}
	return list
}
