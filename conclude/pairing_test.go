package conclude

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Messages of which both sides tell the ordinal are pairs by that, but none of an ordinal that a side tells more than once, or does not know.
func TestPairByOrdinals(t *testing.T) {
	at := func(ordinals ...uint64) []posting {
		list := make([]posting, len(ordinals))
		for i, o := range ordinals {
			list[i] = posting{row: uint32(i), doneRow: int64(i), ordinal: o}
		}
		return list
	}
	for _, c := range []struct {
		name            string
		sends, receives []posting
		want            [][2]uint32 // rows
	}{
		{"a part of each", at(3, 4, 7), at(2, 4, 3), [][2]uint32{{0, 2}, {1, 1}}},
		{"two and three receives that say the same", at(1, 2, 3), at(1, 2, 2, 3, 3, 3), [][2]uint32{{0, 0}}},
		{"two sends that say the same", at(1, 1, 2), at(1, 2), [][2]uint32{{2, 1}}},
		{"not known", at(0, 1), at(0, 1), [][2]uint32{{1, 1}}},
	} {
		m := new(matching)
		m.pairByOrdinals(stream{}, &streamSides{c.sends, c.receives})
		var got [][2]uint32
		for _, p := range m.pairs {
			got = append(got, [2]uint32{p.send.row, p.receive.row})
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}
