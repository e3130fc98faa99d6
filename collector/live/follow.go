package live

import (
	"slices"
	"time"

	"moriens/analysis/space"
	"moriens/collector/store"
)

const (
	// NamedClusters are distinguished on a page, those with the most time.
	NamedClusters = 60
	// latestBursts are about how many a page shows, shared between the clusters.
	latestBursts = 4096
	// unsettled is how many bursts may wait for the cluster that they are in.
	unsettled = 1 << 18
)

// A moment is where and when a burst was.
type moment struct {
	ring    int32 // of the store, in order of arrival
	rank    int32
	startNS int64 // since the run began
	known   bool  // when that was
	// The chunk that it is from; 0, 0 where all of its bursts are taken.
	fromNS, toNS int64
}

// A Burst is one of the latest of its cluster.
type Burst struct {
	Thread     int32    `json:"thread"` // 0, 1, … in order of arrival
	Rank       int32    `json:"rank"`
	StartNS    int64    `json:"start_ns"`
	DurationNS int64    `json:"duration"`
	Counters   []*int64 `json:"counters"` // in the order of Followed.Counters; null = not read
	Cluster    int32    `json:"cluster"`  // -1 = noise
}

// A waiting burst is in the cluster of its place, when that is known. Its coordinates and counters stand with those of
// the others.
type waiting struct {
	group            *group
	coords, counters int // first
	moment
	durationNS int64
	stand
}

// A follower keeps what a page of a run in progress shows beside totals.
type follower struct {
	known    bool  // when the run began
	zeroNS   int64 // which was then, since the epoch
	history  history
	members  int32             // collectors, each of which has its part of the latest
	latest   map[latest][]kept // in no order once it is full
	next     map[latest]int    // place in it that is overwritten next
	waiting  []waiting
	coords   []float64
	counters []int64
	names    []string // of the counters
	lent     []lent   // by other collectors, wait as well
}

// A kept burst has its counters as they were read.
type kept struct {
	Burst
	counters []int64
}

// latest bursts are those of a cluster that arrived at one collector.
type latest struct{ cluster, member int32 }

func newFollower(members int32) *follower {
	return &follower{members: members, latest: make(map[latest][]kept), next: make(map[latest]int)}
}

// Followed is what a page shows of a run in progress.
type Followed struct {
	Profile  Profile
	Counters []string
	Bursts   []Burst
}

// Follow has the clustering keep what Followed returns; it is called before Run.
func (l *Live) Follow() { l.follower = newFollower(l.feed.members) }

// Followed returns the state of the run as of the last second. Bursts unlike any before are included once they have
// been clustered. Clusters keep their ids, and what was in none on arrival remains so.
func (l *Live) Followed() Followed {
	l.followMu.Lock()
	defer l.followMu.Unlock()
	f := l.follower
	l.mu.Lock()
	clusters := l.progress.Clusters
	l.mu.Unlock()
	named := clusters[:min(len(clusters), NamedClusters)]
	shown := Followed{Profile: f.history.profile(named), Counters: append([]string{}, f.names...), Bursts: []Burst{}}
	each := latestBursts / (len(named) + 1) / int(f.members)
	for _, id := range append([]int32{-1}, ids(named)...) {
		for member := range f.members {
			list := f.latest[latest{id, member}]
			for _, b := range list[:min(len(list), max(1, each))] {
				b.Counters = counts(b.counters)
				shown.Bursts = append(shown.Bursts, b.Burst)
			}
		}
	}
	return shown
}

func ids(clusters []Cluster) []int32 {
	list := make([]int32, len(clusters))
	for i, k := range clusters {
		list[i] = k.ID
	}
	return list
}

// begin finds out when the run began: with the first call of those whose clocks are known then.
func (f *follower) begin(views []store.RingView) {
	for i := range views {
		v := &views[i]
		if v.NSPerTick == 0 || len(v.Chunks) == 0 {
			continue
		}
		if ns, ok := (line{v, 0}).at(v.Chunks[0].Origin); ok && (!f.known || ns < f.zeroNS) {
			f.known, f.zeroNS = true, ns
		}
	}
}

// put counts the bursts that arrived, of which those to be clustered wait until their place is in a cluster, or in
// none. Row i of coords is that of burst rows[i], which is in groups[i].
func (f *follower) put(a *arrived, status []space.Status, rows []int32, groups []*group, coords []float64) {
	b := &a.bursts
	if len(b.CounterNames) != len(f.names) {
		f.settle(true) // those that wait have fewer counters
		f.names = slices.Clone(b.CounterNames)
	}
	f.putOthers(a, status)
	for i, row := range rows {
		if !a.moments[row].known {
			continue
		}
		dims := groups[i].dims
		f.waiting = append(f.waiting, waiting{groups[i], len(f.coords), len(f.counters), a.moments[row], b.DurationNS[row], a.stands[row]})
		f.coords = append(f.coords, coords[i*dims:(i+1)*dims]...)
		for _, column := range b.Counters {
			f.counters = append(f.counters, column[row])
		}
	}
	if len(f.waiting) >= unsettled {
		f.settle(true)
	}
}

