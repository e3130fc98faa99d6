package kinds

import (
	"math"
	"slices"

	"moriens/analysis/workers"
)

// keptShare is the share of the bursts of its clusters that a kind has by place, at least.
const keptShare = .1

// giveUp makes variants of kinds that hardly any burst has by place: of the kind at whose places most of their bursts
// are.
func (d *Decision) giveUp(c *executor) {
	n := len(d.KindOf)
	t := c.count(1, len(d.Kind), func(k *counter, from, to int) {
		for i := from; i < to; i++ {
			if kind := d.Kind[i]; kind != None {
				was := int32(n) // noise
				if cluster := d.Cluster[i]; cluster != None {
					was = d.KindOf[cluster]
				}
				k.one(int64(was)<<32 | int64(kind))
			}
		}
	})
	d.Elsewhere = make([]bool, n)
	into := emptied(&t, n)
	if into == nil {
		return
	}
	for cluster, kind := range d.KindOf {
		if to := into[kind]; to != None {
			d.KindOf[cluster], d.Elsewhere[cluster] = to, true
			d.Predicted[kind] = math.NaN()
		}
	}
	workers.Chunks(len(d.Kind), c.workers, func(_, from, to int) {
		for i := from; i < to; i++ {
			if kind := d.Kind[i]; kind != None && into[kind] != None {
				d.Kind[i] = into[kind]
			}
		}
	})
}

// emptied finds the kinds that are given up. t counts bursts by the kind of their cluster (noise is the one behind the
// last) and that of their place. The result has by kind the one that gets its bursts, or None if the kind is kept. nil
// means that all are kept.
func emptied(t *Table, kinds int) []int32 {
	of, by := make([]int64, kinds+1), make([]int64, kinds) // bursts by cluster, and by place
	for row, n := range t.Counts {
		of[t.Keys[row]>>32] += n
		by[int32(t.Keys[row])] += n
	}
	gone := func(kind int32) bool {
		return int(kind) < kinds && of[kind] > 0 && float64(by[kind]) < keptShare*float64(of[kind])
	}
	into, most := slices.Repeat([]int32{None}, kinds), make([]int64, kinds)
	some := false
	for row, n := range t.Counts {
		was, is := int32(t.Keys[row]>>32), int32(t.Keys[row])
		if gone(was) && !gone(is) && n > most[was] {
			into[was], most[was] = is, n
			some = true
		}
	}
	if !some {
		return nil
	}
	return into
}
