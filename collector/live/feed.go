package live

import (
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector/store"
)

// feedBursts is about how many bursts are taken from the store at a time.
const feedBursts = 1 << 16

// A feed takes the bursts of a store, a part at a time.
type feed struct {
	seen   map[*store.Ring]seen
	bursts grouping.Bursts // the last part
	// moments say where and when each of them was; nil without a viewer.
	moments []moment
	// member is which of so many collectors this is, which number their threads apart.
	member, members int32
}

// seen is how much of a ring was taken.
type seen struct {
	chunks int
	path   uint32 // of the last call
}

// newFeed starts over; known counters keep their columns.
func newFeed(last grouping.Bursts) feed {
	f := feed{seen: make(map[*store.Ring]seen), bursts: last, members: 1}
	f.clear()
	return f
}

func (f *feed) clear() {
	b := &f.bursts
	b.DurationNS, b.Before, b.After = b.DurationNS[:0], b.Before[:0], b.After[:0]
	f.moments = f.moments[:0]
	for i := range b.Counters {
		b.Counters[i] = b.Counters[i][:0]
	}
}

// next takes the next part, and reports whether there was any. A follower, if there is one, gets the calls, and
// moments.
func (f *feed) next(views []store.RingView, places []uint32, follower *follower) bool {
	f.clear()
	if follower != nil && !follower.known {
		follower.begin(views)
	}
	for i, v := range views {
		if v.NSPerTick == 0 {
			continue // without two clock samples a tick has no length yet
		}
		at := f.seen[v.Ring]
		columns := f.columns(v.Ring.Process.Info.Events)
		for _, c := range v.Chunks[at.chunks:] {
			if f.bursts.Len() >= feedBursts {
				break
			}
			f.take(&c, columns, places, v.NSPerTick, &at)
			if follower != nil {
				f.time(&c, line{&v, follower.zeroNS}, moment{ring: int32(i)*f.members + f.member, rank: v.Ring.Process.Info.Rank}, &follower.history)
			}
		}
		f.seen[v.Ring] = at
	}
	return f.bursts.Len() > 0
}

func (f *feed) take(c *store.Chunk, columns []int, places []uint32, nsPerTick float64, at *seen) {
	f.count(c, columns)
	noBurst := c.NoBurst
	for i, number := range c.Path {
		path := places[number]
		if len(noBurst) > 0 && int(noBurst[0]) == i {
			noBurst = noBurst[1:]
		} else {
			f.bursts.DurationNS = append(f.bursts.DurationNS, int64(float64(c.Burst[i])*nsPerTick))
			f.bursts.Before = append(f.bursts.Before, at.path)
			f.bursts.After = append(f.bursts.After, path)
		}
		at.path = path
	}
	at.chunks++
}

// time says when each burst of a chunk was, and counts the time of its calls.
func (f *feed) time(c *store.Chunk, l line, m moment, h *history) {
	at, noBurst := c.Origin, c.NoBurst
	for i := range c.Path {
		if len(noBurst) > 0 && int(noBurst[0]) == i {
			noBurst = noBurst[1:]
		} else {
			m.startNS, m.known = l.at(at)
			f.moments = append(f.moments, m)
		}
		at += c.Burst[i]
		enter, entered := l.at(at)
		at += c.Call[i]
		if exit, left := l.at(at); entered && left {
			h.add(CodeMPI, enter, exit)
		}
	}
}

// columns gives the number of each event's column, where all that are new have one from now on.
func (f *feed) columns(events []string) []int {
	places := make([]int, len(events))
	for i, name := range events {
		places[i] = slices.Index(f.bursts.CounterNames, name)
		if places[i] < 0 {
			places[i] = len(f.bursts.Counters)
			f.bursts.CounterNames = append(f.bursts.CounterNames, name)
			f.bursts.Counters = append(f.bursts.Counters, notRead(nil, f.bursts.Len()))
		}
	}
	return places
}

// count appends the counts of a chunk's bursts.
func (f *feed) count(c *store.Chunk, places []int) {
	bursts := len(c.Path) - len(c.NoBurst)
	for column := range f.bursts.Counters {
		event := slices.Index(places, column)
		if event < 0 {
			f.bursts.Counters[column] = notRead(f.bursts.Counters[column], bursts)
			continue
		}
		noBurst := c.NoBurst
		for row, v := range c.Column(event) {
			if len(noBurst) > 0 && int(noBurst[0]) == row {
				noBurst = noBurst[1:]
			} else {
				f.bursts.Counters[column] = append(f.bursts.Counters[column], max(v, space.NotRead))
			}
		}
	}
}

// notRead appends that many values that were not read.
func notRead(column []int64, n int) []int64 {
	for range n {
		column = append(column, space.NotRead)
	}
	return column
}
