package structure

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"moriens/analysis/program"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A Verification says how far a program gives back what was recorded.
type Verification struct {
	Threads   int   // that were compared
	Sequences int   // of these, call by call; of the others the number of each call
	Calls     int64 // of MPI, of all threads
	Cut       int   // that ended in the middle: what there is of them was compared
	Without   int   // ranks without a sequence of calls: the program says nothing of them
	Why       string
	// Differs is the first difference; "" = there is none.
	Differs string
}

// Verify goes through the program of a run directory as each of its threads does, and compares that with
// structure.json, which is made without it: call by call where the order of calls is known and all lines
// have a rule, else the number of each call. Texts must say what the figures beside them do. loops is one of Readings,
// or "".
func Verify(dir, loops string) (*Verification, error) {
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	p, err := Read(dir, m)
	if err != nil {
		return nil, err
	}
	if p, err = readingOf(p, loops); err != nil {
		return nil, err
	}
	s, err := rundir.ReadStructure(dir)
	if err != nil {
		return nil, fmt.Errorf("nothing to compare with: %w", err)
	}
	paths, err := rundir.ReadCallPaths(dir)
	if err != nil {
		return nil, err
	}
	v := newVerifier(p, s, paths)
	if v.profiled, err = readProfiled(dir); err != nil {
		return nil, err
	}
	v.gappy = m.Reading != nil && len(m.Reading.Missing) > 0 && v.profiled != nil
	if p.OfRanks != nil {
		v.made.Without = p.Ranks - len(p.OfRanks)
	}
	v.sums = v.profiled != nil && m.Cells == nil
	first := make([]int, len(m.Worlds)+1)
	for i, w := range m.Worlds {
		first[i+1] = first[i] + w.Size
	}
	for _, t := range s.Threads {
		if t.World >= len(m.Worlds) {
			return nil, fmt.Errorf("%s: world %d is not in %s", rundir.StructureFile, t.World, rundir.ManifestFile)
		}
		differs, err := v.thread(t, first[t.World]+t.Rank)
		if err != nil {
			return nil, err
		}
		if v.made.Threads++; differs != "" {
			v.made.Differs = fmt.Sprintf("%s: %s", t.Short(len(m.Worlds) > 1), differs)
			return v.made, nil
		}
	}
	if v.made.Differs = cmp.Or(p.Texts(), v.names()); v.made.Differs == "" && v.sums {
		v.made.Differs = v.lines(v.profiled)
	}
	return v.made, nil
}

// String says what was compared.
func (v *Verification) String() string {
	text := fmt.Sprintf("equal: %s of %s", units.Count(v.Calls, "call"), units.Count(int64(v.Threads), "thread"))
	switch {
	case v.Sequences == v.Threads:
		text += ", call by call"
	case v.Sequences > 0:
		text += fmt.Sprintf(", of %d of them call by call", v.Sequences)
	}
	if v.Cut > 0 {
		text += fmt.Sprintf(", %d of them to where they ended", v.Cut)
	}
	if v.Without > 0 {
		text += fmt.Sprintf("; of %s there are no calls to compare", units.Count(v.Without, "other rank"))
	}
	if v.Why != "" {
		text += " (" + v.Why + ")"
	}
	return text
}

// unknownPath is the name of a call path that is not known: of the beginning of a trace.
const unknownPath = "?"

type verifier struct {
	program   *program.Program
	structure *rundir.Structure
	paths     *rundir.CallPathTable
	profiled  *profiled                      // nil = there is no profile
	gappy     bool                           // there are no records of some of the time: what follows in a sequence did not have to follow at once
	places    map[*program.Node]map[int]bool // of MPI calls: call paths in structure.json
	// By call path in structure.json: calls in a row are one. These are tests, and MPI_Finalize, behind which a trace may
	// go on.
	once   []bool
	folded folded
	sums   bool        // the calls of each line, of all threads, are compared with the profile
	shared []*together // lines that have call paths in common; nil = not asked for yet
	made   *Verification
}

