package sequence

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// counts are what columns add to a score. All are whole numbers, so that no order of adding matters.
type counts struct {
	labels []labelCount // ascending
	shared map[string]int
}

type labelCount struct {
	label            int32
	columns, threads int64 // threads: summed over the columns
}

// count counts an alignment's columns.
func (w *work) count(p *profile) counts {
	var entries []labelCount
	result := counts{}
	var set []int32
	for i := range p.columns {
		c := &p.columns[i]
		entries = append(entries, labelCount{c.main.label, 1, c.main.threads})
		if len(c.other) == 0 {
			continue
		}
		set = append(set[:0], c.main.label)
		for _, e := range c.other {
			entries = append(entries, labelCount{e.label, 1, e.threads})
			set = append(set, e.label)
		}
		slices.Sort(set)
		if result.shared == nil {
			result.shared = make(map[string]int)
		}
		result.shared[setKey(set)]++
	}
	slices.SortFunc(entries, func(x, y labelCount) int { return cmp.Compare(x.label, y.label) })
	for _, e := range entries {
		if n := len(result.labels); n > 0 && result.labels[n-1].label == e.label {
			result.labels[n-1].columns += e.columns
			result.labels[n-1].threads += e.threads
		} else {
			result.labels = append(result.labels, e)
		}
	}
	return result
}

func setKey(labels []int32) string {
	var key []byte
	for _, label := range labels {
		key = binary.BigEndian.AppendUint32(key, uint32(label))
	}
	return string(key)
}

// score sums up what the segments count.
func (a *aligner) score(segments []segment) *Score {
	s := &Score{Sequences: a.sequences, Segments: len(segments), Labels: a.labels, Global: math.NaN()}
	for i := range s.Labels {
		s.Labels[i].Score = math.NaN()
	}
	threads := make([]int64, a.Count)
	shared := make(map[string]int)
	for i := range segments {
		s.Distinct += len(segments[i].pieces)
		for _, l := range segments[i].result.labels {
			s.Labels[l.label].Columns += int(l.columns)
			threads[l.label] += l.threads
		}
		for key, n := range segments[i].result.shared {
			shared[key] += n
		}
	}
	if a.sequences < 2 {
		return s
	}
	var terms []float64 // in an order of their own: labels have none
	var total int64
	for i := range s.Labels {
		l := &s.Labels[i]
		if l.Columns == 0 {
			continue
		}
		l.Score = float64(threads[i]) / (float64(a.sequences) * float64(l.Columns))
		terms = append(terms, l.Score*float64(l.TimeNS))
		total += l.TimeNS
	}
	if total == 0 { // bursts without length: each label counts for its bursts
		terms = terms[:0]
		for _, l := range s.Labels {
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
	s.Global = sum / float64(total)
	for _, key := range slices.Sorted(maps.Keys(shared)) {
		var set []int32
		for i := 0; i < len(key); i += 4 {
			set = append(set, int32(binary.BigEndian.Uint32([]byte(key[i:]))))
		}
		s.Shared = append(s.Shared, Shared{Labels: set, Columns: shared[key]})
	}
	return s
}
