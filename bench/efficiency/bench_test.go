package main

import (
	"bytes"
	"strings"
	"testing"
)

// What was planted is found, however many locations and bursts there are, and each stage has a row. The figures are not
// checked.
func TestStages(t *testing.T) {
	for _, p := range []plan{{locations: 100, bursts: 40, rounds: 2}, {locations: 70, bursts: 200, rounds: 1}} {
		stages, err := timeStages(p.locations, p.bursts, p.rounds)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := printStages(&out, stages, p); err != nil {
			t.Fatal(err)
		}
		for _, row := range []string{"| Local | ", " members in one process | ", "| Solve, Clusters, Iterations | "} {
			if strings.Count(out.String(), row) != 1 {
				t.Errorf("no %q in\n%s", row, out.String())
			}
		}
	}
}
