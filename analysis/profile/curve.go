package profile

import (
	"fmt"
	"sync"
)

// newCurves makes empty curves of all phases. Threads that disagree about the number of a phase's iterations are an
// error.
func newCurves(threads []Thread, points int) ([]Curve, error) {
	var curves []Curve
	for i := range threads {
		for k, p := range threads[i].Phases {
			for len(curves) <= k {
				curves = append(curves, Curve{})
			}
			c := &curves[k]
			n := len(p.Begins) - 1
			if n < 1 {
				continue
			}
			if c.Iterations != 0 && c.Iterations != n {
				return nil, fmt.Errorf("thread %d: phase %d has %d iterations, %d on other threads", i, k, n, c.Iterations)
			}
			c.Iterations = n
			c.Threads++
		}
	}
	for k := range curves {
		c := &curves[k]
		c.Group = max(1, (c.Iterations+points-1)/points)
		n := (c.Iterations + c.Group - 1) / c.Group
		c.Computing, c.Elapsed = make([]int64, n), make([]int64, n)
	}
	return curves, nil
}

// add takes in what a thread has of the phase.
func (c *Curve) add(t *Thread, phase int, mu *sync.Mutex) {
	if phase >= len(t.Phases) || len(t.Phases[phase].Begins) < 2 {
		return
	}
	begins := t.Phases[phase].Begins
	computing, elapsed := make([]int64, len(c.Computing)), make([]int64, len(c.Elapsed))
	for k, from := range begins[:len(begins)-1] {
		to := begins[k+1]
		for _, d := range t.DurationNS[from:to] {
			computing[k/c.Group] += d
		}
		if from < to {
			elapsed[k/c.Group] += t.begin(to) - t.begin(from)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for i := range computing {
		c.Computing[i] += computing[i]
		c.Elapsed[i] += elapsed[i]
	}
}

// begin is when a burst begins, or, behind the last, when that ends.
func (t *Thread) begin(burst int32) int64 {
	if n := len(t.StartNS); int(burst) == n {
		return t.StartNS[n-1] + t.DurationNS[n-1]
	}
	return t.StartNS[burst]
}
