package team

import "slices"

// A Merger is a team that adds up tables itself: where what members say to each other goes through one of them, the sum
// goes down, and not every member's table to every other.
type Merger interface {
	// Merge is Threads.Merge.
	Merge(width int, rows []int64) ([]int64, error)
}

// Merge is collective: it returns the rows of all members, each a key of so many words and a count, by ascending key.
// Counts of one key are added up. Members give theirs ascending, each key once.
func (t Threads) Merge(width int, rows []int64) ([]int64, error) {
	if t.Size() == 1 {
		return rows, nil
	}
	if m, merges := t.Team.(Merger); merges {
		return m.Merge(width, rows)
	}
	all, err := Gather(t, rows)
	if err != nil {
		return nil, err
	}
	return MergeRows(width, all), nil
}

// MergeRows adds up tables as Threads.Merge does. It may return one of them.
func MergeRows(width int, tables [][]int64) []int64 {
	for len(tables) > 1 {
		var next [][]int64
		for pair := range slices.Chunk(tables, 2) {
			if len(pair) == 2 {
				pair[0] = mergeTwo(width, pair[0], pair[1])
			}
			next = append(next, pair[0])
		}
		tables = next
	}
	if len(tables) == 0 {
		return nil
	}
	return tables[0]
}

func mergeTwo(width int, a, b []int64) []int64 {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	sum := make([]int64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch slices.Compare(a[:width], b[:width]) {
		case -1:
			sum, a = append(sum, a[:width+1]...), a[width+1:]
		case 1:
			sum, b = append(sum, b[:width+1]...), b[width+1:]
		default:
			sum = append(append(sum, a[:width]...), a[width]+b[width])
			a, b = a[width+1:], b[width+1:]
		}
	}
	return append(append(sum, a...), b...)
}
