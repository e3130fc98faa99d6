package space_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/space"
)

const na = space.NotRead

func TestParse(t *testing.T) {
	for _, c := range []struct {
		spec string
		want []space.Dim
	}{
		{"duration", []space.Dim{{Num: "duration", Scale: space.Log}}},
		{"duration:lin", []space.Dim{{Num: "duration"}}},
		{"PAPI_TOT_INS:log,IPC", []space.Dim{{Num: "PAPI_TOT_INS", Scale: space.Log}, {Num: "PAPI_TOT_INS", Den: "PAPI_TOT_CYC"}}},
		{"IPC:log", []space.Dim{{Num: "PAPI_TOT_INS", Den: "PAPI_TOT_CYC", Scale: space.Log}}},
		{"PAPI_L1_DCM/PAPI_TOT_INS:log , duration:log", []space.Dim{
			{Num: "PAPI_L1_DCM", Den: "PAPI_TOT_INS", Scale: space.Log}, {Num: "duration", Scale: space.Log}}},
		{"perf::INSTRUCTIONS:u", []space.Dim{{Num: "perf::INSTRUCTIONS:u", Scale: space.Log}}},
		{"perf::INSTRUCTIONS:u:lin", []space.Dim{{Num: "perf::INSTRUCTIONS:u"}}},
		{"amd::A:log:lin", []space.Dim{{Num: "amd::A:log"}}},
		{"a::B:u/c::D:k:log", []space.Dim{{Num: "a::B:u", Den: "c::D:k", Scale: space.Log}}},
	} {
		got, err := space.Parse(c.spec)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", c.spec, got, err, c.want)
			continue
		}
		for _, d := range got {
			if again, err := space.Parse(d.String()); err != nil || len(again) != 1 || again[0] != d {
				t.Errorf("%s: %+v reads back as %+v, %v", d, d, again, err)
			}
		}
	}
	for spec, want := range map[string]string{
		"":                                  "names no quantity",
		"duration,,IPC":                     "names no quantity",
		":log":                              "names no quantity",
		"A/":                                "no ratio",
		"/B":                                "names no quantity",
		"A/B/C":                             "no ratio",
		"duration:ln":                       `"ln" is no scale`,
		"A/duration:cube":                   `"cube" is no scale`,
		"duration,duration:lin":             "twice",
		"IPC,PAPI_TOT_INS/PAPI_TOT_CYC:log": "twice",
		"a,b,c,d,e,f,g,h,i":                 "9 of them",
	} {
		if dims, err := space.Parse(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want an error that says %q", spec, dims, err, want)
		}
	}
}

func TestSelectByHand(t *testing.T) {
	columns := space.Columns{
		//                 0   1   2    3   4   5   6    7
		DurationNS:   []int64{0, 10, 50, 10, 99, 50, 700, 80},
		CounterNames: []string{"INS", "CYC"},
		Counters: [][]int64{
			{5, 0, 40, na, 90, 50, 1400, 100},
			{9, 5, na, 10, 0, 25, 700, 100},
		},
	}
	complete, missing, short, ranged := space.Complete, space.Missing, space.Short, space.OutOfRange
	for _, c := range []struct {
		dims   string
		filter space.Filter
		want   []space.Status
	}{
		{"duration", space.Filter{}, []space.Status{missing, complete, complete, complete, complete, complete, complete, complete}},
		{"duration", space.Filter{MinNS: 10}, []space.Status{short, complete, complete, complete, complete, complete, complete, complete}},
		{"duration:lin", space.Filter{}, slices.Repeat([]space.Status{complete}, 8)},
		{"duration:lin", space.Filter{MinNS: 50}, []space.Status{short, short, complete, short, complete, complete, complete, complete}},
		{"INS", space.Filter{}, []space.Status{complete, missing, complete, missing, complete, complete, complete, complete}},
		{"INS:lin", space.Filter{}, []space.Status{complete, complete, complete, missing, complete, complete, complete, complete}},
		{"INS/CYC", space.Filter{}, []space.Status{complete, complete, missing, missing, missing, complete, complete, complete}},
		{"INS/CYC:log", space.Filter{}, []space.Status{complete, missing, missing, missing, missing, complete, complete, complete}},
		// Not read before short before without a value before out of range.
		{"INS/CYC:log", space.Filter{MinNS: 50, Ranges: []space.Range{{Num: "CYC", Min: 50, Max: 500}}},
			[]space.Status{short, short, missing, missing, missing, ranged, ranged, complete}},
		// A range over what has no value leaves the burst out; its ends are inside.
		{"duration:lin", space.Filter{Ranges: []space.Range{{Num: "INS", Den: "CYC", Min: 1, Max: 2}}},
			[]space.Status{ranged, ranged, ranged, ranged, ranged, complete, complete, complete}},
	} {
		dims, err := space.Parse(c.dims)
		if err != nil {
			t.Fatal(err)
		}
		s, err := space.New(columns, dims)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Select(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Status, c.want) {
			t.Errorf("%s %+v: %v, want %v", c.dims, c.filter, got.Status, c.want)
		}
		if got.TotalNS() != 999 {
			t.Errorf("%s: %d ns in all, want 999", c.dims, got.TotalNS())
		}
		for status := range got.Bursts {
			bursts, time := 0, int64(0)
			for row, st := range c.want {
				if int(st) == status {
					bursts++
					time += columns.DurationNS[row]
				}
			}
			if got.Bursts[status] != bursts || got.TimeNS[status] != time {
				t.Errorf("%s: status %d has %d bursts of %d ns, want %d of %d", c.dims, status, got.Bursts[status], got.TimeNS[status], bursts, time)
			}
		}
	}
}

