package grouping_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds/plant"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
	"moriens/internal/testenv"
)

// lossy gives a run anchors, gaps and hosts.
func lossy(r *plant.Run, random *rand.Rand, nodes int) grouping.Bursts {
	b := r.Bursts()
	begin := 0
	b.Anchors = nil
	for t, end := range b.ThreadEnds {
		bursts := end - begin
		var gaps []int32
		for range random.IntN(4) {
			gaps = append(gaps, random.Int32N(int32(bursts+1)))
		}
		slices.Sort(gaps)
		b.Gaps, b.Nodes = append(b.Gaps, gaps), append(b.Nodes, int32(t%nodes))
		var anchors []sequence.Anchor
		for event := range uint64(8) {
			if t%3 > 0 || event%2 == 0 {
				anchors = append(anchors, sequence.Anchor{At: min(bursts, int(event+1)*bursts/9), Event: event})
			}
		}
		b.Anchors = append(b.Anchors, anchors)
		begin = end
	}
	return b
}

// Members and workers change no kind of bursts with gaps, anchors and hosts either, by calls or by counters.
func TestMembersChangeNoKindOfLossyRuns(t *testing.T) {
	seed := testenv.Seed(t)
	for _, c := range []struct {
		name  string
		nodes int
		by    grouping.By
		p     plant.Params
	}{
		{"by calls", 1, grouping.ByCalls, plant.FourKinds(seed, 60, plant.Load20)},
		{"by calls on three hosts", 3, grouping.ByCalls, plant.Classes(seed, 60, plant.Load4)},
		{"by none", 2, grouping.ByNone, plant.FourKinds(seed, 60, plant.Load4)},
		{"by counters", 2, grouping.ByNone, plant.ByCounters(seed, 60, plant.Load20)},
		{"by calls and counters", 1, grouping.ByCalls, plant.ByCounters(seed, 60, plant.Load4)},
	} {
		t.Run(c.name, func(t *testing.T) {
			random := testenv.Drawer(seed, c.name)
			r := c.p.Run()
			b, o := lossy(r, random, c.nodes), plantOptions(r, c.by)
			o.Workers = 1
			want := compute(t, b, o)
			requireKinds(t, want)
			for _, workers := range []int{2, 4, 8} {
				o.Workers = workers
				if got := compute(t, b, o); !slices.Equal(got.Kinds, want.Kinds) || !slices.Equal(got.Labels, want.Labels) || resultText(got) != resultText(want) {
					t.Errorf("%d workers: another result", workers)
				}
			}
			o.Workers = 2
			for members := 2; members <= 5; members++ {
				of := make([]int32, len(b.ThreadEnds))
				for i := range of {
					of[i] = random.Int32N(int32(members))
				}
				undo := grouping.SetWholeBursts([]int{1 << 16, 50}[members%2])
				got, errs := computeShared(b, o, of, members, nil)
				undo()
				requireSame(t, b, of, want, got, errs)
				next := make([]int, members)
				for thread, begin := 0, 0; thread < len(of); thread++ {
					n := b.ThreadEnds[thread] - begin
					m := of[thread]
					if !slices.Equal(got[m].Kinds[next[m]:next[m]+n], want.Kinds[begin:begin+n]) {
						t.Fatalf("%d members: thread %d has other kinds", members, thread)
					}
					next[m] += n
					begin += n
				}
			}
		})
	}
}

