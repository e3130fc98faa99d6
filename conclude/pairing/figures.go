package pairing

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"moriens/analysis/line"
	"moriens/analysis/pairs"
	"moriens/trace"
	"moriens/trace/rundir"
)

// takeWaits adds up waits.
func (d *describer) takeWaits() {
	t := d.file.Totals
	if d.Blame != nil {
		t.Collectives = seconds(d.collectiveNS)
	}
	if d.late != nil {
		var sender, receiver int64
		for i := range d.known.Flows {
			if f := &d.known.Flows[i]; f.Kind == pairs.Received {
				sender += f.LateNS
			} else {
				receiver += f.LateNS
			}
		}
		t.LateSender, t.LateReceiver, t.LateSenderError, t.LateReceiverError = seconds(sender), seconds(receiver), errorOf(d.errors.Kinds[pairs.Received]), errorOf(d.errors.Kinds[pairs.Sent])
		t.Unexplained = seconds(d.late.MessagesUnexplainedNS)
	}
}

// errorOf is the standard error of an estimate.
func errorOf(e pairs.Estimated) rundir.Number { return seconds(errorNS(e)) }

func errorNS(e pairs.Estimated) int64 { return int64(math.Round(e.ErrorNS())) }

// takeSizes adds up the sizes of all receives.
func (d *describer) takeSizes() {
	sums := make(map[int32]*pairs.Sums)
	add := func(bin int32, s pairs.Sums) {
		if sums[bin] == nil {
			sums[bin] = new(pairs.Sums)
		}
		x := sums[bin]
		x.Messages, x.Bytes, x.BlockedNS = x.Messages+s.Messages, x.Bytes+s.Bytes, x.BlockedNS+s.BlockedNS
	}
	for _, s := range d.known.Sizes {
		if !d.counted && s.Kind == pairs.Received {
			add(s.Bin, s.Sums)
		}
	}
	if d.counted {
		for i := range d.run.Traffic.Ranks {
			for _, s := range d.run.Traffic.Ranks[i].Sizes {
				if s.Kind == trace.Received {
					add(int32(s.Bin), pairs.Sums{Messages: s.Count, Bytes: s.Bytes, BlockedNS: s.BlockedNS})
				}
			}
		}
	}
	for bin, s := range sums {
		x := rundir.PairsSize{Messages: s.Messages, Bytes: s.Bytes, Blocked: seconds(s.BlockedNS)}
		x.FromBytes, x.ToBytes = binOf(bin)
		d.file.Sizes = append(d.file.Sizes, x)
	}
	slices.SortFunc(d.file.Sizes, func(a, b rundir.PairsSize) int { return cmp.Compare(a.FromBytes, b.FromBytes) })
}

// binOf are the sizes of so many bits.
func binOf(bits int32) (fromBytes, toBytes int64) {
	if bits == 0 {
		return 0, 0
	}
	if bits >= 63 {
		return 1 << 62, math.MaxInt64
	}
	return 1 << (bits - 1), 1<<bits - 1
}

// takePaths adds up the calls that completed receives, by place.
func (d *describer) takePaths() {
	sums := make(map[string]*pairs.Sums)
	add := func(path uint32, s pairs.Sums) {
		if int(path) >= len(d.names) {
			return
		}
		x := sums[d.names[path]]
		if x == nil {
			x = new(pairs.Sums)
			sums[d.names[path]] = x
		}
		x.Messages, x.Bytes, x.BlockedNS = x.Messages+s.Messages, x.Bytes+s.Bytes, x.BlockedNS+s.BlockedNS
	}
	for _, e := range d.known.Ends {
		if !d.counted && e.Kind == pairs.Received {
			add(e.Path, e.Sums)
		}
	}
	if d.counted {
		for i := range d.run.Traffic.Ranks {
			for _, e := range d.run.Traffic.Ranks[i].Ends {
				if e.Kind == trace.Received {
					add(e.Path, pairs.Sums{Messages: e.Count, Bytes: e.Bytes, BlockedNS: e.BlockedNS})
				}
			}
		}
	}
	for name, s := range sums {
		d.file.Paths = append(d.file.Paths, rundir.PairsCallPath{CallPath: name, Messages: s.Messages, Bytes: s.Bytes, Blocked: seconds(s.BlockedNS)})
	}
	slices.SortFunc(d.file.Paths, func(a, b rundir.PairsCallPath) int {
		return cmp.Or(cmp.Compare(b.Blocked, a.Blocked), cmp.Compare(a.CallPath, b.CallPath))
	})
}

