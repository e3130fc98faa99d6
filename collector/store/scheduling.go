package store

import (
	"fmt"

	moriensv1 "moriens/proto/moriens/v1"
)

// Scheduling is how the kernel has scheduled a process, up to the last reading.
type Scheduling struct {
	RunNS, WaitNS          uint64 // on a core, and ready to run where others did
	Voluntary, Involuntary uint64 // switches
}

// A NodeScheduling is how the kernel has scheduled on a node.
type NodeScheduling struct {
	Cores, AtOnce   int    // that its processes may run on together, and how many of these there were at a time, at most; 0 = not known
	BusyNS, StealNS uint64 // of all cores, from the agent's first reading to its last
}

// Scheduling is how the kernel has scheduled on the agent's node; false where it has not reported.
func (a *Agent) Scheduling() (s NodeScheduling, known bool) {
	first, last := a.scheduling[0], a.scheduling[1]
	if last == nil {
		return s, false
	}
	s.Cores, s.AtOnce = int(last.Cores), int(last.AtOnce)
	if last.BusyNs >= first.BusyNs && last.StealNs >= first.StealNs { // else it was started again
		s.BusyNS, s.StealNS = last.BusyNs-first.BusyNs, last.StealNs-first.StealNs
	}
	return s, true
}

func (s *Store) addScheduling(a *Agent, m *moriensv1.Scheduling) error {
	n := len(m.Process)
	if len(m.RunNs) != n || len(m.WaitNs) != n || len(m.Voluntary) != n || len(m.Involuntary) != n {
		return fmt.Errorf("scheduling of %d processes, with columns of %d, %d, %d and %d", n, len(m.RunNs), len(m.WaitNs), len(m.Voluntary), len(m.Involuntary))
	}
	for i, id := range m.Process {
		p := s.processes[id]
		switch {
		case p == nil:
			return fmt.Errorf("scheduling of unknown process %016x", id)
		case max(m.RunNs[i], m.WaitNs[i]) > maxAmount || max(m.Voluntary[i], m.Involuntary[i]) > maxCount:
			return fmt.Errorf("process %016x ran for %d ns and waited for %d, with %d and %d switches", id, m.RunNs[i], m.WaitNs[i], m.Voluntary[i], m.Involuntary[i])
		}
		p.Scheduling = &Scheduling{RunNS: m.RunNs[i], WaitNS: m.WaitNs[i], Voluntary: m.Voluntary[i], Involuntary: m.Involuntary[i]}
	}
	if n > 0 {
		return nil
	}
	if max(m.BusyNs, m.StealNs) > maxAmount {
		return fmt.Errorf("the node's cores ran for %d ns, and were to for %d", m.BusyNs, m.StealNs)
	}
	if before := a.scheduling[1]; before != nil { // of an agent that was killed, perhaps
		m.Cores, m.AtOnce = max(m.Cores, before.Cores), max(m.AtOnce, before.AtOnce)
	} else {
		a.scheduling[0] = m
	}
	a.scheduling[1] = m
	return nil
}
