package cells

import (
	"fmt"
	"math/rand/v2"
	"testing"

	keeping "moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/analysis/kinds/plant"
)

// BenchmarkTeam says what agents and the collector send each other to find kinds, and how long that takes them
// together, in one process.
func BenchmarkTeam(b *testing.B) {
	for _, x := range []struct {
		agents, bursts int
		disturbed      float64
	}{{10, 200_000, 0}, {10, 200_000, .12}, {40, 200_000, .12}, {40, 800_000, .12}} {
		b.Run(fmt.Sprintf("%d agents, %d bursts, %v disturbed", x.agents, x.bursts, x.disturbed), func(b *testing.B) {
			params := plant.Large(1, x.bursts, 80, x.disturbed)
			params.Anchors = true
			o := grouping.Options{Dims: logDuration, JobThreads: 80, Workers: 2}
			p := plantedAt(b, params.Run(), x.agents, 0, keeping.Config{Dims: o.Dims, By: o.By, Kinds: true}, rand.New(rand.NewPCG(1, 1)))
			for b.Loop() {
				c, _, r, err := p.kindsOf(b, o)
				if err != nil {
					b.Fatal(err)
				}
				way := c.Traffic().Team
				b.ReportMetric(float64(way.Down.Messages)/float64(x.agents), "asks/agent")
				b.ReportMetric(float64(way.Down.Bytes)/float64(x.agents), "B-down/agent")
				b.ReportMetric(float64(way.Up.Bytes)/float64(x.agents), "B-up/agent")
				b.ReportMetric(float64(c.Traffic().Split.Up.Bytes)/float64(x.agents), "B-split/agent")
				b.ReportMetric(float64(len(r.Clusters)), "clusters")
			}
		})
	}
}
