package team

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// scripted is a member of a team whose others send prepared answers: by call of AllGather, by rank.
type scripted struct {
	Solo
	rank, size int
	others     [][][]byte
	call       *int
}

func (m scripted) Rank() int { return m.rank }
func (m scripted) Size() int { return m.size }

func (m scripted) AllGather(mine []byte) ([][]byte, error) {
	all := append([][]byte(nil), m.others[*m.call]...)
	all[m.rank] = mine
	*m.call++
	return all, nil
}

func TestZeroThreads(t *testing.T) {
	var all Threads
	if all.Rank() != 0 || all.Size() != 1 || !all.Mine(0) || !all.Mine(7) || all.Owner(7) != 0 {
		t.Errorf("member %d of %d, which has thread 7: %v", all.Rank(), all.Size(), all.Mine(7))
	}
	if err := all.Check(3); err != nil {
		t.Error(err)
	}
	lists := [][]int64{{1, 2}, nil, {3}}
	if got, err := ByThread(all, lists); err != nil || !reflect.DeepEqual(got, lists) {
		t.Errorf("%v, %v by thread", got, err)
	}
	if got, err := Gather(all, []int8{5}); err != nil || !reflect.DeepEqual(got, [][]int8{{5}}) {
		t.Errorf("gathered %v, %v", got, err)
	}
}

func TestCheckThreads(t *testing.T) {
	two := scripted{rank: 1, size: 2}
	for _, tt := range []struct {
		threads Threads
		count   int
		want    string
	}{
		{Threads{Of: []int32{0, 0}}, 2, ""},
		{Threads{Of: []int32{0}}, 2, "owners of 1 threads for 2"},
		{Threads{Of: []int32{0, 1}}, 2, "thread 1 is at member 1 of 1"},
		{Threads{Team: two, Of: []int32{1, 0, 1}}, 3, ""},
		{Threads{Team: two}, 3, "owners of 0 threads for 3"},
		{Threads{Team: two}, 0, ""},
		{Threads{Team: two, Of: []int32{-1}}, 1, "thread 0 is at member -1 of 2"},
	} {
		err := tt.threads.Check(tt.count)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("owners %v of %d threads: %v, want %q", tt.threads.Of, tt.count, err, tt.want)
		}
	}
}

func TestByThread(t *testing.T) {
	of := []int32{2, 0, 1, 0, 2}
	lists := [][]uint16{{1, 2, 3}, {4}, nil, {5, 6}, {7}}
	of0, of2 := bytesOf([]int64{1, 2}), bytesOf([]int64{3, 1})
	values0, values2 := bytesOf([]uint16{4, 5, 6}), bytesOf([]uint16{1, 2, 3, 7})
	for _, tt := range []struct {
		rank   int
		others [][][]byte
	}{
		{0, [][][]byte{{nil, bytesOf([]int64{0}), of2}, {nil, nil, values2}}},
		{1, [][][]byte{{of0, nil, of2}, {values0, nil, values2}}},
		{2, [][][]byte{{of0, bytesOf([]int64{0}), nil}, {values0, nil, nil}}},
	} {
		threads := Threads{Team: scripted{rank: tt.rank, size: 3, others: tt.others, call: new(int)}, Of: of}
		mine := make([][]uint16, len(of))
		for i := range of {
			mine[i] = []uint16{99} // of others: not looked at
			if threads.Mine(i) {
				mine[i] = lists[i]
			}
		}
		got, err := ByThread(threads, mine)
		if err != nil {
			t.Fatal(err)
		}
		for i := range lists {
			if len(got[i]) != len(lists[i]) || len(got[i]) > 0 && !reflect.DeepEqual(got[i], lists[i]) {
				t.Errorf("member %d: thread %d has %v, want %v", tt.rank, i, got[i], lists[i])
			}
		}
	}
	short := Threads{Team: scripted{rank: 1, size: 2, others: [][][]byte{{bytesOf([]int64{2}), nil}, {bytesOf([]uint16{1}), nil}}, call: new(int)}, Of: []int32{0}}
	if got, err := ByThread(short, make([][]uint16, 1)); err == nil {
		t.Errorf("%v of a member that sent too little", got)
	}
}

func TestBounds(t *testing.T) {
	lo, hi := []float64{3, math.Inf(1)}, []float64{4, math.Inf(-1), 7}
	two := scripted{rank: 0, size: 2, others: [][][]byte{{nil, bytesOf([]float64{2, 5, 9, 5, 6})}}, call: new(int)}
	if err := Bounds(two, lo, hi); err != nil || !slices.Equal(lo, []float64{2, 5}) || !slices.Equal(hi, []float64{9, 5, 7}) {
		t.Errorf("%v to %v, %v", lo, hi, err)
	}
	if err := Bounds(Solo{}, lo, hi); err != nil || !slices.Equal(lo, []float64{2, 5}) || !slices.Equal(hi, []float64{9, 5, 7}) {
		t.Errorf("%v to %v, %v of one", lo, hi, err)
	}
}