func newVerifier(p *program.Program, s *rundir.Structure, paths *rundir.CallPathTable) *verifier {
	v := &verifier{program: p, structure: s, paths: paths, places: placesOf(p, s, paths), made: new(Verification)}
	v.folded = v.foldedIn()
	for _, name := range s.Paths {
		v.once = append(v.once, v.isOnce(name))
	}
	return v
}

// isOnce reports whether calls of a path in a row are one.
func (v *verifier) isOnce(name string) bool {
	function, _, _ := strings.Cut(name, "@")
	return trace.IsPoll(function) || trace.IsOnce(function)
}

// placesOf finds the places of MPI calls in structure.json, whose names are what those of call paths begin with.
func placesOf(p *program.Program, s *rundir.Structure, paths *rundir.CallPathTable) map[*program.Node]map[int]bool {
	number := make(map[string]int)
	for i, name := range s.Paths {
		number[name] = i
	}
	places := make(map[*program.Node]map[int]bool)
	program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind != program.KindMPI && n.Kind != program.KindOther {
			return
		}
		places[n] = make(map[int]bool)
		for _, k := range n.Paths {
			if k < 0 || k >= len(paths.Paths) {
				continue
			}
			name := paths.Paths[k].Name
			for end := len(name); end >= 0; end = strings.LastIndexByte(name[:end], '<') {
				if i, ok := number[name[:end]]; ok {
					places[n][i] = true
				}
			}
		}
	})
	return places
}

// recorded yields the places that a thread called MPI from, where their order is known; calls in a row that are one are
// one.
func (v *verifier) recorded(t rundir.StructureThread) func(yield func(place int) bool) {
	s := v.structure
	return func(yield func(place int) bool) {
		last := -1
		give := func(place int) bool {
			if place == last && v.once[place] || s.Paths[place] == unknownPath {
				return true
			}
			last = place
			return yield(place)
		}
		end := -1
		for symbol, times := range s.Each(s.Sequences[t.Sequence].Body) {
			x := &s.Symbols[symbol]
			for range times {
				before := x.Before
				if end >= 0 && s.Paths[before] == unknownPath { // where windows touch: it is what the burst before ended with
					before = end
				}
				if !give(before) {
					return
				}
				end = x.After
			}
		}
		if end >= 0 {
			give(end)
		}
	}
}

// counted is how often a thread called MPI from each place, also where the order is not known: each burst ends with a
// call, and the first one begins with one too. one says that this is anywhere: nothing shows the first call.
func (v *verifier) counted(t rundir.StructureThread) (calls map[int]int64, one bool) {
	s := v.structure
	calls = make(map[int]int64)
	begun := make(map[int]int64) // bursts that begin after a call from there, less those that end with one
	body := s.Sequences[t.Sequence].Body
	for symbol, times := range s.Each(body) {
		x := &s.Symbols[symbol]
		begun[x.Before] += times
		begun[x.After] -= times
		if x.Before != x.After || !v.once[x.After] {
			calls[x.After] += times
		}
	}
	known := false
	for place, n := range begun {
		if n > 0 {
			calls[place] += n
			known = true
		}
	}
	if !known && len(begun) > 0 { // it ended where it began
		if first := s.First(body); first >= 0 {
			calls[s.Symbols[first].Before]++
		} else {
			one = true
		}
	}
	for place := range calls {
		function, _, _ := strings.Cut(s.Paths[place], "@")
		if trace.IsOnce(function) { // a trace may show it at the end of two bursts
			calls[place] = min(calls[place], 1)
		}
		if s.Paths[place] == unknownPath {
			delete(calls, place)
		}
	}
	return calls, one
}

