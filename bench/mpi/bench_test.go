package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The points are the same however many members make them.
func TestShare(t *testing.T) {
	const rows = 3*block + 17
	want := share(rows, 0, 1).Coords
	if len(want) != rows*dims {
		t.Fatalf("%d coordinates of %d points", len(want), rows)
	}
	for _, n := range []int{2, 3, 7} {
		var got []float64
		for i := range n {
			got = append(got, share(rows, i, n).Coords...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d members make other points", n)
		}
	}
}

func TestAsMembers(t *testing.T) {
	var one result
	for _, n := range []int{1, 3} {
		var out bytes.Buffer
		if err := asMembers(&out, task{30_000, .006}, n); err != nil {
			t.Fatal(err)
		}
		var r result
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			one = r
		}
		var sent int64
		for _, s := range r.Stages {
			sent += s.Bytes
		}
		if r.Clusters != one.Clusters || r.Noise != one.Noise || r.Clusters < 5 || !(r.Seconds > 0) || (sent > 0) != (n > 1) {
			t.Errorf("%d members: %+v", n, r)
		}
	}
}

func TestWriteTables(t *testing.T) {
	var out bytes.Buffer
	made := task{1000, .1}
	writeTables(&out, []row{
		{transport: "goroutines", task: made, members: 1, low: 3, mid: 4, high: 5, processor: 4},
		{transport: "goroutines", task: made, members: 4, low: 2, mid: 2.5, high: 3, processor: 4.5, bytes: 2e6, stages: []stage{{"count", 1.5, 2, 1e6}}},
	}, 2)
	for _, want := range []string{
		"| 1000 | 1 | goroutines | 4.000 (3.000 – 5.000) | 100 % | 4.00 | 0.00 | 0.00 |\n",
		"| 1000 | 4, more than cores | goroutines | 2.500 (2.000 – 3.000) | 80 % | 4.50 | 2.00 | 2000.00 |\n",
		"| stage: s, MB, calls | goroutines, 1000 points, 1 | goroutines, 1000 points, 4 |\n|---|---|---|\n| count | - | 1.500, 1.00, 2 |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out)
		}
	}
}
