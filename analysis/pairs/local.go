package pairs

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"moriens/analysis/waits"
	"moriens/analysis/workers"
	"moriens/internal/team"
)

const (
	// exactSizes is how many sizes of one peer are counted each; further ones are put together by octaves.
	exactSizes = 64
	// seenBits is the precision of times that were seen: 2^seenBits buckets an octave.
	seenBits = 5
	// testsApartNS is how far apart tests may be that are one run of them, as the agents take them.
	testsApartNS = 20_000
)

// A what says what a record is of.
type what int64

const (
	ofFlow what = iota
	ofSize
	ofEnd
	ofSeen
	ofShared
	ofGap
)

// A key is what a thread has a record of. Which fields mean anything depends on what.
type key struct {
	what what
	kind Kind
	peer int32 // thread
	size int64 // bin, or bytes
	time int64 // bucket of a time; of ends the call path
}

// A record is what a thread has counted of a key.
type record struct {
	Sums
	longestNS, firstNS, firstRestNS, firstAtNS, lateNS, known int64
}

// never is later than all messages.
const never = math.MaxInt64

func (r *record) add(o *record) {
	r.Sums.add(o.Sums)
	r.longestNS, r.lateNS, r.known = max(r.longestNS, o.longestNS), r.lateNS+o.lateNS, r.known+o.known
	if o.firstAtNS < r.firstAtNS {
		r.firstNS, r.firstRestNS, r.firstAtNS = o.firstNS, o.firstRestNS, o.firstAtNS
	}
}

// Records are what Local makes and Merge completes: what each thread has counted.
type Records struct {
	run      *Run
	lists    [][]int64 // by thread: words of records
	oneSided int64
}

// A part is a message that a call of a thread completed, or has sent.
type part struct {
	row     int32
	message int32
	kind    Kind
}

// Local adds up what the threads of this member completed.
func Local(run *Run, owners team.Threads) (*Records, error) {
	for i := range run.Threads {
		if t := &run.Threads[i]; len(t.EnterNS) != len(t.ExitNS) || len(t.EnterNS) != len(t.Path) {
			return nil, fmt.Errorf("pairs: thread %d has columns of %d, %d and %d calls", i, len(t.EnterNS), len(t.ExitNS), len(t.Path))
		}
	}
	x := &Records{run: run, lists: make([][]int64, len(run.Threads))}
	parts, sends := make([][]part, len(run.Threads)), make([][]part, len(run.Threads))
	for i := range run.Messages {
		m := run.Message(i)
		if min(m.From, m.To) < 0 || int(max(m.From, m.To)) >= len(run.Threads) {
			return nil, fmt.Errorf("pairs: message %d goes from thread %d to %d of %d", i, m.From, m.To, len(run.Threads))
		}
		switch {
		case m.Done.Row >= 0 && owners.Mine(int(m.Done.Thread)):
			parts[m.Done.Thread] = append(parts[m.Done.Thread], part{m.Done.Row, int32(i), Received})
		case m.Done.Row < 0 && owners.Mine(int(m.To)):
			x.oneSided++
			parts[m.To] = append(parts[m.To], part{-1, int32(i), Received})
		}
		if owners.Mine(int(m.From)) {
			parts[m.From] = append(parts[m.From], part{m.Sent, int32(i), Sent})
			if m.Send >= 0 {
				sends[m.From] = append(sends[m.From], part{m.Send, int32(i), Sent})
			}
		}
	}
	sizes := make([]int, len(run.Threads))
	for i := range sizes {
		sizes[i] = len(parts[i]) + len(run.Threads[i].Waits) + 1
	}
	workers.Every(sizes, run.Workers, func(i int) {
		if owners.Mine(i) {
			c := counter{run: run, thread: int32(i), Thread: &run.Threads[i], records: make(map[key]*record), known: make(map[int32]map[int64]bool)}
			c.completed(parts[i])
			c.waited()
			c.gaps(sends[i])
			x.lists[i] = c.words()
		}
	})
	return x, nil
}

// A counter adds up what one thread has counted.
type counter struct {
	*Thread
	run     *Run
	thread  int32
	records map[key]*record
	known   map[int32]map[int64]bool // by peer: its sizes that are counted each
	before  key
	last    *record // of before
}

func (c *counter) of(k key) *record {
	if c.last != nil && c.before == k {
		return c.last
	}
	r := c.records[k]
	if r == nil {
		r = &record{firstAtNS: never}
		c.records[k] = r
	}
	c.before, c.last = k, r
	return r
}

// completed takes the messages that calls of the thread completed, by call.
func (c *counter) completed(parts []part) {
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.row, b.row) })
	wait, before := 0, int32(-1) // the first wait of the call or of a later one; the last call that completed something
	for from := 0; from < len(parts); {
		row, to, receives := parts[from].row, from, 0
		for ; to < len(parts) && parts[to].row == row; to++ {
			if parts[to].kind == Received {
				receives++
			}
		}
		call := parts[from:to]
		from = to
		if row < 0 {
			for _, p := range call {
				c.add(p, Sums{}, false)
			}
			continue
		}
		first := c.firstTest(row, before)
		before = row
		for wait < len(c.Waits) && c.Waits[wait].Row < first {
			wait++
		}
		blockedNS, lateNS := c.ExitNS[row]-c.EnterNS[first], int64(0)
		for ; wait < len(c.Waits) && c.Waits[wait].Row <= row; wait++ {
			if w := &c.Waits[wait]; w.Kind.InMessages() {
				lateNS += w.UntilNS - c.EnterNS[w.Row]
			}
		}
		c.share(call, receives, blockedNS, max(0, blockedNS-lateNS))
		if receives > 0 && first == row {
			c.see(call)
		}
	}
}

