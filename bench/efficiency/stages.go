package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"time"

	"moriens/analysis/efficiency"
	"moriens/bench/timing"
	"moriens/internal/mix"
	"moriens/internal/mpix"
	"moriens/internal/team"
)

const (
	clusters    = 8
	perTurn     = 10 // bursts of an iteration
	burstNS     = 1_000_000
	turnNS      = 2 * perTurn * burstNS
	slowest     = 2 // the location that computes half as long again as the others
	ranksOfNode = 64
)

// members is how many the team has: one a core.
func members() int { return max(2, runtime.NumCPU()) }

// plant makes locations of so many bursts: iterations of ten bursts, a call after each, instructions and cycles. Half
// of the time is in calls, of the slowest location a quarter.
func plant(n, bursts int) ([]efficiency.Location, efficiency.Options, []int) {
	turns := max(1, bursts/perTurn)
	locations, nodes := make([]efficiency.Location, n), make([]int, n)
	for r := range locations {
		nodes[r] = r / ranksOfNode
		l := &locations[r]
		var begins []int64
		for turn := range turns {
			begin := int64(turn) * turnNS
			begins = append(begins, begin)
			for k := range perTurn {
				at := begin + int64(k)*turnNS/perTurn
				ns := int64(burstNS + mix.Bits(uint64(r)<<32^uint64(turn*perTurn+k))%1000)
				if r == slowest {
					ns = burstNS * 3 / 2
				}
				l.StartNS, l.DurationNS, l.Cluster = append(l.StartNS, at), append(l.DurationNS, ns), append(l.Cluster, int32(1+k%clusters))
				l.Instructions, l.Cycles = append(l.Instructions, 3*ns), append(l.Cycles, 2*ns)
				l.EnterNS, l.ExitNS = append(l.EnterNS, at+ns), append(l.ExitNS, at+turnNS/perTurn)
			}
		}
		whole := efficiency.Span{EndNS: int64(turns) * turnNS}
		l.Loops = []efficiency.Loop{{BeginsNS: append(begins, whole.EndNS)}}
		l.Life, l.Parts = whole, [][]efficiency.Span{{whole}, {whole}, {{BeginNS: turnNS / 3, EndNS: whole.EndNS - turnNS/3}}}
	}
	return locations, efficiency.Options{Regions: 3, Clusters: 3, Kinds: true, Iterations: []int{turns}, Workers: runtime.NumCPU()}, nodes
}

// A stage is a part of the analysis.
type stage struct {
	name               string
	seconds, processor []float64
}

// took adds what something takes.
func (s *stage) took(work func() error) error {
	runtime.GC() // what others have left
	before, err := timing.CPU()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := work(); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.seconds = append(s.seconds, time.Since(start).Seconds())
	after, err := timing.CPU()
	s.processor = append(s.processor, after-before)
	return err
}

// timeStages adds up the same locations so many times.
func timeStages(n, bursts, rounds int) ([]*stage, error) {
	locations, o, nodes := plant(n, bursts)
	local, merge, solve := &stage{name: "Local"}, &stage{name: fmt.Sprintf("Merge, %d members in one process", members())}, &stage{name: "Solve, Clusters, Iterations"}
	for range rounds {
		var sums *efficiency.Sums
		err := local.took(func() (err error) {
			sums, err = efficiency.Local(locations, o)
			return err
		})
		if err != nil {
			return nil, err
		}
		if err := timeMerge(merge, locations, o); err != nil {
			return nil, err
		}
		if err := solve.took(func() error { return solved(sums, nodes) }); err != nil {
			return nil, err
		}
	}
	return []*stage{local, merge, solve}, nil
}

// timeMerge has each member of a team add up a part of the locations, and times what makes all sums known to all.
func timeMerge(s *stage, locations []efficiency.Location, o efficiency.Options) error {
	owners := make([]int32, len(locations))
	for i := range owners {
		owners[i] = int32(i * members() / len(locations))
	}
	return mpix.Each(members(), func(m mpix.Transport) error {
		part := o
		part.Team, part.Workers = team.Threads{Team: m, Of: owners}, 1
		sums, err := efficiency.Local(locations, part)
		if err := team.Agree(m, err); err != nil {
			return err
		}
		merge := func() error {
			if err := sums.Merge(part.Team); err != nil {
				return err
			}
			return m.Barrier() // all have all
		}
		if m.Rank() == 0 {
			return s.took(merge)
		}
		return merge()
	})
}

// solved computes all that efficiency.json has, and checks what was planted.
func solved(s *efficiency.Sums, nodes []int) error {
	all := make([]int, len(nodes))
	for i := range all {
		all[i] = i
	}
	mean := (float64(len(nodes)-1)*1 + 1.5) / float64(len(nodes))
	for r := range s.Regions {
		f := efficiency.Solve(s.Regions[r], nodes, 0, all)
		if f.Longest != slowest || math.Abs(f.Balance-mean/1.5) > .01 || math.Abs(f.Communication-.75) > .01 {
			return fmt.Errorf("region %d: %+v", r, f)
		}
		if list := efficiency.Clusters(s.Clusters[r], nil); len(list) != clusters || list[0].Longest != slowest {
			return fmt.Errorf("region %d: clusters %+v", r, list)
		}
	}
	if list := efficiency.Clusters(s.Kinds, nil); len(list) != clusters {
		return fmt.Errorf("%d kinds", len(list))
	}
	for k := range s.Loops {
		if list := s.Loops[k].Iterations(50); len(list) == 0 || math.Abs(list[0].Communication-.75) > .01 {
			return fmt.Errorf("iterations %+v", list)
		}
	}
	return nil
}

func printStages(out io.Writer, list []*stage, p plan) error {
	var text strings.Builder
	fmt.Fprintf(&text, "| %d locations, %d bursts each | seconds | least – most | processor s |\n|%s\n", p.locations, p.bursts, strings.Repeat("---|", 4))
	for _, s := range list {
		fmt.Fprintf(&text, "| %s | %s | %.2f |\n", s.name, spread(s.seconds), median(s.processor))
	}
	_, err := io.WriteString(out, text.String())
	return err
}
