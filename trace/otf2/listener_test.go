package otf2

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"moriens/trace"
)

// A heard event is an event with its references looked up.
type heard struct {
	kind   string // enter, leave, metric, send, recv, irecv request, collective, collective end, measurement, parameter
	timeNS int64
	region string
	fields map[string]string
	counts map[string]int64
}

// A listener makes a story of the events of a location, and finds what no reader would bear: times that go back,
// regions that do not nest, a message outside of all regions that its call has.
type listener struct {
	story
	open     []opened
	lastNS   int64
	strict   bool // each time is later than the one before it
	events   int
	requests map[string]int64
	pending  int // collectives begun
	begun    heard
	off      bool
	ends     []heard // of messages
}

// sameRanks is the communicator of the same ranks that messages have which overtake no other.
func sameRanks(comm string) string {
	comm, _, _ = strings.Cut(comm, channelName("", 1)[:len(channelName("", 1))-1])
	return comm
}

// match brings sends and receives together as readers do: the n-th with the n-th of the same two processes, tag and
// communicator.
func match(run *trace.Run, listeners map[uint64]*listener) (story, error) {
	var world, first []int // by process; by world
	for w := range run.Worlds {
		first = append(first, len(world))
		for range run.Worlds[w].Size {
			world = append(world, w)
		}
	}
	type route struct {
		from, to  int
		comm, tag string
	}
	sent, received := make(map[route][]heard), make(map[route][]heard)
	for location, l := range listeners {
		own := int(uint32(location))
		for _, h := range l.ends {
			peer, err := strconv.Atoi(h.fields["rank"])
			if err != nil {
				return nil, err
			}
			if !strings.HasPrefix(h.fields["comm"], "all worlds") {
				peer += first[world[own]]
			}
			if strings.HasSuffix(h.kind, "send") {
				r := route{own, peer, h.fields["comm"], h.fields["tag"]}
				sent[r] = append(sent[r], h)
			} else {
				r := route{peer, own, h.fields["comm"], h.fields["tag"]}
				received[r] = append(received[r], h)
			}
		}
	}
	var s story
	for r, list := range sent {
		other := received[r]
		if len(other) != len(list) {
			return nil, fmt.Errorf("%+v: %d sends, %d receives", r, len(list), len(other))
		}
		for _, l := range [][]heard{list, other} {
			slices.SortStableFunc(l, func(a, b heard) int { return cmp.Compare(a.timeNS, b.timeNS) })
		}
		for i := range list {
			s.add("message %d > %d, sent %d, received %d, %s and %s bytes", r.from, r.to, list[i].timeNS, other[i].timeNS, list[i].fields["bytes"], other[i].fields["bytes"])
		}
	}
	slices.Sort(s)
	return s, nil
}

// messages lists those of the model as match does, at the stamps of a plan.
func messages(run *trace.Run, p *plan) story {
	var first []int
	total := 0
	for _, w := range run.Worlds {
		first = append(first, total)
		total += w.Size
	}
	var s story
	for i, m := range run.Messages {
		from, to := &run.Threads[m.From], &run.Threads[m.To]
		s.add("message %d > %d, sent %d, received %d, %d and %d bytes", first[from.World]+from.Rank, first[to.World]+to.Rank, p.sentNS[i], p.receivedNS[i], m.Bytes, m.Bytes)
	}
	slices.Sort(s)
	return s
}

type opened struct {
	heard
	counts map[string]int64
}

