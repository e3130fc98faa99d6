package live

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// However long a run, the history has the time of every code, in few bins.
func TestHistoryKeepsTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h history
		exact := make(map[int32]float64)
		end := int64(0)
		for range rapid.IntRange(0, 50).Draw(t, "times") {
			code := rapid.Int32Range(CodeMPI, CodeCluster+3).Draw(t, "code")
			from := rapid.Int64Range(-int64(1e9), int64(1e13)).Draw(t, "from")
			length := rapid.Int64Range(0, int64(1e12)).Draw(t, "length")
			h.add(code, from, from+length)
			if length > 0 {
				end = max(end, from+length)
			}
			exact[code] += float64(max(0, from+length)-max(0, from)) / 1e9
		}
		if len(h.bins) > historyBins {
			t.Fatalf("%d bins", len(h.bins))
		}
		if len(h.bins) > 0 && int64(len(h.bins))*h.binNS < end {
			t.Fatalf("%d bins of %d ns do not reach %d", len(h.bins), h.binNS, end)
		}
		named := []Cluster{{ID: 1}, {ID: 2}}
		p := h.profile(named)
		got := make(map[int32]float64)
		for _, row := range p.Seconds {
			for i, s := range row {
				got[p.Codes[i]] += s
			}
		}
		exact[CodeCluster] += exact[CodeCluster+3] // which is not named
		delete(exact, CodeCluster+3)
		for code, s := range exact {
			if math.Abs(got[code]-s) > 1e-6*max(s, 1) {
				t.Fatalf("code %d: %v s, want %v", code, got[code], s)
			}
		}
	})
}

// A time that no job takes, of a program that has overwritten its ring, costs neither the collector nor the time of
// others.
func TestHistoryOfImpossibleTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h history
		h.add(CodeNoise, 0, 1e9)
		time := rapid.OneOf(rapid.Int64Range(math.MaxInt64-10, math.MaxInt64), rapid.Int64Range(math.MaxInt64/2-10, math.MaxInt64), rapid.Int64())
		for range rapid.IntRange(1, 4).Draw(t, "times") {
			from, to := time.Draw(t, "from"), time.Draw(t, "to")
			if rapid.Bool().Draw(t, "spread") {
				h.spread(CodeMPI, from, to, 1e9)
			} else {
				h.add(CodeMPI, from, to)
			}
		}
		if len(h.bins) > historyBins || h.bins[0][CodeNoise] != 1e9 {
			t.Fatalf("%d bins, in the first %v", len(h.bins), h.bins[0])
		}
		for i, bin := range h.bins {
			if bin[CodeMPI] < 0 {
				t.Fatalf("bin %d has %d ns", i, bin[CodeMPI])
			}
		}
	})
}
