package rundirtest

import (
	"math"

	"moriens/trace"
	"moriens/trace/parquet"
)

// A Series is a phase with many instances on 3 ranks. Rank 2 has 7 fewer, rank 0 never calls MPI_Waitall, and instance
// Slow takes 50 ms more on rank 1.
type Series struct{ Instances, Group, Slow int64 }

// Steps is the phase.
var Steps = trace.PhasePath("step")

// On is how many instances a rank has.
func (s Series) On(rank int32) int64 {
	if rank == 2 {
		return s.Instances - 7
	}
	return s.Instances
}

// NS is how long an instance takes on a rank, and how long MPI_Waitall in it. Instance 5 takes no time on rank 0.
func (s Series) NS(rank int32, instance int64) (whole, waiting int64) {
	switch whole = 10_000 + instance*7919%101*10 + 100*int64(rank); {
	case instance == 5 && rank == 0:
		whole = 0
	case instance == s.Slow && rank == 1:
		whole += 50_000_000
	}
	if rank == 0 {
		return whole, 0
	}
	return whole, whole / 4
}

// Times are when the first of so many instances begins, and the last one ends.
func (s Series) Times(first, instances int64) (begin, end int64) {
	const apart = 60_000_000
	return first * apart, (first + instances) * apart
}

// Rows are those of instances.parquet.
func (s Series) Rows() []parquet.InstanceRow {
	var all, single []parquet.InstanceRow
	for first := int64(0); first < s.Instances; first += s.Group {
		for _, what := range []string{parquet.InstanceWhole, parquet.InstanceMPI} {
			row := parquet.InstanceRow{What: what, InPhase: true, Phase: Steps, Iterations: -1, Instance: first, Instances: min(s.Group, s.Instances-first)}
			if what == parquet.InstanceMPI {
				row.Function = "MPI_Waitall"
			}
			x := row
			x.LeastNS = math.MaxInt64
			for rank := range int32(3) {
				one := row
				one.OfThread, one.Rank, one.Count = true, rank, 1
				for i := first; i < min(first+row.Instances, s.On(rank)); i++ {
					ns, waiting := s.NS(rank, i)
					if one.Calls++; what == parquet.InstanceMPI {
						one.SumNS, one.DirectNS = one.SumNS+waiting, one.DirectNS+waiting
						continue
					}
					one.SumNS, one.DirectNS = one.SumNS+ns, one.DirectNS+ns-waiting/2
					if one.Calls == 1 || ns > one.LongestNS {
						one.LongestNS, one.LongestInstance = ns, i
					}
				}
				if one.Calls == 0 {
					continue
				}
				x.LeastNS = min(x.LeastNS, one.SumNS)
				if what == parquet.InstanceMPI && rank == 0 {
					x.Count++ // it has the instance
					continue
				}
				x.Count, x.Calls, x.SumNS, x.DirectNS, x.SquaresNS2 = x.Count+1, x.Calls+one.Calls, x.SumNS+one.SumNS, x.DirectNS+one.DirectNS, x.SquaresNS2+float64(one.SumNS)*float64(one.SumNS)
				if one.SumNS > x.MostNS {
					x.MostNS, x.MostRank = one.SumNS, rank
				}
				if one.LongestNS > x.LongestNS {
					x.LongestNS, x.LongestInstance = one.LongestNS, one.LongestInstance
				}
				single = append(single, one)
			}
			if what == parquet.InstanceWhole {
				x.Timed = true
				x.BeginNS, x.EndNS = s.Times(first, row.Instances)
			}
			all = append(all, x)
		}
	}
	return append(all, single...)
}