func (l *listener) hear(h heard) error {
	if h.timeNS < l.lastNS || l.strict && l.events > 0 && h.timeNS == l.lastNS {
		return fmt.Errorf("%+v comes after %d", h, l.lastNS)
	}
	l.events++
	l.lastNS = h.timeNS
	var top *opened
	if n := len(l.open); n > 0 {
		top = &l.open[n-1]
	}
	switch h.kind {
	case "enter":
		l.open = append(l.open, opened{heard: h})
	case "leave":
		if top == nil || top.region != h.region {
			return fmt.Errorf("%+v, but inside %+v", h, top)
		}
		l.open = l.open[:len(l.open)-1]
		return l.left(top, &h)
	case "metric":
		if on, is := h.counts["critical path"]; is {
			l.add("critical path %d at %d", on, h.timeNS)
			return nil
		}
		if top == nil {
			return fmt.Errorf("%+v outside of all regions", h)
		}
		return l.count(top, &h)
	case "send", "isend":
		l.ends = append(l.ends, h)
		l.add("%s %d to %s of %s, tag %s, %s bytes", h.kind, h.timeNS, h.fields["rank"], sameRanks(h.fields["comm"]), h.fields["tag"], h.fields["bytes"])
	case "recv":
		l.ends = append(l.ends, h)
		l.add("recv %d from %s of %s, tag %s, %s bytes", h.timeNS, h.fields["rank"], sameRanks(h.fields["comm"]), h.fields["tag"], h.fields["bytes"])
	case "irecv request":
		if l.requests == nil {
			l.requests = make(map[string]int64)
		}
		l.requests[h.fields["request"]] = h.timeNS
	case "irecv":
		posted, ok := l.requests[h.fields["request"]]
		if !ok {
			return fmt.Errorf("%+v was not posted", h)
		}
		delete(l.requests, h.fields["request"])
		l.ends = append(l.ends, h)
		l.add("recv %d from %s of %s, tag %s, %s bytes, posted %d", h.timeNS, h.fields["rank"], sameRanks(h.fields["comm"]), h.fields["tag"], h.fields["bytes"], posted)
	case "collective":
		l.pending, l.begun = l.pending+1, h
	case "collective end":
		if l.pending--; l.pending != 0 || h.fields["request"] != l.begun.fields["request"] {
			return fmt.Errorf("%+v was not begun", h)
		}
		how := ""
		if h.fields["request"] != "" {
			how = " that does not block"
		}
		l.add("collective%s %s %d to %d on %s, root %s, sent %s, received %s", how, h.fields["op"], l.begun.timeNS, h.timeNS, h.fields["comm"], h.fields["root"], h.fields["sent"], h.fields["received"])
	case "measurement":
		if off := h.fields["mode"] == "OFF"; off == l.off || top == nil || top.region != "dropped" {
			return fmt.Errorf("%+v, but off was %t, inside %+v", h, l.off, top)
		}
		l.off = !l.off
	case "parameter":
		l.add("%s at %d: %s", h.fields["name"], h.timeNS, h.fields["value"])
	}
	return nil
}

func (l *listener) count(top *opened, h *heard) error {
	if top.counts == nil {
		top.counts = make(map[string]int64)
	}
	for name, total := range h.counts {
		if before, known := top.counts[name]; known {
			total -= before // which may wrap, as it did when it was added
			if top.fields == nil {
				top.fields = make(map[string]string)
			}
			top.fields[name] = fmt.Sprintf("%s=%d", name, total)
		} else {
			top.counts[name] = total
		}
	}
	return nil
}

func (l *listener) left(top *opened, h *heard) error {
	switch cluster, isBurst := h.fields["cluster"]; {
	case isBurst:
		if want := map[string]string{"-1": "noise", "-2": "filtered", "-3": "missing data", "0": "burst"}[cluster]; top.region != want && top.region != "cluster "+cluster {
			return fmt.Errorf("a burst of cluster %s in region %s", cluster, top.region)
		}
		counts := make([]string, 0, len(top.fields))
		for name := range top.counts {
			counts = append(counts, top.fields[name])
		}
		slices.Sort(counts)
		weight := "1"
		if w, has := h.fields["weight"]; has {
			weight = w
		}
		l.add("burst of %s %d to %d %v, weight %s", cluster, top.timeNS, h.timeNS, counts, weight)
	case top.region == "dropped":
		l.add("dropped %d to %d", top.timeNS, h.timeNS)
	default:
		tail := ""
		if n, has := top.fields["calls"]; has {
			tail = fmt.Sprintf(", %s of them", n)
		}
		if sent, has := h.fields["bytes sent"]; has {
			tail += fmt.Sprintf(", sent %s, received %s", sent, h.fields["bytes received"])
		}
		if h.fields["unfinished"] == "1" {
			tail += ", unfinished"
		}
		if kind, has := h.fields["wait"]; has {
			tail += fmt.Sprintf(", waited %s ns for %s: %s", h.fields["wait ns"], cmp.Or(h.fields["wait for"], "nobody"), kind)
		}
		if n, has := top.fields["path"]; has {
			tail += ", path " + n
		}
		by := strings.TrimSuffix(strings.TrimSuffix(top.fields["call path"], top.region), " > ")
		l.add("call %s %d to %d by %s%s", top.region, top.timeNS, h.timeNS, by, tail)
	}
	return nil
}

// end returns the story.
func (l *listener) end() (*story, error) {
	if len(l.open) > 0 || l.off || l.pending != 0 || len(l.requests) > 0 {
		return nil, fmt.Errorf("still open: %+v, measurement off: %t, collectives %d, requests %v", l.open, l.off, l.pending, l.requests)
	}
	slices.Sort(l.story)
	return &l.story, nil
}