// A seenTie is the transfers of a tie that were seen.
type seenTie struct {
	a, b   int32
	same   bool
	list   []pairs.Seen
	sizes  map[int64]int64 // by bytes: messages
	shared bool            // their calls completed others too: they may have been waiting for those
	hidden float64         // for each of the list, how many there are that settle took out
	ends   [2][]pairs.Seen // what a received, and what b received; nil: too few
}

// seen are all transfers that were seen.
type seen struct {
	ties    []seenTie
	lines   [2]line.Line // between nodes, within one
	usual   [2]map[int64]float64
	compare [2]bool // that times are known
}

func side(same bool) int {
	if same {
		return 1
	}
	return 0
}

// fewSeen is how many transfers of a pair must be seen for it to be compared.
const fewSeen = 5

// takeLines finds what transfers take by size, within a node and between nodes.
func (d *describer) takeLines() {
	s := &d.seen
	s.compare = [2]bool{!d.Unclear, true}
	at := make(map[[2]int32]int)
	for _, x := range d.known.Seen {
		same := d.sameHost(x.Rank, x.Peer)
		if !s.compare[side(same)] || x.Rank == x.Peer {
			continue
		}
		k := [2]int32{min(x.Rank, x.Peer), max(x.Rank, x.Peer)}
		n, known := at[k]
		if !known {
			n = len(s.ties)
			at[k] = n
			s.ties = append(s.ties, seenTie{a: k[0], b: k[1], same: same})
		}
		s.ties[n].list = append(s.ties[n].list, x)
	}
	var times [2]line.Times
	var alone, shared [2]int64
	for i := range s.ties {
		t := &s.ties[i]
		t.settle()
		k := side(t.same)
		for _, x := range t.list {
			times[k].Add(x.Bytes, x.NS, x.Messages)
			if x.Shared {
				shared[k] += x.Messages
			} else {
				alone[k] += x.Messages
			}
		}
	}
	slices.SortFunc(s.ties, func(p, q seenTie) int { return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b)) })
	for k := range times {
		l := times[k].Fit()
		l.Fitted = l.Fitted && alone[k]+shared[k] >= fewest
		s.lines[k] = l
		if len(l.Sizes) > 0 {
			d.file.Lines = append(d.file.Lines, describeLine(&l, k == 1, shared[k] > alone[k]))
		}
	}
	s.findUsual()
}

func describeLine(l *line.Line, same, atMost bool) rundir.PairsLine {
	x := rundir.PairsLine{SameNode: same, AtMost: atMost, Unfollowed: l.DoesNotFollow(), Latency: unknown, Bandwidth: unknown, Spread: unknown, Sizes: []rundir.PairsLineSize{}}
	if l.Fitted {
		x.Latency, x.Spread = number(l.LatencyNS/1e9), number(l.Spread)
		if l.NSPerByte > 0 {
			x.Bandwidth = number(1e9 / l.NSPerByte)
		}
	}
	odd := make(map[int64]bool)
	for _, s := range l.Odd() {
		odd[s.FromBytes] = true
	}
	for _, s := range l.Sizes {
		x.Messages += s.Messages
		x.Sizes = append(x.Sizes, rundir.PairsLineSize{
			FromBytes: s.FromBytes, ToBytes: s.ToBytes, Messages: s.Messages, Quartile: number(s.QuartileNS / 1e9), Median: number(s.MedianNS / 1e9), P95: number(s.P95NS / 1e9), Odd: odd[s.FromBytes],
		})
	}
	return x
}

// number is one with four significant digits: these are estimates.
func number(x float64) rundir.Number {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return rundir.Number(x)
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return rundir.Number(r)
}

// findUsual finds what messages of a size usually take: the lower quartile of what they take in each pair, lest slow
// ones hide themselves.
func (s *seen) findUsual() {
	var medians [2]map[int64][]float64
	for k := range medians {
		medians[k], s.usual[k] = make(map[int64][]float64), make(map[int64]float64)
	}
	for i := range s.ties {
		t := &s.ties[i]
		for bytes, n := range t.sizes {
			if n >= fewSeen {
				k := side(t.same)
				medians[k][bytes] = append(medians[k][bytes], t.median(bytes))
			}
		}
	}
	for k := range medians {
		for bytes, list := range medians[k] {
			slices.Sort(list)
			if len(list) >= 2 {
				s.usual[k][bytes] = list[(len(list)-1)/4]
			}
		}
	}
}

