package live

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector/store"
	"moriens/internal/mpicall"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// A recorded rank gives the same to the collector that it belongs to and to one that has all.
type recorded struct {
	t        *rapid.T
	stores   []*store.Store
	agents   []*store.Agent
	sequence uint64
	ring     uint64
	events   []string
	calls    uint64
	at       uint64
}

func record(t *rapid.T, ring uint64, events []string, stores ...*store.Store) *recorded {
	r := &recorded{t: t, stores: stores, ring: ring, events: events, at: 1e9 + 7}
	for _, s := range stores {
		a, _, err := s.Greet(&moriensv1.Hello{Agent: ring})
		if err != nil {
			t.Fatal(err)
		}
		r.agents = append(r.agents, a)
	}
	for _, ns := range []int64{0, 30e9} { // a tick is a nanosecond
		r.apply(func() *moriensv1.ReportRequest {
			return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
				Clock: moriensv1.Clock_CLOCK_TSC, Ticks: 1 + uint64(ns), MonotonicNs: ns, RealtimeNs: 1_700_000_000e9 + ns,
			}}}
		})
	}
	r.apply(func() *moriensv1.ReportRequest {
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
			Process: ring, Rank: int32(ring), Size: 99, Clock: moriensv1.Clock_CLOCK_TSC, Events: events,
		}}}
	})
	r.apply(func() *moriensv1.ReportRequest {
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: ring, Process: ring}}}
	})
	return r
}

// apply gives each store a message of its own: it keeps parts of it.
func (r *recorded) apply(m func() *moriensv1.ReportRequest) {
	r.sequence++
	for i, s := range r.stores {
		message := m()
		message.Sequence = r.sequence
		if _, err := s.Apply(r.agents[i], message); err != nil {
			r.t.Fatal(err)
		}
	}
}

// burst records bursts, each before a call.
func (r *recorded) burst(ns []uint64, functions []uint32) {
	r.apply(func() *moriensv1.ReportRequest {
		c := &sectiontest.Rows{Ring: r.ring, First: r.calls, Origin: r.at}
		if r.calls == 0 {
			c.NoBurst, c.NoCounts = []uint32{0}, []uint32{0}
		}
		for i := range ns {
			c.Add(functions[i], 0, ns[i], 1000)
		}
		for event := range r.events {
			var counts []int64
			for _, n := range ns[len(c.NoBurst):] {
				counts = append(counts, int64(n)*int64(1+event))
			}
			c.Counts = append(c.Counts, counts)
		}
		return c.Message()
	})
	r.calls += uint64(len(ns))
	for _, n := range ns {
		r.at += n + 1000
	}
}

// described is a cluster by what does not depend on when it was first seen.
type described struct {
	before, after  string
	bursts, timeNS int64
}

// describe lists the clusters, and the times of the profile. In the profile a burst remains what it was on arrival:
// noise and all clusters are one.
func describe(s *store.Store, l *Live) (list []described, times map[int32]float64) {
	times = make(map[int32]float64)
	f := l.Followed()
	for _, row := range f.Profile.Seconds {
		for i, code := range f.Profile.Codes {
			if code >= CodeCluster {
				code = CodeNoise
			}
			times[code] += row[i]
		}
	}
	for _, k := range l.Progress().Clusters {
		list = append(list, described{s.Function(k.Before), s.Function(k.After), k.Bursts, k.TimeNS})
	}
	slices.SortFunc(list, func(a, b described) int {
		return cmp.Or(cmp.Compare(a.before, b.before), cmp.Compare(a.after, b.after), cmp.Compare(a.bursts, b.bursts), cmp.Compare(a.timeNS, b.timeNS))
	})
	return list, times
}

