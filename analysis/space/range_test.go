package space_test

import (
	"math"
	"strings"
	"testing"

	"moriens/analysis/space"
)

func TestParseRange(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		spec string
		want space.Range
	}{
		{"duration=1.5ms..", space.Range{Num: "duration", Min: 1.5e6, Max: inf}},
		{"duration=..2e3", space.Range{Num: "duration", Min: -inf, Max: 2000}},
		{" IPC = 0.5 .. 2 ", space.Range{Num: "PAPI_TOT_INS", Den: "PAPI_TOT_CYC", Min: .5, Max: 2}},
		{"a::B:u/c::D:k=1..1", space.Range{Num: "a::B:u", Den: "c::D:k", Min: 1, Max: 1}},
		{"A=0.5..1.25", space.Range{Num: "A", Min: .5, Max: 1.25}},
	} {
		got, err := space.ParseRange(c.spec)
		if err != nil || got != c.want {
			t.Errorf("%q: %+v, %v, want %+v", c.spec, got, err, c.want)
			continue
		}
		if again, err := space.ParseRange(got.String()); err != nil || again != got {
			t.Errorf("%s reads back as %+v, %v", got, again, err)
		}
	}
	for spec, want := range map[string]string{
		"":                      "want QUANTITY=MIN..MAX",
		"IPC":                   "want QUANTITY=MIN..MAX",
		"IPC=1":                 "want QUANTITY=MIN..MAX",
		"=1..2":                 "names no quantity",
		"A/=1..2":               "no ratio",
		"IPC=..":                "no limit",
		"IPC=-inf..inf":         "no limit",
		"IPC=2..1":              "above",
		"IPC=nan..":             `"nan" is no number`,
		"IPC=1ms..":             `"1ms" is no number`,
		"A/duration=1s..":       `"1s" is no number`,
		"duration=1..2 parsecs": `"2 parsecs" is no number`,
	} {
		if r, err := space.ParseRange(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want an error that says %q", spec, r, err, want)
		}
	}
}
