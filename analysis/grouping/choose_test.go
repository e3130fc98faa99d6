package grouping

import (
	"strings"
	"testing"

	"moriens/analysis/space"
)

func TestChoose(t *testing.T) {
	both := []string{"sw:cpu-time", "PAPI_TOT_CYC", "PAPI_TOT_INS"}
	tests := []struct {
		name     string
		dims     string // empty: none asked for
		by       By
		counters []string
		want     string
		wantBy   By
		note     string // empty: none
	}{
		{"no counters", "", ByAuto, nil, "duration:log", ByCalls, ""},
		{"instructions alone", "", ByAuto, both[2:], "duration:log", ByCalls, ""},
		{"instructions and cycles", "", ByAuto, both, "PAPI_TOT_INS:log,IPC:lin", ByNone, ""},
		{"by calls all the same", "", ByCalls, both, "PAPI_TOT_INS:log,IPC:lin", ByCalls, ""},
		{"duration all the same", "duration:lin", ByAuto, both, "duration:lin", ByCalls, ""},
		{"a counter", "sw:cpu-time", ByAuto, both, "sw:cpu-time:log", ByNone, ""},
		{"a counter over time", "sw:cpu-time/duration", ByAuto, both, "sw:cpu-time/duration:lin", ByNone, ""},
		{"not measured", "duration,a::b/sw:cpu-time,a::b", ByAuto, both, "PAPI_TOT_INS:log,IPC:lin", ByNone, "a::b: not measured"},
		{"neither that nor these", "IPC", ByNone, both[:1], "duration:log", ByNone, "PAPI_TOT_INS, PAPI_TOT_CYC: not measured"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{By: tt.by}
			if tt.dims != "" {
				var err error
				if o.Dims, err = space.Parse(tt.dims); err != nil {
					t.Fatal(err)
				}
			}
			got, notes := o.Choose(tt.counters)
			if specOf(got.Dims) != tt.want || got.By != tt.wantBy {
				t.Errorf("%s by %v, want %s by %v", specOf(got.Dims), got.By, tt.want, tt.wantBy)
			}
			if len(notes) != min(len(tt.note), 1) || len(notes) > 0 && !strings.HasPrefix(notes[0], tt.note) {
				t.Errorf("notes %q", notes)
			}
		})
	}
}
