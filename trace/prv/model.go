package prv

import (
	"cmp"
	"fmt"
	"slices"

	"moriens/trace"
)

// run makes the model of what was read. Windows that do not fit what is there are a fault, or skipped.
func (r *reader) run(n *names) (*trace.Run, error) {
	h := r.header
	run := &trace.Run{
		Start: h.start, DurationNS: h.endNS,
		CallPaths: r.callPaths(), Communicators: r.comms, Messages: r.messages,
	}
	for i, cpus := range h.cpus {
		run.Nodes = append(run.Nodes, trace.Node{Name: nameOf(n.nodes, i, "NODE"), CPUs: cpus})
	}
	if len(run.Nodes) == 0 {
		run.Nodes = []trace.Node{{Name: nameOf(n.nodes, 0, "NODE")}}
	}
	for i, tasks := range h.tasks {
		run.Worlds = append(run.Worlds, trace.World{Executable: nameOf(n.worlds, i, "APPL"), Size: len(tasks)})
	}
	taken := make(map[string]bool)
	for _, t := range r.counters {
		c, ok := r.labels.counters[t]
		if !ok || c.Name == "" {
			if c.Name, ok = presetName(t); !ok {
				c.Name = fmt.Sprint(t)
			}
		}
		for taken[c.Name] { // two types may have one label
			c.Name = fmt.Sprintf("%s#%d", c.Name, t)
		}
		taken[c.Name] = true
		run.Counters = append(run.Counters, c)
	}
	slices.SortFunc(r.threads, func(a, b *threadReader) int {
		return cmp.Or(cmp.Compare(a.world, b.world), cmp.Compare(a.rank, b.rank), cmp.Compare(a.thread, b.thread))
	})
	place := make([]int, len(r.threads)) // by order of first record
	run.Threads = make([]trace.Thread, len(r.threads))
	for i, t := range r.threads {
		place[t.index] = i
		run.Threads[i] = t.close(len(run.Counters))
		r.threads[i] = nil
	}
	for i := range run.Messages {
		m := &run.Messages[i]
		m.From, m.To = place[m.From], place[m.To]
	}
	slices.SortStableFunc(run.Messages, func(a, b trace.Message) int { return cmp.Compare(a.SendNS, b.SendNS) })
	settleRoots(run)
	if err := r.windows(run); err != nil {
		if !r.lenient {
			return nil, err
		}
		r.skip(err)
	}
	run.SummariseClusters()
	return run, nil
}
