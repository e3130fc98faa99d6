package levels

import (
	"slices"
	"testing"

	"moriens/trace"
)

func TestByKind(t *testing.T) {
	run := &trace.Run{
		Clusters: []trace.Cluster{{ID: 1}, {ID: 2}},
		Threads:  []trace.Thread{{Bursts: trace.Bursts{StartNS: []int64{0, 5}, DurationNS: []int64{1, 2}, Before: []uint32{1, 1}, After: []uint32{1, 1}, Cluster: []int32{1, 2}}}},
	}
	if ByKind(run) != run {
		t.Error("clusters are kinds, and yet there is another run by kinds")
	}
	run.Clusters[1].Kinship = trace.Kinship{MedianNS: 2, VariantOf: 1}
	run.Threads[0].Bursts.Kind = []int32{1, 1}
	if got := ByKind(run).Threads[0].Bursts.Cluster; !slices.Equal(got, []int32{1, 1}) || !slices.Equal(run.Threads[0].Bursts.Cluster, []int32{1, 2}) {
		t.Errorf("by kinds %v, by clusters %v", got, run.Threads[0].Bursts.Cluster)
	}
	table, err := Symbols(run, alone, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := []Symbol{{1, 1, 1}}; !slices.Equal(table.Symbols, want) {
		t.Errorf("symbols %v, want %v", table.Symbols, want)
	}
}

// What a mean of is by chance is not alike.
func TestUnlike(t *testing.T) {
	clusters := []trace.Cluster{
		{ID: 1, Bursts: 100, TimeNS: 1000, MeanNS: 10, Kinship: trace.Kinship{MedianNS: 10, DisturbedNS: 20}},
		{ID: 2, Bursts: 100, TimeNS: 900, MeanNS: 9, Kinship: trace.Kinship{MedianNS: 9, DisturbedNS: 100}},
		{ID: 3, Bursts: 100, TimeNS: 800, MeanNS: 8, Kinship: trace.Kinship{MedianNS: 8}},
		{ID: 4, Bursts: 20, TimeNS: 20, MeanNS: 1, Kinship: trace.Kinship{MedianNS: 1, VariantOf: 3}},
		{ID: 5, Bursts: 2, TimeNS: 10, MeanNS: 5, Kinship: trace.Kinship{MedianNS: 5, VariantOf: 1}},
	}
	if got := unlike(clusters); !slices.Equal(got, []int32{2, 3}) {
		t.Errorf("kinds %v are not alike, want 2 and 3", got)
	}
}