// thread compares what a thread did, and says where it differs.
func (v *verifier) thread(t rundir.StructureThread, rank int) (string, error) {
	if v.gappy {
		v.made.Why = "there are no records of some of the time: the number of each call was compared"
		return v.gaps(t, rank)
	}
	q := &v.structure.Sequences[t.Sequence]
	if v.folded.lines > 0 {
		v.made.Why = v.whyFolded()
		return v.counts(t, rank)
	}
	if q.Mixed == 0 && q.Unordered == 0 {
		differs, err := v.sequence(t, rank)
		if !errors.Is(err, program.ErrNoRule) {
			v.made.Sequences++
			return differs, err
		}
		v.made.Why = "lines without a rule: there the number of each call was compared"
	} else {
		v.made.Why = "structure.json does not have the order of all calls: there the number of each call was compared"
	}
	return v.counts(t, rank)
}

func (v *verifier) sequence(t rundir.StructureThread, rank int) (string, error) {
	var places []int32
	for place := range v.recorded(t) {
		places = append(places, int32(place))
	}
	cut := len(places) > 0 && t.Thread == 0 && !strings.HasPrefix(v.structure.Paths[places[len(places)-1]], "MPI_Finalize")
	at, differs := 0, ""
	err := v.program.Evaluate(rank, t.Thread, func(n *program.Node) bool {
		switch last := at - 1; {
		case last >= 0 && v.once[places[last]] && v.places[n][int(places[last])] && (at >= len(places) || !v.places[n][int(places[at])]):
			return true // of the calls in a row that are one
		case at >= len(places) && cut:
			v.made.Cut++ // it died, or was not recorded to its end
		case at >= len(places):
			differs = fmt.Sprintf("the program goes on with %s after %d calls, which were all", describe(n), at)
		case !v.places[n][int(places[at])]:
			differs = fmt.Sprintf("call %d is %s, the program has %s", at+1, v.structure.Paths[places[at]], describe(n))
		default:
			at++
			return true
		}
		return false
	})
	if err == nil && differs == "" && at < len(places) {
		differs = fmt.Sprintf("the program ends after %d calls, there were %d: the next is %s", at, len(places), v.structure.Paths[places[at]])
	}
	if !errors.Is(err, program.ErrNoRule) { // else they are counted
		v.made.Calls += int64(at)
	}
	return differs, err
}

func describe(n *program.Node) string {
	return fmt.Sprintf("%s (line %d of the text, %s:%d)", n.Function, n.ID, n.File, n.Line)
}

func (v *verifier) counts(t rundir.StructureThread, rank int) (string, error) {
	want, one := v.counted(t)
	var names []string
	for place, n := range want {
		v.made.Calls += n
		names = append(names, v.structure.Paths[place])
	}
	cut := isCut(t, slices.Values(names))
	if cut {
		v.made.Cut++
	}
	counts, err := v.program.Counts(rank, t.Thread)
	if err != nil {
		return "", err
	}
	if one {
		v.made.Calls++
	}
	several := false
	got := make(map[int]int64)
	lines := make(map[int]int)
	for n, count := range counts {
		for place := range v.places[n] {
			lines[place]++
			if len(v.places[n]) == 1 {
				got[place] += count
			} else {
				several = true
				delete(want, place) // copies of a call: which of them it was is not known
			}
		}
	}
	for _, place := range slices.Sorted(maps.Keys(want)) {
		n := want[place]
		switch {
		case got[place] == n, cut && got[place] > n:
		case one && got[place] == n+1:
			one = false
		case v.folded.has(place) && got[place] <= n:
		case v.once[place] && lines[place] > 1 && got[place] > n: // tests of several lines in a row have one name
		default:
			return fmt.Sprintf("%s was called %d times, in the program %d times", v.structure.Paths[place], n, got[place]), nil
		}
	}
	if one && !several && v.folded.lines == 0 {
		return "the program has one call less than were made", nil
	}
	for _, place := range slices.Sorted(maps.Keys(got)) {
		if _, there := want[place]; !there && got[place] > 0 && lines[place] == 1 && !cut {
			return fmt.Sprintf("%s was not called, in the program %d times", v.structure.Paths[place], got[place]), nil
		}
	}
	return "", nil
}