// median is what half of a pair's messages of a size take at most.
func (t *seenTie) median(bytes int64) float64 { return medianOf(t.list, bytes) }

func medianOf(seen []pairs.Seen, bytes int64) float64 {
	var list []weighed
	for _, x := range seen {
		if x.Bytes == bytes {
			list = append(list, weighed{float64(x.NS), x.Messages})
		}
	}
	return quantile(list, .5)
}

// settle leaves of what was seen what says most: messages that were alone in their calls, if these are enough, else of
// the two ways those of the quicker one. A message of a call that completes several takes at most as long as the call
// waited after its send; what the call waited for may be another one, but hardly so at both ends of a pair.
func (t *seenTie) settle() {
	var alone, there, back []pairs.Seen
	enough := func(list []pairs.Seen) (n int64) {
		for _, x := range list {
			n += x.Messages
		}
		return n
	}
	for _, x := range t.list {
		switch {
		case !x.Shared:
			alone = append(alone, x)
		case x.Rank == t.a:
			there = append(there, x)
		default:
			back = append(back, x)
		}
	}
	t.hidden = 1
	nThere, nBack := enough(there), enough(back)
	if nThere >= fewSeen {
		t.ends[0] = there
	}
	if nBack >= fewSeen {
		t.ends[1] = back
	}
	switch {
	case enough(alone) >= fewSeen || nThere+nBack == 0:
		t.list = alone
	case nBack < fewSeen || nThere >= fewSeen && quicker(there, back):
		t.list, t.shared, t.hidden = there, true, float64(nThere+nBack)/float64(max(nThere, 1))
	default:
		t.list, t.shared, t.hidden = back, true, float64(nThere+nBack)/float64(nBack)
	}
	t.sizes = make(map[int64]int64)
	for _, x := range t.list {
		t.sizes[x.Bytes] += x.Messages
	}
}

// quicker says that messages take less time than others of their sizes.
func quicker(list, others []pairs.Seen) bool {
	less, sizes := 0., make(map[int64]bool)
	for _, x := range list {
		if sizes[x.Bytes] {
			continue
		}
		sizes[x.Bytes] = true
		if a, b := medianOf(list, x.Bytes), medianOf(others, x.Bytes); a > 0 && b > 0 {
			less += math.Log(b / a)
		}
	}
	return less >= 0
}

// A weighed is a value that so many have.
type weighed struct {
	value float64
	n     int64
}

// quantile is the value that a part of all have at most.
func quantile(list []weighed, part float64) float64 {
	slices.SortFunc(list, func(a, b weighed) int { return cmp.Compare(a.value, b.value) })
	total, sum := int64(0), int64(0)
	for _, x := range list {
		total += x.n
	}
	for _, x := range list {
		if sum += x.n; float64(sum) >= part*float64(total) {
			return x.value
		}
	}
	return 0
}

// expected is what a message of a size usually takes; 0: nothing shows it.
func (s *seen) expected(same bool, bytes int64) float64 {
	k := side(same)
	if ns := s.usual[k][bytes]; ns > 0 {
		return ns
	}
	if l := &s.lines[k]; l.Fitted {
		return l.TimeNS(float64(bytes))
	}
	return 0
}

// assumedNS is what a message is taken to take that has hardly any bytes, where nothing shows it.
const assumedNS = 2000

// latency is what a message takes that has hardly any bytes, and what a byte takes; known says that transfers show it.
func (s *seen) latency(same bool) (ns, nsPerByte float64, known bool) {
	l := &s.lines[side(same)]
	if l.Fitted {
		return l.LatencyNS, l.NSPerByte, true
	}
	switch n := len(l.Sizes); n {
	case 0:
		return assumedNS, 0, false
	case 1:
		return l.Sizes[0].QuartileNS, 0, true
	default:
		a, b := &l.Sizes[0], &l.Sizes[n-1]
		per := max(0, (b.QuartileNS-a.QuartileNS)/(b.Bytes-a.Bytes))
		return max(0, a.QuartileNS-per*a.Bytes), per, true
	}
}
