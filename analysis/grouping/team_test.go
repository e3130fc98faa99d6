package grouping_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/grouping"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
	"moriens/internal/mpix"
	"moriens/internal/team"
)

// drawRun returns the bursts of a loop on some threads, which do it more or less alike.
func drawRun(t *rapid.T) grouping.Bursts {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	kinds := rapid.IntRange(1, 7).Draw(t, "kinds")
	paths := uint32(rapid.IntRange(1, 4).Draw(t, "paths"))
	width := rapid.SampledFrom([]float64{0, .01, .05, .3}).Draw(t, "width")
	odd := rapid.SampledFrom([]int{1 << 30, 200, 25}).Draw(t, "odd") // one in so many bursts is
	missing := rapid.SampledFrom([]int{1 << 30, 40}).Draw(t, "missing")
	anchored := rapid.SampledFrom([]string{"no", "all", "cut", "own"}).Draw(t, "anchors")
	b := grouping.Bursts{Columns: space.Columns{CounterNames: []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}, Counters: make([][]int64, 2)}}
	if anchored != "no" {
		b.Anchors = [][]sequence.Anchor{}
	}
	add := func(duration, ins, cyc float64, path uint32) {
		b.DurationNS = append(b.DurationNS, int64(duration))
		counts := []int64{int64(ins), int64(cyc)}
		if random.IntN(missing) == 0 {
			counts[random.IntN(2)] = space.NotRead
		}
		for k, v := range counts {
			b.Counters[k] = append(b.Counters[k], v)
		}
		b.Before, b.After = append(b.Before, 1+path%paths), append(b.After, 1+(path+1)%paths)
	}
	for thread := range rapid.IntRange(0, 6).Draw(t, "threads") {
		begin := b.Len()
		var anchors []sequence.Anchor
		iterations := rapid.IntRange(0, 40).Draw(t, "iterations")
		for i := range iterations {
			for k := range kinds {
				if random.IntN(odd) == 0 {
					continue
				}
				ins := 1e5 * math.Pow(3, float64(k)) * math.Exp(width*random.NormFloat64())
				ipc := (1 + .4*float64(k%3)) * math.Exp(width*random.NormFloat64())
				duration := ins / 3 / ipc
				if random.IntN(odd) == 0 {
					duration *= 1 + 5*random.Float64()
				}
				if k == 0 && thread%2 == 1 && kinds > 3 {
					duration, ins = duration*9, ins*9 // an alternative
				}
				add(duration, ins, ins/ipc, uint32(k))
			}
			if random.IntN(odd) == 0 { // short ones
				add(random.Float64()*30, random.Float64()*100, 90*random.Float64(), uint32(random.IntN(9)))
			}
			if random.IntN(4*odd) == 0 { // a rare kind that takes long
				add(3e9, 4e9, 7e9, 3)
			}
			event := uint64(i)
			if anchored == "own" && random.IntN(5) == 0 {
				event |= uint64(thread+1) << 32
			}
			anchors = append(anchors, sequence.Anchor{At: b.Len() - begin, Event: event})
		}
		b.ThreadEnds = append(b.ThreadEnds, b.Len())
		if anchored == "cut" {
			anchors = anchors[:random.IntN(len(anchors)+1)]
		}
		if anchored != "no" {
			b.Anchors = append(b.Anchors, anchors)
		}
	}
	if b.ThreadEnds == nil {
		b.ThreadEnds = []int{}
	}
	return b
}

func drawTeamOptions(t *rapid.T, b grouping.Bursts) grouping.Options {
	o := grouping.Options{
		By: rapid.SampledFrom([]grouping.By{grouping.ByCalls, grouping.ByNone}).Draw(t, "by"), JobThreads: len(b.ThreadEnds),
		Normalise: rapid.Bool().Draw(t, "normalise"), Workers: rapid.IntRange(1, 3).Draw(t, "workers"),
		Freeze: rapid.SampledFrom([]float64{0, .7, 1}).Draw(t, "freeze"),
	}
	o.Dims, _ = space.Parse(rapid.SampledFrom([]string{"duration", "PAPI_TOT_INS:log,IPC", "PAPI_TOT_INS,duration,IPC:log", "duration:lin"}).Draw(t, "dims"))
	switch rapid.IntRange(0, 3).Draw(t, "filter") {
	case 0:
		o.Filter.Auto = true
	case 1:
		o.Filter.MinNS = 40_000
		o.Filter.Ranges = []space.Range{{Num: space.Duration, Min: 50_000, Max: 1e9}}
	}
	switch rapid.IntRange(0, 4).Draw(t, "density") {
	case 0:
		o.Fixed = &grouping.Density{Eps: rapid.SampledFrom([]float64{0, .05, .4}).Draw(t, "eps"), MinPts: rapid.IntRange(1, 8).Draw(t, "fixed MinPts")}
	case 1:
		o.MinPts = rapid.IntRange(1, 12).Draw(t, "MinPts")
	case 2:
		o.Strict = true
	case 3:
		o.Resolution = -1
	}
	return o
}

