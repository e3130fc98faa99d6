package phase_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"moriens/analysis/phase"
)

// Marks that a Stream takes in one by one, with what was done between them said at its end, give the paths, sums and
// cuts of the thread as a whole.
func TestAheadIsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.SampledFrom([]int64{0, 1, 2, 5, 30})
		begin := length.Draw(t, "begin")
		var marks []phase.Mark
		var whole phase.Records
		now := begin
		got := phase.Located{CallPath: []int32{}, BurstPath: []int32{}}
		var s phase.Stream
		s.Begin(begin)
		for range rapid.IntRange(0, 12).Draw(t, "parts") {
			from, what := now, phase.What(rapid.IntRange(0, 3).Draw(t, "what"))
			if now += 1 + length.Draw(t, "length"); what == phase.Unrecorded { // nothing is unrecorded next to each other
				whole.EnterNS, whole.ExitNS = append(whole.EnterNS, now), append(whole.ExitNS, now+1)
				now++
			}
			within := now
			if what == phase.Unrecorded {
				within--
			}
			at := from + 1 // a phase that begins with a part begins with what is ahead of it
			for range rapid.IntRange(0, 6).Draw(t, "marks") {
				if at += length.Draw(t, "to the mark"); at > within {
					break
				}
				m := phase.Mark{NS: at, Name: uint32(rapid.IntRange(1, 3).Draw(t, "name")), End: rapid.Bool().Draw(t, "end")}
				marks = append(marks, m)
				s.Mark(m, nil)
				if rapid.IntRange(0, 9).Draw(t, "asked") == 0 { // a copy that ends here changes nothing
					c := s.Clone()
					shares, _ := c.Over(within)
					c.Without(shares, phase.Unrecorded)
					c.Close()
				}
			}
			shares, counts := s.Over(within)
			cuts := func(record int) (list []phase.Cut) {
				if len(shares) == 1 && shares[0].Path == counts {
					return nil
				}
				for _, x := range shares {
					list = append(list, phase.Cut{Record: int32(record), Path: x.Path, NS: x.NS})
				}
				return list
			}
			switch what {
			case phase.Call, phase.Burst:
				got.Bursts = append(got.Bursts, cuts(len(whole.StartNS))...)
				got.BurstPath = append(got.BurstPath, counts)
				whole.StartNS, whole.DurationNS = append(whole.StartNS, from), append(whole.DurationNS, now-from)
			case phase.Paused:
				whole.Pauses = append(whole.Pauses, phase.Span{BeginNS: from, EndNS: now})
				s.Without(shares, what)
			case phase.Unrecorded:
				s.Without(shares, what)
				_, path := s.Over(now)
				got.CallPath = append(got.CallPath, path)
			}
		}
		var all phase.Stream
		all.Begin(begin)
		intervals := all.Stretch(marks, now).Intervals
		line, err := phase.Lay(begin, now, intervals)
		if err != nil {
			t.Fatal(err)
		}
		for i, from := range whole.StartNS {
			whole.CountsIn = append(whole.CountsIn, hasMost(intervals, from, from+whole.DurationNS[i]))
		}
		want := line.Locate(intervals, &whole, nil)
		want.Calls, want.Bursts = merged(want.Calls), merged(want.Bursts)
		sums, idle := s.Close()
		if d := cmp.Diff(line.Sums(), sums); d != "" {
			t.Fatalf("sums (-whole +one by one):\n%s", d)
		}
		got.Idle = idle
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("located (-whole +one by one):\n%s", d)
		}
		if b := s.Bytes(); b > 1<<14 {
			t.Fatalf("%d bytes", b)
		}
	})
}

// hasMost is the interval that is the innermost for most nanoseconds of a time, the one that is first to have as many.
func hasMost(intervals []phase.Interval, from, to int64) int32 {
	held, most := map[int32]int{}, int32(-1)
	for ns := from; ns < to; ns++ {
		innermost := int32(-1)
		for i, x := range intervals {
			if x.BeginNS <= ns && ns < x.EndNS {
				innermost = int32(i)
			}
		}
		if held[innermost]++; held[innermost] > held[most] || ns == from {
			most = innermost
		}
	}
	return most
}

// merged are the cuts of each record by path, without their ends.
func merged(cuts []phase.Cut) (all []phase.Cut) {
	for len(cuts) > 0 {
		n := 1
		for n < len(cuts) && cuts[n].Record == cuts[0].Record {
			n++
		}
		list, _ := phase.ByPath(cuts[:n])
		for k := range list {
			list[k].EndNS = 0
		}
		all, cuts = append(all, list...), cuts[n:]
	}
	return all
}

// A record that turns between two paths has a cut for each stay, and by path one of each, in the order in which they
// are first there.
func TestCutsByPath(t *testing.T) {
	var intervals []phase.Interval
	for i := range int64(1000) {
		intervals = append(intervals, phase.Interval{Name: uint32(1 + i%2), BeginNS: 10 + 5*i, EndNS: 13 + 5*i, Number: -1})
	}
	line, err := phase.Lay(0, 6000, intervals)
	if err != nil {
		t.Fatal(err)
	}
	got := line.Locate(intervals, &phase.Records{EnterNS: []int64{5}, ExitNS: []int64{5500}, StartNS: []int64{5500}, DurationNS: []int64{100}}, nil)
	if n := len(got.Calls); n != 2001 || got.Calls[0] != (phase.Cut{Path: 0, NS: 5, EndNS: 10}) || got.Calls[n-1] != (phase.Cut{Path: 0, NS: 492, EndNS: 5500}) {
		t.Errorf("%d cuts, %+v to %+v", n, got.Calls[0], got.Calls[n-1])
	}
	list, at := phase.ByPath(got.Calls)
	want := []phase.Cut{{Path: 0, NS: 5 + 2*1000 + 490, EndNS: 5500}, {Path: 1, NS: 1500, EndNS: 5003}, {Path: 2, NS: 1500, EndNS: 5008}}
	if d := cmp.Diff(want, list); d != "" || len(got.Bursts) > 0 || !slices.Equal(at[:4], []int{0, 1, 0, 2}) {
		t.Errorf("%v, %v, cuts of the call (-want +got):\n%s", got.Bursts, at[:4], d)
	}
	many := make([]phase.Cut, 0, 60)
	for i := range int32(60) {
		many = append(many, phase.Cut{Path: i % 20, NS: 1})
	}
	if list, at := phase.ByPath(many); len(list) != 20 || list[19] != (phase.Cut{Path: 19, NS: 3}) || at[59] != 19 {
		t.Errorf("of 20 paths: %v, %v", list, at)
	}
}
