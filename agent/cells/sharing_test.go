package cells

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/phase"
)

// Where bursts of one sum have several labels, each label's rows add up to its time, each phase path's to the parts
// that lie in it, and nothing is lost, of times or of counts.
func TestCutsOfSharedSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &process{events: []int{1, 0}, sites: make([]site, 1)}
		r := &ring{process: p, sums: newSums()}
		const in = uint32(2*2 + 1) // path 2, cut
		by := &sharing{}
		wantEstimated, estimated := make(map[int32]int64), make(map[int32]int64)
		wantNS, wantCounts := make(map[int32]int64), make(map[int32][2]int64)
		all := int64(0)
		for range rapid.IntRange(1, 8).Draw(t, "bursts") {
			x := burst{in: in, counts: []int64{rapid.Int64Range(-3, 1<<40).Draw(t, "first"), rapid.SampledFrom([]int64{noCount, 0, 7, 1 << 50}).Draw(t, "second")}}
			for range rapid.IntRange(1, 5).Draw(t, "cuts") {
				c := phase.Cut{Path: int32(rapid.IntRange(0, 4).Draw(t, "path")), NS: int64(rapid.SampledFrom([]int{1, 2, 1000, 1 << 40}).Draw(t, "ns"))}
				x.cuts = append(x.cuts, c)
				x.ns += c.NS
				wantNS[c.Path] += c.NS
			}
			if rapid.Bool().Draw(t, "read") { // what each cut has counted is known
				x.parts, x.estimated = make([]int64, 2*len(x.cuts)), rapid.Bool().Draw(t, "partly")
				for event, v := range x.counts {
					if v != noCount {
						x.parts[2*rapid.IntRange(0, len(x.cuts)-1).Draw(t, "all in")+event] = v
					}
				}
			}
			for _, c := range x.cuts {
				if x.parts == nil || x.estimated {
					wantEstimated[c.Path] += c.NS
				}
			}
			all += x.ns
			r.sums.add(sumKey{in: in}, &x)
			by.add(labelled{int32(rapid.IntRange(1, 3).Draw(t, "label")), 1}, float64(x.ns)*rapid.Float64Range(.9, 1.1).Draw(t, "about"))
		}
		for _, part := range r.sums.cuts[0] {
			wantCounts[part.path] = [2]int64{part.counts[1], part.counts[0]}
		}
		s := newSumRows(r, 2)
		s.add(0, by)
		ns, counts, ofLabel, whole := make(map[int32]int64), make(map[int32][2]int64), make(map[labelled]int64), make(map[labelled]int64)
		var counted [2]int64
		for i := range s.rows {
			x := &s.rows[i]
			own := x.time.Total + x.moved
			estimated[x.path] += x.estimated
			if own < 0 || x.estimated < 0 || x.estimated > own {
				t.Fatalf("label %v, path %d: %d ns, %d of them estimated", x.of, x.path, own, x.estimated)
			}
			ns[x.path] += own
			ofLabel[x.of] += own
			whole[x.of] += x.time.Total
			c := counts[x.path]
			for k := range c {
				c[k] += x.counters[k].Total + x.shifted[k]
				counted[k] += x.counters[k].Total + x.shifted[k]
			}
			counts[x.path] = c
		}
		for path, want := range wantNS {
			if ns[path] != want || counts[path] != wantCounts[path] || estimated[path] != wantEstimated[path] {
				t.Fatalf("path %d: %d ns, %d estimated, counts %v, want %d, %d, %v", path, ns[path], estimated[path], counts[path], want, wantEstimated[path], wantCounts[path])
			}
		}
		for of, want := range whole {
			if ofLabel[of] != want {
				t.Fatalf("label %v: %d ns in all paths, want %d", of, ofLabel[of], want)
			}
		}
		if want := [2]int64{r.sums.counts[1].Total, r.sums.counts[0].Total}; counted != want {
			t.Fatalf("counted %v, want %v", counted, want)
		}
	})
}

// A table has the sums of its rows and columns, and is about their product.
func TestShareTable(t *testing.T) {
	if got := shareTable([]int64{30, 10, 0}, []int64{20, 0, 20}); !slices.EqualFunc(got, [][]int64{{15, 0, 15}, {5, 0, 5}, {0, 0, 0}}, slices.Equal[[]int64]) {
		t.Errorf("%v", got)
	}
	if got := shareTable([]int64{0}, []int64{0, 0}); got[0][0] != 0 || got[0][1] != 0 {
		t.Errorf("%v", got)
	}
}
