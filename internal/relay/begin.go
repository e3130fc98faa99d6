package relay

import (
	"fmt"

	"moriens/internal/team"
)

// Most is collective: it returns what most of all members' calls are on, of several the least; false where there are
// none.
func Most(t team.Threads, calls map[uint64]int64) (id uint64, some bool, err error) {
	var rows [][]int64
	for id, n := range calls {
		if n > 0 {
			rows = append(rows, []int64{int64(id), n})
		}
	}
	sum, err := t.Merge(1, team.MergeRows(1, rows))
	best := int64(0)
	for ; len(sum) > 0; sum = sum[2:] {
		if sum[1] > best {
			id, best = uint64(sum[0]), sum[1]
		}
	}
	return id, best > 0, err
}

// Calls are the calls round bursts, as a process numbers them: function and path of either, 0 and 0 where it is not
// known.
type Calls struct {
	Process       uint64
	Before, After [2]uint32
}

// callWords is how many numbers make Calls.
const callWords = 5

// Ask is collective: the first member says what number calls have, others learn it from their own.
func Ask(t team.Threads, list []Calls) ([]int64, error) {
	parts := make([][]int64, t.Size())
	for _, c := range list {
		parts[0] = append(parts[0], int64(c.Process), int64(c.Before[0]), int64(c.Before[1]), int64(c.After[0]), int64(c.After[1]))
	}
	if _, err := team.Exchange(t, parts); err != nil {
		return nil, err
	}
	numbers, err := team.Exchange(t, make([][]int64, t.Size()))
	if err != nil {
		return nil, err
	}
	if len(numbers[0]) != len(list) {
		return nil, fmt.Errorf("relay: %d numbers of %d calls", len(numbers[0]), len(list))
	}
	return numbers[0], nil
}

// Answer is Ask for the first member.
func Answer(t team.Threads, number func(c Calls) int64) error {
	asked, err := team.Exchange(t, make([][]int64, t.Size()))
	if err != nil {
		return err
	}
	answers := make([][]int64, t.Size())
	for rank, words := range asked {
		if len(words)%callWords != 0 {
			return &team.MisfitError{Member: rank, Err: fmt.Errorf("%d numbers of calls", len(words))}
		}
		for ; len(words) > 0; words = words[callWords:] {
			answers[rank] = append(answers[rank], number(Calls{
				uint64(words[0]), [2]uint32{uint32(words[1]), uint32(words[2])}, [2]uint32{uint32(words[3]), uint32(words[4])},
			}))
		}
	}
	_, err = team.Exchange(t, answers)
	return err
}
