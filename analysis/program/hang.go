package program

import (
	"cmp"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// A call path whose caller is not known hangs in the main function. Where it stands there depends on when it was
// called: behind the call of the main function that was made last. So each such path is as many as there are calls
// behind which it was seen.

// A hanging is a path without a caller, and the place in the main function behind which it was called; -1: before any.
type hanging struct {
	Path  uint32
	After int32
}

func (h hanging) compare(o hanging) int {
	return cmp.Or(cmp.Compare(h.Path, o.Path), cmp.Compare(h.After, o.After))
}

// apart gives paths without a caller a number for each place behind which they are called, and returns the input that
// has these; if there are no such paths the input as it is. It is collective.
func (in *Input) apart() (*Input, error) {
	steps := completed(in)
	after := make([]int32, len(in.Paths)) // by path: its place in the main function; -1: it is in none
	hangs := make([]bool, len(in.Paths))
	places := make(map[siteKey]int32)
	any := false
	for i, list := range steps {
		after[i] = -1
		switch {
		case len(list) == 0:
		case list[0].Line <= noLine:
			hangs[i], any = true, true
		default:
			key := siteKey{function: int32(list[0].Function), offset: list[0].Offset, file: list[0].File, line: list[0].Line}
			n, ok := places[key]
			if !ok {
				n = int32(len(places))
				places[key] = n
			}
			after[i] = n
		}
	}
	if !any {
		return in, nil
	}
	list, sizes := in.mine()
	own := make([]map[hanging]bool, len(list))
	workers.Every(sizes, in.Workers, func(k int) {
		own[k] = make(map[hanging]bool)
		in.eachHanging(list[k], hangs, after, func(_ int, h hanging) { own[k][h] = true })
	})
	var found []hanging
	for _, m := range own {
		for h := range m {
			found = append(found, h)
		}
	}
	all, err := team.Values(in.Team, found)
	if err != nil {
		return nil, err
	}
	found = slices.Concat(all...)
	slices.SortFunc(found, hanging.compare)
	found = slices.Compact(found)
	out := *in
	out.Paths, out.Threads = slices.Clone(in.Paths), slices.Clone(in.Threads)
	for i := range out.Paths {
		out.Paths[i].several = out.Paths[i].several && !hangs[i]
	}
	number := make(map[hanging]uint32)
	for k, h := range found {
		p := in.Paths[h.Path]
		// As completed does, with a place of its own for each.
		p.Steps = slices.Clone(steps[h.Path])
		callee := p.Steps[0].Line
		p.Steps[0].Line = noLine - len(in.Functions) - len(in.Paths) - k
		for n, o := range found[:k] { // the same function behind the same place is one
			if same := steps[o.Path][0].Line == callee && o.After == h.After; same {
				p.Steps[0].Line = out.Paths[len(in.Paths)+n].Steps[0].Line
				break
			}
		}
		p.Whole, p.several, p.origin = true, false, uint32(in.number(h.Path))+1
		number[h] = uint32(len(out.Paths))
		out.Paths = append(out.Paths, p)
	}
	workers.Every(sizes, in.Workers, func(k int) {
		calls := slices.Clone(in.Threads[list[k]].Calls.Path)
		in.eachHanging(list[k], hangs, after, func(call int, h hanging) { calls[call] = number[h] })
		out.Threads[list[k]] = in.numbered(list[k], calls)
	})
	return &out, nil
}

// eachHanging hands out the calls of a thread without a caller, by their number.
func (in *Input) eachHanging(thread int, hangs []bool, after []int32, with func(call int, h hanging)) {
	last := int32(-1)
	for k, p := range in.Threads[thread].Calls.Path {
		switch {
		case hangs[p]:
			with(k, hanging{p, last})
		case after[p] >= 0:
			last = after[p]
		}
	}
}

// numbered is a thread whose calls have other paths, and its bursts those of the calls round them.
func (in *Input) numbered(thread int, calls []uint32) Thread {
	t := in.Threads[thread]
	old := t.Calls.Path
	t.Calls.Path = calls
	b := &t.Bursts
	if b.StartNS == nil || t.Calls.ExitNS == nil {
		return t
	}
	b.Before, b.After = slices.Clone(b.Before), slices.Clone(b.After)
	c := 0
	for k, start := range b.StartNS {
		for c < len(old) && t.Calls.ExitNS[c] < start {
			c++
		}
		switch before, behind := in.Paths[b.Before[k]].MPI != "", in.Paths[b.After[k]].MPI != ""; {
		case before && behind:
			if c+1 < len(old) && old[c] == b.Before[k] && old[c+1] == b.After[k] {
				b.Before[k], b.After[k] = t.Calls.Path[c], t.Calls.Path[c+1]
			}
		case behind: // before the first call
			if c < len(old) && old[c] == b.After[k] {
				b.After[k] = t.Calls.Path[c]
			}
		case before: // behind the last one
			if c < len(old) && old[c] == b.Before[k] {
				b.Before[k] = t.Calls.Path[c]
			}
		}
	}
	return t
}

// number is that of a path for others: that of the one from which it was made.
func (in *Input) number(path uint32) int {
	if o := in.Paths[path].origin; o > 0 {
		return int(o - 1)
	}
	return int(path)
}