// share gives a member of a team what it has of the bursts of all threads, whose owners are of.
func share(b grouping.Bursts, of []int32, member int) grouping.Bursts {
	s := grouping.Bursts{Columns: space.Columns{CounterNames: b.CounterNames, Counters: make([][]int64, len(b.Counters))}, ThreadEnds: []int{}}
	if b.Anchors != nil {
		s.Anchors = make([][]sequence.Anchor, len(b.Anchors))
	}
	if b.Gaps != nil {
		s.Gaps = make([][]int32, len(b.Gaps))
	}
	s.Nodes = b.Nodes
	begin := 0
	for thread, end := range b.ThreadEnds {
		if int(of[thread]) == member {
			s.DurationNS = append(s.DurationNS, b.DurationNS[begin:end]...)
			for k, column := range b.Counters {
				s.Counters[k] = append(s.Counters[k], column[begin:end]...)
			}
			if b.Before != nil {
				s.Before, s.After = append(s.Before, b.Before[begin:end]...), append(s.After, b.After[begin:end]...)
			}
			if b.Anchors != nil {
				s.Anchors[thread] = b.Anchors[thread]
			}
			if b.Gaps != nil {
				s.Gaps[thread] = b.Gaps[thread]
			}
		}
		s.ThreadEnds = append(s.ThreadEnds, s.Len())
		begin = end
	}
	return s
}

// computeShared is Compute by a team, whose members have the threads that of says: their results, by rank.
func computeShared(b grouping.Bursts, o grouping.Options, of []int32, members int, stop func(rank int) func() bool) ([]*grouping.Result, []error) {
	return haltShared(b, o, of, members, stop, nil)
}

// haltShared is computeShared where members may halt, too.
func haltShared(b grouping.Bursts, o grouping.Options, of []int32, members int, stop, halt func(rank int) func() bool) ([]*grouping.Result, []error) {
	results, errs := make([]*grouping.Result, members), make([]error, members)
	var wg sync.WaitGroup
	for rank, member := range mpix.Local(members) {
		wg.Go(func() {
			o := o
			o.Team = team.Threads{Team: member, Of: of}
			if stop != nil {
				o.Stop = stop(rank)
			}
			if halt != nil {
				o.Halt = halt(rank)
			}
			results[rank], errs[rank] = grouping.Compute(share(b, of, rank), o)
		})
	}
	wg.Wait()
	return results, errs
}

// resultText is the text of a result without its values per burst.
func resultText(r *grouping.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v %v %+v %+v %v %v %v %q\n", r.Selection.MinNS, r.Selection.Bursts, r.Selection.TimeNS, r.Noise, r.Clustered, r.TotalNS, r.Score, r.NoiseScore, r.Warnings)
	for _, k := range r.Clusters {
		fmt.Fprintf(&b, "%+v\n", k)
	}
	for _, g := range r.Groups {
		fmt.Fprintf(&b, "%+v\n", g)
	}
	for _, l := range r.Tree.Levels {
		fmt.Fprintf(&b, "%+v\n", l)
	}
	fmt.Fprintf(&b, "%v %v %v %q %v", r.Tree.Lineages, r.Tree.Chosen, r.Tree.Merged, r.Tree.Why, r.Resolution)
	return b.String()
}

// requireSame compares the results of the members with that of one process.
func requireSame(t interface {
	Fatalf(string, ...any)
}, b grouping.Bursts, of []int32, want *grouping.Result, got []*grouping.Result, errs []error) {
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%d members: %v", len(got), err)
	}
	text := resultText(want)
	for rank, r := range got {
		if s := resultText(r); s != text {
			t.Fatalf("member %d of %d:\n%s\none process:\n%s", rank, len(got), s, text)
		}
		var labels []int32
		var lineage []uint32
		var status []space.Status
		begin := 0
		for thread, end := range b.ThreadEnds {
			if int(of[thread]) == rank {
				labels = append(labels, want.Labels[begin:end]...)
				lineage = append(lineage, want.Lineage[begin:end]...)
				status = append(status, want.Selection.Status[begin:end]...)
			}
			begin = end
		}
		if !slices.Equal(r.Labels, labels) || !slices.Equal(r.Lineage, lineage) || !slices.Equal(r.Selection.Status, status) {
			t.Fatalf("member %d of %d: labels %v, want %v; lineages %v, want %v", rank, len(got), r.Labels, labels, r.Lineage, lineage)
		}
	}
}

// However many members share the threads of a run, each comes to what one process comes to, bit by bit.
func TestMembersDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		defer grouping.SetWholeBursts(rapid.SampledFrom([]int{0, 20, 1 << 16}).Draw(t, "whole"))()
		b := drawRun(t)
		o := drawTeamOptions(t, b)
		want, err := grouping.Compute(b, o)
		if err != nil {
			t.Fatal(err)
		}
		members := rapid.IntRange(1, 5).Draw(t, "members")
		of := rapid.SliceOfN(rapid.Int32Range(0, int32(members-1)), len(b.ThreadEnds), len(b.ThreadEnds)).Draw(t, "owners")
		got, errs := computeShared(b, o, of, members, nil)
		requireSame(t, b, of, want, got, errs)
	})
}

