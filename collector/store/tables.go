package store

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// A holding is what one collector numbers: each list by its own numbers.
type holding struct {
	paths  []trace.CallPath // without places; 0 is unknown
	places places
	names  []string // 0 is unknown
	clocks []Clock
	codes  codes
}

// tables are the numbers of Frozen by those of the holdings that it was made of.
type tables struct {
	paths  []uint32 // of this collector's
	places []uint32 // of CallPaths: trace.Places
	names  []uint32 // likewise
	clocks [][]int  // by collector
}

// Path is the number in CallPaths of a call path that calls or sums of a process name.
func (f *Frozen) Path(number uint32) uint32 { return f.tables.paths[number] }

// Place is the number in CallPaths of the place of a call path that calls or sums of a process name.
func (f *Frozen) Place(number uint32) uint32 { return f.tables.places[f.tables.paths[number]] }

// Name is the number in MarkNames of a name that marks of this collector have.
func (f *Frozen) Name(number uint32) uint32 { return f.tables.names[number] }

// MarkName is the number, for Name, of a name that a process has a number for; 0 = it is not known.
func (f *Frozen) MarkName(p *Process, number uint32) uint32 { return p.names[number] }

// Clock is the index in Clocks of the clock that an exchange of an agent names.
func (f *Frozen) Clock(a *Agent, number uint32) int {
	if a.Member >= len(f.tables.clocks) {
		return int(number)
	}
	return f.tables.clocks[a.Member][number]
}

// arrange makes the tables of the run out of those of its collectors: each in an order that depends on its content, not
// on who holds it or on the order of arrival. It returns the numbers of the call paths of each collector.
func (f *Frozen) arrange(of []holding) (paths [][]uint32) {
	known, functions := make(places), make(codes)
	var allPaths [][]trace.CallPath
	var allNames [][]string
	var allClocks [][]Clock
	for _, h := range of {
		for _, placed := range h.places {
			known.add(placed)
		}
		for _, function := range h.codes {
			functions.add(function)
		}
		allPaths, allNames, allClocks = append(allPaths, h.paths), append(allNames, h.names), append(allClocks, h.clocks)
	}
	shared := []trace.CallPath{{}} // they are a list of their own
	whole, _ := unite(allPaths, comparePaths)
	shared = append(shared, trace.SharedPaths(whole)...)
	f.CallPaths, paths = unite(append(allPaths, shared), comparePaths)
	f.tables.places = trace.Places(f.CallPaths)
	f.Code = functions.sorted()
	var names [][]uint32
	f.MarkNames, names = unite(allNames, strings.Compare)
	f.Clocks, f.tables.clocks = uniteClocks(allClocks)
	for i := range f.CallPaths {
		p := &f.CallPaths[i]
		p.Frames = slices.Clone(p.Frames)
		for k := range p.Frames {
			if placed, is := known[keyOf(&p.Frames[k])]; is {
				p.Frames[k] = placed
			}
		}
	}
	f.tables.paths, f.tables.names = paths[f.member], names[f.member]
	return paths
}

// comparePaths orders call paths by what identifies them.
func comparePaths(a, b trace.CallPath) int {
	return cmp.Or(cmp.Compare(a.Function, b.Function), slices.CompareFunc(a.Frames, b.Frames, trace.CompareFrames))
}

// unite makes one list of several, sorted, with what is in several of them once; but the first of each, which stands
// for unknown, is the first. The numbers are by list and place in it.
func unite[T any](lists [][]T, compare func(a, b T) int) (all []T, numbers [][]uint32) {
	type entry struct{ list, at int }
	var entries []entry
	numbers = make([][]uint32, len(lists))
	for list := range lists {
		numbers[list] = make([]uint32, len(lists[list]))
		for at := 1; at < len(lists[list]); at++ {
			entries = append(entries, entry{list, at})
		}
	}
	item := func(e entry) T { return lists[e.list][e.at] }
	slices.SortStableFunc(entries, func(a, b entry) int { return compare(item(a), item(b)) })
	all = append(all, lists[0][0])
	for i, e := range entries {
		if i == 0 || compare(item(entries[i-1]), item(e)) != 0 {
			all = append(all, item(e))
		}
		numbers[e.list][e.at] = uint32(len(all) - 1)
	}
	return all, numbers
}

// uniteClocks makes one list of the clocks of several collectors, by when they were read last. Clocks of one identity
// are one; of those without, those that begin with the same sample.
func uniteClocks(lists [][]Clock) (all []Clock, numbers [][]int) {
	type group struct {
		Clock
		lists []int // that have it, without an identity
		at    int   // in all
	}
	var groups []*group
	belongs := make([][]*group, len(lists))
	for list, clocks := range lists {
		for _, c := range clocks {
			first := c.Samples[0]
			i := slices.IndexFunc(groups, func(g *group) bool {
				its := g.Samples[0]
				if g.Kind != c.Kind || its.Identity != first.Identity {
					return false
				}
				return first.Identity != "" || !slices.Contains(g.lists, list) && proto.Equal(its, first)
			})
			if i < 0 {
				i = len(groups)
				groups = append(groups, &group{Clock: Clock{Kind: c.Kind}})
			}
			g := groups[i]
			g.Samples, g.lists = append(g.Samples, c.Samples...), append(g.lists, list)
			belongs[list] = append(belongs[list], g)
		}
	}
	for _, g := range groups {
		slices.SortStableFunc(g.Samples, compareSamples)
		g.Samples = slices.CompactFunc(g.Samples, func(a, b *moriensv1.ClockSample) bool { return proto.Equal(a, b) })
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.Samples[len(a.Samples)-1].RealtimeNs, b.Samples[len(b.Samples)-1].RealtimeNs), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Samples[0].Identity, b.Samples[0].Identity), compareSamples(a.Samples[0], b.Samples[0]))
	})
	for i, g := range groups {
		g.at = i
		all = append(all, g.Clock)
	}
	numbers = make([][]int, len(lists))
	for list, its := range belongs {
		for _, g := range its {
			numbers[list] = append(numbers[list], g.at)
		}
	}
	return all, numbers
}

func compareSamples(a, b *moriensv1.ClockSample) int {
	return cmp.Or(cmp.Compare(a.Ticks, b.Ticks), cmp.Compare(a.MonotonicNs, b.MonotonicNs), cmp.Compare(a.RealtimeNs, b.RealtimeNs),
		cmp.Compare(a.UncertaintyNs, b.UncertaintyNs))
}
