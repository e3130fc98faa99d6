package otf2

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"moriens/trace"
)

// A story is what an archive reports one location, a line for each thing that happened, in any order. It is made of the
// model, of the events of a stream and of what otf2-print shows: all three have to show the same.
type story []string

func (s *story) add(format string, values ...any) { *s = append(*s, fmt.Sprintf(format, values...)) }

// stories reports what the archive of a run has to hold, by location.
func stories(run *trace.Run) map[uint64]*story {
	all := make(map[uint64]*story)
	number := make([]uint64, len(run.Threads))
	process := 0
	for w, world := range run.Worlds {
		for r := range world.Size {
			all[uint64(process)] = new(story)
			for i := range run.Threads {
				if t := &run.Threads[i]; t.World == w && t.Rank == r {
					number[i] = uint64(process) | uint64(t.Thread)<<32
					all[number[i]] = new(story)
				}
			}
			process++
		}
	}
	for i := range run.Threads {
		s := all[number[i]]
		s.calls(run, &run.Threads[i])
		s.bursts(run, &run.Threads[i])
		s.marks(run, &run.Threads[i])
	}
	for i := range run.Messages {
		m := &run.Messages[i]
		from, to := &run.Threads[m.From], &run.Threads[m.To]
		world, sender, receiver := "all worlds", 0, 0
		for w := range run.Worlds {
			if w < from.World {
				sender += run.Worlds[w].Size
			}
			if w < to.World {
				receiver += run.Worlds[w].Size
			}
		}
		sender, receiver = sender+from.Rank, receiver+to.Rank
		if from.World == to.World {
			world, sender, receiver = worldName(run, from.World), from.Rank, to.Rank
		}
		kind := "send"
		if k := lastAt(from.Calls.EnterNS, m.SendNS); k >= 0 && !strings.Contains(" MPI_Send MPI_Bsend MPI_Ssend MPI_Rsend MPI_Sendrecv MPI_Sendrecv_replace ", " "+run.CallPaths[from.Calls.Path[k]].Function+" ") {
			kind = "isend"
		}
		all[number[m.From]].add("%s %d to %d of %s, tag %d, %d bytes", kind, m.SendNS, receiver, world, uint32(m.Tag), m.Bytes)
		posted := ""
		k, done := lastAt(to.Calls.EnterNS, m.RecvNS), slices.Index(to.Calls.ExitNS, m.PhysicalRecvNS)
		if k >= 0 && (k < done || done < 0 && m.RecvNS < m.PhysicalRecvNS) {
			posted = fmt.Sprintf(", posted %d", m.RecvNS)
		}
		all[number[m.To]].add("recv %d from %d of %s, tag %d, %d bytes%s", m.PhysicalRecvNS, sender, world, uint32(m.Tag), m.Bytes, posted)
	}
	for _, s := range all {
		slices.Sort(*s)
	}
	return all
}

func lastAt(times []int64, at int64) int {
	for i := len(times) - 1; i >= 0; i-- {
		if times[i] == at {
			return i
		}
	}
	return -1
}

func (s *story) calls(run *trace.Run, t *trace.Thread) {
	for i, enter := range t.Calls.EnterNS {
		path := run.CallPaths[t.Calls.Path[i]]
		var callers []string
		for k := range path.Frames {
			f := path.Frames[len(path.Frames)-1-k]
			if name := cmp.Or(f.Function, f.Place()); name != "" {
				callers = append(callers, oneLine(name))
			}
		}
		unfinished := ""
		if t.Calls.Unfinished && i == t.Calls.Len()-1 {
			unfinished = ", unfinished"
		}
		if k := slices.Index(t.Waits.Call, uint32(i)); k >= 0 {
			who := "nobody"
			if thread := t.Waits.For[k]; thread >= 0 {
				who = run.RankName(run.Threads[thread].World, run.Threads[thread].Rank)
				if n := run.Threads[thread].Thread; n > 0 {
					who += fmt.Sprintf(" thread %d", n)
				}
			}
			unfinished += fmt.Sprintf(", waited %d ns for %s: %v", t.Waits.UntilNS[k]-enter, who, t.Waits.Kind[k])
		}
		if n := t.Calls.Path[i]; n != 0 {
			unfinished += fmt.Sprintf(", path %d", n)
		}
		moved := ""
		if k := slices.Index(t.Collectives.Call, uint32(i)); k >= 0 {
			if f := functionOf(path.Function); f.collective {
				s.collective(run, t, k, f)
			} else {
				moved = fmt.Sprintf(", sent %d, received %d", t.Collectives.Sent[k], t.Collectives.Received[k])
			}
		}
		several := ""
		if t.Calls.Count != nil && t.Calls.Count[i] != 1 {
			several = fmt.Sprintf(", %d of them", t.Calls.Count[i])
		}
		s.add("call %s %d to %d by %s%s%s%s", oneLine(cmp.Or(path.Function, "unknown MPI call")), enter, t.Calls.ExitNS[i], strings.Join(callers, " > "), several, moved, unfinished)
	}
}

