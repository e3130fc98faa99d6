package conclude

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"moriens/conclude/retention"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	"moriens/internal/stage"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/parquet"
	"moriens/trace/rundir/rundirtest"
)

// marked is a planted job whose ranks mark phases at any ticks: also in the middle of bursts, within each other and
// within themselves, without length, without an end, and ends without a begin. Marks are in the blocks of the rows
// round them, or in the one before. Recording is paused before some rows, some are lost, and each rank has a thread
// that calls nothing.
func marked(t *testing.T, n, iterations int) *record {
	r := planted(t, n, iterations)
	random := rand.New(rand.NewPCG(5, 5))
	for _, a := range r.agents {
		var list []said
		marks := make(map[uint64]uint64) // by ring
		open := make(map[uint64][]uint32)
		next := func(ring, from, to uint64) (list []section.Mark) { // some ticks in order
			ticks := from
			for range random.IntN(30) {
				if random.IntN(4) > 0 {
					ticks += uint64(random.Int64N(int64(to-from)/20 + 1))
				}
				if ticks > to {
					break
				}
				m := section.Mark{Ticks: ticks, What: section.BeginPhase, Name: uint32(random.IntN(4))}
				if k := len(open[ring]); k > 3 || k > 0 && random.IntN(2) == 0 {
					m.What, m.Name = section.EndPhase, open[ring][k-1]
					if random.IntN(10) == 0 {
						m.Name = uint32(random.IntN(4))
					}
					for k--; k >= 0 && open[ring][k] != m.Name; k-- {
					}
					open[ring] = open[ring][:max(k, 0)]
				} else if random.IntN(10) == 0 {
					m.What, m.Value = section.Event, 5
				} else {
					open[ring] = append(open[ring], m.Name)
				}
				list = append(list, m)
			}
			return list
		}
		for _, m := range a.messages {
			if p := m.GetProcess(); p != nil {
				p = proto.CloneOf(p)
				p.Events = []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}
				list = append(list, said{ReportRequest: sectiontest.Request(p)})
				for name := range uint32(3) {
					list = append(list, said{ReportRequest: sectiontest.Request(&moriensv1.MarkName{Process: p.Process, Name: 1 + (name+uint32(p.Rank))%3, Text: fmt.Sprint("phase/", name)})})
				}
				list = append(list, said{ReportRequest: sectiontest.Request(&moriensv1.Ring{Ring: p.Process + 1000, Process: p.Process, Thread: 1})})
				continue
			}
			if e := m.GetRingEnd(); e != nil {
				e = proto.CloneOf(e)
				e.Marks = marks[e.Ring]
				list = append(list, said{ReportRequest: sectiontest.Request(e)})
				own := next(e.Ring+1000, 500+uint64(random.IntN(1000)), 5e6)
				list = append(list, said{rows: &sectiontest.Rows{Ring: e.Ring + 1000, Marks: own}}, said{ReportRequest: sectiontest.Request(&moriensv1.RingEnd{Ring: e.Ring + 1000, Marks: uint64(len(own))})})
				continue
			}
			x := m.rows
			if x == nil {
				list = append(list, m)
				continue
			}
			from, to := x.Origin, x.Origin
			x.Counts = make([][]int64, 2)
			for i := range x.Function {
				to += x.Burst[i] + x.Call[i]
				for k := range x.Counts {
					x.Counts[k] = append(x.Counts[k], int64(x.Burst[i])*int64(k+1)+random.Int64N(99))
				}
			}
			if x.First == 0 {
				from -= 900 // before the first call
			} else {
				x.NoBurst = []uint32{3, 7}
				x.Paused = []uint32{7}
			}
			own := next(x.Ring, from, to)
			counts := countsAt(random, x, own)
			x.FirstMark, x.Marks, x.MarkCounts = marks[x.Ring], own, counts
			if random.IntN(2) == 0 && len(own) > 0 { // some arrive ahead of the rows
				k := random.IntN(len(own))
				counted := 0
				for _, m := range own[:k+1] {
					if m.Counted {
						counted++
					}
				}
				ahead := &sectiontest.Rows{Ring: x.Ring, First: x.First, FirstMark: x.FirstMark, Origin: own[0].Ticks, Marks: own[:k+1]}
				x.FirstMark, x.Marks, x.MarkCounts = x.FirstMark+uint64(k)+1, own[k+1:], nil
				for _, column := range counts {
					ahead.MarkCounts, x.MarkCounts = append(ahead.MarkCounts, column[:counted]), append(x.MarkCounts, column[counted:])
				}
				list = append(list, said{rows: ahead})
			}
			marks[x.Ring] += uint64(len(own))
			list = append(list, m)
		}
		a.messages = list
	}
	return r
}

// countsAt says of most marks what the burst that each interrupts had counted by then: all of the first event early in
// it, the second one evenly. Few are not read, or wrong.
func countsAt(random *rand.Rand, x *sectiontest.Rows, marks []section.Mark) (counts [][]int64) {
	counts = make([][]int64, 2)
	row, begin := 0, x.Origin
	for i := range marks {
		m := &marks[i]
		for row < len(x.Function) && begin+x.Burst[row] < m.Ticks {
			begin += x.Burst[row] + x.Call[row]
			row++
		}
		if m.What == section.Event || row == len(x.Function) || m.Ticks < begin || random.IntN(40) == 0 {
			continue
		}
		m.Counted = true
		for k := range counts {
			v := x.Counts[k][row]
			if part := float64(m.Ticks-begin) / float64(max(x.Burst[row], 1)); k == 1 || part < .1 {
				v = int64(float64(v) * min(1, part*float64(10-9*k)))
			}
			if random.IntN(60) == 0 {
				v = []int64{math.MinInt64, -7}[random.IntN(2)]
			}
			counts[k] = append(counts[k], v)
		}
	}
	return counts
}

