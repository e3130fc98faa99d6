package program

import (
	"maps"
	"slices"
	"strings"
)

// completed are the steps of all paths, with callers that only other paths know.
func completed(in *Input) [][]Step {
	steps := make([][]Step, len(in.Paths))
	// The calls that lead to each function, where all paths agree.
	type caller struct {
		steps  []Step
		differ bool
	}
	callers := make(map[int]*caller)
	roots := make(map[int]int)
	for i := range in.Paths {
		p := &in.Paths[i]
		steps[i] = p.Steps
		if p.Whole && len(p.Steps) > 0 {
			roots[p.Steps[0].Function]++
		}
		for k := 1; k < len(p.Steps) && !p.idle; k++ {
			c := callers[p.Steps[k].Function]
			if c == nil {
				callers[p.Steps[k].Function] = &caller{steps: p.Steps[:k]}
			} else if !sameSteps(c.steps, p.Steps[:k]) {
				// One may be the end of the other, which knows more.
				switch n := min(len(c.steps), k); {
				case !sameSteps(c.steps[len(c.steps)-n:], p.Steps[k-n:k]):
					c.differ = true
				case k > len(c.steps):
					c.steps = p.Steps[:k]
				}
			}
		}
	}
	if len(roots) == 0 { // a trace that others wrote: the function that no other one calls, and that calls most
		count := make(map[int]int)
		for i := range in.Paths {
			if s := in.Paths[i].Steps; len(s) > 0 && callers[s[0].Function] == nil {
				count[s[0].Function]++
			}
		}
		best := -1
		isMain := func(f int) bool { return in.Functions[f].Name == "main" || in.Functions[f].Name == "MAIN__" }
		for _, f := range slices.Sorted(maps.Keys(count)) {
			switch {
			case best < 0, isMain(f) && !isMain(best):
				best = f
			case isMain(f) == isMain(best) && count[f] > count[best]:
				best = f
			}
		}
		if best >= 0 {
			roots[best] = 1
		}
	}
	main := -1 // else the function that stands for all that is not known
	for f, n := range roots {
		if main < 0 || n > roots[main] || n == roots[main] && f < main {
			main = f
		}
	}
	if main < 0 {
		main = len(in.Functions)
	}
	for i := range steps {
		for range len(in.Functions) {
			if len(steps[i]) == 0 || in.Paths[i].Whole || roots[steps[i][0].Function] > 0 {
				break
			}
			c := callers[steps[i][0].Function]
			if c == nil || c.differ {
				break
			}
			steps[i] = append(slices.Clone(c.steps), steps[i]...)
		}
		switch {
		case in.Paths[i].Whole && len(steps[i]) > 0:
		case len(steps[i]) > 0 && roots[steps[i][0].Function] == 0:
			steps[i] = append([]Step{{Function: main, Line: noLine - steps[i][0].Function}}, steps[i]...)
		case len(steps[i]) == 0 && in.Paths[i].MPI != "":
			steps[i] = []Step{{Function: main, Line: noLine - len(in.Functions) - i}}
		}
	}
	return steps
}

// fromOne has all steps begin in one function, if there are threads that were in several at first: before the main
// function, or after it. It calls these functions, in the order in which they were.
func (l *layout) fromOne(in *Input, steps [][]Step, pairs []Pair) [][]Step {
	root := func(path uint32) int {
		if len(steps[path]) == 0 {
			return -1
		}
		return steps[path][0].Function
	}
	next := make(map[int][]int)
	entered := make(map[int]bool)
	for _, p := range pairs {
		if a, b := root(p.From), root(p.To); a != b && a >= 0 && b >= 0 {
			next[a] = append(next[a], b)
			entered[b] = true
		}
	}
	if len(next) == 0 {
		return steps
	}
	var queue []int
	for i := range in.Paths { // those with which threads begin
		if r := root(uint32(i)); r >= 0 && (!entered[r] || strings.HasPrefix(in.Paths[i].MPI, "MPI_Init")) {
			queue = append(queue, r)
		}
	}
	place := make(map[int]int)
	for ; len(queue) > 0; queue = queue[1:] {
		if _, ok := place[queue[0]]; !ok {
			place[queue[0]] = len(place) + 1
			queue = append(queue, next[queue[0]]...)
		}
	}
	for i := range steps {
		r := root(uint32(i))
		if r < 0 {
			continue
		}
		if place[r] == 0 {
			place[r] = len(place) + 1
		}
		steps[i] = append([]Step{{Function: len(in.Functions), Line: place[r]}}, steps[i]...)
	}
	return steps
}

func sameSteps(a, b []Step) bool {
	return slices.EqualFunc(a, b, func(x, y Step) bool {
		return x.Function == y.Function && x.Offset == y.Offset && x.File == y.File && x.Line == y.Line
	})
}
