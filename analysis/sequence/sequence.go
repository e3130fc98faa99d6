// Package sequence aligns what the threads of a run did, burst by burst, and scores how far they did the same at the
// same time: the SPMD score of González, Huck, Giménez and Labarta, "Automatic refinement of parallel applications
// structure detection", IPDPSW'12, section III.
//
// In comes one sequence per thread: the clusters of its bursts in time order, and their durations in nanoseconds. Out
// come a score per cluster and one of the whole, 0 to 1, and which clusters share columns of the alignment. The package
// never changes its input. The answer does not depend on how clusters are numbered, on the order of the threads or on
// the number of workers; clusters that nothing else distinguishes, because they could trade places, are distinguished
// by their numbers.
//
// The alignment is not the optimum, whose cost is exponential in the number of sequences. Equal sequences are aligned
// once, with a weight. Events that all threads share (the k-th collective call on their world) cut the sequences into
// segments, which are aligned apart. Within a segment the sequences join a profile (Gribskov, McLachlan and Eisenberg,
// PNAS 84 (1987)) one by one, the heaviest first. The differences between the profile's main columns and the sequence
// (Myers, Algorithmica 1 (1986)) fix what agrees over a long way; what lies between is aligned with affine gaps (Gotoh,
// J. Mol. Biol. 162 (1982)), where a match weighs more for a cluster with a larger share of the time. Symbols are
// compared for equality only. Sequences that agree cost one pass over them, those that differ in few places little
// more. Where they differ in many, counting columns in blocks is an alternative whose cost is about linear
// (Threads.Counting).
//
// The threads may be spread over a team. Each member then aligns the segments of a stretch of the run: the others send
// it hash and count of what their threads do there, and the sequences that it has not seen. The answer is that of one
// process. Where no process has the sequences, their hashes and counts by segment give the same answer (AlignPieces).
package sequence

import (
	"errors"
	"fmt"
	"math"

	"moriens/internal/team"
)

// Threads are the bursts of all threads, thread after thread, each in time order.
type Threads struct {
	Labels     []int32 // per burst: 0 … Count-1
	DurationNS []int64 // per burst, ≥ 0
	Ends       []int   // per thread: where its bursts end in Labels
	Count      int     // of labels, noise being one like any other
	// Anchors[t] are the events between the bursts of thread t that other threads share, in time order.
	// nil = none are known.
	Anchors [][]Anchor
	// Team says which threads' bursts and anchors are here: those of others are empty. The zero Team has all here. Count
	// is the same at all members, and all have Anchors or none has.
	Team team.Threads
	// Counting aligns windows in which over 5 % differ by counting columns, at a cost about linear in the bursts. Else the
	// cost grows with the differences too. It is the same at all members.
	Counting bool
	// Halt is asked again and again, by several goroutines at once; once it is true, at any member, there is no score but
	// ErrHalted. nil = never.
	Halt func() bool
}

// ErrHalted is why there is no score where Threads.Halt was true.
var ErrHalted = errors.New("no time for it")

// An Anchor is an event that is the same on all threads that name it, such as the k-th collective call on
// a communicator.
type Anchor struct {
	At    int    // how many of the thread's bursts are before it
	Event uint64 // distinct for each event, the same on all threads
}

// A Score says how far threads did the same at the same time.
type Score struct {
	Distinct int // sequences that differ from each other, summed over the segments
	Segments int // between anchors that all sequences have
	// Global is the mean of the labels' scores, weighted by their time; NaN with fewer than two sequences, where
	// there is nothing to compare.
	Global float64
	Labels []LabelScore // by label
	// Counted is the share of the bursts, 0 to 1, that were aligned by counting columns (Threads.Counting): what agrees
	// there is looked for in blocks of 256 bursts, and the rest has the columns of its ordinals. 0 without Counting.
	Counted float64
	// Shared are the sets of two and more labels that are together in columns: what some threads do where
	// others do something else.
	Shared []Shared
}

// Defined reports whether there was anything to compare.
func (s *Score) Defined() bool { return !math.IsNaN(s.Global) }

// A LabelScore is about one label.
type LabelScore struct {
	// Score is the mean, over the columns that hold the label, of the share of sequences that hold it there:
	// 1 if every thread does it wherever one does. NaN where Score.Global is, and for a label without bursts.
	Score   float64
	Columns int // that hold it
	Bursts  int
	TimeNS  int64
}

// Shared is a set of labels and in how many columns there are these and no others.
type Shared struct {
	Labels  []int32 // ascending
	Columns int
}

// Align aligns and scores. Labels out of range, negative durations, ends that go back and anchors that
// come in different orders are errors, at all members of a team. workers below 1 means 1.
func Align(t Threads, workers int) (*Score, error) {
	if err := team.Explain(t.Team, t.check()); err != nil {
		return nil, err
	}
	a := &aligner{Threads: t, workers: max(1, workers)}
	if err := a.measure(); err != nil {
		return nil, err
	}
	segments, err := a.cut()
	if err != nil {
		return nil, err
	}
	return a.finish(segments)
}

func (a *aligner) finish(segments []segment) (*Score, error) {
	if a.sequences >= 2 {
		if err := a.alignAll(segments); err != nil {
			return nil, err
		}
	}
	return a.score(segments)
}

// over reports whether Halt has been true here.
func (a *aligner) over() bool {
	if a.Halt != nil && !a.halted.Load() && a.Halt() {
		a.halted.Store(true)
	}
	return a.halted.Load()
}

// agree ends the alignment at all members where it has ended at one, which may have left out what it was to do.
func (a *aligner) agree() error {
	halted, err := team.Any(a.Team, a.halted.Load())
	if err == nil && halted {
		err = ErrHalted
	}
	return err
}

func (t *Threads) check() error {
	if len(t.Labels) != len(t.DurationNS) {
		return fmt.Errorf("sequence: %d labels have %d durations", len(t.Labels), len(t.DurationNS))
	}
	if t.Anchors != nil && len(t.Anchors) != len(t.Ends) {
		return fmt.Errorf("sequence: anchors of %d threads for %d threads", len(t.Anchors), len(t.Ends))
	}
	if err := t.Team.Check(len(t.Ends)); err != nil {
		return fmt.Errorf("sequence: %w", err)
	}
	begin := 0
	for i, end := range t.Ends {
		if end < begin || end > len(t.Labels) {
			return fmt.Errorf("sequence: the bursts of thread %d end at %d, those before it at %d, all at %d", i, end, begin, len(t.Labels))
		}
		if end-begin > math.MaxInt32 {
			return fmt.Errorf("sequence: thread %d has %d bursts: want at most %d", i, end-begin, math.MaxInt32)
		}
		if end > begin && !t.Team.Mine(i) {
			return fmt.Errorf("sequence: %d bursts of thread %d, which is at member %d", end-begin, i, t.Team.Owner(i))
		}
		begin = end
	}
	if begin != len(t.Labels) {
		return fmt.Errorf("sequence: the last thread ends at burst %d of %d", begin, len(t.Labels))
	}
	return nil
}

var errAnchorOrder = errors.New("sequence: threads name the same anchors in different orders")
