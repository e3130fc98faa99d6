package phase

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"moriens/analysis/moment"
	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
)

// A result is what a member has of the phases of a run.
type result struct {
	Nodes  []Node
	Points []Point
	Single []Single
	All    bool
}

// sum takes in the threads that a member has.
func sum(list []planted, owners team.Threads, keep int) (*result, error) {
	lines := make([]Timeline, len(list))
	for i := range list {
		if owners.Mine(i) {
			var err error
			if lines[i], err = Lay(list[i].beginNS, list[i].endNS, list[i].intervals); err != nil {
				return nil, err
			}
		}
	}
	paths, err := Number(lines, owners)
	if err != nil {
		return nil, err
	}
	counts := make([]int64, paths.Len())
	for i := range lines {
		if owners.Mine(i) {
			lines[i].Counts(counts)
		}
	}
	if err := owners.AllReduce(counts, team.Max); err != nil {
		return nil, err
	}
	x := NewInstances(counts, Limits{things, MostPoints, keep})
	for i := range lines {
		if owners.Mine(i) {
			x.Add(int32(i), &lines[i], list[i].intervals, &list[i].records, func(what What, record int32) int { return min(thingOf(what, record), things-1) })
		}
	}
	if err := x.Reduce(owners); err != nil {
		return nil, err
	}
	r := &result{Nodes: paths.nodes}
	x.Each(func(p Point) { r.Points = append(r.Points, p) })
	r.Single, r.All = x.Single()
	return r, nil
}

// However the threads are distributed, all members of a team get what one process gets.
func TestTeam(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []planted
		for i := range rapid.IntRange(1, 4).Draw(t, "threads") {
			list = append(list, plant(t, fmt.Sprint(i, " ")))
		}
		keep := rapid.SampledFrom([]int{0, 20, 1000}).Draw(t, "keep")
		want, err := sum(list, team.Threads{}, keep)
		if err != nil {
			t.Fatal(err)
		}
		members := rapid.Int32Range(2, 4).Draw(t, "members")
		of := rapid.SliceOfN(rapid.Int32Range(0, members-1), len(list), len(list)).Draw(t, "owners")
		all, err := mpixtest.Run(int(members), func(m team.Team) (*result, error) { return sum(list, team.Threads{Team: m, Of: of}, keep) })
		if err != nil {
			t.Fatal(err)
		}
		for rank, got := range all {
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("member %d of %d, threads at %v:\n%s", rank, members, of, diff)
			}
		}
	})
}

// Of more instances than there may be points, a point is of as many as are needed, the last of what is left; the
// longest instance is named.
func TestGroups(t *testing.T) {
	const n, slow = 3*MostPoints + 10, 9876
	var p planted
	now := int64(0)
	for i := range n {
		ns := int64(10)
		if i == slow {
			ns = 500
		}
		p.intervals = append(p.intervals, Interval{Name: 1, BeginNS: now, EndNS: now + ns, Number: -1})
		p.records.EnterNS, p.records.ExitNS = append(p.records.EnterNS, now), append(p.records.ExitNS, now+4)
		now += ns + 1
	}
	p.endNS = now
	r, err := sum([]planted{p}, team.Threads{}, 0)
	if err != nil || r.All || len(r.Single) > 0 {
		t.Fatalf("%v: %d values of single threads, all of them: %v", err, len(r.Single), r.All)
	}
	whole := slices.DeleteFunc(slices.Clone(r.Points), func(p Point) bool { return p.Path != 1 || p.Thing != Whole })
	list := p.intervals
	sum, instances := int64(0), int64(0)
	for i, p := range whole {
		sum, instances = sum+p.SumNS, instances+p.Instances
		if first, last := list[p.First], list[p.First+p.Instances-1]; p.BeginNS != first.BeginNS || p.EndNS != last.EndNS {
			t.Errorf("%+v: want from %d to %d ns", p, first.BeginNS, last.EndNS)
		}
		if want := min(4, n-4*int64(i)); p.First != 4*int64(i) || p.Instances != want || p.Calls != want {
			t.Fatalf("point %d: %+v", i, p)
		}
		if has := p.First <= slow && slow < p.First+p.Instances; has != (p.LongestNS == 500) || has && p.LongestInstance != slow {
			t.Errorf("%+v", p)
		}
	}
	if len(whole) > MostPoints || instances != n || sum != 10*n+490 {
		t.Errorf("%d points of %d instances, %d ns", len(whole), instances, sum)
	}
}

