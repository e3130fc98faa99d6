package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// Where a program calls MPI is a place: the function and the innermost frame. Call paths are of the same place where
// they differ in further frames alone. Bursts are grouped, clustered and compared by places, so that the result does
// not depend on how many frames were recorded, nor on from where a library calls MPI.

// A placeKey is what identifies a place.
type placeKey struct {
	unknown               int // number of a call path without anything, which is a place of its own
	call, module, buildID string
	offset                uint64
	function, file        string // where there is no offset
	line                  int
}

func placeOf(paths []CallPath, i int) placeKey {
	p := &paths[i]
	switch {
	case len(p.Frames) > 0:
	case p.Function == "":
		return placeKey{unknown: i}
	default:
		return placeKey{call: p.Function}
	}
	k := placeKey{call: p.Function}
	f := &p.Frames[0]
	k.module, k.buildID, k.offset = f.Module, f.BuildID, f.Offset
	if !f.Located() {
		k.function, k.file, k.line = f.Function, f.File, f.Line
	}
	return k
}

// Places gives for each call path the number of the one that stands for all of its place: that with the fewest frames,
// of several the first. In a run that has SharedPaths it has the frames that all of them share.
func Places(paths []CallPath) []uint32 {
	places := make([]uint32, len(paths))
	first := make(map[placeKey]uint32)
	for i := range paths {
		key := placeOf(paths, i)
		at, known := first[key]
		if !known || len(paths[i].Frames) < len(paths[at].Frames) {
			first[key] = uint32(i)
		}
	}
	for i := range paths {
		places[i] = first[placeOf(paths, i)]
	}
	return places
}

// Places are those of the run's call paths. In a trace of another tool each is its own: how many frames such a trace
// has was chosen with its analysis in mind, and the innermost may be one of a wrapper.
func (r *Run) Places() []uint32 {
	if !r.WholePaths {
		return Places(r.CallPaths)
	}
	own := make([]uint32, len(r.CallPaths))
	for i := range own {
		own[i] = uint32(i)
	}
	return own
}

// SharedPaths are, for each place with several call paths, the frames that all of them share, unless that is one of
// them.
func SharedPaths(paths []CallPath) (shared []CallPath) {
	for _, group := range byPlace(paths) {
		first := &paths[group[0]]
		n := len(first.Frames)
		for _, i := range group {
			n = min(n, common(first.Frames, paths[i].Frames))
		}
		if !slices.ContainsFunc(group, func(i int) bool { return len(paths[i].Frames) == n }) {
			shared = append(shared, CallPath{Function: first.Function, Frames: slices.Clone(first.Frames[:n])})
		}
	}
	return shared
}

// AddSharedPaths adds SharedPaths behind the run's own call paths.
func (r *Run) AddSharedPaths() {
	if r.WholePaths {
		return
	}
	r.CallPaths, r.PathNames = append(slices.Clip(r.CallPaths), SharedPaths(r.CallPaths)...), nil
}

// byPlace are the numbers of the call paths of each place, in the order in which each is first there.
func byPlace(paths []CallPath) (groups [][]int) {
	at := make(map[placeKey]int)
	for i := range paths {
		key := placeOf(paths, i)
		k, known := at[key]
		if !known {
			k = len(groups)
			at[key] = k
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], i)
	}
	return groups
}

// CompareFrames orders frames by what identifies them.
func CompareFrames(a, b Frame) int {
	return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.BuildID, b.BuildID), cmp.Compare(a.Offset, b.Offset),
		cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Function, b.Function))
}

// common is how many frames two call paths share, from the innermost on.
func common(a, b []Frame) int {
	n := 0
	for n < min(len(a), len(b)) && CompareFrames(a[n], b[n]) == 0 {
		n++
	}
	return n
}

// PlaceNames are the names of the places of a run's call paths, one for each path: what their names begin with.
func (r *Run) PlaceNames() []string {
	if r.WholePaths {
		return r.Names()
	}
	names := make([]string, len(r.CallPaths))
	groups := byPlace(r.CallPaths)
	for k, name := range placeNames(r.CallPaths, groups) {
		for _, i := range groups[k] {
			names[i] = name
		}
	}
	return names
}

func placeNames(paths []CallPath, groups [][]int) []string {
	places := make([]CallPath, len(groups))
	for k, group := range groups {
		places[k] = paths[group[0]]
	}
	return distinct(len(places), []func(k int) string{
		func(k int) string { return places[k].String() },
		func(k int) string { return places[k].precise() },
	})
}

// pathNames are the names of call paths, as Run.Names has them.
func pathNames(paths []CallPath) []string {
	names := make([]string, len(paths))
	groups := byPlace(paths)
	of := placeNames(paths, groups)
	for k, group := range groups {
		if len(group) == 1 {
			names[group[0]] = of[k]
			continue
		}
		differing := differing(paths, group)
		text := func(i int, show func(f Frame) string) string {
			text, last := of[k], 0
			for _, at := range differing[i] {
				if at > last+1 {
					text += "<…"
				}
				text += "<" + cmp.Or(show(paths[group[i]].Frames[at]), "?")
				last = at
			}
			return text
		}
		for i, name := range distinct(len(group), []func(i int) string{
			func(i int) string { return text(i, Frame.Place) },
			func(i int) string { return text(i, func(f Frame) string { return f.Precise(f.Place()) }) },
		}) {
			names[group[i]] = name
		}
	}
	return names
}

// precise is String with the frame's offset, or else with the folders of its file.
func (p CallPath) precise() string {
	if len(p.Frames) == 0 {
		return p.String()
	}
	f := p.Frames[0]
	if !f.Located() && f.File != "" && f.Line > 0 {
		return fmt.Sprintf("%s@%s:%d", p.Function, f.File, f.Line)
	}
	return p.Function + "@" + f.Precise(f.Place())
}

// distinct gives each of n a text of its own: of the first level, of a further one where several have that, and with
// its number where none is its own.
func distinct(n int, levels []func(i int) string) []string {
	texts := make([]string, n)
	levels = append(levels, func(i int) string { return fmt.Sprintf("%s#%d", texts[i], i) })
	for _, level := range levels {
		count := make(map[string]int, n)
		for _, text := range texts {
			count[text]++
		}
		for i, text := range texts {
			if text == "" || count[text] > 1 {
				texts[i] = level(i)
			}
		}
	}
	return texts
}

// differing are, for each call path of a place, its frames at which another one departs from it.
func differing(paths []CallPath, group []int) [][]int {
	order := make([]int, len(group)) // of the group, by their frames
	for i := range order {
		order[i] = i
	}
	frames := func(i int) []Frame { return paths[group[i]].Frames }
	slices.SortStableFunc(order, func(a, b int) int { return slices.CompareFunc(frames(a), frames(b), CompareFrames) })
	shared := make([]int, len(group)) // with the one before it
	for k := 1; k < len(order); k++ {
		shared[k] = common(frames(order[k-1]), frames(order[k]))
	}
	list := make([][]int, len(group))
	for k, i := range order {
		// What it shares with one further off is the least of what lies between. All share the first frame.
		add := func(n int) {
			if n < len(frames(i)) && !slices.Contains(list[i], n) {
				list[i] = append(list[i], n)
			}
		}
		least := len(frames(i)) + 1
		for before := k; before > 0 && least > 1; before-- {
			if shared[before] < least {
				least = shared[before]
				add(least)
			}
		}
		least = len(frames(i)) + 1
		for after := k + 1; after < len(order) && least > 1; after++ {
			if shared[after] < least {
				least = shared[after]
				add(least)
			}
		}
		slices.Sort(list[i])
	}
	return list
}
