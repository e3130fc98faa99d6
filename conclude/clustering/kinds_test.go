package clustering

import (
	"math"
	"slices"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds"
	"moriens/trace"
)

func threads(n int) *trace.Run {
	run := &trace.Run{Worlds: []trace.World{{Size: n}}}
	for rank := range n {
		run.Threads = append(run.Threads, trace.Thread{Rank: rank, Node: rank / 2})
	}
	return run
}

func TestSlowRanks(t *testing.T) {
	const compared = "; durations were corrected for this before clustering"
	for _, tt := range []struct {
		speed []float64
		want  string
	}{
		{nil, ""},
		{[]float64{1, 1.01, 1, 1}, ""},
		{[]float64{1, 1, 1.27, 1}, "typically rank 2 takes 27 % longer in all kinds" + compared},
		{[]float64{.8, 1, 1.3, 1}, "typically rank 2 takes 30 % longer, rank 0 takes 20 % less in all kinds" + compared},
		{[]float64{1.1, 1.2, 1.3, 1.4, 1.5, 1, 1}, "typically rank 4 takes 50 % longer, rank 3 takes 40 % longer, rank 2 takes 30 % longer, 2 more differ by less in all kinds" + compared},
		{[]float64{1, 1.3}, "typically rank 1 takes 30 % longer than rank 0 in all kinds" + compared},
		{[]float64{1, 1.042}, "typically rank 1 takes 4 % longer than rank 0 in all kinds" + compared},
		{[]float64{1, .5}, "typically rank 0 takes 100 % longer than rank 1 in all kinds" + compared},
	} {
		if got := slowRanks(threads(len(tt.speed)), tt.speed); got != tt.want {
			t.Errorf("speeds %v: %q, want %q", tt.speed, got, tt.want)
		}
	}
}

func TestKindNotes(t *testing.T) {
	of := func(id, kind int32, ns int64, bursts int) grouping.Cluster {
		return grouping.Cluster{ID: id, Kind: kind, Bursts: bursts, TimeNS: ns, Share: float64(ns) / 100, Kinship: grouping.Kinship{MedianNS: 1}}
	}
	result := &grouping.Result{
		Clusters: []grouping.Cluster{of(1, 1, 60, 9), of(2, 2, 10, 5), of(3, 1, 5, 3), of(4, 2, 4, 4)},
		Groups:   []grouping.Group{{Bursts: 7}, {Bursts: 2}},
	}
	o := &grouping.Options{By: grouping.ByCalls}
	got := kindNotes(threads(2), result, o)
	const mixed = "durations have several modes that order does not explain, in 14 % of the computing time: kind 2 (9 bursts)"
	want := []string{"kinds are not separated by order: no pair of calls has 4 bursts on each rank", mixed}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	result.Groups[0].Bursts = 8
	if got := kindNotes(threads(2), result, o); !slices.Equal(got, []string{mixed}) {
		t.Errorf("with enough bursts: %q", got)
	}
	for kind := int32(5); kind < 12; kind += 2 {
		result.Clusters = append(result.Clusters, of(kind, kind, 3, 2), of(kind+1, kind, 3, 1))
	}
	const more = "durations have several modes that order does not explain, in 38 % of the computing time: kind 2 (9 bursts), kind 5 (3 bursts), kind 7 (3 bursts), 2 more"
	if got := kindNotes(threads(2), result, o); !slices.Equal(got, []string{more}) {
		t.Errorf("many kinds: %q", got)
	}
	o.Kinds = grouping.KindsByDensity
	if got := kindNotes(threads(2), result, o); got != nil {
		t.Errorf("order was not asked, and yet %q", got)
	}
}

// Where clusters are not found by kinds, each is a kind.
func TestKindsAreClusters(t *testing.T) {
	run := threads(1)
	run.Threads[0].Bursts = trace.Bursts{StartNS: []int64{0, 5, 9}, DurationNS: []int64{1, 1, 1}, Kind: []int32{7, 7, 7}}
	result := &grouping.Result{Labels: []int32{1, -1, 2}, Kinds: []int32{1, -1, 2}, Clusters: []grouping.Cluster{{ID: 1}, {ID: 2}}}
	adopt(run, result)
	if b := &run.Threads[0].Bursts; b.Kind != nil || !slices.Equal(b.Kinds(), []int32{1, -1, 2}) || run.Clusters[1].Kind() != 2 || run.Clusters[1].Known() {
		t.Errorf("kinds %v, clusters %+v", b.Kinds(), run.Clusters)
	}
	for i := range result.Clusters {
		result.Clusters[i].Kind = 1
		result.Clusters[i].Kinship = grouping.Kinship{MedianNS: 5, Predicted: math.NaN(), Valley: .25, By: kinds.ByChance, Whole: grouping.Tally{Bursts: 4, TimeNS: 50}, Disturbed: grouping.Tally{Bursts: 2, TimeNS: 30}, ExtraNS: 20}
	}
	result.Kinds = []int32{1, 1, 1}
	adopt(run, result)
	want := trace.Kinship{VariantOf: 1, MedianNS: 5, Predicted: -1, Valley: .25, DistinctBy: "chance", KindBursts: 4, KindNS: 50, DisturbedBursts: 2, DisturbedNS: 30, ExtraNS: 20}
	if b := &run.Threads[0].Bursts; !slices.Equal(b.Kinds(), []int32{1, 1, 1}) || run.Clusters[1].Kinship != want || run.Clusters[0].Kind() != 1 || run.Clusters[0].VariantOf != 0 {
		t.Errorf("kinds %v, clusters %+v", b.Kinds(), run.Clusters)
	}
}

func TestGapsAndNodes(t *testing.T) {
	run := threads(4)
	if gaps(run) != nil {
		t.Error("nothing was lost, and yet there are gaps")
	}
	b := &run.Threads[2]
	b.Bursts.StartNS = []int64{10, 20, 30}
	b.Lost = []trace.Span{{BeginNS: 15, EndNS: 18}, {BeginNS: 40, EndNS: 50}}
	b.Pauses = []trace.Pause{{BeginNS: 12, EndNS: 14}, {BeginNS: 21, EndNS: 29}}
	if got := gaps(run); len(got) != 4 || got[0] != nil || !slices.Equal(got[2], []int32{1, 2, 3}) {
		t.Errorf("gaps %v", got)
	}
	if got := nodes(run); !slices.Equal(got, []int32{0, 0, 1, 1}) {
		t.Errorf("nodes %v", got)
	}
}
