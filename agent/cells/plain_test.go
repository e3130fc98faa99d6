package cells_test

import (
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"slices"
	"sort"

	"moriens/analysis/space"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// plain is what a Store should know, found in the plainest way: by going through all of it at the end.
type plain struct {
	dims    []space.Dim
	byCalls bool
	side    float64
	minNS   int64

	processes map[uint64]*moriensv1.Process
	frames    map[[2]uint64]string // of a process's path
	all       map[[2]uint64]bool   // a process's communicators of all ranks
	sizes     map[uint32]uint32    // of communicators
	rings     []*plainRing
	samples   int
}

type plainRing struct {
	id      uint64
	process *moriensv1.Process
	rows    []plainRow
	next    uint64
	last    string
	anchors map[uint64][2]uint64 // communicator and ordinal, by row
	marks   []section.Mark
	counts  [][]int64 // of each mark, by the process's events; nil: not read
	marked  uint64    // marks so far, with those that are gone
}

// A plainRow is a row, with the burst before it.
type plainRow struct {
	row            uint64
	site           string
	function, path uint32
	ticks          uint64 // at which the burst begins
	length, within uint64 // ticks before and in the call
	paused         bool
	callNS         int64
	calls          uint64
	burst          bool
	afterHole      bool
	before         string
	ns             int64
	counts         map[string]int64
	status         string // unit, short or missing
	at             []float64
	key            string // of group and cell
}

const (
	nsPerTick   = 0.5
	ticksPerSec = 1e9 / nsPerTick
)

func read(p *plain, list []item) {
	p.processes, p.frames, p.all = map[uint64]*moriensv1.Process{}, map[[2]uint64]string{}, map[[2]uint64]bool{}
	p.sizes = map[uint32]uint32{}
	p.rings, p.samples = nil, 0
	for _, m := range messagesOf(list) {
		if m.GetClockSample() != nil {
			p.samples++
		}
		switch b := m.Body.(type) {
		case *moriensv1.ReportRequest_Process:
			p.processes[b.Process.Process] = b.Process
		case *moriensv1.ReportRequest_Ring:
			if p.ring(b.Ring.Ring) == nil {
				p.rings = append(p.rings, &plainRing{id: b.Ring.Ring, process: p.processes[b.Ring.Process], anchors: map[uint64][2]uint64{}})
			}
		case *moriensv1.ReportRequest_CallPath:
			text := ""
			for _, f := range b.CallPath.Frames {
				text += fmt.Sprintf("<%s %x %d", filepath.Base(f.Module), f.BuildId, f.Offset)
			}
			p.frames[[2]uint64{b.CallPath.Process, uint64(b.CallPath.Path)}] = text
		case *moriensv1.ReportRequest_Communicator:
			if c := b.Communicator; !c.Inter && len(c.First) == 1 && c.First[0] == 0 && c.Stride[0] == 1 {
				p.sizes[c.Communicator] = c.Count[0]
			}
		case *moriensv1.ReportRequest_Member:
			if p.sizes[b.Member.Communicator] == uint32(p.processes[b.Member.Process].Size) {
				p.all[[2]uint64{b.Member.Process, uint64(b.Member.Comm)}] = true
			}
		}
	}
	for _, x := range list {
		if x.rows != nil {
			p.take(x.rows)
		}
	}
}

func (p *plain) ring(id uint64) *plainRing {
	for _, r := range p.rings {
		if r.id == id {
			return r
		}
	}
	return nil
}

func (p *plain) take(c *sectiontest.Rows) {
	r := p.ring(c.Ring)
	for _, m := range c.Collectives {
		if p.all[[2]uint64{r.process.Process, uint64(m.Comm)}] {
			r.anchors[c.First+uint64(m.Row)] = [2]uint64{uint64(m.Comm), m.Ordinal}
		}
	}
	counted := 0
	for i, m := range c.Marks {
		var counts []int64
		if m.Counted {
			for _, column := range c.MarkCounts {
				counts = append(counts, column[counted])
			}
			counted++
		}
		if c.FirstMark+uint64(i) >= r.marked {
			r.marks, r.counts = append(r.marks, m), append(r.counts, counts)
			r.marked = c.FirstMark + uint64(i) + 1
		}
	}
	if p.samples < 2 { // the rows wait
		return
	}
	value, ticks := 0, c.Origin
	for i := range c.Function {
		x := plainRow{row: c.First + uint64(i), function: c.Function[i], path: c.Path[i], calls: 1, counts: map[string]int64{}}
		x.site = fmt.Sprint(c.Function[i], p.frames[[2]uint64{r.process.Process, uint64(c.Path[i])}])
		x.callNS = int64(math.Round(float64(c.Call[i]) * nsPerTick))
		x.ticks, x.length, x.within, x.paused = ticks, c.Burst[i], c.Call[i], slices.Contains(c.Paused, uint32(i))
		ticks += c.Burst[i] + c.Call[i]
		x.burst = !slices.Contains(c.NoBurst, uint32(i))
		x.ns = int64(math.Round(float64(c.Burst[i]) * nsPerTick))
		if at := slices.Index(c.PollsRow, uint32(i)); at >= 0 {
			x.calls = c.Polls[at]
		}
		if !slices.Contains(c.NoCounts, uint32(i)) {
			for e, name := range r.process.Events {
				if v := c.Counts[e][value]; v != math.MinInt64 {
					x.counts[name] = v
				}
			}
			value++
		}
		if x.row < r.next {
			continue
		}
		if x.row > r.next {
			r.last, x.afterHole = "", true
		}
		x.before = r.last
		r.last, r.next = x.site, x.row+1
		p.judge(&x)
		r.rows = append(r.rows, x)
	}
}

// quantity is a duration or a count; negative where it was not read.
func (x *plainRow) quantity(name string) float64 {
	if name == space.Duration {
		return float64(x.ns)
	}
	if v, has := x.counts[name]; has {
		return float64(v)
	}
	return -1
}

func (p *plain) judge(x *plainRow) {
	x.status = "unit"
	for _, d := range p.dims {
		if x.quantity(d.Num) < 0 || d.Den != "" && x.quantity(d.Den) < 0 {
			x.status = "missing"
			return
		}
	}
	if x.ns < p.minNS {
		x.status = "short"
		return
	}
	for _, d := range p.dims {
		v := x.quantity(d.Num)
		if d.Den != "" {
			v /= x.quantity(d.Den)
		}
		if d.Scale == space.Log {
			v = math.Log(v)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v/p.side) > math.MaxInt32 { // it is in no cell
			x.status = "missing"
			return
		}
		x.at = append(x.at, v)
	}
	if p.byCalls {
		x.key = x.before + "|" + x.site
	}
	for _, v := range x.at {
		x.key += fmt.Sprint(" ", math.Floor(v/p.side))
	}
}

// A plainSum is of some bursts.
type plainSum struct {
	count          uint64
	total, squares *big.Int
	lo, hi         []float64
	coords         []float64
	counters       map[string]*plainSum
}

func (s *plainSum) add(v int64) {
	if s.total == nil {
		s.total, s.squares = new(big.Int), new(big.Int)
	}
	s.count++
	b := big.NewInt(v)
	s.total.Add(s.total, b)
	s.squares.Add(s.squares, new(big.Int).Mul(b, b))
}

// units sums up bursts by unit: a key names a cell, or a place where that cell was split.
func (p *plain) units(split map[string]bool) map[string]*plainSum {
	units := map[string]*plainSum{}
	for _, r := range p.rings {
		for i := range r.rows {
			x := &r.rows[i]
			if !x.burst || x.status != "unit" {
				continue
			}
			key := x.unit(split)
			u := units[key]
			if u == nil {
				u = &plainSum{lo: slices.Clone(x.at), hi: slices.Clone(x.at), coords: make([]float64, len(x.at)), counters: map[string]*plainSum{}}
				units[key] = u
			}
			u.add(x.ns)
			for j, v := range x.at {
				u.lo[j], u.hi[j] = min(u.lo[j], v), max(u.hi[j], v)
				u.coords[j] += v
			}
			for name, v := range x.counts {
				if v >= 0 {
					if u.counters[name] == nil {
						u.counters[name] = new(plainSum)
					}
					u.counters[name].add(v)
				}
			}
		}
	}
	return units
}

func (x *plainRow) unit(split map[string]bool) string {
	if split[x.key] {
		return x.key + " at" + fmt.Sprint(x.at)
	}
	return x.key
}

// A piece is what a thread does in a segment.
type piece struct {
	segment uint64
	labels  []int32
}

// pieces cuts the sequence of a ring, by the labels of units. Those without labels are left out.
func (r *plainRing) pieces(label func(x *plainRow) int32, whole bool) []piece {
	rows := make([]uint64, 0, len(r.anchors)) // of anchors
	for row := range r.anchors {
		rows = append(rows, row)
	}
	slices.Sort(rows)
	past := map[uint64]uint64{}
	before := map[uint64]uint64{} // anchors before each
	total := uint64(0)
	for _, row := range rows {
		comm, ordinal := r.anchors[row][0], r.anchors[row][1]
		total += ordinal - past[comm]
		before[row] = total
		total++
		past[comm] = ordinal + 1
	}
	var list []piece
	segment := uint64(0)
	for i := range r.rows {
		x := &r.rows[i]
		if x.afterHole { // the next anchor knows best
			at := sort.Search(len(rows), func(i int) bool { return rows[i] >= x.row })
			if at > 0 {
				segment = before[rows[at-1]] + 1
			}
			if at < len(rows) {
				segment = before[rows[at]]
			}
		}
		number := segment
		if whole {
			number = 0
		}
		if x.burst && x.status == "unit" && label(x) >= 0 {
			if n := len(list); n == 0 || list[n-1].segment != number {
				list = append(list, piece{segment: number})
			}
			list[len(list)-1].labels = append(list[len(list)-1].labels, label(x))
		}
		if b, isAnchor := before[x.row]; isAnchor {
			segment = b + 1
		}
	}
	return list
}
