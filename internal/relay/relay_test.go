package relay

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"moriens/internal/mpix"
	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
)

// meeting has calls of members that are goroutines combined.
type meeting struct {
	mu      sync.Mutex
	all     *sync.Cond
	calls   []Call
	arrived int
	turn    int
	given   [][]byte
	err     error
}

type seat struct {
	*meeting
	rank int
}

func (s seat) Call(c Call) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[s.rank] = c
	turn := s.turn
	if s.arrived++; s.arrived == len(s.calls) {
		s.given, s.err = Combine(s.calls)
		s.arrived, s.turn = 0, s.turn+1
		s.all.Broadcast()
	}
	for s.turn == turn {
		s.all.Wait()
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.given[s.rank], nil
}

func members(n int) []team.Team {
	m := &meeting{calls: make([]Call, n)}
	m.all = sync.NewCond(&m.mu)
	var list []team.Team
	for rank := range n {
		list = append(list, Member{seat{m, rank}, n, rank})
	}
	return list
}

// do makes calls of all sorts at each member, and returns their results by rank.
func do(all []team.Team, seed uint64) []string {
	made := make([]string, len(all))
	var wg sync.WaitGroup
	for rank, m := range all {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(rank)))
			shared := rand.New(rand.NewPCG(seed, 1<<40))
			t := team.Threads{Team: m}
			for range 20 {
				words := make([]int64, random.IntN(5))
				for i := range words {
					words[i] = random.Int64N(1<<62) - 1<<61
				}
				gathered, err := team.Gather(t, words)
				parts := make([][]int32, len(all))
				for i := range parts {
					parts[i] = make([]int32, random.IntN(3))
					for k := range parts[i] {
						parts[i][k] = random.Int32()
					}
				}
				exchanged, err2 := team.Exchange(t, parts)
				values := []int64{random.Int64N(1000), -random.Int64N(1000)}
				err3 := t.AllReduce(values, team.Op(shared.IntN(3)))
				var tables [][]int64
				for range random.IntN(20) {
					tables = append(tables, []int64{random.Int64N(3), random.Int64N(5) - 2, 1 + random.Int64N(9)})
				}
				merged, err4 := t.Merge(2, team.MergeRows(2, tables))
				made[rank] += fmt.Sprint(gathered, exchanged, values, merged, err, err2, err3, err4)
			}
		})
	}
	wg.Wait()
	return made
}

// Members that communicate through the first one receive what members of other teams do.
func TestMembers(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		seed := rand.Uint64()
		var others []team.Team
		for _, m := range mpix.Local(n) {
			others = append(others, m)
		}
		if got, want := do(members(n), seed), do(others, seed); !reflect.DeepEqual(got, want) {
			t.Errorf("%d members, seed %d:\n%q\nwant\n%q", n, seed, got, want)
		}
	}
}

// What a member gives that does not fit the call is an error, which says whose it is.
func TestMisfits(t *testing.T) {
	const sum, merge = moriensv1.CellsCall_OP_SUM, moriensv1.CellsCall_OP_MERGE
	gather := Call{Op: moriensv1.CellsCall_OP_GATHER}
	exchange := Call{Op: moriensv1.CellsCall_OP_EXCHANGE, Data: frame([][]byte{{1}, {2}})}
	for name, calls := range map[string][]Call{
		"another call":      {gather, exchange},
		"another width":     {{Op: merge, Width: 2}, {Op: merge, Width: 1}},
		"cut off":           {exchange, {Op: exchange.Op, Data: exchange.Data[:3]}},
		"too many parts":    {exchange, {Op: exchange.Op, Data: append(bytes.Clone(exchange.Data), 0)}},
		"no words":          {{Op: sum, Data: make([]byte, 8)}, {Op: sum, Data: make([]byte, 7)}},
		"other values":      {{Op: sum, Data: make([]byte, 8)}, {Op: sum, Data: make([]byte, 16)}},
		"rows cut off":      {{Op: merge, Width: 1}, {Op: merge, Width: 1, Data: bytesOf([]int64{1, 1, 1})}},
		"rows of nothing":   {{Op: merge, Width: 1}, {Op: merge, Width: 1, Data: bytesOf([]int64{1, 0})}},
		"rows that go back": {{Op: merge, Width: 1}, {Op: merge, Width: 1, Data: bytesOf([]int64{2, 1, 1, 1})}},
	} {
		_, err := Combine(calls)
		var misfit *team.MisfitError
		if !errors.As(err, &misfit) || misfit.Member != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Combine([]Call{{}, {}}); err == nil {
		t.Error("no call is one")
	}
}

// The first member numbers calls for the others, and all know what most calls are on.
func TestBegin(t *testing.T) {
	all := members(3)
	var wg sync.WaitGroup
	for rank, m := range all {
		wg.Go(func() {
			own := team.Threads{Team: m}
			id, some, err := Most(own, map[uint64]int64{7: int64(rank), 1 << 63: 1})
			if id != 1<<63 || !some || err != nil { // both have 3: the least, as signed words
				t.Errorf("member %d: most calls are on %d, %v, %v", rank, id, some, err)
			}
			if rank == 0 {
				if err := Answer(own, func(c Calls) int64 { return int64(c.Process) + int64(c.After[1]) }); err != nil {
					t.Error(err)
				}
				return
			}
			list := make([]Calls, rank)
			for i := range list {
				list[i] = Calls{Process: uint64(10 * rank), After: [2]uint32{1, uint32(i)}}
			}
			numbers, err := Ask(own, list)
			if err != nil || len(numbers) != rank || numbers[rank-1] != int64(11*rank-1) {
				t.Errorf("member %d: %v, %v", rank, numbers, err)
			}
		})
	}
	wg.Wait()
}
