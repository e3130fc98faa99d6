package store

import (
	"fmt"
	"iter"
	"math"

	"moriens/internal/mpicall"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
)

// ProcessSums are what a process has counted, as far as it has reported. The call paths of sites have the Store's
// numbers.
type ProcessSums struct {
	rows      []sums.Row
	Transfers uint64 // all of them
}

// Of returns the rows of what, a moriensv1.Sums_What.
func (s *ProcessSums) Of(what moriensv1.Sums_What) iter.Seq[*sums.Row] {
	return func(yield func(*sums.Row) bool) {
		for i := range s.rows {
			if r := &s.rows[i]; r.What == what && !yield(r) {
				return
			}
		}
	}
}

// addSums takes the sums of a process in the place of those before.
func (s *Store) addSums(x *moriensv1.Sums) error {
	p := s.processes[x.Process]
	if p == nil {
		return fmt.Errorf("sums of unknown process %016x", x.Process)
	}
	t, err := s.sumsOf(p, x)
	if err != nil {
		return fmt.Errorf("process %016x, sums: %w", x.Process, err)
	}
	p.Sums = t
	s.count(p)
	return nil
}

// count counts what a process has moved: what it has reported, or what arrived, if that is more.
func (s *Store) count(p *Process) {
	n := max(p.received, p.Sums.Transfers)
	s.totals.Transfers += n - p.counted
	p.counted = n
}

// sumsOf validates what a process has counted.
func (s *Store) sumsOf(p *Process, x *moriensv1.Sums) (ProcessSums, error) {
	rows, err := sums.Decode(x)
	if err != nil {
		return ProcessSums{}, err
	}
	transfers := make(map[moriensv1.Sums_What]uint64)
	for i := range rows {
		r := &rows[i]
		if r.Kind <= moriensv1.Transfers_KIND_UNSPECIFIED || r.Kind > moriensv1.Transfers_KIND_READ {
			return ProcessSums{}, fmt.Errorf("kind %d", r.Kind)
		}
		switch r.What {
		case moriensv1.Sums_WHAT_SITE:
			err = p.site(r)
		case moriensv1.Sums_WHAT_PEER:
			err = p.peer(r.Comm(), r.Peer())
		}
		if err != nil {
			return ProcessSums{}, err
		}
		if r.Count > maxTransfers-transfers[r.What] {
			return ProcessSums{}, fmt.Errorf("%d transfers and %d", transfers[r.What], r.Count)
		}
		transfers[r.What] += r.Count
	}
	n, routed := transfers[moriensv1.Sums_WHAT_SITE], transfers[moriensv1.Sums_WHAT_PEER]
	if routed != n {
		return ProcessSums{}, fmt.Errorf("%d transfers by calls and %d by peers", n, routed)
	}
	if n < p.Sums.Transfers {
		return ProcessSums{}, fmt.Errorf("%d transfers, there have been %d", n, p.Sums.Transfers)
	}
	for i := range rows {
		r := &rows[i]
		if r.What == moriensv1.Sums_WHAT_SITE {
			r.Key = sums.Site(r.Kind, r.Function(), s.paths.number(p, r.Function(), r.Path()))
		}
		r.Bytes = min(r.Bytes, math.MaxInt64)
	}
	return ProcessSums{rows, n}, nil
}

// site says what is wrong with the key of calls; nil if nothing.
func (p *Process) site(r *sums.Row) error {
	if r.A > math.MaxUint16 || !mpicall.ID(r.A).Known() {
		return fmt.Errorf("unknown MPI function %d", r.A)
	}
	if _, known := p.local[r.Path()]; !known && r.Path() != 0 {
		return fmt.Errorf("call path %d is not defined", r.Path())
	}
	return nil
}

// maxTransfers is more than any process has.
const maxTransfers = 1 << 56