// putOthers counts the bursts that are not to be clustered.
func (f *follower) putOthers(a *arrived, status []space.Status) {
	for row, s := range status {
		code := CodeFiltered
		switch {
		case s == space.Complete || !a.moments[row].known:
			continue
		case s == space.Missing:
			code = CodeMissing
		}
		f.spend(code, &a.moments[row], a.stands[row])
	}
}

// spend counts the time of a burst where it was, or that of all for which it stands evenly over the chunk that it is
// from.
func (f *follower) spend(code int32, m *moment, of stand) {
	if of.bursts == 1 {
		f.history.add(code, m.startNS, m.startNS+of.timeNS)
	} else {
		f.history.spread(code, m.fromNS, m.toNS, of.timeNS)
	}
}

// stretch is when a chunk was; false: that is not known, since some of its times cannot be true.
func (f *follower) stretch(p *piece) (fromNS, toNS int64, known bool) {
	l := line{p.view, f.zeroNS}
	from, began := l.at(p.Origin)
	to, ended := l.at(p.End())
	return from, to, began && ended
}

// calls counts the time of a chunk's calls, evenly over it.
func (f *follower) calls(p *piece, reader *store.Reader) {
	from, to, known := f.stretch(p)
	if !known {
		f.eachCall(p, reader.Ticks(p.Chunk))
		return
	}
	f.history.spread(CodeMPI, from, to, p.ns(p.MPI))
}

// eachCall counts the time of a chunk's calls where they were.
func (f *follower) eachCall(p *piece, c *store.Calls) {
	l, at := line{p.view, f.zeroNS}, p.Origin
	for i := range c.Path {
		at += c.Burst[i]
		enter, entered := l.at(at)
		at += c.Call[i]
		if exit, left := l.at(at); entered && left {
			f.history.add(CodeMPI, enter, exit)
		}
	}
}

// settle puts those that wait where they belong: all of them, or those at places that have been clustered. The others
// keep waiting.
func (f *follower) settle(all bool) {
	left := f.waiting[:0]
	coords, counters := 0, 0 // of those that are left
	for _, w := range f.waiting {
		g := w.group
		id, clustered := g.idAt(f.coords[w.coords : w.coords+g.dims])
		if !all && !clustered {
			// Never to the right: what is read later is not overwritten.
			n, k := copy(f.coords[coords:], f.coords[w.coords:w.coords+g.dims]), copy(f.counters[counters:], f.counters[w.counters:w.counters+len(f.names)])
			w.coords, w.counters = coords, counters
			coords, counters = coords+n, counters+k
			left = append(left, w)
			continue
		}
		b := Burst{Thread: w.ring, Rank: w.rank, StartNS: w.startNS, DurationNS: w.durationNS, Cluster: -1}
		code := CodeNoise
		if id != 0 {
			b.Cluster = id
			code = CodeCluster + id
		}
		f.spend(code, &w.moment, w.stand)
		f.keep(b, f.counters[w.counters:w.counters+len(f.names)])
	}
	f.waiting, f.coords, f.counters = left, f.coords[:coords], f.counters[:counters]
	f.lent = slices.DeleteFunc(f.lent, func(x lent) bool {
		ids, clustered := x.ids()
		if all || clustered {
			f.settleLent(x.share, ids, x.counters)
		}
		return all || clustered
	})
}

// keep remembers a burst in the place of the oldest of its cluster.
func (f *follower) keep(b Burst, counters []int64) {
	most := max(1, latestBursts/8/int(f.members))
	its := latest{b.Cluster, b.Thread % f.members}
	list, at := f.latest[its], f.next[its]
	if len(list) < most {
		f.latest[its] = append(list, kept{b, slices.Clone(counters)})
		return
	}
	of := &list[at%most]
	of.Burst, of.counters = b, append(of.counters[:0], counters...)
	f.next[its] = at + 1
}

// counts are counters as JSON has them: one that was not read is null.
func counts(counters []int64) []*int64 {
	list := []*int64{}
	for _, n := range counters {
		if n == space.NotRead {
			list = append(list, nil)
		} else {
			list = append(list, &n)
		}
	}
	return list
}

// forget drops the bursts of clusters that are no more.
func (f *follower) forget(clusters []Cluster) {
	there := map[int32]bool{-1: true}
	for _, k := range clusters {
		there[k.ID] = true
	}
	for its := range f.latest {
		if !there[its.cluster] {
			delete(f.latest, its)
			delete(f.next, its)
		}
	}
}

// A time outside of these, from a ring's first and last clock sample, is none: a program that overwrites its own memory
// may have hit its ring.
const (
	longestBefore = int64(time.Hour)
	longestAfter  = int64(2 * time.Minute)
)

// A line turns ticks of a ring into time since the run's beginning.
type line struct {
	view   *store.RingView
	zeroNS int64 // since the epoch
}

func (l line) at(ticks uint64) (ns int64, ok bool) {
	v := l.view
	real := v.FirstNS + int64(float64(int64(ticks-v.FirstTicks))*v.NSPerTick)
	return real - l.zeroNS, real >= v.FirstNS-longestBefore && real <= v.LastNS+longestAfter
}
