package fetch

import (
	"slices"
	"testing"
)

func TestRowsOfSpans(t *testing.T) {
	for _, tt := range []struct {
		list, want []rows
		lacking    int // of the rows 0 to 9
	}{
		{nil, nil, 10},
		{[]rows{{2, 4}}, []rows{{2, 4}}, 8},
		{[]rows{{3, 6}, {2, 4}}, []rows{{2, 6}}, 6},
		{[]rows{{2, 4}, {4, 5}, {7, 20}}, []rows{{2, 5}, {7, 20}}, 4},
		{[]rows{{0, 30}, {5, 6}}, []rows{{0, 30}}, 0},
	} {
		got := merged(slices.Clone(tt.list))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v merged: %v, want %v", tt.list, got, tt.want)
		}
		lacking := 0
		for _, r := range without(rows{0, 10}, got) {
			lacking += int(r.behind - r.first)
		}
		if lacking != tt.lacking {
			t.Errorf("%v leave %d of 10 rows, want %d", got, lacking, tt.lacking)
		}
	}
}
