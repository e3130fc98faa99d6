package cells

import (
	"cmp"
	"encoding/binary"
	"slices"

	"moriens/analysis/phase"
)

// A burst is one of a ring, with what it took and counted.
type burst struct {
	ring, row uint32
	site      uint32 // of the call that ends it
	ns        int64
	counts    []int64 // by the process's events, noCount where there is none
	in        uint32  // where it counts
	cuts      []phase.Cut
	// parts are what it has counted in each of its cuts, by the process's events, cut by cut; nil: that is shared by time.
	// estimated: some of these are.
	parts     []int64
	estimated bool
}

// pointsHeld are the bursts of each unit that is no place, in order of arrival: what a split needs. When they exceed
// their memory bound, those of the largest units are dropped: a crowded cell is rarely in question.
type pointsHeld struct {
	logs      []pointLog // by unit
	most      int64      // bytes
	bytes     int64
	forgotten int // logs that were given up
}

// A pointLog is bursts of one unit, each written as what differs from the one before.
type pointLog struct {
	data            []byte
	ring, row, site uint32 // of the last
	in              uint32 // likewise
	values          []int64
	gone            bool // bursts are missing
}

const (
	// forgetTo is the share of the bytes that may be held, in eighths, that is left when points go.
	forgetTo = 7
	// In the number that begins a burst: what it has in common with the one before.
	sameRing  = 1
	samePlace = 2 // its site, and where it counts: one bit more would make numbers of 16 rows and more a byte longer
	headBits  = 2
	// In the number of cuts: how the counts were taken apart.
	cutsShared = uint64(0)
	cutsRead   = uint64(1)
	cutsPartly = uint64(2)
	cutsBits   = 2
)

// add writes a burst to its unit's log.
func (p *pointsHeld) add(u *units, unit uint32, x *burst) {
	for len(p.logs) < u.len() {
		p.logs = append(p.logs, pointLog{})
	}
	l := &p.logs[unit]
	if l.gone || u.parent[unit] != 0 {
		return
	}
	was := l.bytes()
	l.add(x)
	if p.bytes += l.bytes() - was; p.bytes > p.most {
		p.forget()
	}
}

// forget gives up the points of the largest units.
func (p *pointsHeld) forget() {
	var order []int
	for i := range p.logs {
		if p.logs[i].data != nil {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(len(p.logs[b].data), len(p.logs[a].data)), cmp.Compare(a, b))
	})
	for _, i := range order {
		if p.bytes <= p.most/8*forgetTo {
			break
		}
		p.bytes -= p.logs[i].bytes()
		p.logs[i] = pointLog{gone: true}
		p.forgotten++
	}
}

// take removes and returns a unit's log.
func (p *pointsHeld) take(unit uint32) pointLog {
	l := p.logs[unit]
	p.bytes -= l.bytes()
	p.logs[unit] = pointLog{}
	return l
}

func (l *pointLog) bytes() int64 { return int64(cap(l.data) + 8*cap(l.values)) }

func (l *pointLog) add(x *burst) {
	first := l.data == nil
	row, head := x.row, uint64(0)
	if !first && x.ring == l.ring {
		row, head = x.row-l.row, head|sameRing
	}
	if !first && x.site == l.site && x.in == l.in {
		head |= samePlace
	}
	data := binary.AppendUvarint(l.data, uint64(row)<<headBits|head)
	if head&sameRing == 0 {
		data = binary.AppendUvarint(data, uint64(x.ring))
	}
	if head&samePlace == 0 {
		data = binary.AppendUvarint(binary.AppendUvarint(data, uint64(x.site)), uint64(x.in))
	}
	if isCut(x.in) {
		how := cutsShared
		if x.parts != nil {
			how = cutsRead
			if x.estimated {
				how = cutsPartly
			}
		}
		data = binary.AppendUvarint(data, uint64(len(x.cuts))<<cutsBits|how)
		for _, c := range x.cuts {
			data = binary.AppendUvarint(binary.AppendUvarint(data, uint64(c.Path)), uint64(c.NS))
		}
		for _, v := range x.parts {
			data = binary.AppendVarint(data, v)
		}
	}
	data = binary.AppendVarint(data, x.ns-l.value(0))
	for i, v := range x.counts {
		data = binary.AppendVarint(data, v-l.value(1+i)) // which wraps
	}
	l.data = data
	l.keep(x)
}

// value is a number of the burst before.
func (l *pointLog) value(i int) int64 {
	if i < len(l.values) {
		return l.values[i]
	}
	return 0
}

// keep makes a burst the one before.
func (l *pointLog) keep(x *burst) {
	l.ring, l.row, l.site, l.in = x.ring, x.row, x.site, x.in
	for len(l.values) < 1+len(x.counts) {
		l.values = append(l.values, 0)
	}
	l.values[0] = x.ns
	copy(l.values[1:], x.counts)
}

// each calls visit with the bursts in their order; events says how many counts those of a ring have. What visit gets
// does not last.
func (l *pointLog) each(events func(ring uint32) int, visit func(x *burst)) {
	at, data := pointLog{}, l.data
	number := func() uint64 {
		n, size := binary.Uvarint(data)
		data = data[size:]
		return n
	}
	signed := func() int64 {
		n, size := binary.Varint(data)
		data = data[size:]
		return n
	}
	var x burst
	for len(data) > 0 {
		head := number()
		if x.row = uint32(head >> headBits); head&sameRing == 0 {
			x.ring = uint32(number())
		} else {
			x.row += at.row
		}
		if head&samePlace == 0 {
			x.site = uint32(number())
			x.in = uint32(number())
		}
		x.cuts, x.parts, x.estimated = x.cuts[:0], nil, false
		if isCut(x.in) {
			cuts := number()
			for range cuts >> cutsBits {
				path := int32(number())
				x.cuts = append(x.cuts, phase.Cut{Path: path, NS: int64(number())})
			}
			how := cuts & (1<<cutsBits - 1)
			x.estimated = how == cutsPartly
			if how != cutsShared {
				for range len(x.cuts) * events(x.ring) {
					x.parts = append(x.parts, signed())
				}
			}
		}
		x.ns = signed() + at.value(0)
		x.counts = slices.Grow(x.counts[:0], maxEvents)[:events(x.ring)]
		for i := range x.counts {
			x.counts[i] = signed() + at.value(1+i)
		}
		at.keep(&x)
		visit(&x)
	}
}
