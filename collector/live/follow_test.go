package live

import (
	"log/slog"
	"math"
	"testing"
	"time"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// Two threads compute 600 ms of every second in bursts of two kinds and spend the rest in MPI; a third has a clock that
// is not known yet.
func TestFollowed(t *testing.T) {
	s, apply := reported(t)
	const epoch = int64(1_700_000_000e9)
	for _, ns := range []int64{0, 30e9} { // a tick is a nanosecond
		apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
			Clock: moriensv1.Clock_CLOCK_TSC, Ticks: 5e9 + uint64(ns), MonotonicNs: ns, RealtimeNs: epoch + ns,
		}}})
	}
	for ring, clock := range []moriensv1.Clock{moriensv1.Clock_CLOCK_TSC, moriensv1.Clock_CLOCK_TSC, moriensv1.Clock_CLOCK_MONOTONIC_RAW} {
		id := uint64(ring)
		apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Process: id, Rank: int32(ring), Size: 3, Clock: clock}}})
		apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: id, Process: id}}})
		c := &sectiontest.Rows{Ring: id, Origin: 5e9 + 1e9, NoBurst: []uint32{0}}
		c.Add(1, 0, 0, 0)
		for range 10 { // seconds
			for _, burst := range []uint64{500e6, 20e6, 20e6, 20e6, 20e6, 20e6} {
				c.Add(1, 0, burst, 400_000_000/6)
			}
		}
		apply(c.Message())
	}
	l := New(s, grouping.Options{Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}}, slog.New(slog.DiscardHandler))
	l.Follow()
	l.cluster(time.Now())
	f := l.Followed()
	if len(f.Profile.Seconds) != 10 || f.Profile.BinNS != 1e9 {
		t.Fatalf("%d bins of %d ns", len(f.Profile.Seconds), f.Profile.BinNS)
	}
	clusters := l.Progress().Clusters
	if len(clusters) != 2 {
		t.Fatalf("clusters %v", clusters)
	}
	want := map[int32]float64{CodeMPI: .8, CodeCluster + clusters[0].ID: 1, CodeCluster + clusters[1].ID: .2}
	for second, row := range f.Profile.Seconds {
		for i, code := range f.Profile.Codes {
			if math.Abs(row[i]-want[code]) > 1e-3 {
				t.Errorf("second %d, code %d: %v s, want %v", second, code, row[i], want[code])
			}
		}
	}
	if len(f.Bursts) != 2*10*6 {
		t.Errorf("%d bursts are shown", len(f.Bursts))
	}
	for _, b := range f.Bursts {
		id := clusters[1].ID
		if b.DurationNS == 500e6 {
			id = clusters[0].ID
		}
		if b.Cluster != id || b.Rank > 1 || b.StartNS < 0 || b.StartNS > 10e9 {
			t.Errorf("%+v, should be in cluster %d", b, id)
		}
	}

	// The end takes what arrived last, and nothing after it.
	second := func(n uint64) {
		c := &sectiontest.Rows{First: 61 + n, Origin: 5e9 + (11+n)*1e9}
		c.Add(1, 0, 500e6, 500e6)
		apply(c.Message())
	}
	second(0)
	l.Finish()
	if got := len(l.Followed().Profile.Seconds); got != 11 {
		t.Errorf("%d bins at the end, want 11", got)
	}
	second(1)
	l.cluster(time.Now())
	l.Finish()
	if got := len(l.Followed().Profile.Seconds); got != 11 {
		t.Errorf("%d bins after the end, want 11", got)
	}
}

// While clustering rests, what is where others were is shown in their cluster at once; what is elsewhere waits.
func TestFollowedWhileClusteringRests(t *testing.T) {
	s, apply := reported(t)
	for _, ns := range []int64{0, 30e9} { // a tick is a nanosecond
		apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
			Clock: moriensv1.Clock_CLOCK_TSC, Ticks: 1 + uint64(ns), MonotonicNs: ns, RealtimeNs: ns,
		}}})
	}
	apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Size: 1, Clock: moriensv1.Clock_CLOCK_TSC}}})
	apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{}}})
	calls, at := uint64(0), uint64(1)
	burst := func(ns uint64, n int) {
		c := &sectiontest.Rows{First: calls, Origin: at}
		if calls == 0 {
			c.NoBurst = []uint32{0}
			c.Add(1, 0, 0, 0)
		}
		for range n {
			c.Add(1, 0, ns, 0)
			at += ns
		}
		calls += uint64(len(c.Function))
		apply(c.Message())
	}
	l := New(s, grouping.Options{Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}}, slog.New(slog.DiscardHandler))
	l.Follow()
	now := time.Now()
	shown := func(when string, seconds map[int32]float64, bursts int) {
		t.Helper()
		l.cluster(now)
		f := l.Followed()
		got := make(map[int32]float64)
		for _, row := range f.Profile.Seconds {
			for i, code := range f.Profile.Codes {
				got[code] += row[i]
			}
		}
		for code, s := range got {
			if math.Abs(s-seconds[code]) > 1e-6 {
				t.Errorf("%s: code %d has %v s, want %v", when, code, s, seconds[code])
			}
		}
		if len(f.Bursts) != bursts {
			t.Errorf("%s: %d bursts are shown, want %d", when, len(f.Bursts), bursts)
		}
	}
	burst(100e6, 10)
	shown("clustered", map[int32]float64{CodeCluster + 1: 1}, 10)
	l.due = now.Add(time.Hour)
	burst(100e6, 5)
	burst(3e6, 100)
	shown("resting", map[int32]float64{CodeCluster + 1: 1.5}, 15)
	burst(100e6, 5)
	shown("still resting", map[int32]float64{CodeCluster + 1: 2}, 20)
	if n := len(l.Progress().Clusters); n != 1 {
		t.Errorf("%d clusters while clustering rests", n)
	}
	now = l.due
	shown("rested", map[int32]float64{CodeCluster + 1: 2, CodeCluster + 2: .3}, 120)
	if l.Spent() <= 0 {
		t.Error("it has taken no processor time")
	}
}