// What several collectors have is clustered as if one had it all, whenever each reports, and whichever of them is the
// first whose ranks count.
func TestShares(t *testing.T) {
	var functions []uint32
	for _, name := range []string{"MPI_Send", "MPI_Recv", "MPI_Barrier"} {
		id, _ := mpicall.ByName(name)
		functions = append(functions, uint32(id))
	}
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.IntRange(2, 4).Draw(t, "collectors")
		o := grouping.Options{
			By: grouping.ByAuto, Filter: space.Filter{Auto: rapid.Bool().Draw(t, "filter")},
			Fixed: &grouping.Density{Eps: .2, MinPts: rapid.IntRange(1, 5).Draw(t, "minPts")},
		}
		quiet := slog.New(slog.DiscardHandler)
		whole, parts := store.New(), make([]*store.Store, members)
		one, lives := New(whole, o, quiet), make([]*Live, members)
		one.Follow()
		for m := range lives {
			parts[m] = store.New()
			lives[m] = New(parts[m], o, quiet)
			lives[m].Among(m, members)
		}
		lives[0].Follow()
		now := time.Now()
		round := func(takesPart func(m int) bool) {
			for m := 1; m < members; m++ {
				lives[m].Heed(lives[0].Terms())
				if !takesPart(m) {
					continue
				}
				lives[m].cluster(now)
				s := lives[m].Shared()
				if s == nil {
					continue
				}
				var wire bytes.Buffer
				if err := gob.NewEncoder(&wire).Encode(s); err != nil {
					t.Fatal(err)
				}
				received := new(Share)
				if err := gob.NewDecoder(&wire).Decode(received); err != nil {
					t.Fatal(err)
				}
				lives[0].Merge(m, received)
			}
			lives[0].cluster(now)
			now = now.Add(time.Hour) // clustering has rested
		}
		var ranks []*recorded
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			if len(ranks) == 0 || rapid.Bool().Draw(t, "a rank comes") {
				m := rapid.IntRange(0, members-1).Draw(t, "to")
				var events []string
				if rapid.IntRange(0, 3).Draw(t, "counts") == 0 {
					events = []string{"PAPI_TOT_CYC", "PAPI_TOT_INS"}
				}
				ranks = append(ranks, record(t, uint64(len(ranks)), events, whole, parts[m]))
			}
			for _, r := range ranks {
				n := rapid.IntRange(0, 12).Draw(t, "bursts")
				var ns []uint64
				var calls []uint32
				for range n {
					kind := rapid.IntRange(0, 2).Draw(t, "kind")
					ns = append(ns, uint64([]int{10_000, 400_000, 90_000_000}[kind]+rapid.IntRange(0, 500).Draw(t, "ns")))
					calls = append(calls, rapid.SampledFrom(functions).Draw(t, "call"))
				}
				if n > 0 {
					r.burst(ns, calls)
				}
			}
			round(func(int) bool { return rapid.Bool().Draw(t, "takes part") })
		}
		for range 4 { // of which each may start over
			round(func(int) bool { return true })
		}
		one.cluster(now)
		got, gotTimes := describe(parts[0], lives[0])
		want, wantTimes := describe(whole, one)
		if !slices.Equal(got, want) {
			t.Fatalf("clusters\n%+v, want\n%+v", got, want)
		}
		a, b := lives[0].Progress(), one.Progress()
		if a.Bursts != b.Bursts || math.Abs(a.Explained-b.Explained) > 1e-9 {
			t.Fatalf("%d bursts, %v explained, want %d, %v", a.Bursts, a.Explained, b.Bursts, b.Explained)
		}
		for code, s := range wantTimes {
			if math.Abs(gotTimes[code]-s) > 1e-6 {
				t.Fatalf("code %d: %v s, want %v", code, gotTimes[code], s)
			}
		}
		threads := make(map[int32]bool)
		for _, x := range lives[0].Followed().Bursts {
			threads[x.Thread] = true
			if x.Rank < 0 || int(x.Rank) >= len(ranks) || x.StartNS < 0 || x.StartNS > 30e9 {
				t.Fatalf("a burst of the page is %+v", x)
			}
		}
		if len(threads) > len(ranks) {
			t.Fatalf("%d threads of %d ranks", len(threads), len(ranks))
		}
	})
}