func (s *story) collective(run *trace.Run, t *trace.Thread, k int, f function) {
	c := &t.Collectives
	name := "UNDEFINED"
	if n := c.Comm[k]; n >= 0 && !run.Communicators[n].Window && !run.Communicators[n].File {
		kind := map[bool]string{false: "communicator", true: "intercommunicator"}[run.Communicators[n].Inter]
		name = fmt.Sprintf("%s %d of %s", kind, run.Communicators[n].ID, worldName(run, run.Communicators[n].World))
	}
	root := "NONE"
	switch {
	case c.Root[k] >= 0:
		root = fmt.Sprint(c.Root[k])
	case c.Root[k] == -3:
		root = "SELF"
	}
	how := ""
	if f.immediate {
		how = " that does not block"
	}
	s.add("collective%s %d %d to %d on %s, root %s, sent %d, received %d", how, f.op, t.Calls.EnterNS[c.Call[k]], t.Calls.ExitNS[c.Call[k]], name, root, c.Sent[k], c.Received[k])
}

func (s *story) bursts(run *trace.Run, t *trace.Thread) {
	b := &t.Bursts
	for k, start := range b.StartNS {
		end := start + b.DurationNS[k]
		straddles := false
		for i, enter := range t.Calls.EnterNS {
			exit := t.Calls.ExitNS[i]
			straddles = straddles || enter < start && start < exit && exit < end || start < enter && enter < end && end < exit
		}
		if straddles {
			continue
		}
		counts := make([]string, 0, len(b.Counters))
		for c := range b.Counters {
			if v := b.Counters[c][k]; v != trace.NoCount {
				counts = append(counts, fmt.Sprintf("%s=%d", oneLine(run.Counters[c].Name), v))
			}
		}
		slices.Sort(counts)
		weight := 1.
		if b.Weight != nil {
			weight = b.Weight[k]
		}
		s.add("burst of %d %d to %d %v, weight %g", b.Cluster[k], start, end, counts, weight)
	}
}

func (s *story) marks(run *trace.Run, t *trace.Thread) {
	for _, p := range t.Phases {
		s.add("phase level %d at %d: %s", p.Depth+1, p.BeginNS, oneLine(run.MarkNames[p.Name]))
		s.add("phase level %d at %d: ", p.Depth+1, p.EndNS)
	}
	for _, e := range t.Events {
		s.add("event %s at %d: %d", oneLine(run.MarkNames[e.Name]), e.TimeNS, e.Value)
	}
	for _, c := range t.Critical {
		s.add("critical path 1 at %d", c.BeginNS)
		s.add("critical path 0 at %d", c.EndNS)
	}
	if run.Windows == nil {
		return
	}
	from := t.BeginNS
	for i, k := range t.Kept {
		w := run.Windows[k.Window]
		s.add("moriens window at %d: %d: %s: %s", k.BeginNS, k.Window+1, w.Why, oneLine(w.Reason))
		if i == len(t.Kept)-1 || k.EndNS < t.Kept[i+1].BeginNS {
			s.add("moriens window at %d: ", k.EndNS)
		}
		if from < k.BeginNS {
			s.add("dropped %d to %d", from, k.BeginNS)
		}
		from = k.EndNS
	}
	if from < t.EndNS {
		s.add("dropped %d to %d", from, t.EndNS)
	}
}
