package represent

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"moriens/internal/units"
)

// A Part of a candidate: threads of a window.
type Part struct {
	Window  int
	Why     Why
	Threads []int32 // ascending
	Bytes   int64   // of all of them
	Reason  string  // why they are kept; of what is dropped: why they were to be, and why not
}

// A Choice is what fits.
type Choice struct {
	Kept    []Part // by Why, then by benefit
	Dropped []Part // likewise
	Notes   []string
}

// A Budget is how much may be kept.
type Budget struct {
	Bytes int64
	// Of bounds what is kept for one reason. A thread's part of a window that does not fit there is passed over: smaller
	// ones behind it may fit, and what matters less has bounds of its own. For reasons that are not here there are Bytes
	// alone.
	Of map[Why]int64
}

// Choose keeps of candidates what fits the budget: threads' parts of windows in the order of importance, until the
// first for which not enough of Bytes is left. Nothing that matters less is kept in the place of what matters more, and
// less Bytes keep a part of what more keep. A thread's part of a window counts once, as the most important that it is.
// The order of candidates does not matter.
func Choose(candidates []Candidate, b Budget) (*Choice, error) {
	if b.Bytes < 0 {
		return nil, fmt.Errorf("represent: a budget of %d bytes", b.Bytes)
	}
	for why, bytes := range b.Of {
		if bytes < 0 {
			return nil, fmt.Errorf("represent: a budget of %d bytes for what is kept as %v", bytes, why)
		}
	}
	for i := range candidates {
		if err := candidates[i].check(); err != nil {
			return nil, fmt.Errorf("represent: candidate %d: %w", i, err)
		}
	}
	c := chooser{list: slices.Clone(candidates), budget: b, left: b.Bytes, of: maps.Clone(b.Of), seen: make(map[int][]uint64)}
	slices.SortFunc(c.list, compareCandidates)
	c.kept, c.dropped = make([][]int, len(c.list)), make([][]int, len(c.list))
	for from := 0; from < len(c.list); {
		to := from
		for to < len(c.list) && c.list[to].Why == c.list[from].Why {
			to++
		}
		c.take(from, to)
		from = to
	}
	return c.choice(), nil
}

func (c *Candidate) check() error {
	if len(c.Bytes) != len(c.Threads) {
		return fmt.Errorf("%d threads, bytes of %d", len(c.Threads), len(c.Bytes))
	}
	if c.Why < Representative || c.Why > Fallback || c.Rank < 0 {
		return fmt.Errorf("%v of rank %d", c.Why, c.Rank)
	}
	for i, bytes := range c.Bytes {
		if bytes < 0 || c.Threads[i] < 0 {
			return fmt.Errorf("thread %d: %d bytes", c.Threads[i], bytes)
		}
	}
	return nil
}

// compareCandidates orders all that can be distinguished.
func compareCandidates(a, b Candidate) int {
	return cmp.Or(cmp.Compare(a.Why, b.Why), cmp.Compare(b.BenefitNS, a.BenefitNS), cmp.Compare(a.Window, b.Window), cmp.Compare(a.Rank, b.Rank),
		slices.Compare(a.Threads, b.Threads), slices.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Reason, b.Reason))
}

type chooser struct {
	list          []Candidate
	budget        Budget
	left          int64
	of            map[Why]int64    // that is left of Budget.Of
	seen          map[int][]uint64 // per window: a bit per thread
	kept, dropped [][]int          // per candidate: indices into its Threads
	full          bool             // something did not fit
	firstOut      int              // the candidate that this was part of
}

// take goes through candidates [from, to), which are of one Why, turn by turn: each gives one thread a turn.
func (c *chooser) take(from, to int) {
	turns := 0
	for i := from; i < to; i++ {
		turns = max(turns, c.list[i].Rank+len(c.list[i].Threads))
	}
	waiting := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		waiting = append(waiting, i)
	}
	slices.SortStableFunc(waiting, func(a, b int) int { return cmp.Compare(c.list[a].Rank, c.list[b].Rank) })
	var active []int
	for turn := 0; turn < turns; turn++ {
		begun := len(waiting) > 0 && c.list[waiting[0]].Rank == turn
		for len(waiting) > 0 && c.list[waiting[0]].Rank == turn {
			active, waiting = append(active, waiting[0]), waiting[1:]
		}
		if begun {
			slices.Sort(active) // by benefit, as the list is
		}
		active = slices.DeleteFunc(active, func(i int) bool { return c.list[i].Rank+len(c.list[i].Threads) <= turn })
		for _, i := range active {
			c.offer(i, turn-c.list[i].Rank)
		}
		if len(active) == 0 && len(waiting) > 0 {
			turn = c.list[waiting[0]].Rank - 1 // ranks may have gaps
		}
	}
}

