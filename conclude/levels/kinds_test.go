package levels

import (
	"slices"
	"testing"

	"moriens/trace"
)

func TestSymbolsAreOfKinds(t *testing.T) {
	run := &trace.Run{
		CallPaths: make([]trace.CallPath, 2),
		Clusters:  []trace.Cluster{{ID: 1}, {ID: 2}},
		Threads:   []trace.Thread{{Bursts: trace.Bursts{StartNS: []int64{0, 5}, DurationNS: []int64{1, 2}, Before: []uint32{1, 1}, After: []uint32{1, 1}, Cluster: []int32{1, 2}}}},
	}
	run.Clusters[1].Kinship = trace.Kinship{MedianNS: 2, VariantOf: 1}
	run.Threads[0].Bursts.Kind = []int32{1, 1}
	table, err := Symbols(run, alone, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := []Symbol{{1, 1, 1}}; !slices.Equal(table.Symbols, want) {
		t.Errorf("symbols %v, want %v", table.Symbols, want)
	}
}
