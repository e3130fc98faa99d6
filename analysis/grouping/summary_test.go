package grouping_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds"
	"moriens/analysis/kinds/plant"
	"moriens/internal/testenv"
)

// What is reported of clusters, basins and joins names clusters by their numbers, and agrees with the clusters.
func TestSummaryAgreesWithTheClusters(t *testing.T) {
	seed := testenv.Seed(t)
	for i, p := range []plant.Params{
		plant.FourKinds(seed, 200, plant.Load4), plant.FourKinds(seed+1, 200, plant.Load20),
		plant.Turns(seed, 400), plant.ByCounters(seed, 150, plant.EightRanks), plant.FivePhases(seed), plant.Classes(seed, 200, plant.Load{}),
	} {
		run := p.Run()
		by := grouping.ByCalls
		if run.Counters != nil {
			by = grouping.ByNone
		}
		r, err := grouping.Compute(run.Bursts(), plantOptions(run, by))
		if err != nil {
			t.Fatal(err)
		}
		requireAccount(t, fmt.Sprintf("program %d", i), r)
	}
}

func requireAccount(t *testing.T, name string, r *grouping.Result) {
	known := func(id int32) bool { return id > 0 && int(id) <= len(r.Clusters) }
	for i := range r.Clusters {
		c := &r.Clusters[i]
		variant := c.Kind != c.ID
		switch {
		case variant != (c.By == kinds.ByChance || c.By == kinds.ByPlace), c.By != kinds.ByNothing && c.By != kinds.BySurroundings && !known(c.Other), c.Other == c.ID:
			t.Errorf("%s: cluster %d of kind %d: %v, of %d", name, c.ID, c.Kind, c.By, c.Other)
		case variant && !strings.HasPrefix(c.Why, fmt.Sprintf("variant of %d", c.Kind)), !variant && known(c.Other) && !strings.HasPrefix(c.Why, fmt.Sprintf("separate from %d: ", c.Other)):
			t.Errorf("%s: cluster %d of kind %d, of %d: %q", name, c.ID, c.Kind, c.Other, c.Why)
		case known(c.Other) && variant != (r.Clusters[c.Other-1].Kind == c.Kind):
			t.Errorf("%s: cluster %d of kind %d is %v of %d, of kind %d", name, c.ID, c.Kind, c.By, c.Other, r.Clusters[c.Other-1].Kind)
		case !variant && !slices.Contains(r.Kinds, c.ID):
			t.Errorf("%s: no burst is of kind %d", name, c.ID)
		case c.ExtraNS < 0:
			t.Errorf("%s: the disturbed bursts of kind %d take %d ns more than its median", name, c.ID, c.ExtraNS)
		}
	}
	round := 1
	joined := make(map[int32]bool)
	for _, j := range r.Joins {
		if j.Round < round || !known(j.To) || j.From != 0 && (!known(j.From) || r.Clusters[j.From-1].Kind != r.Clusters[j.To-1].Kind || joined[j.From]) || j.Bursts < 1 || j.Why == "" {
			t.Errorf("%s: after round %d: %+v", name, round, j)
		}
		round, joined[j.From] = j.Round, j.From != 0
	}
	for _, c := range r.Clusters {
		if c.By == kinds.ByChance && !joined[c.ID] && !joined[c.Other] {
			t.Errorf("%s: cluster %d is a variant, of which no join tells", name, c.ID)
		}
	}
	requireBasins(t, name, r)
}

func requireBasins(t *testing.T, name string, r *grouping.Result) {
	basinOf := make(map[int32]int)
	bursts := make([]int, len(r.Groups))
	for i, b := range r.Basins {
		inClusters := 0
		for _, id := range b.Clusters {
			if _, twice := basinOf[id]; twice || r.Clusters[id-1].Group != b.Group {
				t.Errorf("%s: cluster %d of group %d is of basin %d of group %d", name, id, r.Clusters[id-1].Group, i, b.Group)
			}
			basinOf[id] = i
			inClusters += r.Clusters[id-1].Bursts
		}
		bursts[b.Group] += b.Bursts
		alone := b.Eps == 0
		if inClusters > b.Bursts || alone != math.IsNaN(b.Valley) || b.Valley > .5 || b.Stratum < 1 {
			t.Errorf("%s: %d bursts in clusters of %+v", name, inClusters, b)
		}
		for dim := range b.From {
			if !(b.From[dim] < b.To[dim]) {
				t.Errorf("%s: %+v", name, b)
			}
		}
	}
	if len(basinOf) != len(r.Clusters) {
		t.Errorf("%s: %d of %d clusters are of basins", name, len(basinOf), len(r.Clusters))
	}
	for i, n := range bursts {
		if n != r.Groups[i].Bursts {
			t.Errorf("%s: basins of group %d have %d of its %d bursts", name, i, n, r.Groups[i].Bursts)
		}
	}
	for id, i := range basinOf {
		b, c := &r.Basins[i], &r.Clusters[id-1]
		if longest := b.To[0] * 1.01; len(b.From) == 1 && r.Speed == nil && (c.MedianNS < b.From[0]*.99 || c.MedianNS > longest) {
			t.Errorf("%s: the median of cluster %d, %v, is not in its basin, %+v", name, id, c.MedianNS, b)
		}
	}
}
