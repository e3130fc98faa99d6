package levels

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/trace/tracetest"
)

func TestSymbols(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		table := symbolsOf(t, run, 1)
		if again := symbolsOf(t, run, 4); !reflect.DeepEqual(again, table) {
			t.Fatal("with 4 workers the numbers are others")
		}
		next := uint32(0)
		for i := range run.Threads {
			b := &run.Threads[i].Bursts
			if len(table.Threads[i]) != b.Len() {
				t.Fatalf("thread %d has %d numbers, %d bursts", i, len(table.Threads[i]), b.Len())
			}
			for k, n := range table.Threads[i] {
				if want := (Symbol{b.Cluster[k], b.Before[k], b.After[k]}); table.Symbols[n] != want {
					t.Fatalf("thread %d burst %d: %+v, want %+v", i, k, table.Symbols[n], want)
				}
				if n > next {
					t.Fatalf("number %d comes before %d", n, next)
				}
				next = max(next, n+1)
			}
		}
		if int(next) != len(table.Symbols) {
			t.Fatalf("%d symbols, %d in use", len(table.Symbols), next)
		}
	})
}

func TestCallsOfSymbols(t *testing.T) {
	table := Table{Symbols: []Symbol{{1, 2, 3}, {2, 2, 3}, {1, 3, 2}, {-1, 2, 3}}}
	if got, want := table.Calls(), []uint32{0, 0, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
