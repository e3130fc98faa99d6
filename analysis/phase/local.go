package phase

import (
	"fmt"
	"math"
)

// A Timeline is in which phase a thread is when.
type Timeline struct {
	BeginNS, EndNS int64   // of the program
	Path           []int32 // of each interval
	// Instance is for each interval the one whose instance it is part of: itself, or one round it of the same path.
	Instance []int32
	// Above is for each interval the one round its instance, -1 = the program.
	Above  []int32
	Number []int32 // of the instance, for each interval

	own    Paths
	pieces []piece
}

// A piece is time of which one interval is the innermost, until the next piece begins.
type piece struct {
	fromNS   int64
	interval int32 // -1: directly in the program
}

// Lay lays out the time of a thread, which begins and ends with the program and with what reaches over that. Paths are
// the thread's own until Number has numbered them. Intervals that do not nest are an error.
func Lay(beginNS, endNS int64, intervals []Interval) (Timeline, error) {
	return lay(Paths{}, beginNS, endNS, intervals)
}

// lay is Lay of a thread some of whose paths have numbers.
func lay(own Paths, beginNS, endNS int64, intervals []Interval) (Timeline, error) {
	t := Timeline{
		own: own, BeginNS: beginNS, EndNS: endNS,
		Path: make([]int32, len(intervals)), Instance: make([]int32, len(intervals)), Above: make([]int32, len(intervals)), Number: make([]int32, len(intervals)),
	}
	for i := range intervals {
		t.BeginNS, t.EndNS = min(t.BeginNS, intervals[i].BeginNS), max(t.EndNS, intervals[i].EndNS)
	}
	t.EndNS = max(t.BeginNS, t.EndNS)
	t.pieces = make([]piece, 0, 2*len(intervals)+1)
	t.begin(t.BeginNS, -1)
	var open []int32 // outermost first
	var instances []int32
	above := func() int32 {
		if len(open) == 0 {
			return -1
		}
		return open[len(open)-1]
	}
	leave := func(depth int) {
		for len(open) > depth {
			ends := intervals[above()].EndNS
			open = open[:len(open)-1]
			t.begin(ends, above())
		}
	}
	for i := range intervals {
		x := &intervals[i]
		if int(x.Depth) > len(open) || x.Depth < 0 || x.EndNS < x.BeginNS {
			return t, fmt.Errorf("phase %d: depth %d in %d others, from %d to %d ns", i, x.Depth, len(open), x.BeginNS, x.EndNS)
		}
		leave(int(x.Depth))
		round := above()
		if round >= 0 && (x.BeginNS < intervals[round].BeginNS || x.EndNS > intervals[round].EndNS) || x.BeginNS < t.pieces[len(t.pieces)-1].fromNS {
			return t, fmt.Errorf("phase %d: from %d to %d ns, beyond the one round it or before the one ahead of it", i, x.BeginNS, x.EndNS)
		}
		parent := int32(0)
		if round >= 0 {
			parent = t.Path[round]
		}
		path := t.own.child(parent, x.Name)
		t.Path[i] = path
		if round >= 0 && path == parent {
			t.Instance[i], t.Above[i], t.Number[i] = t.Instance[round], t.Above[round], t.Number[round]
		} else {
			for len(instances) < t.own.Len() {
				instances = append(instances, 0)
			}
			t.Instance[i], t.Above[i], t.Number[i] = int32(i), -1, instances[path]
			if round >= 0 {
				t.Above[i] = t.Instance[round]
			}
			if x.Number >= 0 {
				t.Number[i] = x.Number
			}
			instances[path] = t.Number[i] + 1
		}
		open = append(open, int32(i))
		t.begin(x.BeginNS, int32(i))
	}
	leave(0)
	return t, nil
}

// begin begins a piece; one without time is left out.
func (t *Timeline) begin(ns int64, interval int32) {
	if n := len(t.pieces); n > 0 && t.pieces[n-1].fromNS == ns {
		t.pieces[n-1].interval = interval
		return
	}
	t.pieces = append(t.pieces, piece{ns, interval})
}

// number gives the paths of the intervals the numbers that all threads have.
func (t *Timeline) number(to []int32) {
	for i, path := range t.Path {
		t.Path[i] = to[path]
	}
}

// PathOf is the path of an interval, or of the program.
func (t *Timeline) PathOf(interval int32) int32 {
	if interval < 0 {
		return 0
	}
	return t.Path[interval]
}

// A cursor goes through the pieces in the order of time.
type cursor struct {
	pieces []piece
	at     int
	endNS  int64
}

// until is where the present piece ends.
func (c *cursor) until() int64 {
	if c.at+1 < len(c.pieces) {
		return c.pieces[c.at+1].fromNS
	}
	return math.MaxInt64
}

// moveTo makes the piece that has a moment the present one.
func (c *cursor) moveTo(ns int64) {
	for c.until() <= ns {
		c.at++
	}
}

// Walk hands out all parts of the thread's time in their order, and for each call, burst and pause the interval in
// which it counts. Parts follow each other without a gap from the begin of the program to its end, or to where the
// last record ends beyond that.
func (t *Timeline) Walk(r *Records, part func(p Part), counts func(what What, record, interval int32)) {
	c := cursor{pieces: t.pieces, endNS: t.EndNS}
	nowNS := t.BeginNS
	spend := func(what What, record int, toNS int64) {
		for nowNS < toNS {
			c.moveTo(nowNS)
			ns := min(toNS, c.until()) - nowNS
			part(Part{what, int32(record), c.pieces[c.at].interval, ns})
			nowNS += ns
		}
	}
	inside := func(ns int64) int32 {
		c.moveTo(max(ns, nowNS))
		return c.pieces[c.at].interval
	}
	calls, bursts, pauses := 0, 0, 0
	for {
		next, endNS, what := int64(math.MaxInt64), int64(math.MaxInt64), Unrecorded
		offer := func(of What, from, to int64) { // of those that begin at one time, one without length is the first
			if from < next || from == next && to < endNS {
				next, endNS, what = from, to, of
			}
		}
		if calls < len(r.EnterNS) {
			offer(Call, r.EnterNS[calls], r.ExitNS[calls])
		}
		if bursts < len(r.StartNS) {
			offer(Burst, r.StartNS[bursts], r.StartNS[bursts]+r.DurationNS[bursts])
		}
		if pauses < len(r.Pauses) {
			offer(Paused, r.Pauses[pauses].BeginNS, r.Pauses[pauses].EndNS)
		}
		if what == Unrecorded {
			break
		}
		spend(Unrecorded, 0, next)
		switch in := inside(next); what {
		case Call:
			counts(Call, int32(calls), in)
			spend(Call, calls, endNS)
			calls++
		case Burst:
			if r.CountsIn != nil {
				in = r.CountsIn[bursts]
			}
			counts(Burst, int32(bursts), in)
			spend(Burst, bursts, endNS)
			bursts++
		case Paused:
			counts(Paused, int32(pauses), in)
			spend(Paused, pauses, endNS)
			pauses++
		}
	}
	spend(Unrecorded, 0, t.EndNS)
}
