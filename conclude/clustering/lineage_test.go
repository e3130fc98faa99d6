package clustering

import (
	"slices"
	"testing"

	"moriens/analysis/refine"
)

func TestLineages(t *testing.T) {
	if lineages(nil) != nil {
		t.Error("without a tree there are lineages")
	}
	got := lineages(&refine.Tree{Lineages: []refine.Lineage{
		{Node: refine.Absent}, {Level: 0, Node: 0}, {Level: 0, Node: 12}, {From: 1, Level: 2, Node: 12}, {From: 3, Level: 6, Node: 4},
	}})
	if want := []string{"", "0", "12", "0 3:12", "0 3:12 7:4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
