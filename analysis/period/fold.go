package period

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// A folder folds repetitions of a thread's sequence into loops, the inner ones first, until nothing is repeated three
// times in a row any more.
type folder struct {
	symbols  int // kinds below are symbols, the others loops
	loops    []loop
	names    map[string]int32         // a loop's kind by its body
	contents map[int32]map[int32]bool // what is in a loop, at any depth, for those that were asked
	runs     []run
	sorted   []run    // those by begin, the longer one first
	rare     []bool   // by symbol: it comes seldom and irregularly
	raw      []int32  // by burst: its symbol
	levels   []tokens // the sequence, mended, and after each round of folding
	totalNS  []int64  // per burst, and one more: the time of all before it
}

func newFolder(raw []int32, t tokens, rare []bool, durationNS []int64) *folder {
	f := &folder{
		symbols: len(rare), names: make(map[string]int32), contents: make(map[int32]map[int32]bool), rare: rare, raw: raw, levels: []tokens{t},
		totalNS: make([]int64, len(durationNS)+1),
	}
	for i, ns := range durationNS {
		f.totalNS[i+1] = f.totalNS[i] + ns
	}
	return f
}

// top is the sequence as far as it is folded.
func (f *folder) top() tokens { return f.levels[len(f.levels)-1] }

func (f *folder) isLoop(kind int32) bool { return int(kind) >= f.symbols }

func (f *folder) loop(kind int32) *loop { return &f.loops[int(kind)-f.symbols] }

// fold folds until nothing is left to fold.
func (f *folder) fold() {
	f.rounds()
	f.sorted = slices.Clone(f.runs)
	slices.SortStableFunc(f.sorted, func(a, b run) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(b.level, a.level))
	})
}

// rounds folds round after round. Windows grow only while shorter ones find nothing.
func (f *folder) rounds() {
	for {
		kinds := f.top().kind
		n := len(kinds)
		g := singles(kinds, f.symbols+len(f.loops))
		found := f.choose(repeats(kinds, g))
		for len(found) == 0 && 3*g.size < 2*n {
			if g = g.double(); g.distinct == len(g.id) {
				return
			}
			found = f.choose(repeats(kinds, g))
		}
		if len(found) == 0 {
			return
		}
		f.replace(found)
	}
}

// A chosen repeat becomes a run of the loop.
type chosen struct {
	repeat
	kind int32
	turn int
}

// choose says which repeats are loops, without overlaps, in the order of the sequence. A shorter lag goes before a
// longer one, which recurs when its inner loops are folded.
func (f *folder) choose(found []repeat) []chosen {
	if len(found) == 0 {
		return nil
	}
	kinds := f.top().kind
	counts := make([]int, f.symbols+len(f.loops))
	for _, k := range kinds {
		counts[k]++
	}
	list := make([]chosen, 0, len(found))
	tally := make(map[int32]*tally)
	for _, r := range found {
		body := kinds[r.begin : r.begin+r.lag]
		first, primitive := leastRotation(body)
		if !primitive {
			continue
		}
		kind := f.name(body, first)
		list = append(list, chosen{r, kind, (r.lag - first) % r.lag})
		t := tally[kind]
		if t == nil {
			t = newTally(f.loop(kind).body, counts)
			t.doubt = f.doubtOf(body)
			tally[kind] = t
		}
		t.doubt.add(f, r)
		t.runs++
		t.trips += (r.end - r.begin) / r.lag
	}
	taken := make([]bool, len(kinds))
	at := make([]int32, len(kinds)) // the chosen repeat that begins there, counted from 1
	kept := list[:0]
	for _, c := range list {
		t := tally[c.kind]
		if t.doubt.byChance() || !t.usual() && !f.surprising(c.repeat, counts) {
			continue
		}
		if !trim(&c, taken) || f.onlyExtra(c) {
			continue
		}
		for i := c.begin; i < c.end; i++ {
			taken[i] = true
		}
		kept = append(kept, c)
		at[c.begin] = int32(len(kept))
	}
	kept = f.short(kept, tally, taken, at)
	ordered := make([]chosen, 0, len(kept))
	for _, k := range at {
		if k != 0 {
			ordered = append(ordered, kept[k-1])
		}
	}
	return ordered
}

// name gives the loop's kind, a new one if there was none of this body.
func (f *folder) name(body []int32, first int) int32 {
	turned := make([]int32, 0, len(body))
	turned = append(append(turned, body[first:]...), body[:first]...)
	key := make([]byte, 0, 4*len(body))
	for _, k := range turned {
		key = binary.LittleEndian.AppendUint32(key, uint32(k))
	}
	kind, ok := f.names[string(key)]
	if !ok {
		kind = int32(f.symbols + len(f.loops))
		f.names[string(key)] = kind
		f.loops = append(f.loops, loop{body: turned})
	}
	return kind
}

