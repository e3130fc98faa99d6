package match

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Messages of which both sides report the ordinal are paired by it, but none of an ordinal that a side reports more
// than once, or does not know.
func TestPairByOrdinals(t *testing.T) {
	at := func(ordinals ...uint64) []Posting {
		list := make([]Posting, len(ordinals))
		for i, o := range ordinals {
			list[i] = Posting{Row: uint32(i), DoneRow: int64(i), Ordinal: o}
		}
		return list
	}
	for _, c := range []struct {
		name            string
		sends, receives []Posting
		want            [][2]uint32 // rows
	}{
		{"a part of each", at(3, 4, 7), at(2, 4, 3), [][2]uint32{{0, 2}, {1, 1}}},
		{"two and three receives that say the same", at(1, 2, 3), at(1, 2, 2, 3, 3, 3), [][2]uint32{{0, 0}}},
		{"two sends that say the same", at(1, 1, 2), at(1, 2), [][2]uint32{{2, 1}}},
		{"not known", at(0, 1), at(0, 1), [][2]uint32{{1, 1}}},
	} {
		var got [][2]uint32
		for _, p := range pairByOrdinals(Stream{}, &sides{c.sends, c.receives}) {
			got = append(got, [2]uint32{p.Send.Row, p.Receive.Row})
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}
