package space

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The histogram finds the limit that the durations themselves give, when these are as coarse as it is.
func TestDurationsAreTheFilter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := rapid.SliceOfN(rapid.OneOf(
			rapid.Int64Range(0, 3000), rapid.Just(int64(777)), rapid.Int64Range(0, 1<<40), rapid.Int64Range(1<<41, 1<<45),
		), 0, 300).Draw(t, "durations")
		var h Durations
		if got := h.AutoMinNS(); got != 0 {
			t.Fatalf("of none: %d", got)
		}
		total := int64(0)
		for i, d := range durations {
			durations[i] = leastOf(bucket(d))
			if d < durations[i] || d > durations[i]+durations[i]/256 {
				t.Fatalf("%d is in the bucket of %d", d, durations[i])
			}
			h.Add(durations[i])
			total += durations[i]
		}
		if h.TotalNS() != total {
			t.Fatalf("total %d, want %d", h.TotalNS(), total)
		}
		s, err := New(Columns{DurationNS: durations}, []Dim{{Num: Duration, Scale: Log}})
		if err != nil {
			t.Fatal(err)
		}
		s.Workers = rapid.IntRange(0, 3).Draw(t, "workers")
		want, err := s.autoMinNS(total)
		if err != nil {
			t.Fatal(err)
		}
		got := h.AutoMinNS()
		// Equal durations go or stay together, in the one and in the other.
		if got != want {
			t.Fatalf("%d, want %d", got, want)
		}
	})
}

// Histograms of parts, that were written and read, are together that of all.
func TestMergeDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all, merged Durations
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			var part, read Durations
			for _, d := range rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 3000), rapid.Int64Range(0, 1<<45)), 0, 50).Draw(t, "durations") {
				all.Add(d)
				part.Add(d)
			}
			text, err := part.MarshalBinary()
			if err == nil {
				err = read.UnmarshalBinary(text)
			}
			if err != nil {
				t.Fatal(err)
			}
			merged.Merge(&read)
		}
		if all.count != merged.count || all.zeros != merged.zeros || all.total != merged.total || !slices.Equal(all.sums, merged.sums) {
			t.Fatalf("%d durations of %d ns, want %d of %d", merged.count, merged.total, all.count, all.total)
		}
	})
	var h Durations
	numbers := func(list ...uint64) (text []byte) {
		for _, n := range list {
			text = binary.AppendUvarint(text, n)
		}
		return text
	}
	for _, text := range [][]byte{
		nil, {1}, {1, 0, 5}, {1, 0, 255, 255, 255, 127, 1}, {0, 0, 1, 1},
		numbers(1<<63, 0), numbers(1, 0, 1, 1<<63), numbers(2, 0, 1, math.MaxInt64, 1, math.MaxInt64), numbers(2, 0, 1, 1, math.MaxUint64, 1),
	} {
		if h.UnmarshalBinary(text) == nil {
			t.Errorf("%v is read as %d durations of %d ns", text, h.count, h.total)
		}
	}
}

// Durations that are added by their sum are those of the mean.
func TestAddAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var one, alike Durations
		for range rapid.IntRange(0, 20).Draw(t, "kinds") {
			count, ns := rapid.Int64Range(1, 60).Draw(t, "count"), rapid.Int64Range(0, 1<<40).Draw(t, "ns")
			for range count {
				one.Add(ns)
			}
			alike.AddAlike(count, count*ns)
		}
		if one.AutoMinNS() != alike.AutoMinNS() || one.TotalNS() != alike.TotalNS() || !slices.Equal(one.sums, alike.sums) {
			t.Fatalf("limit %d, one by one %d", alike.AutoMinNS(), one.AutoMinNS())
		}
	})
}
