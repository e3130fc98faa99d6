package levels

import (
	"math"

	"moriens/analysis/loops"
	"moriens/analysis/moment"
	"moriens/analysis/profile"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// ProfileRows puts the profile of a run into the rows of profile.parquet.
func ProfileRows(run *trace.Run, p *Profiled) *parquet.Profile {
	names := run.Names()
	paths := p.Phases.Texts(run)
	out := &parquet.Profile{Format: parquet.ProfileFormat, Counters: run.Counters, Rows: make([]parquet.ProfileRow, 0, len(p.Rows))}
	for i := range p.Rows {
		r := &p.Rows[i]
		t := &run.Threads[r.Thread]
		row := parquet.ProfileRow{
			Kind: parquet.ProfileComputation, World: int32(t.World), Rank: int32(t.Rank), Thread: int32(t.Thread), CallPath: names[r.Path], Cluster: r.Cluster, OfKind: r.OfKind,
			InPhase: r.Region != 0, Phase: paths[r.Region], Iterations: r.Phase, Count: r.Count, Records: r.Time.N, TimeNS: r.NS(), WholeNS: r.Time.Total, EstimatedNS: r.EstimatedNS,
			MinNS: r.Time.Min, MaxNS: r.Time.Max, SquaresNS2: r.Time.Squares.Float(),
			SentBytes: r.Sent, ReceivedBytes: r.Received,
		}
		if row.Context = r.Context; r.Kind == profile.MPI {
			row.Kind, row.Context = parquet.ProfileMPI, 0
		}
		for _, c := range r.Counters {
			row.Counters = append(row.Counters, parquet.ProfileCounter{Sum: c.Total + c.MovedTotal, Min: c.Min, Max: c.Max, Squares: c.Squares.Float(), Missing: c.Missing})
		}
		out.Rows = append(out.Rows, row)
	}
	if run.Traffic != nil {
		addTraffic(run, p.Profile, out)
	}
	out.Rows = append(out.Rows, p.Phases.rows(run, paths)...)
	for k := range p.Histograms {
		h := &p.Histograms[k]
		for b, n := range h.Count {
			if n > 0 {
				out.Rows = append(out.Rows, parquet.ProfileRow{
					Kind: parquet.ProfileDurations, Cluster: h.Cluster, Iterations: -1, Count: n, Records: n, TimeNS: h.TimeNS[b],
					MinNS: int64(math.Round(h.Edge(b))), MaxNS: int64(math.Round(h.Edge(b + 1))),
				})
			}
		}
	}
	for k, c := range p.Curves {
		for i, ns := range c.Computing {
			first := i * c.Group
			out.Rows = append(out.Rows, parquet.ProfileRow{
				Kind: parquet.ProfileIterations, Iterations: int32(k), First: int64(first), Count: int64(min(c.Group, c.Iterations-first)),
				Records: int64(c.Threads), TimeNS: ns, ElapsedNS: c.Elapsed[i],
			})
		}
	}
	return out
}

// Describe puts the structure of a run, whose bursts have the symbols of table, into the words of structure.json.
func Describe(run *trace.Run, owners team.Threads, s *loops.Structure, table *Table) (*rundir.Structure, error) {
	computing, err := computingNS(run, owners)
	if err != nil {
		return nil, err
	}
	names := run.Names()
	d := &rundir.Structure{Format: rundir.StructureFormat, Limit: s.Limit, Paths: []string{}, Symbols: []rundir.StructureSymbol{}}
	places := make(map[uint32]int)
	path := func(p uint32) int {
		k, ok := places[p]
		if !ok {
			k = len(d.Paths)
			places[p] = k
			d.Paths = append(d.Paths, names[p])
		}
		return k
	}
	for i := range table.Symbols {
		x := &table.Symbols[i]
		d.Symbols = append(d.Symbols, rundir.StructureSymbol{Cluster: &x.Cluster, Before: path(x.Before), After: path(x.After)})
	}
	blurred := false
	for _, q := range s.Sequences {
		blurred = blurred || q.Counts != nil
	}
	if blurred {
		_, pairs := table.calls()
		for _, p := range pairs {
			d.Symbols = append(d.Symbols, rundir.StructureSymbol{Before: path(p.Before), After: path(p.After)})
		}
	}
	for i := range s.Bodies {
		body := rundir.StructureBody{Rounds: s.Bodies[i].Rounds, Items: []rundir.StructureItem{}}
		for k := range s.Bodies[i].Items {
			body.Items = append(body.Items, describeItem(&s.Bodies[i].Items[k]))
		}
		d.Bodies = append(d.Bodies, body)
	}
	for _, q := range s.Sequences {
		counts := make([][2]int64, len(q.Counts))
		for i, c := range q.Counts {
			counts[i] = [2]int64{int64(c.Symbol), c.Times}
		}
		d.Sequences = append(d.Sequences, rundir.StructureSequence{
			Body: q.Root, Bursts: q.Symbols, Mixed: q.Mixed, Unordered: q.Unordered, Blurred: q.Blurred, Counts: counts,
		})
	}
	for i := range run.Threads {
		d.Threads = append(d.Threads, rundir.StructureThread{ThreadName: rundir.NameOf(&run.Threads[i]), Sequence: s.Of[i], ComputingNS: computing[i]})
	}
	return d, nil
}

// computingNS adds up the bursts of each thread.
func computingNS(run *trace.Run, owners team.Threads) ([]int64, error) {
	sums := make([]int64, len(run.Threads))
	for i := range sums {
		for _, ns := range run.Threads[i].Bursts.DurationNS {
			sums[i] += ns
		}
	}
	return sums, owners.AllReduce(sums, team.Sum)
}

func describeItem(item *loops.Item) rundir.StructureItem {
	var d rundir.StructureItem
	d.Unordered = item.Unordered
	if item.Times > 0 {
		d.StructureCount = describeCount(item.Symbol, item.Times, &item.Duration, &item.Gap)
	}
	for _, t := range item.Turns {
		d.Turns = append(d.Turns, [2]int64{int64(t.Body), t.Times})
	}
	for i := range item.Mixed {
		c := &item.Mixed[i]
		d.Mixed = append(d.Mixed, describeCount(c.Symbol, c.Times, &c.Duration, &c.Gap))
	}
	return d
}

func describeCount(symbol uint32, times int64, duration, gap *moment.Sum) rundir.StructureCount {
	round := func(ns float64) int64 { return int64(math.Round(ns)) }
	return rundir.StructureCount{Symbol: int64(symbol), Times: times, MeanNS: round(duration.Mean()), StdNS: round(duration.Std()), GapNS: round(gap.Mean())}
}
