package loops

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// Compress finds the loops. Columns of unequal length and symbols from 2^31 on are errors that name the thread. It is
// collective.
func Compress(threads []Thread, o Options) (*Structure, error) {
	if err := team.Explain(o.Team, check(threads, o)); err != nil {
		return nil, err
	}
	s := &Structure{Of: make([]int32, len(threads))}
	groups, err := groupsOf(threads, o)
	if err != nil {
		return nil, fmt.Errorf("loops: %w", err)
	}
	for g := range groups {
		for _, t := range groups[g].threads {
			s.Of[t] = int32(g)
		}
	}
	s.Limit = min(max(cmp.Or(o.Items, DefaultItems)/max(len(groups), 1), LeastItems), MostItems)
	trees := make([]*tree, len(groups))
	work := make([]int, len(groups))
	for g, x := range groups {
		groups[g].threads = slices.DeleteFunc(x.threads, func(t int32) bool { return !o.Team.Mine(int(t)) })
		work[g] = x.symbols * (1 + len(groups[g].threads)/8) // going through threads costs less than finding their loops
	}
	err = workers.Each(work, o.Workers, func(g, _ int) error {
		if at := groups[g].threads; len(at) > 0 {
			trees[g] = newTree(threads, at, limitOf(groups[g].symbols, s.Limit, o.Ratio), o.Coarse)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := graftAll(o.Team, trees); err != nil {
		return nil, fmt.Errorf("loops: %w", err)
	}
	s.coarse = o.Coarse
	m := merger{s, make(map[string]int32)}
	for g, t := range trees {
		s.Sequences = append(s.Sequences, m.tree(t))
		trees[g] = nil
	}
	return s, nil
}

func check(threads []Thread, o Options) error {
	if err := o.Team.Check(len(threads)); err != nil {
		return fmt.Errorf("loops: %w", err)
	}
	for i := range threads {
		if err := threads[i].check(o.Coarse); err != nil {
			return fmt.Errorf("loops: thread %d: %w", i, err)
		}
	}
	return nil
}

// graftAll gives each member the trees of all, by sequence. Those of one sequence have one form, for it alone decides
// on that: their sums are added up.
func graftAll(t team.Team, trees []*tree) error {
	if t.Size() == 1 {
		return nil
	}
	own := make(map[int32]tree)
	for g, tree := range trees {
		if tree != nil {
			own[int32(g)] = *tree
			trees[g] = nil
		}
	}
	all, err := team.Values(t, own)
	if err != nil {
		return err
	}
	for rank, theirs := range all {
		for g := range theirs {
			x := theirs[g]
			switch have := trees[g]; {
			case have == nil:
				trees[g] = &x
			case !have.graft(&x):
				return fmt.Errorf("member %d has other loops of sequence %d", rank, g)
			}
		}
	}
	if g := slices.Index(trees, nil); g >= 0 {
		return fmt.Errorf("no member has sequence %d", g)
	}
	return nil
}

// graft adds what other threads did of the same sequence. It returns false if that is another one.
func (t *tree) graft(o *tree) bool {
	same := func(a, b Body) bool { return a.key() == b.key() }
	if !slices.EqualFunc(t.Bodies, o.Bodies, same) || len(t.Counts) != len(o.Counts) {
		return false
	}
	t.Threads += o.Threads
	for i := range o.Bodies {
		t.Bodies[i].add(&o.Bodies[i])
	}
	for i := range o.Counts {
		t.Counts[i].Duration.Merge(o.Counts[i].Duration)
		t.Counts[i].Gap.Merge(o.Counts[i].Gap)
	}
	return true
}

// limitOf is how many items a sequence of so many symbols may have.
func limitOf(symbols, limit, ratio int) int {
	return min(limit, max(LeastItems, symbols/cmp.Or(ratio, DefaultRatio)))
}

func (t *Thread) check(coarse []uint32) error {
	n := len(t.Symbols)
	if len(t.DurationNS) != n || len(t.GapNS) != n {
		return fmt.Errorf("%d symbols, %d durations, %d gaps", n, len(t.DurationNS), len(t.GapNS))
	}
	if n > math.MaxInt32 {
		return fmt.Errorf("%d bursts: want at most %d", n, math.MaxInt32)
	}
	for i, s := range t.Symbols {
		if s >= firstLoop || coarse != nil && (int(s) >= len(coarse) || coarse[s] >= firstLoop) {
			return fmt.Errorf("burst %d: no symbol %d", i, s)
		}
	}
	return nil
}

// A group is threads that did the same.
type group struct {
	threads []int32
	symbols int // of one of them
}

// groupsOf groups the threads that did the same, in the order of the first of each.
func groupsOf(threads []Thread, o Options) ([]group, error) {
	if o.Team.Size() == 1 {
		return same(threads, o.Workers), nil
	}
	// What other members have is identified by its length and a hash of which no two sequences are known to share one.
	keys := make([][]uint64, len(threads))
	sizes := make([]int, len(threads))
	for i := range threads {
		sizes[i] = len(threads[i].Symbols)
	}
	workers.Every(sizes, o.Workers, func(i int) {
		if o.Team.Mine(i) {
			keys[i] = keyOf(threads[i].Symbols)
		}
	})
	keys, err := team.ByThread(o.Team, keys)
	if err != nil {
		return nil, err
	}
	var groups []group
	of := make(map[[keySize]uint64]int)
	for i, list := range keys {
		if len(list) != keySize {
			return nil, fmt.Errorf("thread %d: its sequence is not known", i)
		}
		key := [keySize]uint64(list)
		g, known := of[key]
		if !known {
			g = len(groups)
			of[key] = g
			groups = append(groups, group{symbols: int(key[0])})
		}
		groups[g].threads = append(groups[g].threads, int32(i))
	}
	return groups, nil
}

// keySize is a length and SHA-256.
const keySize = 1 + sha256.Size/8

// keyOf distinguishes a sequence from all others.
func keyOf(symbols []uint32) []uint64 {
	h := sha256.New()
	text := make([]byte, 0, 1<<12)
	for part := range slices.Chunk(symbols, cap(text)/4) {
		text = text[:0]
		for _, s := range part {
			text = binary.LittleEndian.AppendUint32(text, s)
		}
		h.Write(text)
	}
	key := []uint64{uint64(len(symbols))}
	for part := range slices.Chunk(h.Sum(nil), 8) {
		key = append(key, binary.LittleEndian.Uint64(part))
	}
	return key
}

// same groups the threads of a member that has all.
func same(threads []Thread, threadsAtWork int) []group {
	hashes := make([]uint64, len(threads))
	sizes := make([]int, len(threads))
	for i := range threads {
		sizes[i] = len(threads[i].Symbols)
	}
	workers.Every(sizes, threadsAtWork, func(i int) { hashes[i] = hashOf(threads[i].Symbols) })
	var groups []group
	byHash := make(map[uint64][]int)
next:
	for i := range threads {
		for _, g := range byHash[hashes[i]] {
			if slices.Equal(threads[groups[g].threads[0]].Symbols, threads[i].Symbols) {
				groups[g].threads = append(groups[g].threads, int32(i))
				continue next
			}
		}
		byHash[hashes[i]] = append(byHash[hashes[i]], len(groups))
		groups = append(groups, group{[]int32{int32(i)}, len(threads[i].Symbols)})
	}
	return groups
}

// A merger puts trees into one structure; bodies that are equal become one, and their times are added up.
type merger struct {
	to *Structure
	of map[string]int32
}

func (m *merger) tree(t *tree) Sequence {
	place := make([]int32, len(t.Bodies))
	for i, b := range t.Bodies {
		for k := range b.Items {
			for j := range b.Items[k].Turns {
				turn := &b.Items[k].Turns[j]
				turn.Body = place[turn.Body]
			}
		}
		place[i] = m.body(b)
	}
	return Sequence{
		Root: place[len(place)-1], Symbols: t.Symbols, Mixed: t.Mixed, Unordered: t.Unordered, Blurred: t.Blurred, Counts: t.Counts, Threads: t.Threads,
	}
}

func (m *merger) body(b Body) int32 {
	key := b.key()
	id, ok := m.of[key]
	if !ok {
		id = int32(len(m.to.Bodies))
		m.of[key] = id
		m.to.Bodies = append(m.to.Bodies, b)
		return id
	}
	m.to.Bodies[id].add(&b)
	return id
}

// add adds the rounds and times of a body that is equal but for these.
func (b *Body) add(o *Body) {
	b.Rounds += o.Rounds
	for k := range o.Items {
		have, more := &b.Items[k], &o.Items[k]
		have.Duration.Merge(more.Duration)
		have.Gap.Merge(more.Gap)
		for j := range more.Mixed {
			have.Mixed[j].Duration.Merge(more.Mixed[j].Duration)
			have.Mixed[j].Gap.Merge(more.Mixed[j].Gap)
		}
	}
}

// key is the same for bodies that are equal but for their times.
func (b Body) key() string {
	var k []byte
	number := func(n int64) { k = binary.AppendVarint(k, n) }
	for _, item := range b.Items {
		number(int64(item.Symbol))
		number(item.Times)
		number(int64(len(item.Turns)))
		for _, t := range item.Turns {
			number(int64(t.Body))
			number(t.Times)
		}
		number(int64(len(item.Mixed)))
		for _, c := range item.Mixed {
			number(int64(c.Symbol))
			number(c.Times)
		}
		if item.Unordered {
			number(1)
		} else {
			number(0)
		}
	}
	return string(k)
}