// The least that there can be, and the most, is a result.
func TestExtremes(t *testing.T) {
	n := 40
	repeat := func(ns ...int64) []int64 { return slices.Repeat(ns, n/len(ns)) }
	for _, c := range []struct {
		name      string
		durations []int64
		ends      []int
	}{
		{"one burst", []int64{1000}, []int{1}},
		{"one burst a thread", repeat(1000), []int{n / 2, n}},
		{"all equal", repeat(7), []int{n}},
		{"all 1 ns", repeat(1), []int{n / 2, n}},
		{"zero among others", repeat(0, 5), []int{n}},
		{"all zero", repeat(0), []int{n}},
		{"huge ones", append(repeat(5, 1<<20), 1<<62), []int{n + 1}},
		{"one huge one", []int64{1 << 62}, []int{1}},
		{"empty threads", repeat(3, 1000), []int{0, 0, n, n}},
		{"no bursts", nil, []int{0, 0}},
		{"no threads", nil, []int{}},
	} {
		for _, dims := range []string{"duration", "duration:lin", "PAPI_TOT_INS:log,IPC", "PAPI_TOT_INS,duration,IPC:log"} {
			for _, by := range []grouping.By{grouping.ByCalls, grouping.ByNone} {
				for _, counters := range []string{"there", "zero", "missing on some"} {
					b := grouping.Bursts{Columns: space.Columns{DurationNS: c.durations, CounterNames: []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}, Counters: make([][]int64, 2)}, ThreadEnds: c.ends}
					b.Before, b.After = make([]uint32, len(c.durations)), make([]uint32, len(c.durations))
					for i, ns := range c.durations {
						for k := range b.Counters {
							v := ns / int64(k+1)
							switch {
							case counters == "zero":
								v = 0
							case counters == "missing on some" && i < len(c.durations)/2:
								v = space.NotRead
							}
							b.Counters[k] = append(b.Counters[k], v)
						}
					}
					parsed, err := space.Parse(dims)
					if err != nil {
						t.Fatal(err)
					}
					for _, workers := range []int{1, 4} {
						r, err := grouping.Compute(b, grouping.Options{Dims: parsed, By: by, JobThreads: len(c.ends), Workers: workers})
						if err != nil {
							t.Errorf("%s, %s, by %v, counters %s: %v", c.name, dims, by, counters, err)
							continue
						}
						requireKinds(t, r)
					}
				}
			}
		}
	}
}

// Many groups of one burst are no clusters, and cost little.
func TestManyGroupsOfOneBurst(t *testing.T) {
	const n = 20_000
	b := grouping.Bursts{ThreadEnds: []int{n / 2, n}}
	for i := range n {
		b.DurationNS = append(b.DurationNS, int64(1000+i))
		b.Before, b.After = append(b.Before, uint32(i)), append(b.After, uint32(i+1))
	}
	r := compute(t, b, grouping.Options{Dims: logDuration, JobThreads: 2, Workers: 2})
	requireKinds(t, r)
	if len(r.Groups) != n {
		t.Errorf("%d groups", len(r.Groups))
	}
}

// Halt may become true whenever it is asked: the members have the same result or ErrHalted, all of them.
func TestHaltAtAnyMoment(t *testing.T) {
	r := plant.FourKinds(testenv.Seed(t), 40, plant.Load4).Run()
	b, o := r.Bursts(), plantOptions(r, grouping.ByCalls)
	of := make([]int32, len(b.ThreadEnds))
	for i := range of {
		of[i] = int32(i % 3)
	}
	for after := int64(0); ; after++ {
		var asked atomic.Int64
		results, errs := haltShared(b, o, of, 3, nil, func(rank int) func() bool {
			return func() bool { return rank == 1 && asked.Add(1) > after }
		})
		for rank, err := range errs {
			if (err == nil) != (errs[0] == nil) || err != nil && !errors.Is(err, grouping.ErrHalted) {
				t.Fatalf("asked %d times: members have %v", after, errs)
			}
			if err == nil {
				requireKinds(t, results[rank])
				if a, b := fmt.Sprintf("%+v", results[rank].Clusters), fmt.Sprintf("%+v", results[0].Clusters); a != b {
					t.Fatalf("asked %d times: member %d has clusters %s, member 0 %s", after, rank, a, b)
				}
			}
		}
		if asked.Load() <= after {
			if after < 5 {
				t.Errorf("asked %d times only", after)
			}
			return
		}
		after += after / 8
	}
}

// Slow by far is what comes out where a few bursts take 2^62 ns: sums of times may be near the largest number.
func TestHugeTimes(t *testing.T) {
	b := grouping.Bursts{Columns: space.Columns{DurationNS: []int64{math.MaxInt64 / 2, math.MaxInt64 / 2}}, ThreadEnds: []int{1, 2}, Before: make([]uint32, 2), After: make([]uint32, 2)}
	requireKinds(t, compute(t, b, grouping.Options{Dims: logDuration, JobThreads: 2, Workers: 2}))
}
