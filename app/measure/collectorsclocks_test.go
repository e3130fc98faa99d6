package measure

import (
	"bufio"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"

	"moriens/collector"
	"moriens/collector/web"
	"moriens/conclude"
	"moriens/conclude/retention"
	"moriens/internal/rendezvous"
	"moriens/internal/shmabi"
	"moriens/internal/stage"
	"moriens/internal/ticks"
)

// Collectors on two hosts have clocks of their own, and so have their agents. What ranks did at one time is at one time
// in the run, though no agent has compared its clock with that of the other's collector, and no message ties them.
func TestTeamOfTwoClocks(t *testing.T) {
	t.Parallel()
	begin, err := ticks.Now(shmabi.ClockMonotonicRaw)
	if err != nil {
		t.Fatal(err)
	}
	clocks := []skewed{
		{beginNS: begin, offsetNS: 5_000_000_000, drift: 80e-6, identity: "one"},
		{beginNS: begin, offsetNS: 300_000_000_000, drift: -120e-6, identity: "other"},
	}
	c := newCollectors(t)
	c.clocks = []ticks.Clocks{clocks[0], clocks[1]}
	c.start(2)
	const calls = 200
	nodes := newSkewed(2)
	for rank, clock := range clocks {
		dir := nodes.agent(t, clock, c.find)
		c.awaitAgents(rank + 1) // the first agent belongs to the first collector
		nodes.rank(t, dir)
	}
	nodes.call(t, calls)
	nodes.finish()
	frozen := c.freeze()
	if len(frozen[0].Links) != 0 || len(frozen[1].Links) < 2 {
		t.Fatalf("links %v and %v", frozen[0].Links, frozen[1].Links)
	}
	results, errs := make([]*conclude.Result, 2), make([]error, 2)
	c.all(func(rank int, member *collector.Collector) {
		results[rank], errs[rank] = conclude.Conclude(t.Context(), conclude.End{
			Frozen: frozen[rank], Job: conclude.Job{Run: "run1"}, Options: byDuration, Keep: retention.Options{All: true},
			Stages: stage.Shared(0, member.Team()), Team: member.Team(),
		})
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	c.close(nodes.done, nodes.done)
	m := results[0].Manifest
	uncertain := 0.
	for _, x := range m.Clocks {
		uncertain = max(uncertain, float64(x.UncertaintyNS))
		if x.How != "reference" && x.How != "exchange" {
			t.Errorf("%+v", x)
		}
	}
	if len(m.Clocks) != 2 || uncertain == 0 || uncertain > 5e9 { // far from the offsets
		t.Fatalf("clocks %+v", m.Clocks)
	}
	a, b := &results[0].Run.Threads[0], &results[1].Run.Threads[1]
	if a.Calls.Len() != calls || b.Calls.Len() != calls {
		t.Fatalf("%d and %d calls", a.Calls.Len(), b.Calls.Len())
	}
	for i := range calls {
		if d := math.Abs(float64(a.Calls.ExitNS[i] - b.Calls.ExitNS[i])); d > uncertain+2*float64(m.Order.OffNS)+1 {
			t.Fatalf("call %d: %d and %d, said to be within %g", i, a.Calls.ExitNS[i], b.Calls.ExitNS[i], uncertain)
		}
	}
	t.Logf("uncertain by %g ns", uncertain)
}

// pageOf is what the page of a run shows now.
func pageOf(t *testing.T, meet rendezvous.Rendezvous) *web.Live {
	t.Helper()
	response, err := http.Get(meet.Page + web.LivePath + "?token=" + meet.PageToken)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
			page := new(web.Live)
			if err := json.Unmarshal([]byte(data), page); err != nil {
				t.Fatal(err)
			}
			return page
		}
	}
	t.Fatalf("no page: %v", lines.Err())
	return nil
}
