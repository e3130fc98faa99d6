package sequence

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"moriens/internal/team"
)

// counts are what columns add to a score. All are whole numbers, so that no order of adding matters.
type counts struct {
	labels  []labelCount // by label
	shared  map[string]*int
	counted int64 // bursts that were aligned by counting
}

type labelCount struct{ columns, threads int64 } // threads: summed over the columns

func (c *counts) add(label int32, threads int64) {
	c.labels[label].columns++
	c.labels[label].threads += threads
}

// merge adds what another one has counted.
func (c *counts) merge(o *counts) {
	for label, n := range o.labels {
		c.labels[label].columns += n.columns
		c.labels[label].threads += n.threads
	}
	for key, n := range o.shared {
		*c.sharedBy(key) += *n
	}
	c.counted += o.counted
}

// sharedBy counts the columns of a set of labels.
func (c *counts) sharedBy(key string) *int {
	n := c.shared[key]
	if n == nil {
		if c.shared == nil {
			c.shared = make(map[string]*int)
		}
		n = new(int)
		c.shared[key] = n
	}
	return n
}

// countAlike counts the columns of threads that all do the same.
func (w *work) countAlike(x *piece) {
	for _, label := range x.labels {
		w.columns.add(label, x.threads)
	}
}

// count counts an alignment's columns.
func (w *work) count(p *profile) {
	for _, columns := range [][]column{p.columns, p.alone} {
		for i := range columns {
			c := &columns[i]
			w.columns.add(c.label, c.threads)
			if c.others == 0 {
				continue
			}
			w.set = append(w.set[:0], c.label)
			for _, e := range p.othersOf(c) {
				w.columns.add(e.label, e.threads)
				w.set = append(w.set, e.label)
			}
			slices.Sort(w.set)
			w.key = appendKey(w.key[:0], w.set)
			n := w.columns.shared[string(w.key)]
			if n == nil {
				n = w.columns.sharedBy(string(w.key))
			}
			*n++
		}
	}
}

func appendKey(key []byte, labels []int32) []byte {
	for _, label := range labels {
		key = binary.BigEndian.AppendUint32(key, uint32(label))
	}
	return key
}

// score sums up what the segments of all members count.
func (a *aligner) score(segments []segment) (*Score, error) {
	s := &Score{Segments: a.count, Labels: a.labels, Global: math.NaN()}
	for i := range s.Labels {
		s.Labels[i].Score = math.NaN()
	}
	sums := make([]int64, 2*a.Count+2) // by label columns, and threads in them; distinct pieces; bursts counted
	sums[2*a.Count] = int64(a.idle)
	mine := make(map[string]int)
	for i := range segments {
		sums[2*a.Count] += int64(len(segments[i].pieces))
	}
	sums[2*a.Count+1] = a.total.counted
	for label, n := range a.total.labels {
		sums[2*label], sums[2*label+1] = n.columns, n.threads
	}
	for key, n := range a.total.shared {
		mine[key] = *n
	}
	if err := a.Team.AllReduce(sums, team.Sum); err != nil {
		return nil, err
	}
	shared, err := a.gatherShared(mine)
	if err != nil {
		return nil, err
	}
	s.Distinct = int(sums[2*a.Count])
	bursts := 0
	for i := range s.Labels {
		s.Labels[i].Columns = int(sums[2*i])
		bursts += s.Labels[i].Bursts
	}
	s.Counted = float64(sums[2*a.Count+1]) / float64(max(bursts, 1))
	if a.sequences < 2 {
		return s, nil
	}
	for i := range s.Labels {
		if l := &s.Labels[i]; l.Columns > 0 {
			l.Score = float64(sums[2*i+1]) / (float64(a.sequences) * float64(l.Columns))
		}
	}
	s.Global = meanScore(s.Labels)
	for _, key := range slices.Sorted(maps.Keys(shared)) {
		var set []int32
		for i := 0; i < len(key); i += 4 {
			set = append(set, int32(binary.BigEndian.Uint32([]byte(key[i:]))))
		}
		s.Shared = append(s.Shared, Shared{Labels: set, Columns: shared[key]})
	}
	return s, nil
}

// meanScore is the mean of the labels' scores, weighted by their time; by their bursts where these have no length.
// Labels without columns have no part in it.
func meanScore(labels []LabelScore) float64 {
	var terms []float64 // in an order of their own: labels have none
	var total int64
	for _, l := range labels {
		if l.Columns > 0 {
			terms = append(terms, l.Score*float64(l.TimeNS))
			total += l.TimeNS
		}
	}
	if total == 0 {
		terms = terms[:0]
		for _, l := range labels {
			if l.Columns > 0 {
				terms = append(terms, l.Score*float64(l.Bursts))
				total += int64(l.Bursts)
			}
		}
	}
	slices.Sort(terms)
	var sum float64
	for _, t := range terms {
		sum += t
	}
	return sum / float64(total)
}

// gatherShared adds up the sets of labels that share columns, which the members have counted.
func (a *aligner) gatherShared(mine map[string]int) (map[string]int, error) {
	if a.Team.Size() == 1 {
		return mine, nil
	}
	var sizes []int64 // per set: its columns, how long its key is
	var keys []byte
	for key, n := range mine {
		sizes = append(sizes, int64(n), int64(len(key)))
		keys = append(keys, key...)
	}
	all, err := team.Gather(a.Team, sizes)
	if err != nil {
		return nil, err
	}
	allKeys, err := a.Team.AllGather(keys)
	if err != nil {
		return nil, err
	}
	shared := make(map[string]int)
	for rank, list := range all {
		for i := 0; i < len(list); i += 2 {
			length := list[i+1]
			shared[string(allKeys[rank][:length])] += int(list[i])
			allKeys[rank] = allKeys[rank][length:]
		}
	}
	return shared, nil
}
