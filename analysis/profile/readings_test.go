package profile

import (
	"maps"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"moriens/analysis/phase"
)

// countsIn are, by region, the counters of all its rows, and the time in which they are estimated.
func countsIn(p *Profile) (counts map[int32][]int64, estimated map[int32]int64) {
	counts, estimated = make(map[int32][]int64), make(map[int32]int64)
	for _, r := range p.Rows {
		sums := counts[r.Region]
		if sums == nil {
			sums = make([]int64, len(r.Counters))
		}
		for c := range r.Counters {
			sums[c] += r.Counters[c].Total + r.Counters[c].MovedTotal
		}
		counts[r.Region] = sums
		estimated[r.Region] += r.EstimatedNS
	}
	return counts, estimated
}

// One burst of 1000 ns whose first tenth has all instructions and half of the cycles: read at the border that is what
// the phases have; shared by time the first has a tenth of both.
func TestReadAndShared(t *testing.T) {
	th := Thread{
		StartNS: []int64{5000}, DurationNS: []int64{1000}, After: make([]uint32, 1), Cluster: []int32{1}, Region: []int32{2},
		Counters: [][]int64{{1_000_000}, {400}}, Cuts: []phase.Cut{{Path: 1, NS: 100, EndNS: 5100}, {Path: 2, NS: 900, EndNS: 6000}},
	}
	for _, c := range []struct {
		what      string
		readings  Readings
		counts    map[int32][]int64
		estimated map[int32]int64
	}{
		{"shared", Readings{}, map[int32][]int64{1: {100_000, 40}, 2: {900_000, 360}}, map[int32]int64{1: 100, 2: 900}},
		{"read", Readings{[]int64{5100}, [][]int64{{1_000_000}, {200}}}, map[int32][]int64{1: {1_000_000, 200}, 2: {0, 200}}, map[int32]int64{1: 0, 2: 0}},
		{"one is not read", Readings{[]int64{5100}, [][]int64{{1_000_000}, {NotRead}}}, map[int32][]int64{1: {1_000_000, 40}, 2: {0, 360}}, map[int32]int64{1: 100, 2: 900}},
		{"set back", Readings{[]int64{5100}, [][]int64{{1_000_001}, {-1}}}, map[int32][]int64{1: {100_000, 40}, 2: {900_000, 360}}, map[int32]int64{1: 100, 2: 900}},
		{"elsewhere", Readings{[]int64{5000, 5099, 5101, 6000}, [][]int64{{1, 2, 3, 4}, {1, 2, 3, 4}}}, map[int32][]int64{1: {100_000, 40}, 2: {900_000, 360}}, map[int32]int64{1: 100, 2: 900}},
		{"twice at one time", Readings{[]int64{5100, 5100}, [][]int64{{7, 8}, {1, 2}}}, map[int32][]int64{1: {8, 2}, 2: {999_992, 398}}, map[int32]int64{1: 0, 2: 0}},
	} {
		th.Readings = c.readings
		p, err := Sum([]Thread{th}, Options{Counters: 2})
		if err != nil {
			t.Fatal(err)
		}
		if counts, estimated := countsIn(p); !reflect.DeepEqual(counts, c.counts) || !maps.Equal(estimated, c.estimated) {
			t.Errorf("%s: %v, %v ns estimated, want %v, %v", c.what, counts, estimated, c.counts, c.estimated)
		}
	}
	th.Readings = Readings{[]int64{5100}, [][]int64{{1}}}
	if _, err := Sum([]Thread{th}, Options{Counters: 2}); err == nil {
		t.Error("no error with columns of too few counters")
	}
	th.Readings = Readings{[]int64{5100, 5000}, [][]int64{{1, 2}, {1, 2}}}
	if _, err := Sum([]Thread{th}, Options{Counters: 2}); err == nil {
		t.Error("no error with times out of order")
	}
}

