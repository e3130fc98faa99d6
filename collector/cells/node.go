package cells

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/cell"
	"moriens/analysis/microcell"
	moriensv1 "moriens/proto/moriens/v1"
)

// A node is what an agent has reported.
type node struct {
	head    *moriensv1.CellsSurveyed // the first part of the latest survey
	groups  []group                  // by the agent's number
	units   []microcell.Unit         // by the agent's number; Group is the agent's
	threads uint64
	// at are the units of the run, by unit of the agent; -1 for one without bursts.
	at []int32
	// labels are those that the agent has, by unit of its own; nil = it has none.
	labels []int32
}

// A group is a group as an agent reports it: a process that has both call paths.
type group struct {
	hashes        [2]uint64 // of before and after, the same at all agents
	process       uint64
	before, after place
}

// A place is where a process calls MPI.
type place struct{ function, path uint32 }

// most is how many bursts, and nanoseconds, an agent can have: sums of all agents fit in 63 bits.
const (
	mostBursts = 1 << 48
	mostNS     = 1 << 60
)

// takeHead takes what a survey says of the node as a whole, and the groups of its first part.
func (n *node) takeHead(s *moriensv1.CellsSurveyed) error {
	switch {
	case s.Survey == 0:
		return errors.New("the survey has no number")
	case s.Dims == 0 && s.Bursts == 0:
		return errors.New("no rank has connected to it yet")
	case s.Dims < 1 || s.Dims > cell.MaxDims:
		return fmt.Errorf("%d dimensions: want 1 to %d", s.Dims, cell.MaxDims)
	case !(s.Side > 0) || math.IsInf(s.Side, 0):
		return fmt.Errorf("micro-cells of side %v: want a number above 0", s.Side)
	case len(s.Threads) != len(s.Process) || len(s.Anchored) != len(s.Process):
		return fmt.Errorf("threads of %d processes, with anchors of %d, for %d: want one length", len(s.Threads), len(s.Anchored), len(s.Process))
	case s.Bursts > mostBursts || s.Missing > s.Bursts || s.Short > s.Bursts-s.Missing:
		return fmt.Errorf("%d bursts, %d of which lack data and %d are short", s.Bursts, s.Missing, s.Short)
	case s.Outside > s.Missing:
		return fmt.Errorf("%d bursts that no cell can hold, of %d that lack data", s.Outside, s.Missing)
	case s.TimeNs > mostNS || s.MissingNs > s.TimeNs || s.ShortNs > s.TimeNs-s.MissingNs:
		return fmt.Errorf("%d ns of bursts, %d of which lack data and %d are short", s.TimeNs, s.MissingNs, s.ShortNs)
	}
	if s.Whole {
		*n = node{}
	} else if n.head == nil {
		return errors.New("only changes since a survey that was not made")
	} else if s.Spec != n.head.Spec || s.Dims != n.head.Dims || s.Side != n.head.Side || !slices.Equal(s.Counter, n.head.Counter) {
		return fmt.Errorf("micro-cells are made as %q now, and were as %q", s.Spec, n.head.Spec)
	}
	n.threads = 0
	for i, threads := range s.Threads {
		if s.Anchored[i] > threads {
			return fmt.Errorf("%d of %d threads of a process have anchors", s.Anchored[i], threads)
		}
		n.threads += uint64(threads)
	}
	if n.threads > s.Bursts {
		return fmt.Errorf("%d threads have bursts, of which there are %d", n.threads, s.Bursts)
	}
	n.head = s
	return n.takeGroups(s)
}

// takeGroups takes the groups that a part of a survey names.
func (n *node) takeGroups(s *moriensv1.CellsSurveyed) error {
	if s.Survey != n.head.Survey {
		return fmt.Errorf("groups of survey %d in survey %d", s.Survey, n.head.Survey)
	}
	groups := len(s.Before)
	if slices.ContainsFunc([]int{len(s.After), len(s.Example), len(s.BeforePath), len(s.AfterPath), len(s.BeforeFunction), len(s.AfterFunction)},
		func(n int) bool { return n != groups }) {
		return fmt.Errorf("columns of groups with %d, %d, %d, %d, %d, %d and %d entries: want one length",
			groups, len(s.After), len(s.Example), len(s.BeforePath), len(s.AfterPath), len(s.BeforeFunction), len(s.AfterFunction))
	}
	for i := range s.Before {
		n.groups = append(n.groups, group{[2]uint64{s.Before[i], s.After[i]}, s.Example[i], place{s.BeforeFunction[i], s.BeforePath[i]}, place{s.AfterFunction[i], s.AfterPath[i]}})
	}
	return nil
}

// check reports whether the micro-cells are all that the node has.
func (n *node) check() error {
	bursts, timeNS := n.head.Missing+n.head.Short, n.head.MissingNs+n.head.ShortNs
	for i := range n.units {
		u := &n.units[i]
		if u.Cell.Count > mostBursts || u.Duration.Total[1] != 0 || u.Duration.Total[0] > mostNS {
			return fmt.Errorf("unit %d has %d bursts with more than %d ns", i, u.Cell.Count, uint64(mostNS))
		}
		if err := checkMean(u, int(n.head.Dims), n.head.Side); err != nil {
			return fmt.Errorf("unit %d: %w", i, err)
		}
		bursts += uint64(u.Cell.Count)
		timeNS += u.Duration.Total[0]
		if bursts > n.head.Bursts || timeNS > n.head.TimeNs {
			break
		}
	}
	if bursts != n.head.Bursts || timeNS != n.head.TimeNs {
		return fmt.Errorf("micro-cells and what is in none have %d bursts with %d ns: want %d with %d ns, as the node has", bursts, timeNS, n.head.Bursts, n.head.TimeNs)
	}
	return nil
}

// anchored reports whether all threads have anchors.
func (n *node) anchored() bool { return slices.Equal(n.head.Threads, n.head.Anchored) }

// labelsOf are the labels of the agent's units, given those of the run's. What has no bursts keeps what it has.
func (n *node) labelsOf(labels []int32) []int32 {
	own := make([]int32, len(n.units))
	copy(own, n.labels)
	for i, at := range n.at {
		if at >= 0 {
			own[i] = labels[at]
		}
	}
	return own
}
