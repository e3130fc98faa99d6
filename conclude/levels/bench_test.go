package levels

import (
	"fmt"
	"slices"
	"testing"

	"moriens/analysis/period"
	"moriens/internal/testenv"
	"moriens/trace"
)

// BenchmarkLevels makes all that is kept of all ranks, of a halo program with 3 % noise: seconds of processor time of
// each step, of all cores, which other programs disturb less than the time on the clock.
func BenchmarkLevels(b *testing.B) {
	for _, size := range []struct{ ranks, iterations int }{{100, 5000}, {1000, 500}, {100, 50_000}, {1000, 5000}, {10_000, 500}} {
		b.Run(fmt.Sprintf("bursts=%d/ranks=%d", 2*size.ranks*size.iterations, size.ranks), func(b *testing.B) {
			run := halo(size.ranks, size.iterations, 5, 30)
			var phases []period.Phase
			b.ReportAllocs()
			for b.Loop() {
				last := testenv.ProcessorTime()
				step := func(name string, err error) {
					if err != nil {
						b.Fatal(err)
					}
					now := testenv.ProcessorTime()
					b.ReportMetric((now - last).Seconds(), "s-"+name)
					last = now
				}
				table := symbolsOf(b, run, 2)
				step("symbols", nil)
				if phases == nil {
					phases = periodsOf(b, run, table)
					last = testenv.ProcessorTime()
				}
				p, err := Profile(run, alone, phases, 2)
				step("profile", err)
				s, err := Structure(run, alone, table, 2)
				step("structure", err)
				spans := make([][]trace.Span, len(run.Threads))
				longest := slices.MaxFunc(phases, func(a, b period.Phase) int { return a.Iterations - b.Iterations })
				for _, i := range []int{0, 5} {
					begins := longest.Threads[i].Begins
					spans[i] = spansOf(run, []int{i}, int(begins[0]), int(begins[2]))[i]
				}
				kept, _, err := Keep(run, alone, spans, nil, 100_000, 2)
				step("keep", err)
				_, err = Evaluate(run, Kept{Bursts: kept, Spans: spans, Exact: p.Profile, Structure: s, Table: table, Phases: phases, Workers: 2})
				step("judge", err)
				profileFile, structureFile := filesOf(b, run, p, s, table)
				step("write", nil)
				b.ReportMetric(float64(len(profileFile))/1e6, "MB-profile")
				b.ReportMetric(float64(len(structureFile))/1e6, "MB-structure")
			}
		})
	}
}
