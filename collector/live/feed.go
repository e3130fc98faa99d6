package live

import (
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector/store"
)

// portionBursts is about how many bursts are taken from the store at a time, all or a sample of them. More wait where a
// run is taken again, or where a million arrive each second: each portion has a sample of its own, so that none of it
// stands for more bursts than in other jobs.
const portionBursts = 1 << 20

// A feed takes the bursts of a store, a part at a time.
type feed struct {
	seen []int // chunks that were taken of each ring, in order of arrival
	arrived
	pieces  []piece
	sampler sampler
	reader  store.Reader
	// member is which of so many collectors this is, which number their threads apart.
	member, members int32
}

// What has arrived is a part of the bursts, each with those that it stands for.
type arrived struct {
	bursts grouping.Bursts
	stands []stand
	// moments say where and when each of them was; nil without a viewer.
	moments []moment
}

// A stand is for how many bursts one stands, itself among them, and how long those take together.
type stand struct{ bursts, timeNS int64 }

// A piece is a chunk that has arrived.
type piece struct {
	*store.Chunk
	ring    int32 // in order of arrival
	view    *store.RingView
	before  uint32 // place of the call before its first row
	columns []int  // of its process's events
}

// newFeed starts over; known counters keep their columns.
func newFeed(last grouping.Bursts) feed {
	f := feed{arrived: arrived{bursts: last}, sampler: newSampler(), members: 1}
	f.clear()
	return f
}

func (f *feed) clear() {
	b := &f.bursts
	b.DurationNS, b.Before, b.After = b.DurationNS[:0], b.Before[:0], b.After[:0]
	f.stands, f.moments = f.stands[:0], f.moments[:0]
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
	rows, bursts := f.gather(views, places)
	if bursts <= fedBursts {
		for i := range f.pieces {
			f.takeAll(&f.pieces[i], places, follower)
		}
	} else {
		f.takeSample(rows, places, follower)
	}
	clear(f.pieces) // the end of the run lets go of chunks
	return bursts > 0
}

// gather finds what has arrived, up to a portion, and counts it.
func (f *feed) gather(views []store.RingView, places []uint32) (rows, bursts int) {
	f.pieces = f.pieces[:0]
	for len(f.seen) < len(views) {
		f.seen = append(f.seen, 0)
	}
	for i := range views {
		v := &views[i]
		if v.NSPerTick == 0 || f.seen[i] == len(v.Chunks) {
			continue // without two clock samples a tick has no length yet
		}
		columns := f.columns(v.Ring.Process.Info.Events)
		for ; f.seen[i] < len(v.Chunks) && bursts < portionBursts; f.seen[i]++ {
			p := piece{Chunk: &v.Chunks[f.seen[i]], ring: int32(i), view: v, columns: columns}
			if f.seen[i] > 0 {
				p.before = places[v.Chunks[f.seen[i]-1].LastPath]
			}
			f.pieces = append(f.pieces, p)
			rows, bursts = rows+p.Rows, bursts+p.Bursts()
		}
	}
	return rows, bursts
}

// takeAll takes all bursts of a chunk.
func (f *feed) takeAll(p *piece, places []uint32, follower *follower) {
	c := f.reader.Calls(p.Chunk)
	noBurst, before := c.NoBurst, p.before
	for row, path := range c.Path {
		after := places[path]
		if len(noBurst) > 0 && int(noBurst[0]) == row {
			noBurst = noBurst[1:]
		} else {
			ns := p.ns(c.Burst[row])
			f.bursts.DurationNS = append(f.bursts.DurationNS, ns)
			f.bursts.Before = append(f.bursts.Before, before)
			f.bursts.After = append(f.bursts.After, after)
			f.stands = append(f.stands, stand{1, ns})
		}
		before = after
	}
	f.countAll(p, c)
	if follower != nil {
		f.timeAll(p, c, follower)
	}
}

// mostNS is more than any time that can be true: a program that overwrites its own memory may have hit its ring. Two of
// them can be added.
const mostNS = int64(1) << 61

// ns is the time of so many ticks of the chunk's clock.
func (p *piece) ns(ticks uint64) int64 {
	return int64(min(float64(ticks)*p.view.NSPerTick, float64(mostNS)))
}

// timeAll says when each burst of a chunk was, and counts the time of its calls.
func (f *feed) timeAll(p *piece, c *store.Calls, follower *follower) {
	m, l := f.moment(p), line{p.view, follower.zeroNS}
	at, noBurst := p.Origin, c.NoBurst
	for i := range c.Path {
		if len(noBurst) > 0 && int(noBurst[0]) == i {
			noBurst = noBurst[1:]
		} else {
			m.startNS, m.known = l.at(at)
			f.moments = append(f.moments, m)
		}
		at += c.Burst[i] + c.Call[i]
	}
	follower.eachCall(p, c)
}

func (f *feed) moment(p *piece) moment {
	return moment{ring: p.ring*f.members + f.member, rank: p.view.Ring.Process.Info.Rank}
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

// countAll appends the counts of a chunk's bursts.
func (f *feed) countAll(p *piece, c *store.Calls) {
	for column := range f.bursts.Counters {
		event := slices.Index(p.columns, column)
		if event < 0 {
			f.bursts.Counters[column] = notRead(f.bursts.Counters[column], p.Bursts())
			continue
		}
		noBurst := c.NoBurst
		for row, v := range c.Counts[event] {
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
