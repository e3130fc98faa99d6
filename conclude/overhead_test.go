package conclude

import (
	"math"
	"testing"
	"time"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
)

// The time of each process counts once, of agents that did not finish as last reported.
func TestOverhead(t *testing.T) {
	done := func(ns uint64, shared bool) *store.Agent {
		return &store.Agent{Hello: &moriensv1.Hello{}, Done: &moriensv1.Done{CpuNs: ns, Shared: shared}}
	}
	killed := &store.Agent{Hello: &moriensv1.Hello{}, Samples: map[moriensv1.Clock][]*moriensv1.ClockSample{1: {{CpuNs: 1e9}, {CpuNs: 5e8 + 1e9}}}}
	within := &store.Agent{Hello: &moriensv1.Hello{Shared: true}, Samples: killed.Samples}
	silent := &store.Agent{Hello: &moriensv1.Hello{}}
	unknown := math.NaN()
	for name, tt := range map[string]struct {
		agents           []*store.Agent
		cpu              time.Duration
		agent, collector float64
		shared           bool
	}{
		"nobody":                       {nil, time.Second, 0, 1, false},
		"agents of their own":          {[]*store.Agent{done(2e9, false), killed}, time.Second, 3.5, 1, false},
		"one process":                  {[]*store.Agent{done(9e8, true)}, time.Second, 0, 1, true},
		"one process, killed":          {[]*store.Agent{within, done(2e9, false)}, time.Second, 2, 1, true},
		"an agent that said nothing":   {[]*store.Agent{silent, killed}, time.Second, unknown, 1, false},
		"an unknown earlier collector": {[]*store.Agent{killed}, 0, 1.5, unknown, false},
	} {
		o := overheadOf(&store.Frozen{Agents: tt.agents, Collector: store.Collector{CPU: tt.cpu}})
		same := func(got, want float64) bool { return got == want || math.IsNaN(got) && math.IsNaN(want) }
		if !same(float64(o.AgentSeconds), tt.agent) || !same(float64(o.CollectorSeconds), tt.collector) || o.Shared != tt.shared {
			t.Errorf("%s: %+v", name, o)
		}
	}
}
