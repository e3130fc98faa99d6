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
	for want, o := range map[string]*rundir.Overhead{
		"agents 1.50 s, collector 500 ms of processor time; 500 ns per MPI call":            {AgentSeconds: 1.5, CollectorSeconds: .5, Calls: 4e6, NSPerCall: 500},
		"collector and agent in one process 2.00 s of processor time; 1.25 us per MPI call": {CollectorSeconds: 2, Shared: true, Calls: 1.6e6, NSPerCall: 1250},
		"agents 1.50 s, collector and agent in one process 500 ms of processor time":        {AgentSeconds: 1.5, CollectorSeconds: .5, Shared: true, NSPerCall: unknown},
		"agents an unknown amount, collector an unknown amount of processor time":           {AgentSeconds: unknown, CollectorSeconds: unknown, Calls: 3, NSPerCall: unknown},
		"": nil,
	} {
		if got := overhead(o); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		r := unequal()
		r.Manifest.Overhead = o
		var b strings.Builder
		if err := Long(&b, r); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "\noverhead: "+want+"\n") != (o != nil) || strings.Contains(b.String(), "overhead") != (o != nil) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