// A tally counts where a loop's body is in the sequence.
type tally struct {
	trips, runs int // repeated three times and more
	most        int // times that the whole body can be in the sequence
	doubt       doubt
}

func newTally(body []int32, counts []int) *tally {
	times := make(map[int32]int, len(body))
	for _, k := range body {
		times[k]++
	}
	t := &tally{most: math.MaxInt}
	for k, n := range times {
		t.most = min(t.most, counts[k]/n)
	}
	return t
}

// usual reports whether where the body is, it is mostly repeated: for one time that it comes alone there is a place
// where it comes three times and more. Two kinds that take turns by tosses of a coin have only one such place in four.
func (t *tally) usual() bool { return t.runs >= t.most-t.trips }

// surprising reports whether a repeat is so long that it does not come by chance: if tokens were drawn at random, each
// as often as it is in the sequence, one run in a thousand would have one such.
func (f *folder) surprising(r repeat, counts []int) bool {
	kinds := f.top().kind
	n := float64(len(kinds))
	once := 0.0
	for _, k := range kinds[r.begin : r.begin+r.lag] {
		once += math.Log(n / float64(counts[k]))
	}
	nats := once * float64(r.end-r.begin-r.lag) / float64(r.lag)
	return nats >= math.Log(n)+math.Log(1000)
}

// trim takes from both ends of the repeat what belongs to others; false: less than three trips are left, or others are
// inside.
func trim(c *chosen, taken []bool) bool {
	begin, end := c.begin, c.end
	for begin < end && taken[begin] {
		begin++
	}
	for begin < end && taken[end-1] {
		end--
	}
	if end-begin < 3*c.lag {
		return false
	}
	for i := begin; i < end; i++ {
		if taken[i] {
			return false
		}
	}
	c.turn = (c.turn + begin - c.begin) % c.lag
	c.begin, c.end = begin, end
	return true
}

// short adds the places where a loop has one trip or two, so that a loop is one token however often it goes round. A
// trip begins where most of the loop's runs begin.
func (f *folder) short(kept []chosen, tally map[int32]*tally, taken []bool, at []int32) []chosen {
	type entry struct {
		kind int32
		turn int
	}
	votes := make(map[entry]int)
	best := make(map[int32]entry)
	for _, c := range kept {
		if t := tally[c.kind]; t.most == t.trips {
			continue
		}
		e := entry{c.kind, c.turn}
		votes[e]++
		if b, ok := best[c.kind]; !ok || votes[e] > votes[b] || votes[e] == votes[b] && e.turn < b.turn {
			best[c.kind] = e
		}
	}
	starts := make(map[int32][]entry)
	for _, c := range kept { // in their order, for maps have none
		if e, ok := best[c.kind]; ok {
			first := f.loop(c.kind).body[e.turn]
			starts[first] = append(starts[first], e)
			delete(best, c.kind)
		}
	}
	if len(starts) == 0 {
		return kept
	}
	kinds := f.top().kind
	for i := 0; i < len(kinds); i++ {
		if taken[i] {
			continue
		}
		for _, e := range starts[kinds[i]] {
			body := f.loop(e.kind).body
			end := i
			for end < len(kinds) && !taken[end] && kinds[end] == body[(e.turn+end-i)%len(body)] {
				end++
			}
			if end-i < len(body) {
				continue
			}
			for j := i; j < end; j++ {
				taken[j] = true
			}
			kept = append(kept, chosen{repeat{len(body), i, end}, e.kind, e.turn})
			at[i] = int32(len(kept))
			break
		}
	}
	return kept
}

// replace puts one token in the place of each chosen repeat.
func (f *folder) replace(list []chosen) {
	old := f.top()
	left := old.len()
	for _, c := range list {
		left -= c.end - c.begin - 1
	}
	t := tokens{kind: make([]int32, 0, left), at: make([]int32, 0, left+1), run: make([]int32, 0, left)}
	next := 0
	copyUpTo := func(end int) {
		for ; next < end; next++ {
			t.kind = append(t.kind, old.kind[next])
			t.at = append(t.at, old.at[next])
			t.run = append(t.run, old.runOf(next))
		}
	}
	for _, c := range list {
		copyUpTo(c.begin)
		t.kind = append(t.kind, c.kind)
		t.at = append(t.at, old.at[c.begin])
		t.run = append(t.run, int32(len(f.runs)))
		f.runs = append(f.runs, run{
			kind: c.kind, level: int32(len(f.levels) - 1), begin: int32(c.begin), end: int32(c.end), turn: int32(c.turn),
			from: old.at[c.begin], to: old.at[c.end], trips: int32((c.end - c.begin) / c.lag),
		})
		next = c.end
	}
	copyUpTo(old.len())
	t.at = append(t.at, old.at[old.len()])
	f.levels = append(f.levels, t)
}
