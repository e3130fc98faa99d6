package pairing

import (
	"fmt"
	"math"
	"slices"

	"moriens/analysis/line"
	"moriens/analysis/pairs"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// small finds small messages that were sent one after the other to the same rank. Where messages of windows alone are
// known one by one, they say which part of the messages to a rank is small and sent so, and the sums how many that is.
func (d *describer) small(n *named) {
	type key struct {
		side  int
		bytes int64
	}
	type sum struct {
		together, all int64
		costNS        float64
		pairs         map[[2]int32]bool
		enough        bool
		assumed       bool // nothing shows what a message takes
	}
	sums := make(map[key]*sum)
	for i := 0; i < len(d.known.Gaps); {
		g := d.known.Gaps[i]
		same := d.sameHost(g.Rank, g.Peer)
		latencyNS, perByte, shown := d.seen.latency(same)
		together, all, ns := int64(0), int64(0), int64(0)
		for ; i < len(d.known.Gaps) && d.known.Gaps[i].Rank == g.Rank && d.known.Gaps[i].Peer == g.Peer && d.known.Gaps[i].Bytes == g.Bytes; i++ {
			x := &d.known.Gaps[i]
			if all += x.Messages; x.Bin != pairs.Apart && math.Ldexp(1, int(x.Bin)) <= 2*latencyNS {
				together += x.Messages
				ns += x.NS
			}
		}
		times, known := d.timesSent(g.Rank, g.Peer)
		if !known {
			continue
		}
		scaled := func(n int64) int64 { return int64(math.Round(times * float64(n))) }
		together, all, ns = scaled(together), scaled(all), scaled(ns)
		if together == 0 || float64(g.Bytes)*perByte >= latencyNS || all < smallMessages || float64(all) < smallRate*d.elapsedNS()/1e9 || g.Rank == g.Peer {
			continue
		}
		k := key{side(same), g.Bytes}
		s := sums[k]
		if s == nil {
			s = &sum{pairs: make(map[[2]int32]bool), assumed: !shown}
			sums[k] = s
		}
		costNS := min(latencyNS*float64(together), float64(ns))
		s.together, s.all, s.costNS = s.together+together, s.all+all, s.costNS+costNS
		a, b := min(g.Rank, g.Peer), max(g.Rank, g.Peer)
		s.pairs[[2]int32{a, b}] = true
		s.enough = s.enough || d.ofRanks(a, b, costNS) && 2*together >= all
	}
	for k, s := range sums {
		if !s.enough && !d.ofRun(s.costNS) {
			continue
		}
		f := rundir.PairsFinding{Kind: rundir.PairsSmallMessages, Seconds: number(s.costNS / 1e9), Factor: unknown, Bytes: k.bytes, Messages: s.together}
		for p := range s.pairs {
			n.pairs[p] = true
			f.Pairs = append(f.Pairs, [2]int{int(p[0]), int(p[1])})
		}
		who := d.pair(int32(f.Pairs[0][0]), int32(f.Pairs[0][1]))
		if len(f.Pairs) > 1 {
			who = count(int64(len(f.Pairs))) + " pairs"
		}
		list(&f)
		about := ""
		if d.counted {
			about = "about "
		}
		f.Text = fmt.Sprintf("%s%s of %s messages of %s of %s could go together: saves about %s", about, count(s.together), count(s.all), size(k.bytes), who, duration(s.costNS))
		if s.assumed {
			f.Text += ", if a message takes " + duration(assumedNS)
		}
		d.find(f)
	}
}

// timesSent is how many messages from a rank to a peer there are for one that those known one by one stand for. Not
// known: too few are. Where the pair has no row of its own, they stand for themselves.
func (d *describer) timesSent(rank, peer int32) (times float64, known bool) {
	if !d.counted {
		return 1, true
	}
	f, t := d.flow(rank, peer, pairs.Sent), d.ties.of(rank, peer)
	switch {
	case f == nil:
		return 0, false
	case t == nil:
		return 1, true
	case rank == t.a:
		return float64(t.there) / float64(f.Messages), true
	}
	return float64(t.messages-t.there) / float64(f.Messages), true
}

func ranksOf(pairs [][2]int) (ranks []int) {
	for _, p := range pairs {
		ranks = append(ranks, p[0], p[1])
	}
	slices.Sort(ranks)
	return slices.Compact(ranks)
}

// first finds first messages that take far longer than later ones.
func (d *describer) first() {
	costNS, firstNS, usualNS := 0., 0., 0.
	found := make(map[[2]int]bool)
	d.eachFirst(func(f *pairs.Flow) {
		if f.Messages < firstMessages || f.Rank == f.Peer || d.queued(f.Rank, f.Peer) {
			return
		}
		usual := float64(f.RestNS-f.FirstRestNS) / float64(f.Messages-1)
		if float64(f.FirstRestNS) < firstFactor*max(usual, 1) {
			return
		}
		costNS += float64(f.FirstRestNS) - usual
		firstNS += float64(f.FirstRestNS)
		usualNS += usual
		found[[2]int{int(min(f.Rank, f.Peer)), int(max(f.Rank, f.Peer))}] = true
	})
	if !d.ofRun(costNS) {
		return
	}
	f := rundir.PairsFinding{Kind: rundir.PairsFirstMessage, Seconds: number(costNS / 1e9), Factor: number(firstNS / max(usualNS, 1))}
	for p := range found {
		f.Pairs = append(f.Pairs, p)
	}
	f.Messages = int64(len(f.Pairs))
	f.Text = fmt.Sprintf("the first messages of %s take %s a pair, %s × what later ones take: connections are set up",
		units.Count(len(f.Pairs), "pair"), duration(firstNS/float64(len(f.Pairs))), times(float64(f.Factor)))
	list(&f)
	d.find(f)
}

// eachFirst hands out the flows of whose first message it is known how long it took without waiting, each once. Where
// messages of windows alone are known one by one, the first of them is that if it was blocked as long as the first one
// that was counted.
func (d *describer) eachFirst(give func(f *pairs.Flow)) {
	if d.late == nil || len(d.known.Flows) == 0 {
		return
	}
	if !d.counted {
		for i := range d.known.Flows {
			give(&d.known.Flows[i])
		}
		return
	}
	given := make(map[*pairs.Flow]bool)
	for i := range d.run.Traffic.Ranks {
		rank := &d.run.Traffic.Ranks[i]
		own := d.index(int32(rank.World), int32(rank.Rank))
		for x := range rank.EachRoute {
			kind, is := flowKinds[x.Kind]
			peer := d.index(x.PeerWorld, x.Peer)
			if !is || own < 0 || peer < 0 || x.FirstNS <= 0 {
				continue
			}
			if f := d.flow(own, peer, kind); f != nil && !given[f] && math.Abs(float64(f.FirstNS-x.FirstNS)) <= sameFirst*float64(x.FirstNS) {
				given[f] = true
				give(f)
			}
		}
	}
}

// irregular finds sizes whose time does not follow their size, or is now this, now that.
func (d *describer) irregular(n *named) {
	for k := range d.seen.lines {
		l := &d.seen.lines[k]
		where := "between nodes"
		if k == 1 {
			where = "within a node"
		}
		if d.mostlyQueued(k) {
			continue
		}
		pooled := make(map[int64][]weighed) // of pairs that nothing was said of
		for i := range d.seen.ties {
			t := &d.seen.ties[i]
			if side(t.same) != k || n.pairs[[2]int32{t.a, t.b}] || t.shared && (n.slow[t.a] || n.slow[t.b]) || d.queued(t.a, t.b) {
				continue
			}
			for _, s := range t.list {
				pooled[s.Bytes] = append(pooled[s.Bytes], weighed{float64(s.NS), s.Messages})
			}
		}
		odd := make(map[int64]bool)
		for _, s := range l.Odd() {
			more := (s.MedianNS - l.TimeNS(s.Bytes)) * float64(s.Messages)
			if !d.ofRun(more) || !oddWithout(l, &s, pooled) {
				continue
			}
			odd[s.FromBytes] = true
			text := fmt.Sprintf("messages of %s %s take %s, %s × what their size says", size(s.FromBytes), where, duration(s.MedianNS), times(s.MedianNS/l.TimeNS(s.Bytes)))
			for _, o := range l.Sizes { // a larger one that takes as long
				if o.Bytes > 4*s.Bytes && math.Abs(o.MedianNS/s.MedianNS-1) < .2 {
					text += ": as long as " + size(o.FromBytes)
					break
				}
			}
			d.find(rundir.PairsFinding{Kind: rundir.PairsIrregular, Seconds: number(more / 1e9), Factor: number(s.MedianNS / l.TimeNS(s.Bytes)), Bytes: s.FromBytes, Messages: s.Messages, Text: text})
		}
		for bytes, list := range pooled {
			median, p95 := quantile(list, .5), quantile(list, .95)
			more, messages := 0., int64(0)
			for _, x := range list {
				more += max(0, x.value-median) * float64(x.n)
				messages += x.n
			}
			if odd[bytes] || messages < oftenMessages || p95 < oftenFactor*median || !d.ofRun(more) {
				continue
			}
			d.find(rundir.PairsFinding{
				Kind: rundir.PairsIrregular, Seconds: number(more / 1e9), Factor: number(p95 / median), Bytes: bytes, Messages: messages,
				Text: fmt.Sprintf("of messages of %s %s one in twenty takes %s or longer, %s × the median of %s", size(bytes), where, duration(p95), times(p95/median), duration(median)),
			})
		}
	}
}

// oddWithout says that sizes do not follow a line without the messages of slow links either.
func oddWithout(l *line.Line, s *line.Size, pooled map[int64][]weighed) bool {
	var list []weighed
	for bytes, of := range pooled {
		if bytes >= s.FromBytes && bytes <= s.ToBytes {
			list = append(list, of...)
		}
	}
	return quantile(list, .5) >= line.OddFactor*l.TimeNS(s.Bytes)
}

// mostlyQueued says that half of the pairs whose transfers were seen, within a node or between nodes, had to wait for a
// core.
func (d *describer) mostlyQueued(of int) bool {
	all, queued := 0, 0
	for i := range d.seen.ties {
		if t := &d.seen.ties[i]; side(t.same) == of {
			all++
			if d.queued(t.a, t.b) {
				queued++
			}
		}
	}
	return 2*queued >= all
}
