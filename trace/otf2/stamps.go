package otf2

import (
	"fmt"
	"math"
)

// Who keeps its time where events lie too close: edges of bursts first, then those of calls and of dropped time, then
// all else.
const (
	anything uint8 = iota
	edge
	burstEdge
)

// A heldEvent waits for its stamp.
type heldEvent struct {
	event
	priority uint8
	end      endRef
	stampNS  int64
}

// An endRef is an end of a message: 0 none, i + 1 the sending of message i, −(i + 1) its receiving.
type endRef int32

func sendOf(message int32) endRef    { return endRef(message) + 1 }
func receiveOf(message int32) endRef { return -endRef(message) - 1 }

// A stamper gives the events of a location stamps that strictly increase, so that a reader that sorts them by time
// keeps their order. A stamp is the event's own time where there is room. Of two edges of bursts the later one is
// moved, only as far as the events between them need. Edges of calls lie between them at their own times, or as near as
// they can. What belongs to a call lies inside it.
//
// So no stamp is later than in a schedule that has each event at its time or 1 ns after the event before, and none
// earlier than in the same schedule made from the end.
type stamper struct {
	emit   func(e event, exactNS int64) error
	plan   *plan // of messages; nil where there is none
	held   []heldEvent
	real   []int32 // those of held that have a stamp
	lastNS int64   // the last stamp that is out; −1 none
}

const (
	// maxHeld is how many events wait for the next edge of a burst, unless one call has more; then the begin of a call
	// does.
	maxHeld = 1 << 14
	// latestNS leaves room for what a location's events can need.
	latestNS = math.MaxInt64 - 1<<40
)

func (p *stamper) put(e event, priority uint8, end endRef) error {
	if e.timeNS > latestNS {
		return fmt.Errorf("a time of %d ns: the latest that OTF2 is written with is %d", e.timeNS, int64(latestNS))
	}
	if priority == edge && e.kind == eventEnter && len(p.held) >= maxHeld {
		priority = burstEdge
	}
	p.held = append(p.held, heldEvent{event: e, priority: priority, end: end})
	if priority == burstEdge {
		return p.settle(true)
	}
	return nil
}

// settle stamps and emits what is held. The last of it may be the edge of a burst.
func (p *stamper) settle(toEdge bool) error {
	p.real = p.real[:0]
	for i := range p.held {
		if p.held[i].kind != eventValues {
			p.real = append(p.real, int32(i))
		}
	}
	end, endNS := len(p.real), int64(math.MaxInt64)
	if toEdge {
		end--
		x := p.at(end)
		x.stampNS = max(x.timeNS, p.least(-1, p.lastNS, end))
		endNS = x.stampNS
	}
	p.fit(edge, -1, p.lastNS, end, endNS)
	from, fromNS := -1, p.lastNS
	for i := range end + 1 {
		if i < end && p.at(i).priority < edge {
			continue
		}
		toNS := endNS
		if i < end {
			toNS = p.at(i).stampNS
		}
		p.fit(anything, from, fromNS, i, toNS)
		from, fromNS = i, toNS
	}
	return p.release()
}

func (p *stamper) at(i int) *heldEvent { return &p.held[p.real[i]] }

// fit stamps the events of one priority between two that have theirs: each as near to its time as the others leave
// room.
func (p *stamper) fit(priority uint8, from int, fromNS int64, to int, toNS int64) {
	last := from
	for i := from + 1; i < to; i++ {
		x := p.at(i)
		if x.priority != priority {
			continue
		}
		x.stampNS = max(min(x.timeNS, toNS-int64(to-i)), p.least(last, fromNS, i))
		last, fromNS = i, x.stampNS
	}
}

// least is the earliest stamp of an event behind one that has its stamp, with room for those between.
func (p *stamper) least(from int, fromNS int64, to int) int64 {
	ns := fromNS + int64(to-from)
	if p.plan == nil {
		return ns
	}
	for i := from + 1; i <= to; i++ {
		ns = max(ns, p.plan.earliest(p.at(i).end)+int64(to-i))
	}
	return ns
}

func (p *stamper) release() error {
	for i := range p.held {
		x := &p.held[i]
		exactNS := x.timeNS
		if x.kind != eventValues {
			x.timeNS, p.lastNS = x.stampNS, x.stampNS
			if p.plan != nil {
				p.plan.add(x.end, x.stampNS)
			}
		}
		if err := p.emit(x.event, exactNS); err != nil {
			return err
		}
	}
	p.held = p.held[:0]
	return nil
}
