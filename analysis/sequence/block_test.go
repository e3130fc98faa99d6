package sequence

import (
	"testing"

	"pgregory.net/rapid"
)

// A block finds as many pairs as the longest common subsequence has, whatever labels share a column.
func TestBlockIsLongest(t *testing.T) {
	const count = 5
	b := block{place: make([]int32, count)}
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.Int32Range(0, count-1)
		p := &profile{threads: 3}
		var columns []int32
		for i, labels := range rapid.SliceOfN(rapid.SliceOfN(label, 1, 3), 0, 150).Draw(t, "columns") {
			p.columns = append(p.columns, newColumn(labels[0], 1))
			columns = append(columns, int32(i))
			for _, l := range labels[1:] {
				p.add(int32(i), l, 1)
			}
		}
		bursts := rapid.SliceOfN(label, 0, 90).Draw(t, "bursts")
		longest := make([]int, len(bursts)+1)
		for i := range p.columns {
			diagonal := 0
			for j, l := range bursts {
				above := longest[j+1]
				if p.threadsWith(&p.columns[i], l) > 0 {
					longest[j+1] = diagonal + 1
				}
				longest[j+1] = max(longest[j+1], longest[j], above)
				diagonal = above
			}
		}
		found := b.common(p, columns, bursts)
		last := match{int32(len(columns)), int32(len(bursts))}
		for _, m := range found {
			if m.column >= last.column || m.burst >= last.burst || p.threadsWith(&p.columns[m.column], bursts[m.burst]) == 0 {
				t.Fatalf("%v", found)
			}
			last = m
		}
		if len(found) != longest[len(bursts)] {
			t.Fatalf("%d pairs, want %d", len(found), longest[len(bursts)])
		}
	})
}

// What differs at one place goes to one column, in a block as between blocks.
func TestBlockPairsWhatDiffers(t *testing.T) {
	b := block{place: make([]int32, 9)}
	p := &profile{threads: 1}
	for _, l := range []int32{1, 2, 3, 4, 5} {
		p.columns = append(p.columns, newColumn(l, 1))
	}
	found := b.common(p, []int32{0, 1, 2, 3, 4}, []int32{1, 2, 8, 4, 5})
	for i, want := range []int32{4, 3, 1, 0} {
		if len(found) != 4 || found[i] != (match{want, want}) {
			t.Fatalf("%v", found)
		}
	}
}

// A piece's own columns come right behind what it shares.
func TestJoinPutsColumnsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &profile{threads: 1}
		for i := range rapid.IntRange(0, 12).Draw(t, "columns") {
			p.columns = append(p.columns, newColumn(int32(i), 1))
		}
		x := piece{threads: 1}
		var at, want []int32
		next := 0
		for range rapid.IntRange(0, 15).Draw(t, "bursts") {
			label := int32(100 + len(at))
			if left := len(p.columns) - next; left > 0 && rapid.Bool().Draw(t, "shares") {
				to := next + rapid.IntRange(0, left-1).Draw(t, "skips")
				for ; next <= to; next++ {
					want = append(want, int32(next))
				}
				at, label = append(at, int32(to)), int32(to)
			} else {
				at, want = append(at, inserted), append(want, label)
			}
			x.labels = append(x.labels, label)
		}
		for ; next < len(p.columns); next++ {
			want = append(want, int32(next))
		}
		p.join(&x, at)
		if len(p.columns) != len(want) {
			t.Fatalf("%d columns, want %v", len(p.columns), want)
		}
		for i, c := range p.columns {
			if c.label != want[i] {
				t.Fatalf("column %d is of %d, want %v", i, c.label, want)
			}
		}
	})
}
