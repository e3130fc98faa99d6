package fidelity

import (
	"fmt"
	"math"
	"slices"

	"moriens/analysis/profile"
)

// curves are the rebuilt computing times of iterations, by phase and point; nil = none are compared.
type curves [][]float64

func newCurves(in *Input) (curves, error) {
	if in.Phases == nil {
		return nil, nil
	}
	if len(in.Phases) != len(in.Exact.Curves) {
		return nil, fmt.Errorf("fidelity: %d phases, %d curves", len(in.Phases), len(in.Exact.Curves))
	}
	c := make(curves, len(in.Phases))
	for p := range in.Phases {
		if n := len(in.Phases[p].Begins); n != len(in.Threads) {
			return nil, fmt.Errorf("fidelity: phase %d is of %d threads, not %d", p, n, len(in.Threads))
		}
		c[p] = make([]float64, len(in.Exact.Curves[p].Computing))
	}
	return c, nil
}

// add takes in a thread: of each burst of level 2 the mean of what it is rebuilt from.
func (c curves) add(in *Input, thread int, means []float64) error {
	sequence := in.Threads[thread].Sequence
	for p := range c {
		begins := in.Phases[p].Begins[thread]
		if len(begins) < 2 {
			continue
		}
		exact := &in.Exact.Curves[p]
		if len(begins) != exact.Iterations+1 || begins[0] < 0 || !slices.IsSorted(begins) || int(begins[exact.Iterations]) > len(sequence) {
			return fmt.Errorf("%d iterations of phase %d do not fit %d bursts and %d iterations", len(begins)-1, p, len(sequence), exact.Iterations)
		}
		for k, first := range begins[:len(begins)-1] {
			for _, symbol := range sequence[first:begins[k+1]] {
				c[p][k/exact.Group] += means[symbol]
			}
		}
	}
	return nil
}

func (c curves) compare(exact *profile.Profile) []Curve {
	var list []Curve
	for p, rebuilt := range c {
		list = append(list, compareCurve(&exact.Curves[p], rebuilt))
	}
	return list
}

func compareCurve(exact *profile.Curve, rebuilt []float64) Curve {
	c := Curve{Points: len(rebuilt)}
	if c.Points == 0 {
		return c
	}
	mean := 0.
	for _, ns := range exact.Computing {
		mean += float64(ns) / float64(c.Points)
	}
	for i, ns := range exact.Computing {
		off := partOf(math.Abs(rebuilt[i]-float64(ns)), mean)
		c.Mean += off / float64(c.Points)
		if off > c.Worst {
			c.Worst, c.At = off, i*exact.Group
		}
	}
	return c
}
