package live

import (
	"fmt"
	"maps"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector/store"
	"moriens/trace"
)

// Of several collectors the first one clusters. The others put their bursts at places as it does, and report to it from
// time to time how many more are at each: places merge by adding. So what goes between them does not grow with the
// bursts.

// latestShared is how many of its latest bursts a collector sends at a time, each from another place.
const latestShared = 512

// Terms are what the first collector needs from the others. The zero Terms need nothing yet.
type Terms struct {
	Generation int      // of its clustering: with a new one all bursts are sent again
	Counters   []string // that some ranks count
	Follow     bool     // there is a viewer
}

// A Share is what arrived at a collector since its last report to the first one.
type Share struct {
	Generation int
	Epoch      int    // of the sender: with a new one everything is sent again
	Axes       string // of the places
	Counters   []string
	Threads    int // of its ranks, so far
	Bursts     int
	Durations  space.Durations

	Groups []SharedGroup
	// Bursts at places: the group, the coordinates, one place after the other, how many of the sample, how many these
	// stand for, and what those took.
	Group   []int32
	Coords  []float64
	Sampled []int64
	Count   []int64
	TimeNS  []int64

	// With a viewer: what its threads did over time, in bins from a moment since the epoch, by codes, of which CodeCluster
	// + i is bursts at place i; and some of the latest bursts.
	FromNS, BinNS int64
	Bins          []map[int32]int64
	Latest        []SharedBurst
}

// A SharedGroup is call paths round bursts that are clustered together.
type SharedGroup struct{ Before, After trace.CallPath }

// A SharedBurst is a burst at a place; StartNS counts since the epoch.
type SharedBurst struct {
	Place, Thread, Rank int32
	StartNS, DurationNS int64
	Counters            []int64 // in the order of Share.Counters
}

// A sharer gathers what a collector has to send.
type sharer struct {
	terms  Terms // that it heeds
	epoch  int
	groups map[calls]int32
	number map[sharedPlace]int32
	latest map[int32]SharedBurst // by place
	next   Share

	// With Live.mu held.
	received Terms  // last
	ready    *Share // to be taken
}

type sharedPlace struct {
	group int32
	key   placeKey
}

func newSharer() *sharer {
	s := &sharer{}
	s.clear()
	return s
}

// clear begins the next share.
func (s *sharer) clear() {
	s.groups, s.number, s.latest = make(map[calls]int32), make(map[sharedPlace]int32), make(map[int32]SharedBurst)
	s.next = Share{}
}

// restart forgets what was gathered, because everything is sent again.
func (s *sharer) restart() {
	s.clear()
	s.epoch++
}

// Among says that this is one of several collectors, by its rank; it is called before Run. The first one has what the
// others share.
func (l *Live) Among(rank, size int) {
	l.feed.member, l.feed.members = int32(rank), int32(size)
	l.merger.epochs = make([]int, size)
	l.merger.threadsOf = make([]int, size)
	if rank > 0 {
		l.sharer = newSharer()
	}
}

// Heed has another collector do what the first one needs. It does not wait.
func (l *Live) Heed(t Terms) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sharer.received = t
}

// Shared takes what another collector than the first one has to send; nil: nothing now. It does not wait.
func (l *Live) Shared() *Share {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sharer.ready
	l.sharer.ready = nil
	return s
}

// share gathers what has arrived since the last time, as much as there may be, and makes it ready once what was ready
// is taken.
func (l *Live) share(views []store.RingView) {
	s := l.sharer
	l.mu.Lock()
	received := s.received
	l.mu.Unlock()
	if received.Generation == 0 {
		return
	}
	if received.Follow && l.follower == nil {
		l.follower = newFollower(l.feed.members)
	}
	if received.Generation != s.terms.Generation {
		l.restart()
	}
	s.terms = received
	l.feed.columns(received.Counters)
	l.choose()
	for len(s.next.Count) < mostPlaces && l.feed.next(views, l.store.Places(), l.follower) {
		if l.choose() {
			continue
		}
		if err := l.add(&l.feed.arrived); err != nil {
			l.log.Error("live clustering", "error", err)
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.ready == nil {
		s.ready = l.finishShare(len(views))
	}
}

// finishShare is what was gathered; the next begins.
func (l *Live) finishShare(threads int) *Share {
	s := l.sharer
	done := s.next
	done.Generation, done.Epoch, done.Axes, done.Threads = s.terms.Generation, s.epoch, axes(&l.chosen), threads
	done.Counters = slices.Clone(l.feed.bursts.CounterNames)
	if f := l.follower; f != nil {
		empty := slices.IndexFunc(f.history.bins, func(bin map[int32]int64) bool { return len(bin) > 0 })
		empty = max(empty, 0)
		done.FromNS, done.BinNS, done.Bins = f.zeroNS+int64(empty)*f.history.binNS, f.history.binNS, f.history.bins[empty:]
		f.history = history{}
		for _, place := range slices.Sorted(maps.Keys(s.latest)) {
			done.Latest = append(done.Latest, s.latest[place])
		}
	}
	s.clear()
	return &done
}

// axes names the space in which places are.
func axes(o *grouping.Options) string { return fmt.Sprint(o.By, o.Dims) }

// lend takes bursts to share. Row i of coords is that of burst rows[i].
func (l *Live) lend(a *arrived, status []space.Status, rows []int32, coords []float64) {
	s, b, dims := l.sharer, &a.bursts, len(l.chosen.Dims)
	for _, of := range a.stands {
		s.next.Durations.AddAlike(of.bursts, of.timeNS)
		s.next.Bursts += int(of.bursts)
	}
	at := places{dims: dims, side: l.placeSide()}
	for i, row := range rows {
		var of calls
		if l.chosen.By == grouping.ByCalls {
			of = calls{b.Before[row], b.After[row]}
		}
		place := s.place(l.store, of, &at, coords[i*dims:(i+1)*dims])
		s.next.Sampled[place]++
		s.next.Count[place] += a.stands[row].bursts
		s.next.TimeNS[place] += a.stands[row].timeNS
		if l.follower == nil || !a.moments[row].known {
			continue
		}
		m := a.moments[row]
		l.follower.spend(CodeCluster+place, &m, a.stands[row])
		if _, known := s.latest[place]; !known && len(s.latest) >= latestShared {
			continue
		}
		shared := SharedBurst{Place: place, Thread: m.ring, Rank: m.rank, StartNS: l.follower.zeroNS + m.startNS, DurationNS: b.DurationNS[row]}
		for _, column := range b.Counters {
			shared.Counters = append(shared.Counters, column[row])
		}
		s.latest[place] = shared
	}
	if l.follower != nil {
		l.follower.putOthers(a, status)
	}
}

// place is the number of the place of a burst in the next share.
func (s *sharer) place(st *store.Store, of calls, at *places, coords []float64) int32 {
	group, known := s.groups[of]
	if !known {
		group = int32(len(s.next.Groups))
		s.groups[of] = group
		s.next.Groups = append(s.next.Groups, SharedGroup{st.CallPath(of.before), st.CallPath(of.after)})
	}
	key := at.key(coords)
	place, known := s.number[sharedPlace{group, key}]
	if !known {
		place = int32(len(s.next.Count))
		s.number[sharedPlace{group, key}] = place
		s.next.Group, s.next.Sampled = append(s.next.Group, group), append(s.next.Sampled, 0)
		s.next.Count, s.next.TimeNS = append(s.next.Count, 0), append(s.next.TimeNS, 0)
		s.next.Coords = at.middle(s.next.Coords, key)
	}
	return place
}
