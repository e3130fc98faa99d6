package agent

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// An agent that has much to do gets more threads, and gives them back when that is over.
func TestProcs(t *testing.T) {
	many := min(manyProcs, runtime.NumCPU())
	var set []int
	now := time.Now()
	p := newProcs(func(n int) int {
		set = append(set, n)
		return 7
	}, now)
	work := func(busy, past time.Duration, fullest float64) {
		now = now.Add(past)
		p.worked(busy, fullest, now)
	}
	expect := func(when string, want ...int) {
		t.Helper()
		if !slices.Equal(set, want) {
			t.Errorf("%s: %v, want %v", when, set, want)
		}
		set = nil
	}
	work(procsEvery/4, procsEvery, .1)
	expect("at first", fewProcs)
	work(procsEvery/3, procsEvery/2, .1)
	work(procsEvery/3, procsEvery/2, .1)
	expect("busy", many)
	work(procsEvery/4, procsEvery, .1)
	work(0, procsEvery/2, .1)
	expect("less busy")
	work(0, procsEvery/2, .1)
	expect("idle", fewProcs)
	work(0, time.Millisecond, .75)
	expect("a ring is nearly full", many)
	p.end()
	expect("in the end", 7)

	p = newProcs(nil, now)
	p.worked(procsEvery, 1, now)
	p.end()
}
