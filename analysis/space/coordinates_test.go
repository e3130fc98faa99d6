package space_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/space"
)

func TestNormalise(t *testing.T) {
	s, err := space.New(space.Columns{
		DurationNS: []int64{100, 300, 200, 9000}, CounterNames: []string{"A", "B"},
		Counters: [][]int64{{1, 100, 10, 7}, {5, 5, 5, 5}},
	}, []space.Dim{{Num: space.Duration}, {Num: "A", Scale: space.Log}, {Num: "B", Scale: space.Log}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Unscaled(2, 4); got != 4 {
		t.Errorf("before: %v unscaled, want 4", got)
	}
	rows := []int32{0, 1, 2} // the range is theirs, not that of the last burst
	if err := s.Normalise(rows); err != nil {
		t.Fatal(err)
	}
	want := []float64{7, 0, 0, 0, 1, 1, 0, .5, .5, 0}
	got := s.Coordinates([]float64{7}, rows)
	if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-15 }) {
		t.Errorf("%v, want %v", got, want)
	}
	for j, want := range []float64{200, math.Log(10), math.Log(5)} {
		if v := s.Unscaled(j, .5*min(1, float64(2-j))); math.Abs(v-want) > 1e-12 {
			t.Errorf("dimension %d: %v unscaled, want %v", j, v, want)
		}
	}
	if err := s.Normalise(nil); err != nil {
		t.Fatal(err)
	}
	if got := s.Coordinates(nil, nil); len(got) != 0 {
		t.Errorf("of no bursts: %v", got)
	}
}

func TestNormalisedIsFrom0To1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := rapid.SliceOfN(rapid.Int64Range(1, math.MaxInt64), 1, 50).Draw(t, "durations")
		scale := rapid.SampledFrom([]space.Scale{space.Lin, space.Log}).Draw(t, "scale")
		s, err := space.New(space.Columns{DurationNS: durations}, []space.Dim{{Num: space.Duration, Scale: scale}})
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]int32, len(durations))
		for i := range rows {
			rows[i] = int32(i)
		}
		plain := s.Coordinates(nil, rows)
		if err := s.Normalise(rows); err != nil {
			t.Fatal(err)
		}
		got := s.Coordinates(nil, rows)
		constant := slices.Min(plain) == slices.Max(plain)
		if lo, hi := slices.Min(got), slices.Max(got); lo != 0 || hi != 1 && !constant || hi != 0 && constant {
			t.Fatalf("from %v to %v", lo, hi)
		}
		for i := range got {
			for j := range got {
				if plain[i] < plain[j] && got[i] > got[j] {
					t.Fatalf("%v and %v became %v and %v", plain[i], plain[j], got[i], got[j])
				}
			}
		}
	})
}
