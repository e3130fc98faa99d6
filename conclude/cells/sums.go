package cells

import (
	"context"
	"errors"
	"fmt"
	"math"

	"moriens/analysis/microcell"
	"moriens/analysis/profile"
	"moriens/analysis/represent"
	agentcells "moriens/collector/cells"
	"moriens/collector/store"
	"moriens/conclude/rebuild"
	"moriens/conclude/retention"
	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// A summed is sums of all threads.
type summed struct {
	byRing  map[uint64]*ringSums
	classes *sumClasses // nil: threads are not distinguished
	phases  phasesByRing
	older   map[uint64]bool // agents that do not
	missing []string        // what there was no time for, or what agents did not send, and why
}

// ringSums are the sums of a ring.
type ringSums struct {
	rows []profile.Row // with the store's numbers of call paths, and counters in the order of the micro-cells'; Thread is 0
	// By class of MPI calls, and by kind, of which the first is none, as ranks are compared.
	callNS  [represent.OtherCalls + 1]int64
	kindNS  map[int32]int64
	records int64 // rows of calls
}

// sum has the agents take the labels, and asks them what all threads did by these.
func (a *asker) sum(ctx context.Context, c clustered) (s summed) {
	s.byRing, s.phases, s.older = make(map[uint64]*ringSums), make(phasesByRing), make(map[uint64]bool)
	if c.set == nil {
		return s
	}
	if c.result != nil && c.result.Labels != nil {
		if err := a.Asked.Label(ctx, c.result.Labels); err != nil && !errors.Is(err, agentcells.ErrLeft) {
			s.missing = append(s.missing, fmt.Sprintf("sums of ranks by clusters: %v", err))
			return s
		}
	}
	err := a.Asked.Sums(ctx, func(agent uint64, m *moriensv1.CellsSums) error { return s.take(a.Frozen, c.set, agent, m) })
	if err != nil && !errors.Is(err, agentcells.ErrLeft) {
		s.missing = append(s.missing, fmt.Sprintf("sums of ranks: %v", err))
	}
	for _, l := range a.Asked.Left() { // their answers are incomplete
		s.forget(a.Frozen, l.Agent)
	}
	s.classes, err = a.classify(c, s.byRing)
	if err != nil {
		s.missing = append(s.missing, fmt.Sprintf("ranks are not distinguished: %v", err))
	}
	return s
}

// forget drops the sums of an agent.
func (s *summed) forget(f *store.Frozen, agent uint64) {
	for id := range s.byRing {
		if r := f.Ring(id); r.Process.Agent.Hello.Agent == agent {
			delete(s.byRing, id)
		}
	}
	for id := range s.phases {
		if r := f.Ring(id); r.Process.Agent.Hello.Agent == agent {
			delete(s.phases, id)
		}
	}
	delete(s.older, agent)
}

// take takes a part of an agent's sums.
func (s *summed) take(f *store.Frozen, set *microcell.Set, agent uint64, m *moriensv1.CellsSums) error {
	counters, bursts := len(set.Counters), 0
	if err := s.phases.take(f, agent, m.Phases); err != nil {
		return err
	}
	known := len(m.Phase) > 0
	s.older[agent] = s.older[agent] || !known && len(m.Ring) > 0
	for i, ring := range m.Ring {
		r := f.Ring(ring)
		if r == nil || r.Process.Agent.Hello.Agent != agent {
			return fmt.Errorf("sums of ring %016x, which is not one of the agent's", ring)
		}
		of := s.byRing[ring]
		if of == nil {
			of = &ringSums{kindNS: make(map[int32]int64)}
			s.byRing[ring] = of
		}
		row := profile.Row{
			Key: profile.Key{
				Kind: profile.Computation, Path: f.Number(r.Process.Info.Process, m.Function[i], m.Path[i]), Cluster: m.Label[i], OfKind: m.Kind[i], Context: -1, Phase: -1,
			},
			Count: whole(m.Count[i]),
			Time:  sumOf(m.Records[i], whole(m.TotalNs[i]), m.SquaresHigh[i], m.SquaresLow[i], whole(m.MinNs[i]), whole(m.MaxNs[i])),
		}
		if known {
			row.Region, row.MovedNS, row.EstimatedNS = int32(min(m.Phase[i], math.MaxInt32)), m.MovedNs[i], whole(m.EstimatedNs[i])
		}
		if m.Call[i] {
			row.Kind, row.Cluster, row.OfKind = profile.MPI, 0, 0
			of.callNS[retention.CallClass(mpicall.ID(m.Function[i]).String())] += row.Time.Total
			of.records += row.Time.N
		} else {
			of.kindNS[max(row.OfKind, 0)] += row.Time.Total
			for k := bursts * counters; k < (bursts+1)*counters; k++ {
				c := profile.Counter{
					Sum:     sumOf(m.Read[k], m.Counter[k], m.CounterSquaresHigh[k], m.CounterSquaresLow[k], m.CounterMin[k], m.CounterMax[k]),
					Missing: max(row.Count-whole(m.Read[k]), 0),
				}
				if known {
					c.MovedTotal = m.CounterMoved[k]
				}
				row.Counters = append(row.Counters, c)
			}
			bursts++
		}
		of.rows = append(of.rows, row)
	}
	return nil
}

// sumClasses are the classes of the threads of a run.
type sumClasses struct {
	*represent.Classes
	of []int // threads that they are of, ascending: those whose sums arrived
}

// classify groups the threads by their sums.
func (a *asker) classify(c clustered, sums map[uint64]*ringSums) (*sumClasses, error) {
	var threads []retention.ThreadSum
	var of []int
	var names []string
	clusters := 1
	if c.result != nil {
		clusters += len(c.result.Clusters)
	}
	for i, r := range a.threads.Rings {
		s := sums[r.Info.Ring]
		if s == nil {
			continue
		}
		t := retention.ThreadSum{ClusterNS: make([]int64, clusters), CallNS: s.callNS}
		for label, ns := range s.kindNS {
			if int(label) >= clusters {
				return nil, fmt.Errorf("sums of cluster %d, of %d", label, clusters-1)
			}
			t.ClusterNS[label] += ns
		}
		t.Sent, t.Received = sentBy(r.Process)
		threads, of, names = append(threads, t), append(of, i), append(names, a.names[i])
	}
	found, err := retention.ClassifySums(threads, clusters, c.result != nil && c.result.Labels == nil, func(thread int) string { return names[thread] }, a.Keep)
	if err != nil || len(of) == 0 {
		return nil, err
	}
	return &sumClasses{found, of}, nil
}

// sentBy is how many bytes each thread of a process has sent and received, as the process has counted, whose threads
// share them evenly.
func sentBy(p *store.Process) (sent, received int64) {
	for x := range p.Sums.Of(moriensv1.Sums_WHAT_SITE) {
		share := whole(x.Bytes) / int64(max(len(rebuild.RingsOf(p)), 1))
		if rebuild.KindOf(x.Kind).Outgoing() {
			sent += share
		} else {
			received += share
		}
	}
	return sent, received
}
