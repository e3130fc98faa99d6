package sequence

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"moriens/analysis/team"
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

// score sums up what the segments of all members count.
func (a *aligner) score(segments []segment) (*Score, error) {
	s := &Score{Segments: a.count, Labels: a.labels, Global: math.NaN()}
	for i := range s.Labels {
		s.Labels[i].Score = math.NaN()
	}
	sums := make([]int64, 2*a.Count+1) // by label columns, and threads in them; distinct pieces
	sums[2*a.Count] = int64(a.idle)
	mine := make(map[string]int)
	for i := range segments {
		sums[2*a.Count] += int64(len(segments[i].pieces))
		for _, l := range segments[i].result.labels {
			sums[2*l.label] += l.columns
			sums[2*l.label+1] += l.threads
		}
		for key, n := range segments[i].result.shared {
			mine[key] += n
		}
	}
	if err := a.Team.AllReduce(sums, team.Sum); err != nil {
		return nil, err
	}
	shared, err := a.gatherShared(mine)
	if err != nil {
		return nil, err
	}
	s.Distinct = int(sums[2*a.Count])
	for i := range s.Labels {
		s.Labels[i].Columns = int(sums[2*i])
	}
	if a.sequences < 2 {
		return s, nil
	}
	var terms []float64 // in an order of their own: labels have none
	var total int64
	for i := range s.Labels {
		l := &s.Labels[i]
		if l.Columns == 0 {
			continue
		}
		l.Score = float64(sums[2*i+1]) / (float64(a.sequences) * float64(l.Columns))
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
	return s, nil
}

// gatherShared adds up the sets of labels that share columns, which the members have counted.
func (a *aligner) gatherShared(mine map[string]int) (map[string]int, error) {
	if a.Team.Size() == 1 {
		return mine, nil
	}
	var told []int64 // per set: its columns, how long its key is
	var keys []byte
	for key, n := range mine {
		told = append(told, int64(n), int64(len(key)))
		keys = append(keys, key...)
	}
	all, err := team.Gather(a.Team, told)
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