// So it is of bursts that are too many for any member to have all of them, and to ask each for its neighbours.
func TestMembersDoNotMatterToManyBursts(t *testing.T) {
	defer grouping.SetWholeBursts(1000)()
	b := withCounters(planted(10_404, 2, 11))
	for i := range 9 {
		b.ThreadEnds = append(b.ThreadEnds, 1156*(i+1))
	}
	for i := range b.DurationNS {
		if i%997 == 0 { // else there is nothing to refine
			b.Counters[0][i] += b.Counters[0][i] / 3
		}
	}
	three, four := []int32{2, 0, 1, 1, 0, 2, 2, 2, 0}, []int32{1, 3, 1, 1, 1, 1, 3, 1, 1}
	for _, c := range []struct {
		o  grouping.Options
		of []int32
	}{
		{grouping.Options{Dims: logDuration, By: grouping.ByCalls, Filter: space.Filter{Auto: true}}, four},
		{grouping.Options{Dims: countersDims, By: grouping.ByNone, Resolution: -1}, three},
		{grouping.Options{Dims: countersDims, By: grouping.ByNone, Normalise: true, Strict: true}, four},
		{grouping.Options{Dims: logDuration, By: grouping.ByNone, Resolution: .001}, three},
	} {
		c.o.JobThreads, c.o.Workers = 9, 2
		want := compute(t, b, c.o)
		got, errs := computeShared(b, c.o, c.of, int(slices.Max(c.of))+1, nil)
		requireSame(t, b, c.of, want, got, errs)
	}
}

// If one member has no time left the refinement ends at all of them, with the same result.
func TestOneMemberStopsAll(t *testing.T) {
	b, _ := manyKinds(30, 20)
	for i := range b.Counters[0] {
		if i%7 == 0 { // so that some threads differ, and there is something to refine
			b.Counters[0][i] += b.Counters[0][i] / 9
		}
	}
	o := grouping.Options{Dims: countersDims, By: grouping.ByNone, Strict: true}
	of := []int32{0, 2, 2, 0}
	whole := compute(t, b, o)
	for after := range 2 {
		asked := 0
		solo := o
		solo.Stop = func() bool { asked++; return asked > after }
		want := compute(t, b, solo)
		if len(whole.Tree.Levels) <= len(want.Tree.Levels) || !strings.Contains(strings.Join(want.Warnings, ";"), "no time to refine all densities") {
			t.Fatalf("%d levels, %d when stopped: the case shows nothing", len(whole.Tree.Levels), len(want.Tree.Levels))
		}
		got, errs := computeShared(b, o, of, 3, func(rank int) func() bool {
			asked := 0
			return func() bool { asked++; return rank == 1 && asked > after }
		})
		requireSame(t, b, of, want, got, errs)
	}
}

var countersDims = grouping.MustParse("PAPI_TOT_INS:log,IPC")

func TestErrorsReachAllMembers(t *testing.T) {
	good := planted(40, 2, 1)
	good.ThreadEnds = []int{10, 20, 40}
	of := []int32{0, 1, 1}
	o := grouping.Options{Dims: logDuration}
	for _, c := range []struct {
		name  string
		spoil func(*grouping.Bursts, *grouping.Options)
		want  string
	}{
		{"a negative duration", func(b *grouping.Bursts, _ *grouping.Options) { b.DurationNS[25] = -1 }, "burst 15 lasts -1 ns"},
		{"too long together", func(b *grouping.Bursts, _ *grouping.Options) {
			b.DurationNS[0], b.DurationNS[39] = math.MaxInt64/2, math.MaxInt64/2+1
		}, "over 292 years"},
		{"owners of other threads", func(_ *grouping.Bursts, o *grouping.Options) { o.Team.Of = of[:2] }, "owners of 2 threads for 3"},
	} {
		b := good
		b.DurationNS = slices.Clone(good.DurationNS)
		o := o
		c.spoil(&b, &o)
		var errs [2]error
		var wg sync.WaitGroup
		for rank, member := range mpix.Local(2) {
			wg.Go(func() {
				o := o
				o.Team.Team = member
				if o.Team.Of == nil {
					o.Team.Of = of
				}
				_, errs[rank] = grouping.Compute(share(b, of, rank), o)
			})
		}
		wg.Wait()
		if all := errors.Join(errs[:]...); errs[0] == nil || errs[1] == nil || !strings.Contains(all.Error(), c.want) {
			t.Errorf("%s: %v, %v, want both to fail and one to say %q", c.name, errs[0], errs[1], c.want)
		}
	}
	shared, errs := computeShared(good, o, of, 2, nil)
	if errors.Join(errs...) != nil || fmt.Sprint(shared[0].Clusters) != fmt.Sprint(shared[1].Clusters) {
		t.Errorf("without a fault: %v", errs)
	}
}