// firstTest is the first of a run of tests that ends with a call that completes something, none of which has done so.
func (c *counter) firstTest(row, before int32) int32 {
	for row > before+1 && c.tests(row) && c.tests(row-1) && c.Path[row-1] == c.Path[row] && c.EnterNS[row]-c.ExitNS[row-1] <= testsApartNS {
		row--
	}
	return row
}

func (c *counter) tests(row int32) bool {
	path := c.Path[row]
	return int(path) < len(c.run.Tests) && c.run.Tests[path]
}

// share gives each receive of a call, or each send where there is no receive, its part of the time.
func (c *counter) share(call []part, receives int, blockedNS, restNS int64) {
	of, kind := int64(receives), Received
	if receives == 0 {
		of, kind = int64(len(call)), Sent
	}
	k := int64(0)
	for _, p := range call {
		if p.kind != kind {
			c.add(p, Sums{}, false)
			continue
		}
		part := func(ns int64) int64 { return ns*(k+1)/of - ns*k/of }
		if blockedNS > math.MaxInt64/(of+1) {
			part = func(ns int64) int64 { return ns / of }
		}
		c.add(p, Sums{BlockedNS: part(blockedNS), RestNS: part(restNS)}, true)
		k++
	}
}

// add adds a message with its part of a call's time; ended says that its call is known.
func (c *counter) add(p part, s Sums, ended bool) {
	m := c.run.Message(int(p.message))
	peer := m.To
	if p.kind == Received {
		peer = m.From
	}
	one := record{longestNS: s.BlockedNS, firstNS: s.BlockedNS, firstRestNS: s.RestNS, firstAtNS: m.SendNS, known: 1}
	s = Sums{1 << m.Halved, m.Bytes << m.Halved, s.BlockedNS << m.Halved, s.RestNS << m.Halved}
	one.Sums = s
	c.of(key{what: ofSize, kind: p.kind, peer: peer, size: int64(bits.Len64(uint64(max(m.Bytes, 0))))}).Sums.add(s)
	if ended {
		c.of(key{what: ofEnd, kind: p.kind, peer: peer, time: int64(c.Path[p.row])}).Sums.add(s)
	}
	c.of(key{what: ofFlow, kind: p.kind, peer: peer}).add(&one)
}

// see takes the time of the message of a call that was sent last, if the receiver was there before.
func (c *counter) see(call []part) {
	row, last := call[0].row, Message{SendNS: math.MinInt64}
	for _, p := range call {
		if m := c.run.Message(int(p.message)); p.kind == Received && m.SendNS > last.SendNS {
			last = m
		}
	}
	if last.SendNS < c.EnterNS[row] || last.SendNS > c.ExitNS[row] {
		return
	}
	seen := ofSeen
	if len(call) > 1 {
		seen = ofShared
	}
	c.of(key{what: seen, kind: Received, peer: last.From, size: c.size(last.From, last.Bytes), time: bucket(c.ExitNS[row] - last.SendNS)}).Messages++
}

// size is the bytes of a message, or the least of its octave where a peer has too many sizes.
func (c *counter) size(peer int32, bytes int64) int64 {
	known := c.known[peer]
	if known == nil {
		known = make(map[int64]bool)
		c.known[peer] = known
	}
	if bytes <= 0 || known[bytes] {
		return max(bytes, 0)
	}
	if len(known) < exactSizes {
		known[bytes] = true
		return bytes
	}
	return 1 << (bits.Len64(uint64(bytes)) - 1)
}

// waited adds up the waits for the other side of messages.
func (c *counter) waited() {
	for i := range c.Waits {
		w := &c.Waits[i]
		if !w.Kind.InMessages() {
			continue
		}
		kind := Received
		if w.Kind == waits.LateReceiver {
			kind = Sent
		}
		c.of(key{what: ofFlow, kind: kind, peer: w.For}).lateNS += (w.UntilNS - c.EnterNS[w.Row]) << w.Halved
	}
}

// gaps adds up how sends follow one another that are for the same rank.
func (c *counter) gaps(sends []part) {
	slices.SortStableFunc(sends, func(a, b part) int { return cmp.Compare(a.row, b.row) })
	for k := range sends {
		m := c.run.Message(int(sends[k].message))
		of := key{what: ofGap, kind: Sent, peer: m.To, size: c.size(m.To, m.Bytes), time: Apart}
		if k == 0 || c.run.Message(int(sends[k-1].message)).To != m.To {
			c.of(of).Messages += 1 << m.Halved
			continue
		}
		before, row := sends[k-1].row, sends[k].row
		of.time = int64(bits.Len64(uint64(max(0, c.EnterNS[row]-c.ExitNS[before]))))
		r := c.of(of)
		r.Messages += 1 << m.Halved
		r.BlockedNS += (c.EnterNS[row] - c.EnterNS[before]) << m.Halved
	}
}

// bucket numbers times so that those of one bucket differ by one part in 2^seenBits at most. Short ones have one each.
func bucket(ns int64) int64 {
	octave := bits.Len64(uint64(ns)) - 1 - seenBits
	if octave <= 0 {
		return ns
	}
	return int64(octave)<<seenBits + ns>>octave
}

// middle is in the middle of a bucket.
func middle(bucket int64) int64 {
	octave := bucket>>seenBits - 1
	if octave <= 0 {
		return bucket
	}
	low := bucket - octave<<seenBits
	return low<<octave + (int64(1)<<octave-1)/2
}
