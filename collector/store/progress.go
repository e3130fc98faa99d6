package store

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"syscall"
	"time"

	moriensv1 "moriens/proto/moriens/v1"
)

// Progress says which ranks have connected and how they are.
type Progress struct {
	Totals          Totals
	Agents          []AgentProgress // by host
	Finalized       int             // processes by how they ended
	Died            int
	Left            int      // still ran when their agent left them
	Unrecorded      []Absent // ranks that could not record, by host and reason
	Unreadable      int      // files of ranks that cannot be read
	CallsUnrecorded uint64   // of threads that could not record
	CallsOnNodes    uint64   // on their nodes, of threads that have ended; a run of polls is one
}

// AgentProgress says how one agent is.
type AgentProgress struct {
	Host      string
	Connected bool
	Done      bool
	Away      time.Duration // since its last stream ended; 0 while it has one
	Shared    bool          // it is in the collector's process
	Processes int
	Resent    uint64           // messages; known when it is done
	Spool     *moriensv1.Spool // how its spool is; nil: it has never lacked room for long
	CPU       time.Duration    // that its process had used at its last message; 0 where an earlier version shows that only when it is done
	// Of its processes, up to the last reading: on a core, and ready to run where others did.
	RunNS, WaitNS uint64
}

// An Absent is how many ranks of a host go unrecorded for one reason.
type Absent struct {
	Host, Reason string
	Ranks        int
}

// Why is why a rank goes unrecorded, for people; empty where it is not: what it recorded cannot be read.
func Why(f *moriensv1.Fault) string {
	switch {
	case f.Corrupt != "":
		return ""
	case f.Reason != "":
		return f.Reason
	case f.Past != "":
		return "an MPI library was loaded by dlopen, bypassing libmoriens.so; its calls were not recorded: " + f.Past
	}
	return fmt.Sprintf("its shared memory says: %s", syscall.Errno(f.Errno))
}

// Unrecorded are the faults of ranks that go unrecorded, with who reports them: each rank once, though an agent that
// was started again may report it twice, as another agent where it had to be without a spool.
func Unrecorded(agents []*Agent) iter.Seq2[*Agent, *moriensv1.Fault] {
	type process struct { // id, which no two have, or where that is not known the agent that reports and pid
		id    uint64
		agent *Agent
		pid   uint32
	}
	return func(yield func(*Agent, *moriensv1.Fault) bool) {
		reported := make(map[process]bool)
		for _, a := range agents {
			for _, f := range a.Faults {
				key := process{id: f.Who.GetProcess()}
				if key.id == 0 {
					key.agent, key.pid = a, f.Who.GetPid()
				}
				known := key.id != 0 || key.pid != 0
				if f.Corrupt != "" || known && reported[key] {
					continue
				}
				reported[key] = true
				if !yield(a, f) {
					return
				}
			}
		}
	}
}

// Progress returns the state of this moment.
func (s *Store) Progress() Progress {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := Progress{Totals: s.sum()}
	processes := make(map[*Agent]int, len(s.agents))
	scheduled := make(map[*Agent]Scheduling, len(s.agents))
	for _, x := range s.processes {
		processes[x.Agent]++
		if x.Scheduling != nil {
			sum := scheduled[x.Agent]
			scheduled[x.Agent] = Scheduling{RunNS: sum.RunNS + x.Scheduling.RunNS, WaitNS: sum.WaitNS + x.Scheduling.WaitNS}
		}
		p.CallsUnrecorded += x.End.GetUnrecorded()
		switch x.End.GetHow() {
		case moriensv1.ProcessEnd_HOW_FINALIZED:
			p.Finalized++
		case moriensv1.ProcessEnd_HOW_RUNS:
			p.Left++
		default:
			if x.End != nil {
				p.Died++
			}
		}
	}
	for _, r := range s.ringOrder {
		if r.Process.CallsOnNode() && r.Calls == 0 {
			p.CallsOnNodes += r.End.GetCalls()
		}
	}
	for _, a := range s.agents {
		for _, f := range a.Faults {
			if f.Corrupt != "" && f.Figures == 0 {
				p.Unreadable++
			}
		}
		state := AgentProgress{
			Host: a.Hello.Host, Connected: a.streams > 0, Done: a.Done != nil, Shared: a.Shared(), Processes: processes[a], Resent: a.Done.GetResent(),
			Spool: a.Spool, CPU: a.CPU(), RunNS: scheduled[a].RunNS, WaitNS: scheduled[a].WaitNS,
		}
		if a.streams == 0 {
			state.Away = time.Since(a.left)
		}
		p.Agents = append(p.Agents, state)
	}
	agents := slices.SortedFunc(maps.Values(s.agents), func(a, b *Agent) int { return cmp.Compare(a.Hello.Agent, b.Hello.Agent) })
	for a, f := range Unrecorded(agents) {
		host, why := cmp.Or(f.Who.GetHost(), a.Hello.Host), Why(f)
		at := slices.IndexFunc(p.Unrecorded, func(x Absent) bool { return x.Host == host && x.Reason == why })
		if at < 0 {
			at = len(p.Unrecorded)
			p.Unrecorded = append(p.Unrecorded, Absent{Host: host, Reason: why})
		}
		p.Unrecorded[at].Ranks++
	}
	slices.SortFunc(p.Unrecorded, func(a, b Absent) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Reason, b.Reason)) })
	slices.SortFunc(p.Agents, func(a, b AgentProgress) int { return cmp.Compare(a.Host, b.Host) })
	return p
}

// CPU is the processor time that the agent's process has used, as it last reported; 0: it has not.
func (a *Agent) CPU() time.Duration {
	ns := a.Done.GetCpuNs()
	for _, samples := range a.Samples {
		if n := len(samples); n > 0 {
			ns = max(ns, samples[n-1].CpuNs)
		}
	}
	return time.Duration(min(ns, math.MaxInt64))
}

// Shared reports whether the agent is in the collector's process, which does not count its time apart.
func (a *Agent) Shared() bool { return a.Hello.GetShared() || a.Done.GetShared() }