func TestCoordinates(t *testing.T) {
	columns := space.Columns{
		DurationNS:   []int64{1, 1000, 20},
		CounterNames: []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"},
		Counters:     [][]int64{{8, 100, 5}, {4, 400, 5}},
	}
	for _, c := range []struct {
		dims string
		want []float64 // of bursts 2, 0
	}{
		{"duration", []float64{math.Log(20), 0}},
		{"duration:lin", []float64{20, 1}},
		{"IPC", []float64{1, 2}},
		{"PAPI_TOT_INS,IPC:log,duration:lin", []float64{math.Log(5), 0, 20, math.Log(8), math.Log(2), 1}},
	} {
		dims, err := space.Parse(c.dims)
		if err != nil {
			t.Fatal(err)
		}
		s, err := space.New(columns, dims)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Coordinates([]float64{7}, []int32{2, 0}); !slices.Equal(got[1:], c.want) || got[0] != 7 {
			t.Errorf("%s: %v, want 7 and %v", c.dims, got, c.want)
		}
	}
}

func selected(t interface{ Fatal(...any) }, durations []int64, f space.Filter) *space.Selection {
	s, err := space.New(space.Columns{DurationNS: durations}, []space.Dim{{Num: space.Duration}})
	if err != nil {
		t.Fatal(err)
	}
	sel, err := s.Select(f)
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

func TestAutomaticMinimalDuration(t *testing.T) {
	for _, c := range []struct {
		name      string
		durations []int64
		minNS     int64
		short     int
	}{
		{"none", nil, 0, 0},
		{"no time", []int64{0, 0}, 0, 0},
		{"one", []int64{7}, 7, 0},
		// 10 of 1,000 is 1 %, not less.
		{"exactly 1 %", []int64{990, 10}, 10, 0},
		{"just below 1 %", []int64{991, 9}, 991, 1},
		// Both of 5 would be 10 of 1,000.
		{"ties stay together", []int64{5, 990, 5}, 5, 0},
		{"ties go together", []int64{4, 992, 4}, 992, 2},
		{"bursts of no time go", []int64{0, 0, 50, 50}, 50, 2},
		// 600 is the most that is less than 1 % of 60,050.
		{"near each other", []int64{601, 58849, 600}, 601, 1},
		{"the shortest go first", []int64{600, 3, 2, 400, 6}, 6, 2}, // 2+3 < 10.11 ≤ 2+3+6
	} {
		sel := selected(t, c.durations, space.Filter{Auto: true})
		if sel.MinNS != c.minNS || sel.Bursts[space.Short] != c.short {
			t.Errorf("%s: %d shorter than %d ns, want %d, %d", c.name, sel.Bursts[space.Short], sel.MinNS, c.short, c.minNS)
		}
	}
}

// One long start-up does not make all else too short to look at.
func TestAutomaticMinimalDurationBesideAStartUp(t *testing.T) {
	columns := space.Columns{DurationNS: []int64{60_000_000_000, 20_000_000_000}}
	for i := range int64(1000) {
		columns.DurationNS = append(columns.DurationNS, 1_000_000+i, 100)
	}
	s, err := space.New(columns, []space.Dim{{Num: space.Duration, Scale: space.Log}})
	if err != nil {
		t.Fatal(err)
	}
	selection, err := s.Select(space.Filter{Auto: true})
	if err != nil {
		t.Fatal(err)
	}
	if selection.Bursts[space.Short] < 1000 || selection.Bursts[space.Complete] < 980 {
		t.Errorf("%d bursts are too short, %d stay", selection.Bursts[space.Short], selection.Bursts[space.Complete])
	}
}

func TestAutomaticMinimalDurationIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.SampledFrom([]int64{3, 1000, 1e6, 1e12}).Draw(t, "scale")
		durations := rapid.SliceOfN(rapid.Int64Range(0, scale), 1, 400).Draw(t, "durations")
		sel := selected(t, durations, space.Filter{Auto: true})
		sorted := slices.Sorted(slices.Values(durations))
		var total int64
		for _, d := range durations {
			total += d
		}
		// The largest duration of a burst such that all shorter ones are less than 1 %.
		var want, sum int64
		for i, d := range sorted {
			if (i == 0 || d != sorted[i-1]) && sum*100 < total {
				want = d
			}
			sum += d
		}
		if sel.MinNS != want {
			t.Fatalf("%d ns, want %d", sel.MinNS, want)
		}
	})
}