// phaseRows are the rows of a profile that are of threads, without what is known of few, by what they are of.
func phaseRows(p *parquet.Profile) map[string]parquet.ProfileRow {
	rows := make(map[string]parquet.ProfileRow)
	for _, r := range p.Rows {
		switch r.Kind {
		case parquet.ProfileDurations, parquet.ProfileIterations, parquet.ProfileTraffic:
			continue
		}
		r.Iterations, r.Context, r.SentBytes, r.ReceivedBytes, r.InTraffic = -1, -1, 0, 0, false
		key := fmt.Sprint(r.Kind, r.World, r.Rank, r.Thread, r.CallPath, r.Cluster, r.OfKind, r.InPhase, r.Phase)
		sum, known := rows[key]
		if !known {
			r.Counters = slices.Clone(r.Counters)
			rows[key] = r
			continue
		}
		if sum.Count > 0 && r.Count > 0 { // else one has none
			sum.MinNS = min(sum.MinNS, r.MinNS)
		} else if sum.Count == 0 {
			sum.MinNS = r.MinNS
		}
		sum.MaxNS = max(sum.MaxNS, r.MaxNS)
		sum.Count, sum.Records, sum.TimeNS, sum.WholeNS = sum.Count+r.Count, sum.Records+r.Records, sum.TimeNS+r.TimeNS, sum.WholeNS+r.WholeNS
		sum.EstimatedNS, sum.SquaresNS2 = sum.EstimatedNS+r.EstimatedNS, sum.SquaresNS2+r.SquaresNS2
		for k := range r.Counters {
			x, y := &sum.Counters[k], &r.Counters[k]
			if x.Min = min(x.Min, y.Min); x.Min == 0 {
				x.Min = y.Max
			}
			x.Sum, x.Max, x.Squares, x.Missing = x.Sum+y.Sum, max(x.Max, y.Max), x.Squares+y.Squares, x.Missing+y.Missing
		}
		rows[key] = sum
	}
	return rows
}

// Phases of runs whose bursts were kept on their nodes have the times, records and counts, to the nanosecond, that they
// have where all arrive as usual: on ranks that are totals only, too.
func TestCellsPhases(t *testing.T) {
	const ranks = 12
	r := marked(t, ranks, 60)
	whole := func(int) bool { return true }
	for _, kinds := range []bool{false, true} {
		o, config := fixed(.1, 4)
		if kinds {
			o, config = byKinds()
		}
		keep := retention.Options{Budget: units.Bytes(1 << 20), Outliers: -1}
		want, err := Conclude(t.Context(), End{Frozen: r.frozen(t, rand.New(rand.NewPCG(1, 1)), whole), Options: o, Keep: keep, Stages: stage.New(0)})
		if err != nil {
			t.Fatal(err)
		}
		want.Describe()
		f, agents := r.keptBack(t, rand.New(rand.NewPCG(1, 1)), config)
		got, dir := concludeCells(t, f, agents, o, keep)
		if c := got.Manifest.Cells; c.RanksInSum == 0 || c.RanksInFull == 0 || !c.Exact {
			t.Fatalf("%+v", c)
		}
		a, b := phaseRows(want.Levels.Profile), phaseRows(got.Levels.Profile)
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("kinds %v: the profile differs (-as usual +cells):\n%s", kinds, d)
		}
		exact := func(r parquet.ProfileRow) bool {
			return r.Kind == parquet.ProfileComputation && r.Count == 0 && r.TimeNS > r.EstimatedNS
		}
		if !slices.ContainsFunc(got.Levels.Profile.Rows, exact) {
			t.Error("no burst is cut where its counters were read")
		}
		if cut := slices.ContainsFunc(got.Levels.Profile.Rows, func(r parquet.ProfileRow) bool { return r.EstimatedNS > 0 && strings.Contains(r.Phase, "/") }); !cut {
			t.Error("no burst crosses a border")
		}
		rundirtest.CheckProfilePhases(t, dir)
	}
}

// An agent of an earlier version knows nothing of phases: its ranks are in the profile without them, which is said.
func TestCellsPhasesOfEarlierAgents(t *testing.T) {
	r := marked(t, 4, 20)
	o, config := fixed(.1, 4)
	f, agents := r.keptBack(t, rand.New(rand.NewPCG(1, 1)), config)
	agents[1].phaseless = true
	got, _ := concludeCells(t, f, agents, o, retention.Options{Budget: units.Bytes(1 << 20), Outliers: -1})
	said := strings.Join(got.Manifest.Reduction.Missing, "\n")
	if !strings.Contains(said, "named phases are missing in the profile of ranks on 1 host") || !strings.Contains(said, "n0") {
		t.Errorf("missing: %q", said)
	}
	phases, calls := make(map[int32]int), make(map[int32]int64)
	for _, x := range got.Levels.Profile.Rows {
		switch x.Kind {
		case parquet.ProfilePhase:
			phases[x.Rank]++
		case parquet.ProfileMPI:
			calls[x.Rank] += x.Count
		}
	}
	for rank := range int32(4) {
		if calls[rank] != 40 || (phases[rank] > 0) != (rank >= 2) {
			t.Errorf("rank %d: %d calls, %d rows of phases", rank, calls[rank], phases[rank])
		}
	}
}
