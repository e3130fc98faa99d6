package cells_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/internal/section"
	"moriens/internal/testenv"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	benchRings = 16
	benchRows  = 1 << 20 // per ring
	// benchStep is how many bursts an iteration has, the last of them ended by a collective of all ranks.
	benchStep = 16
)

// iterations feeds a Store rings that repeat the same iteration: each burst of an iteration has a call path of its own,
// and a fixed duration with some noise. It returns how many bursts there were.
func iterations(k *cells.Store, rings, rows int, events ...string) (bursts int) {
	k.Add([]*moriensv1.ReportRequest{
		sample(1), sample(2),
		request(&moriensv1.Communicator{Communicator: 1, Size: uint32(rings), First: []int32{0}, Stride: []int32{1}, Count: []uint32{uint32(rings)}}),
	}, nil)
	for i := range rings {
		process := uint64(100 + i)
		list := []*moriensv1.ReportRequest{
			request(&moriensv1.Process{Process: process, Rank: int32(i), Size: int32(rings), Clock: moriensv1.Clock_CLOCK_TSC, Events: events}),
			request(&moriensv1.Ring{Ring: process, Process: process}), request(&moriensv1.Member{Process: process, Comm: 1, Communicator: 1}),
		}
		for path := range uint32(benchStep) {
			list = append(list, request(&moriensv1.CallPath{Process: process, Path: path + 1, Frames: []*moriensv1.Frame{{Offset: uint64(path)}}}))
		}
		k.Add(list, nil)
	}
	r := rand.New(rand.NewPCG(1, 2))
	const together = 1024
	x := new(section.Block)
	x.Grow(together, len(events))
	for step := range uint32(benchStep) {
		x.Sites = append(x.Sites, section.Site{Function: 1, Path: step + 1})
	}
	for first := 0; first < rows; first += together {
		for i := range rings {
			x.Ring, x.First, x.NoBurst, x.Collectives = uint64(100+i), uint64(first), nil, x.Collectives[:0]
			if first == 0 {
				x.NoBurst = []uint32{0}
			}
			for n := range together {
				step := (first + n) % benchStep
				x.Burst[n] = uint64(math.Exp(float64(8+step)/2+.03*r.NormFloat64()) * 1000)
				for _, counts := range x.Counts { // noise of a thousandth
					counts[n] = int64(math.Exp(float64(8+step)/2+.001*r.NormFloat64()) * 3000)
				}
				x.Call[n], x.Site[n] = 700, uint16(step)
				if step == benchStep-1 {
					x.Collectives = append(x.Collectives, section.Collective{Row: uint32(n), Comm: 1, Ordinal: uint64((first + n) / benchStep)})
				}
			}
			k.Add(nil, []*section.Block{x})
			bursts += together - len(x.NoBurst)
		}
	}
	return bursts
}

func benchStore(b *testing.B, points int64) *cells.Store {
	k, err := cells.New(cells.Config{By: grouping.ByAuto, PointsMax: points})
	if err != nil {
		b.Fatal(err)
	}
	return k
}

// BenchmarkAdd takes in what 16 ranks do, in blocks of 1,024 rows: bursts of which the duration is known, and others
// with instructions and cycles.
func BenchmarkAdd(b *testing.B) {
	for _, events := range [][]string{nil, {"PAPI_TOT_INS", "PAPI_TOT_CYC"}} {
		b.Run(fmt.Sprintf("events=%d", len(events)), func(b *testing.B) {
			began, total := testenv.ProcessorTime(), 0
			for b.Loop() {
				k := benchStore(b, 1<<30)
				bursts := iterations(k, benchRings, benchRows/16, events...)
				total += bursts
				s := k.Stats()
				b.ReportMetric(float64(s.Bytes-s.PointsBytes)/float64(bursts), "B/burst")
				b.ReportMetric(float64(s.PointsBytes)/float64(bursts), "points-B/burst")
				b.ReportMetric(float64(s.Units), "units")
			}
			b.ReportMetric(float64(testenv.ProcessorTime()-began)/float64(total), "cpu-ns/burst") // drawing them included
		})
	}
}

// BenchmarkRelabel relabels and hashes: by call path, which all ranks and iterations have alike, and by unit, where no
// two are alike.
func BenchmarkRelabel(b *testing.B) {
	k := benchStore(b, 1<<20)
	bursts := iterations(k, benchRings, benchRows)
	s := k.Stats()
	for _, by := range []string{"path", "unit"} {
		for _, whole := range []bool{false, true} {
			b.Run(fmt.Sprintf("by=%s/whole=%v", by, whole), func(b *testing.B) {
				c := &coordinator{t: b, store: k, sites: func(uint64, uint32, uint32) string { return "" }}
				c.take()
				ask := &moriensv1.CellsRelabel{Begin: true, Whole: whole}
				for i, u := range c.units {
					ask.Unit = append(ask.Unit, uint32(i))
					label := int32(u.group)
					if by == "unit" {
						label = int32(i)
					}
					ask.Label = append(ask.Label, label)
				}
				ask.Unit = differences(ask.Unit)
				answered := 0
				began, times := testenv.ProcessorTime(), 0
				for b.Loop() {
					err := k.Answer(&moriensv1.CellsAsk{Taken: c.survey, Body: &moriensv1.CellsAsk_Relabel{Relabel: ask}}, func(a *moriensv1.CellsAnswer) error {
						answered += len(a.GetHashes().GetSegment())
						return nil
					})
					times++
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(bursts)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mbursts/s")
				b.ReportMetric(float64(bursts)*float64(times)/(testenv.ProcessorTime()-began).Seconds()/1e6, "Mbursts/s/core")
				b.ReportMetric(float64(answered)/float64(b.N), "hashes")
				b.ReportMetric(float64(s.Bytes-s.PointsBytes)/float64(bursts), "B/burst")
			})
		}
	}
}
