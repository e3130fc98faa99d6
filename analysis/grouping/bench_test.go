package grouping_test

import (
	"fmt"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
)

func benchmarkCompute(b *testing.B, n, pairs int) {
	bursts := planted(n, pairs, 7)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := grouping.Compute(bursts, grouping.Options{
					Dims:   []space.Dim{{Num: space.Duration, Scale: space.Log}},
					Filter: space.Filter{Auto: true}, Workers: workers,
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "bursts/s")
		})
	}
}

func BenchmarkCompute10k(b *testing.B)         { benchmarkCompute(b, 10_000, 20) }
func BenchmarkCompute1M(b *testing.B)          { benchmarkCompute(b, 1_000_000, 20) }
func BenchmarkCompute10M(b *testing.B)         { benchmarkCompute(b, 10_000_000, 20) }
func BenchmarkCompute10MOneGroup(b *testing.B) { benchmarkCompute(b, 10_000_000, 1) }

func BenchmarkCompute1MCounters(b *testing.B) {
	bursts := withCounters(planted(1_000_000, 20, 7))
	dims, err := space.Parse("PAPI_TOT_INS:log,IPC")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		o := grouping.Options{Dims: dims, By: grouping.ByNone, Filter: space.Filter{Auto: true}, Workers: 2}
		if _, err := grouping.Compute(bursts, o); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEnd10M is the end of a run: 10 M bursts on 100 threads, scored and refined.
func BenchmarkEnd10M(b *testing.B) {
	bursts := planted(10_000_000, 20, 7)
	for i := range 100 {
		bursts.ThreadEnds = append(bursts.ThreadEnds, (i+1)*100_000)
	}
	for b.Loop() {
		r, err := grouping.Compute(bursts, grouping.Options{Dims: logDuration, Filter: space.Filter{Auto: true}, JobThreads: 100, Workers: 2})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(r.Score, "score")
		b.ReportMetric(float64(len(r.Tree.Levels)), "steps")
	}
}

// counting counts what a member sends to others.
type counting struct {
	team.Team
	bytes, calls *int64
}

func (c counting) AllGather(mine []byte) ([][]byte, error) {
	*c.bytes += int64(len(mine) * (c.Size() - 1))
	*c.calls++
	return c.Team.AllGather(mine)
}

func (c counting) AllToAll(parts [][]byte) ([][]byte, error) {
	for to, p := range parts {
		if to != c.Rank() {
			*c.bytes += int64(len(p))
		}
	}
	*c.calls++
	return c.Team.AllToAll(parts)
}

func (c counting) AllReduce(values []int64, op team.Op) error {
	if c.Size() > 1 {
		*c.bytes += int64(8 * len(values))
	}
	*c.calls++
	return c.Team.AllReduce(values, op)
}

// BenchmarkMembers1M is the end of a run of 1 M bursts on 100 threads, of which several members in this process have a
// share each: what they exchange.
func BenchmarkMembers1M(b *testing.B) {
	bursts := planted(1_000_000, 20, 7)
	for i := range 100 {
		bursts.ThreadEnds = append(bursts.ThreadEnds, (i+1)*10_000)
	}
	for _, c := range []struct {
		name string
		by   grouping.By
	}{{"groups", grouping.ByCalls}, {"one", grouping.ByNone}} {
		for _, members := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("%s/members=%d", c.name, members), func(b *testing.B) {
				of := make([]int32, 100)
				for i := range of {
					of[i] = int32(i * members / 100)
				}
				var bytes, calls int64
				for b.Loop() {
					sent, made := make([]int64, members), make([]int64, members)
					if _, err := mpixtest.Run(members, func(m team.Team) (*grouping.Result, error) {
						return grouping.Compute(share(bursts, of, m.Rank()), grouping.Options{
							Dims: logDuration, By: c.by, Filter: space.Filter{Auto: true}, JobThreads: 100,
							Team: team.Threads{Team: counting{m, &sent[m.Rank()], &made[m.Rank()]}, Of: of},
						})
					}); err != nil {
						b.Fatal(err)
					}
					bytes, calls = 0, made[0]
					for _, n := range sent {
						bytes += n
					}
				}
				b.ReportMetric(float64(bytes)/float64(bursts.Len()), "B/burst")
				b.ReportMetric(float64(calls), "calls")
			})
		}
	}
}
