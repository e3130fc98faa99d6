package represent_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/represent"
)

func TestWaitsByHand(t *testing.T) {
	// A barrier for which rank 1 is late, a broadcast from rank 0 that rank 1 leaves before rank 2 comes, and one that
	// rank 2 has not lived to see.
	w, err := represent.WaitsAt(
		[][]int64{{0, 100, 200}, {30, 90, 210}, {10, 150}},
		[][]int64{{35, 101, 220}, {36, 120, 220}, {37, 160}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := &represent.Waits{
		CausedNS:   []int64{10, 30 + 20 + 10, 0},
		SufferedNS: []int64{30 + 10, 10, 20},
		Last:       []int64{1, 2, 0},
	}
	if !reflect.DeepEqual(w, want) {
		t.Errorf("%+v, want %+v", w, want)
	}
}

func TestWaitsRefuses(t *testing.T) {
	if _, err := represent.WaitsAt(make([][]int64, 2), make([][]int64, 3), 1); err == nil {
		t.Error("2 threads enter, 3 leave")
	}
	if _, err := represent.WaitsAt([][]int64{{1}}, [][]int64{{1, 2}}, 1); err == nil {
		t.Error("1 call entered, 2 left")
	}
	if w, err := represent.WaitsAt(nil, nil, 4); err != nil || len(w.Last) != 0 {
		t.Error(w, err)
	}
}

// The definition, for each pair.
func TestWaitsAsDefined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "threads")
		enter, exit := make([][]int64, n), make([][]int64, n)
		calls := 0
		for i := range n {
			for range rapid.IntRange(0, 5).Draw(t, "calls") {
				at := rapid.Int64Range(0, 20).Draw(t, "enter")
				enter[i] = append(enter[i], at)
				exit[i] = append(exit[i], at+rapid.Int64Range(0, 20).Draw(t, "takes"))
				if rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
					exit[i][len(exit[i])-1] = represent.Absent
				}
			}
			calls = max(calls, len(enter[i]))
		}
		want := represent.Waits{CausedNS: make([]int64, n), SufferedNS: make([]int64, n), Last: make([]int64, n)}
		there := func(i, k int) bool { return k < len(enter[i]) && exit[i][k] != represent.Absent }
		for k := range calls {
			waited := make([]bool, n)
			for i := range n {
				if !there(i, k) {
					continue
				}
				last := i
				for j := range n {
					if there(j, k) && enter[j][k] <= exit[i][k] && (enter[j][k] > enter[last][k] || enter[j][k] == enter[last][k] && j < last) {
						last = j
					}
				}
				if ns := enter[last][k] - enter[i][k]; ns > 0 {
					want.SufferedNS[i] += ns
					want.CausedNS[last] += ns
					waited[last] = true
				}
			}
			for i := range waited {
				if waited[i] {
					want.Last[i]++
				}
			}
		}
		for _, workers := range []int{0, 1, 3} {
			if w, err := represent.WaitsAt(enter, exit, workers); err != nil || !reflect.DeepEqual(*w, want) {
				t.Fatalf("%d workers: %+v, want %+v; %v", workers, w, want, err)
			}
		}
	})
}

func BenchmarkWaits(b *testing.B) {
	const ranks, calls = 10_000, 1_000
	enter, exit := make([][]int64, ranks), make([][]int64, ranks)
	for r := range ranks {
		for k := range int64(calls) {
			enter[r] = append(enter[r], k*1e6+int64(r*7919)%100_000)
		}
		exit[r] = slices.Clone(enter[r])
	}
	for _, kind := range []string{"barriers", "broadcasts"} {
		for r := range exit {
			for k := range exit[r] {
				exit[r][k] = int64(k)*1e6 + 100_000
				if kind == "broadcasts" {
					exit[r][k] = enter[r][k] + 20_000
				}
			}
		}
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", kind, workers), func(b *testing.B) {
				for b.Loop() {
					if _, err := represent.WaitsAt(enter, exit, workers); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