// Numbers that the caller gives are kept: an iteration that a thread lacks is none of its instances.
func TestNumbers(t *testing.T) {
	line, err := Lay(0, 100, []Interval{{Name: 3, EndNS: 10, Number: 2}, {Name: 3, BeginNS: 10, EndNS: 20, Number: 5}, {Name: 3, BeginNS: 20, EndNS: 25, Number: -1}})
	counts := []int64{0, 0}
	line.Counts(counts)
	if err != nil || !slices.Equal(line.numbers, []int32{2, 5, 6}) || !slices.Equal(counts, []int64{1, 7}) {
		t.Errorf("%v %v %v", line.numbers, counts, err)
	}
}

// Intervals that do not nest are an error.
func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		want string
		list []Interval
	}{
		{"phase 0: depth 1 in 0 others", []Interval{{Depth: 1}}},
		{"phase 0: depth -1", []Interval{{Depth: -1}}},
		{"phase 0: depth 0 in 0 others, from 5 to 4 ns", []Interval{{BeginNS: 5, EndNS: 4}}},
		{"phase 1: from 2 to 9 ns, beyond", []Interval{{EndNS: 8}, {Depth: 1, BeginNS: 2, EndNS: 9}}},
		{"phase 1: from 4 to 9 ns, beyond", []Interval{{EndNS: 8}, {BeginNS: 4, EndNS: 9}}},
	} {
		if _, err := Lay(0, 10, c.list); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.list, err, c.want)
		}
	}
}

// Squares of many members may pass 32 and 64 bits in each of their words.
func TestWide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var words [4]int64
		var want moment.Wide
		for range rapid.IntRange(0, 9).Draw(t, "members") {
			w := moment.Wide{High: rapid.Uint64Max(1<<60).Draw(t, "high"), Low: rapid.Uint64().Draw(t, "low")}
			want = want.Plus(w)
			for i, part := range []uint64{w.Low & (1<<32 - 1), w.Low >> 32, w.High & (1<<32 - 1), w.High >> 32} {
				words[i] += int64(part)
			}
		}
		if got := wide(words[:]); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// A phase of 0 ns counts, has no time, and takes none of the phase and the record that it lies in.
func TestPhaseWithoutTime(t *testing.T) {
	p := planted{endNS: 100, intervals: []Interval{
		{Name: 0, Depth: 0, BeginNS: 10, EndNS: 60, Number: -1}, {Name: 1, Depth: 1, BeginNS: 20, EndNS: 20, Number: -1}, {Name: 1, Depth: 1, BeginNS: 30, EndNS: 30, Number: -1},
		{Name: 1, Depth: 0, BeginNS: 70, EndNS: 70, Number: -1}, {Name: 1, Depth: 0, BeginNS: 100, EndNS: 100, Number: -1},
	}}
	p.records.EnterNS, p.records.ExitNS, p.records.Calls = []int64{15}, []int64{40}, []int64{1}
	line, err := Lay(p.beginNS, p.endNS, p.intervals)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := Number([]Timeline{line}, team.Threads{})
	if err != nil {
		t.Fatal(err)
	}
	type figures struct{ instances, intervals, inclusive, exclusive int64 }
	got := make(map[string]figures)
	for _, s := range line.Sums() {
		got[text(paths, s.Path)] = figures{s.Instances.N, s.Intervals, s.Instances.Total, s.ExclusiveNS}
	}
	if want := map[string]figures{"": {1, 1, 100, 50}, "a": {1, 1, 50, 50}, "a/b": {2, 2, 0, 0}, "b": {2, 2, 0, 0}}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if l := line.Locate(p.intervals, &p.records, nil); text(paths, l.CallPath[0]) != "a" || len(l.Calls) != 0 {
		t.Errorf("the call is in %q, cut %+v", text(paths, l.CallPath[0]), l.Calls)
	}
	r, err := sum([]planted{p}, team.Threads{}, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	empty := 0
	for _, x := range r.Points {
		if x.SumNS != 0 {
			continue
		}
		empty++
		if x.Thing != Whole || x.Threads != 1 || x.Calls != 1 || x.Instances != 1 || x.DirectNS != 0 || x.LeastNS != 0 || x.MostNS != 0 || x.LongestNS != 0 || x.LongestInstance != x.First {
			t.Errorf("%+v", x)
		}
	}
	if empty != 4 {
		t.Errorf("%d instances of 0 ns, want 4", empty)
	}
}
