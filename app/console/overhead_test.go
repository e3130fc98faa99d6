package console

import (
	"math"
	"strings"
	"testing"

	"moriens/trace/rundir"
)

// What measuring has taken is a line of the long summary; what is not known is said to be.
func TestOverhead(t *testing.T) {
	unknown := rundir.Number(math.NaN())
	apart := rundir.Overhead{AgentSeconds: 1.5, CollectorSeconds: .5, Calls: 4e6, NSPerCall: 500}
	for _, c := range []struct {
		want     string
		overhead *rundir.Overhead
		seconds  rundir.Number // of the run, of two threads
		agents   []rundir.Agent
		losses   rundir.Losses
	}{
		{want: "agents 1.50 s, collector 500 ms of processor time (2.00 % of the ranks' time); 500 ns per MPI call", overhead: &apart, seconds: 50},
		{want: "agents 1.50 s, collector 500 ms of processor time; 500 ns per MPI call", overhead: &apart},
		{
			want:     "agents at least 1.50 s, collector 500 ms of processor time (0.03 % of the ranks' time); 500 ns per MPI call",
			overhead: &apart, seconds: 4000, agents: []rundir.Agent{{}, {Restarts: 1}},
		},
		{
			want:     "agents at least 1.50 s, collector at least 500 ms of processor time; 500 ns per MPI call",
			overhead: &apart, losses: rundir.Losses{CollectorRestarts: 2, AgentsUnfinished: []string{"n1"}},
		},
		{
			want:     "collector and agent in one process 2.00 s of processor time (20.00 % of the ranks' time); 1.25 us per MPI call",
			overhead: &rundir.Overhead{CollectorSeconds: 2, Shared: true, Calls: 1.6e6, NSPerCall: 1250}, seconds: 5,
		},
		{
			want:     "agents 1.50 s, collector and agent in one process 500 ms of processor time",
			overhead: &rundir.Overhead{AgentSeconds: 1.5, CollectorSeconds: .5, Shared: true, NSPerCall: unknown},
		},
		{
			want:     "agents an unknown amount, collector an unknown amount of processor time",
			overhead: &rundir.Overhead{AgentSeconds: unknown, CollectorSeconds: unknown, Calls: 3, NSPerCall: unknown},
			seconds:  50, losses: rundir.Losses{CollectorRestarts: 1},
		},
		{want: "agents 1.50 s, collector 500 ms of processor time (less than 0.01 % of the ranks' time); 500 ns per MPI call", overhead: &apart, seconds: 40000},
		{seconds: 50},
	} {
		r := unequal()
		m := r.Manifest
		m.Overhead, m.Seconds, m.Agents = c.overhead, c.seconds, c.agents
		m.Losses.CollectorRestarts, m.Losses.AgentsUnfinished = c.losses.CollectorRestarts, c.losses.AgentsUnfinished
		if got := overhead(m, r.Efficiency); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		var b strings.Builder
		if err := Long(&b, r); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "\noverhead: "+c.want+"\n") != (c.want != "") || strings.Contains(b.String(), "overhead") != (c.want != "") {
			t.Errorf("%q is not in\n%s", c.want, b.String())
		}
	}
	r := unequal()
	r.Manifest.Overhead, r.Manifest.Seconds, r.Efficiency = &apart, 50, nil
	if got, want := overhead(r.Manifest, nil), "agents 1.50 s, collector 500 ms of processor time; 500 ns per MPI call"; got != want {
		t.Errorf("%q, want %q where the efficiency is not known", got, want)
	}
}