func (c *chooser) offer(i, k int) {
	candidate := &c.list[i]
	if !c.first(candidate.Window, candidate.Threads[k]) {
		return
	}
	left, bounded := c.of[candidate.Why]
	passed := bounded && candidate.Bytes[k] > left
	if !c.full && !passed && candidate.Bytes[k] > c.left {
		c.full, c.firstOut = true, i
	}
	if c.full || passed {
		c.dropped[i] = append(c.dropped[i], k)
		return
	}
	c.left -= candidate.Bytes[k]
	if bounded {
		c.of[candidate.Why] -= candidate.Bytes[k]
	}
	c.kept[i] = append(c.kept[i], k)
}

// first reports whether a thread's part of a window comes for the first time.
func (c *chooser) first(window int, thread int32) bool {
	bits := c.seen[window]
	if word := int(thread / 64); word >= len(bits) {
		bits = append(bits, make([]uint64, word+1-len(bits))...)
		c.seen[window] = bits
	}
	bit := uint64(1) << (thread % 64)
	unseen := bits[thread/64]&bit == 0
	bits[thread/64] |= bit
	return unseen
}

func (c *chooser) choice() *Choice {
	choice := new(Choice)
	for i := range c.list {
		candidate := &c.list[i]
		if len(c.kept[i]) > 0 {
			p := candidate.part(c.kept[i])
			p.Reason = candidate.Reason
			if n := len(c.dropped[i]); n > 0 {
				p.Reason += fmt.Sprintf(" (%d of %s, as many as fit)", len(p.Threads), units.Count(n+len(p.Threads), "thread"))
			}
			choice.Kept = append(choice.Kept, p)
		}
		if len(c.dropped[i]) > 0 {
			p := candidate.part(c.dropped[i])
			p.Reason = candidate.Reason + "; " + c.whyNot(&p)
			choice.Dropped = append(choice.Dropped, p)
		}
	}
	if c.full && c.list[c.firstOut].Why == c.list[0].Why {
		choice.Notes = append(choice.Notes, c.note())
	}
	return choice
}

// whyNot says why a part is not kept.
func (c *chooser) whyNot(p *Part) string {
	left, of := c.left, ""
	if bytes, bounded := c.of[p.Why]; bounded && bytes < left {
		left, of = bytes, fmt.Sprintf(" of the %s available for %v windows", units.Bytes(c.budget.Of[p.Why]), p.Why)
	}
	text := fmt.Sprintf("would need %s; %s left%s", units.Bytes(p.Bytes), units.Bytes(left), of)
	if p.Bytes <= left {
		text += ", and more important ones did not fit"
	}
	return text
}

// note says what a budget means that does not hold the most important.
func (c *chooser) note() string {
	var kept, all int
	var bytes int64
	for i := range c.list {
		if c.list[i].Why == c.list[0].Why {
			kept += len(c.kept[i])
			all += len(c.kept[i]) + len(c.dropped[i])
			bytes = plus(bytes, plus(c.list[i].part(c.kept[i]).Bytes, c.list[i].part(c.dropped[i]).Bytes))
		}
	}
	return fmt.Sprintf("%s are left for windows; the most important ones need %s: %d of %s of windows and threads are kept",
		units.Bytes(c.budget.Bytes), units.Bytes(bytes), kept, units.Count(all, "pair"))
}

// part is some of the threads of a candidate.
func (c *Candidate) part(threads []int) Part {
	p := Part{Window: c.Window, Why: c.Why}
	for _, k := range threads {
		p.Threads = append(p.Threads, c.Threads[k])
		p.Bytes = plus(p.Bytes, c.Bytes[k])
	}
	slices.Sort(p.Threads)
	return p
}

// plus adds amounts, up to the largest possible one.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
