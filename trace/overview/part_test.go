package overview_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/trace"
	"moriens/trace/overview"
	"moriens/trace/tracetest"
)

// The first bin of a row shows what the row's threads spend most time on in it, added up call by call and burst by
// burst.
func TestPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		if len(run.Threads) == 0 {
			return
		}
		first := rapid.IntRange(0, len(run.Threads)-1).Draw(t, "first")
		last := rapid.IntRange(first, len(run.Threads)-1).Draw(t, "last")
		begin := rapid.Int64Range(0, max(run.DurationNS, 1)).Draw(t, "begin")
		end := rapid.Int64Range(begin+1, begin+max(run.DurationNS, 1)).Draw(t, "end")
		rows, bins := rapid.IntRange(1, 5).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "bins")
		o := overview.Part(run, overview.Section{First: first, Last: last, BeginNS: begin, EndNS: end, Rows: rows, Bins: bins})
		if o.BeginNS != begin || o.EndNS != end || o.Bins != bins || len(o.Rows) > rows || o.Rows[0][0] != first || o.Rows[len(o.Rows)-1][1] != last {
			t.Fatalf("threads %d to %d, %d to %d ns: %+v", first, last, begin, end, o.Place())
		}
		edge := begin + (overview.Bins{Count: bins, EndNS: end - begin}).Edge(1)
		for row, threads := range o.Rows {
			spent, recorded := make(map[int]int64), int64(0)
			add := func(code int, fromNS, toNS int64) {
				if ns := min(toNS, edge) - max(fromNS, begin); ns > 0 {
					spent[code] += ns
					recorded += ns
				}
			}
			for i := threads[0]; i <= threads[1]; i++ {
				th := &run.Threads[i]
				for k, ns := range th.Calls.EnterNS {
					add(overview.MPI, ns, th.Calls.ExitNS[k])
				}
				for k, ns := range th.Bursts.StartNS {
					add(codeOf(th.Bursts.Cluster[k]), ns, ns+th.Bursts.DurationNS[k])
				}
			}
			all := (edge - begin) * int64(threads[1]-threads[0]+1)
			spent[overview.Nothing] = max(0, all-recorded)
			all = max(all, recorded)
			if all == 0 {
				continue
			}
			code, share := int(o.Cell[row*bins]), o.Share[row*bins]
			for other, ns := range spent {
				if ns > spent[code] {
					t.Fatalf("row %d shows code %d with %d ns, %d has %d", row, code, spent[code], other, ns)
				}
			}
			if exact := float64(spent[code]) / float64(all) * 255; math.Abs(float64(share)-exact) > 17 {
				t.Fatalf("row %d: code %d has %d/255 of it, should have %.1f", row, code, share, exact)
			}
		}
	})
}

// Threads that are in a call and a burst at once, for as long as can be drawn: each takes turns with the other.
func TestLongestPart(t *testing.T) {
	const threads = 3
	longest := overview.LongestNS(threads)
	run := &trace.Run{Clusters: []trace.Cluster{{ID: 1}}, DurationNS: longest, Threads: make([]trace.Thread, threads)}
	for i := range run.Threads {
		t := &run.Threads[i]
		t.Calls.EnterNS, t.Calls.ExitNS = []int64{0}, []int64{longest}
		t.Bursts.StartNS, t.Bursts.DurationNS, t.Bursts.Cluster = []int64{0}, []int64{longest}, []int32{1}
	}
	for _, bins := range []int{1, 2, 8} {
		o := overview.Part(run, overview.Section{Last: threads - 1, EndNS: longest, Rows: 1, Bins: bins})
		for bin := range bins {
			want := uint16([]int{overview.MPI, overview.Cluster + 1}[bin%2])
			if o.Cell[bin] != want || o.Share[bin] != 8*17 {
				t.Errorf("bin %d of %d: code %d has %d/255 of it, want code %d and half of it", bin, bins, o.Cell[bin], o.Share[bin], want)
			}
		}
	}
	o := overview.Part(run, overview.Section{Last: threads - 1, BeginNS: longest, EndNS: 2 * longest, Rows: 1, Bins: 2})
	if o.Cell[0] != overview.Nothing || o.Share[0] != math.MaxUint8 {
		t.Errorf("behind the run's end: code %d, %d/255", o.Cell[0], o.Share[0])
	}
}

func codeOf(label int32) int {
	switch {
	case label > 0:
		return overview.Cluster + int(label)
	case label == trace.LabelNoise:
		return overview.Noise
	case label == trace.LabelMissing:
		return overview.Missing
	}
	return overview.Filtered
}

// A part is none of the files of a run directory.
func TestPartIsNoFile(t *testing.T) {
	var b bytes.Buffer
	if err := overview.Part(striped(3, 10), overview.Section{Last: 2, BeginNS: 500, EndNS: 1500, Rows: 3, Bins: 10}).Write(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := overview.Read(&b, 3); err == nil || !strings.Contains(err.Error(), "a part of the run") {
		t.Errorf("%v", err)
	}
}
