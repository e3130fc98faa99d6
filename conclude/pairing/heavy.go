package pairing

import (
	"fmt"
	"math"
	"slices"

	"moriens/trace/rundir"
)

// heavy finds pairs that are blocked far longer than those that are alike, where nothing else says why. Where it is
// known which ranks are late, or which links slow, waits for late senders count for nothing: they are passed on from
// pair to pair. A call that completes several messages shares its time among all of them, slow or not: pairs of ranks
// with a slow link do not count.
func (d *describer) heavy(n *named) {
	spent := func(t *tie) int64 {
		if len(n.ranks)+len(n.slow) > 0 {
			return max(0, t.blockedNS-t.lateNS)
		}
		return t.blockedNS
	}
	type like struct {
		same   bool
		offset int32
	}
	groups := make(map[like][]*tie)
	for i := range d.ties.list {
		t := &d.ties.list[i]
		if spent(t) == 0 || d.queued(t.a, t.b) || n.slow[t.a] || n.slow[t.b] {
			continue
		}
		a, b := d.known.Ranks[t.a], d.known.Ranks[t.b]
		offset := b.Rank - a.Rank
		if a.World != b.World {
			offset = math.MaxInt32
		}
		groups[like{t.same, offset}] = append(groups[like{t.same, offset}], t)
		groups[like{t.same, 0}] = append(groups[like{t.same, 0}], t)
	}
	for k, list := range groups {
		if k.offset != 0 && len(list) < fewAlike {
			continue
		}
		logs := make([]float64, len(list))
		for i, t := range list {
			logs[i] = math.Log(float64(spent(t)))
		}
		median, deviation := robust(logs)
		for i, t := range list {
			a, b := d.known.Ranks[t.a], d.known.Ranks[t.b]
			own := groups[like{t.same, b.Rank - a.Rank}]
			if k.offset == 0 && (a.World == b.World && len(own) >= fewAlike || len(list) < fewAlike) {
				continue // it is among its like
			}
			usual := math.Exp(median)
			more := float64(spent(t)) - usual
			if logs[i] <= median+heavyDeviation*deviation || float64(spent(t)) < leastOfRank*float64(d.ties.totalNS) || !d.ofRun(more) && !d.ofRanks(t.a, t.b, more) || n.has(t) {
				continue
			}
			f := rundir.PairsFinding{
				Kind: rundir.PairsHeavyPair, Seconds: number(more / 1e9), Ranks: []int{int(t.a), int(t.b)}, Pairs: [][2]int{{int(t.a), int(t.b)}}, Factor: number(float64(spent(t)) / usual), Bytes: t.bytes, Messages: t.messages,
				Text: fmt.Sprintf("%s is blocked %s, %s × what pairs that are alike are: %s messages of %s in the mean", d.pair(t.a, t.b), duration(float64(spent(t))), times(float64(spent(t))/usual), count(t.messages), size(t.bytes/max(t.messages, 1))),
			}
			if t.same {
				f.Node = d.node(t.a)
				f.Text += ", on " + f.Node
			}
			d.find(f)
		}
	}
}

// robust is the median of values, and their deviation by the median of what is between it and them.
func robust(values []float64) (median, deviation float64) {
	list := slices.Sorted(slices.Values(values))
	median = list[(len(list)-1)/2]
	for i, x := range list {
		list[i] = math.Abs(x - median)
	}
	slices.Sort(list)
	return median, max(1.4826*list[(len(list)-1)/2], leastDeviation)
}
