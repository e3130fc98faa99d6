package pairing

import "slices"

// A slowness is by how much a pair's transfers are slower than what others take.
type slowness struct {
	t      *seenTie
	factor float64
	costNS float64
	seen   int64
	bytes  int64 // the size that costs most
	shown  bool  // with its node

	proven  bool // nothing else explains what was seen of it
	finding int  // that names it; -1: none

	mostNS float64 // what its messages of a size take in the median, at most
	times  float64 // how many times what is usual that is, at most
	ends   [2]ending
}

// An ending is what was seen of a pair at one of its ranks.
type ending struct {
	slowestNS float64    // what messages of a size take in the median, at most
	usualNS   [2]float64 // what messages of these sizes usually take, at most, between nodes and within one
}

// A contest is the pairs that seem slow. A call that completes several messages takes as long as the slowest of them:
// if a rank has one slow link, its other pairs seem slow in the same calls. What was seen of a pair at one of its ranks
// is explained by another pair of the rank that seems slow too, and not by much less. A pair is proven slow
//   - if it was alone in its calls, or
//   - if nothing explains what was seen of it at one rank, all pairs of which were seen, or
//   - if nothing explains what was seen of it at both: two slow links that were never seen would have to.
type contest struct {
	*seen
	all    []*slowness
	at     map[int32][]*slowness // by rank
	unseen map[int32][]*tie      // by rank: pairs of which nothing is known
}

// alike is how many times what a pair takes another one may seem to take because of it.
const alike = 1.25

// contestOf takes a list of all pairs that were seen, those that cost most first. Pairs that are shown with their node
// are proven.
func contestOf(list []slowness, of *seen, ties []tie) *contest {
	c := &contest{seen: of, at: make(map[int32][]*slowness), unseen: make(map[int32][]*tie)}
	known := make(map[[2]int32]bool)
	for i := range list {
		x := &list[i]
		known[[2]int32{x.t.a, x.t.b}] = true
		if x.shown || x.factor >= slowFactor {
			c.all = append(c.all, x)
			c.at[x.t.a], c.at[x.t.b] = append(c.at[x.t.a], x), append(c.at[x.t.b], x)
		}
	}
	for i := range ties {
		if t := &ties[i]; t.messages > 0 && !known[[2]int32{t.a, t.b}] && len(c.at[t.a])+len(c.at[t.b]) > 0 {
			c.unseen[t.a], c.unseen[t.b] = append(c.unseen[t.a], t), append(c.unseen[t.b], t)
		}
	}
	for _, x := range c.all {
		c.look(x)
	}
	for _, x := range c.all {
		clear, sure := 0, false
		for end, rank := range x.ranks() {
			if x.t.ends[end] != nil && !c.explained(x, end) {
				clear++
				sure = sure || len(c.unseen[rank]) == 0
			}
		}
		x.proven = x.shown || !x.t.shared || sure || clear == 2
	}
	return c
}

func (x *slowness) ranks() [2]int32 { return [2]int32{x.t.a, x.t.b} }

// look takes what is compared of a pair.
func (c *contest) look(x *slowness) {
	for bytes := range x.t.sizes {
		took := x.t.median(bytes)
		x.mostNS = max(x.mostNS, took)
		if usual := c.expected(x.t.same, bytes); usual > 0 {
			x.times = max(x.times, took/usual)
		}
	}
	for end, list := range x.t.ends {
		e, done := &x.ends[end], make(map[int64]bool)
		for _, s := range list {
			if done[s.Bytes] {
				continue
			}
			done[s.Bytes] = true
			e.slowestNS = max(e.slowestNS, medianOf(list, s.Bytes))
			for k := range e.usualNS {
				e.usualNS[k] = max(e.usualNS[k], c.expected(k == side(true), s.Bytes))
			}
		}
	}
}

// explained says that another pair explains what was seen of one at an end.
func (c *contest) explained(x *slowness, end int) bool {
	return slices.ContainsFunc(c.at[x.ranks()[end]], func(o *slowness) bool { return o.explains(x, end) })
}

// explains says whether messages of a pair may take as long as what was seen of another one at a rank of both. Sizes of
// the pair of which none was seen are taken to be as slow as those of which some were.
func (o *slowness) explains(x *slowness, end int) bool {
	e := &x.ends[end]
	return o != x && alike*max(o.mostNS, o.times*e.usualNS[side(o.t.same)]) >= e.slowestNS
}

// unproven are the others: those together that have a rank in common.
func (c *contest) unproven() (list [][]*slowness) {
	taken, been := make(map[*slowness]bool), make(map[int32]bool)
	for _, x := range c.all {
		if x.proven || taken[x] {
			continue
		}
		taken[x] = true
		of := []*slowness{x}
		for i := 0; i < len(of); i++ {
			for _, rank := range of[i].ranks() {
				if been[rank] {
					continue
				}
				been[rank] = true
				for _, o := range c.at[rank] {
					if !o.proven && !taken[o] {
						taken[o] = true
						of = append(of, o)
					}
				}
			}
		}
		list = append(list, of)
	}
	return list
}
