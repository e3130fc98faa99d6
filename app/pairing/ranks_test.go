package pairing

import (
	"slices"
	"strings"
	"testing"
)

// Ranks of a list are those of the run; of several worlds each world's, or one's.
func TestRankList(t *testing.T) {
	ranks := solve(t, "worlds", Question{}).Ranks
	for text, want := range map[string][]int{"0": {0, 4}, "1-2": {1, 2, 5}, "3,1:1": {3, 5}, "0:0-9": {0, 1, 2, 3}, "1:0, 1": {1, 4, 5}} {
		var l RankList
		if err := l.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := l.Of(ranks); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1-", "-1", "a", "2-1", "1:", ":1", "x:1", "1,,2", "99999999999"} {
		var l RankList
		if err := l.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, l)
		}
	}
	for text, want := range map[string]string{"7": "no rank 7 is recorded", "0,1:2-3": "no rank 1:2-3 is recorded", "2:0": "no rank 2:0"} {
		var l RankList
		if err := l.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Of(ranks); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