// cutRun draws threads whose bursts are cut anywhere, with what they had counted at borders: right, missing, or set
// back. want is what was counted in each region, allRead whether all borders say it.
func cutRun(t *rapid.T) (threads []Thread, whole []int64, want map[int32][]int64, allRead bool) {
	threads, whole, want, allRead = make([]Thread, rapid.IntRange(1, 4).Draw(t, "threads")), make([]int64, 2), make(map[int32][]int64), true
	spoils := rapid.Bool().Draw(t, "spoils")
	for i := range threads {
		th := &threads[i]
		th.Counters, th.Readings.Counters = make([][]int64, 2), make([][]int64, 2)
		now := int64(rapid.IntRange(0, 9).Draw(t, "begin"))
		for k := range rapid.IntRange(1, 12).Draw(t, "bursts") {
			n := rapid.IntRange(1, 5).Draw(t, "cuts")
			sign := int64(rapid.SampledFrom([]int{1, 1, 1, -1}).Draw(t, "sign"))
			var sums [2]int64
			begin := now
			for q := range n {
				path, ns := int32(rapid.IntRange(0, 3).Draw(t, "path")), int64(rapid.SampledFrom([]int{1, 2, 900, 1 << 40}).Draw(t, "ns"))
				now += ns
				if want[path] == nil {
					want[path] = make([]int64, 2)
				}
				for c := range sums {
					v := sign * int64(rapid.SampledFrom([]int{0, 1, 3, 1 << 40}).Draw(t, "count"))
					sums[c] += v
					whole[c] += v
					want[path][c] += v
				}
				if n > 1 {
					th.Cuts = append(th.Cuts, phase.Cut{Record: int32(k), Path: path, NS: ns, EndNS: now})
				}
				if q == n-1 {
					th.Region = append(th.Region, path)
					continue
				}
				fate := 0
				if spoils {
					fate = rapid.IntRange(0, 7).Draw(t, "fate")
				}
				allRead = allRead && fate != 1 && fate != 2
				if fate == 1 { // none
					continue
				}
				th.Readings.NS = append(th.Readings.NS, now)
				for c := range sums {
					v := sums[c]
					if fate == 2 && rapid.Bool().Draw(t, "spoilt") {
						v = rapid.SampledFrom([]int64{NotRead, -1 << 60, 1 << 60}).Draw(t, "instead")
					}
					th.Readings.Counters[c] = append(th.Readings.Counters[c], v)
				}
			}
			th.StartNS, th.DurationNS = append(th.StartNS, begin), append(th.DurationNS, now-begin)
			th.After, th.Cluster = append(th.After, 0), append(th.Cluster, rapid.Int32Range(0, 1).Draw(t, "cluster"))
			for c := range sums {
				th.Counters[c] = append(th.Counters[c], sums[c])
			}
			now += 10
		}
	}
	return threads, whole, want, allRead
}

// However bursts are cut: what all regions have is what the bursts have counted, of every counter, and where all
// borders were read, each region has what was counted in it, and nothing is estimated. Workers and a team change
// nothing.
func TestReadingsOfAnyCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threads, whole, want, allRead := cutRun(t)
		o := Options{Counters: 2}
		p, err := Sum(threads, o)
		if err != nil {
			t.Fatal(err)
		}
		counts, estimated := countsIn(p)
		all := make([]int64, 2)
		for path, list := range counts {
			for c, v := range list {
				all[c] += v
			}
			if w := want[path]; allRead && (!reflect.DeepEqual(list, w) || estimated[path] != 0) {
				t.Fatalf("region %d: %v, %d ns estimated, want %v", path, list, estimated[path], w)
			}
		}
		if !reflect.DeepEqual(all, whole) {
			t.Fatalf("all regions: %v, the bursts %v", all, whole)
		}
		for _, r := range p.Rows {
			if r.EstimatedNS < 0 || r.EstimatedNS > r.NS() {
				t.Fatalf("%d ns, %d of them estimated", r.NS(), r.EstimatedNS)
			}
		}
		o.Workers = 3
		if again, err := Sum(threads, o); err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("with 3 workers: %v\n%s", err, cmp.Diff(p, again))
		}
		of := rapid.SliceOfN(rapid.Int32Range(0, 2), len(threads), len(threads)).Draw(t, "owners")
		members, err := sumOn(3, of, threads, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			if d := cmp.Diff(p, m, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("on a team:\n%s", d)
			}
		}
	})
}