func TestBadInput(t *testing.T) {
	duration := []space.Dim{{Num: space.Duration}}
	for _, c := range []struct {
		name    string
		columns space.Columns
		dims    []space.Dim
		want    string
	}{
		{"negative duration", space.Columns{DurationNS: []int64{1, -5}}, duration, "burst 1 lasts -5 ns"},
		{"short column", space.Columns{DurationNS: []int64{1, 5}, CounterNames: []string{"A"}, Counters: [][]int64{{1}}}, duration, "A has 1 values for 2"},
		{"nameless column", space.Columns{Counters: [][]int64{{}}}, duration, "0 counters have 1 columns"},
		{"no dimensions", space.Columns{}, nil, "0 dimensions"},
		{"nine dimensions", space.Columns{}, make([]space.Dim, 9), "9 dimensions"},
		{"no counters", space.Columns{}, []space.Dim{{Num: "B"}}, "no counter B: the bursts have none"},
		{"other counters", space.Columns{CounterNames: []string{"A", "C"}, Counters: [][]int64{{}, {}}}, []space.Dim{{Num: "A", Den: "B"}}, "no counter B: the bursts have A, C"},
	} {
		_, err := space.New(c.columns, c.dims)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to say %q", c.name, err, c.want)
		}
	}
	_, err := space.New(space.Columns{}, []space.Dim{{Num: "B"}})
	var unknown *space.UnknownCounterError
	if !errors.As(err, &unknown) || unknown.Name != "B" {
		t.Errorf("%v is no UnknownCounterError of B", err)
	}
	s, err := space.New(space.Columns{DurationNS: []int64{1 << 62, 1 << 61, 1 << 62}}, duration)
	if err != nil {
		t.Fatal(err)
	}
	for _, auto := range []bool{false, true} {
		if _, err := s.Select(space.Filter{Auto: auto}); !errors.Is(err, space.ErrTooLong) || !strings.Contains(err.Error(), "burst 2") {
			t.Errorf("292 years and more: %v", err)
		}
	}
	s, err = space.New(space.Columns{DurationNS: []int64{1}}, duration)
	if err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]space.Filter{
		"-1 ns":        {MinNS: -1},
		"one of them":  {MinNS: 5, Auto: true},
		"no counter B": {Ranges: []space.Range{{Num: "B"}}},
	} {
		if _, err := s.Select(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want it to say %q", f, err, want)
		}
	}
}
