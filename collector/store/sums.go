package store

import (
	"fmt"
	"iter"
	"math"
	"math/bits"

	"moriens/internal/mpicall"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
)

// ProcessSums are what a process has counted, as far as it has reported. The call paths of sites and ends have the
// Store's numbers. Rows are held as they travel, in a third of the memory: of all ranks together there may be tens of
// millions.
type ProcessSums struct {
	rows      sums.Packed
	partners  sums.PackedPartners // likewise
	Transfers uint64              // all of them
}

// HasPartners reports whether the process counts messages by partners.
func (s *ProcessSums) HasPartners() bool { return s.partners != nil }

// Partners unpacks the messages by partners, whose call paths have the Store's numbers.
func (s *ProcessSums) Partners() []sums.Partner { return s.partners.Rows() }

// message is the message of all.
func (s *ProcessSums) message() *moriensv1.Sums {
	x := s.rows.Message()
	x.Partners = s.partners.Message()
	return x
}

// Rows unpacks all.
func (s *ProcessSums) Rows() []sums.Row { return s.rows.Rows() }

// Of unpacks all, and returns the rows of what, a moriensv1.Sums_What.
func (s *ProcessSums) Of(what moriensv1.Sums_What) iter.Seq[*sums.Row] {
	return func(yield func(*sums.Row) bool) {
		rows := s.Rows()
		for i := range rows {
			if r := &rows[i]; r.What == what && !yield(r) {
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
	all := make(map[moriensv1.Sums_What]total)
	for i := range rows {
		r := &rows[i]
		if err := p.soundRow(r); err != nil {
			return ProcessSums{}, err
		}
		t := all[r.What]
		if err := t.add(r); err != nil {
			return ProcessSums{}, err
		}
		all[r.What] = t
	}
	if err := soundTotals(all); err != nil {
		return ProcessSums{}, err
	}
	n := all[moriensv1.Sums_WHAT_SITE].transfers
	if n < p.Sums.Transfers {
		return ProcessSums{}, fmt.Errorf("%d transfers, there have been %d", n, p.Sums.Transfers)
	}
	for i := range rows {
		r := &rows[i]
		if r.HasPath() {
			r.Key = r.At(s.paths.number(p, r.Function(), r.Path()))
		}
		r.Bytes = min(r.Bytes, math.MaxInt64)
	}
	partners, err := s.partnersOf(p, x.Partners, all[moriensv1.Sums_WHAT_SITE].messages)
	if err != nil {
		return ProcessSums{}, err
	}
	return ProcessSums{sums.Pack(rows), partners, n}, nil
}

// partnersOf validates with whom a process has exchanged so many messages; nil where it does not count them.
func (s *Store) partnersOf(p *Process, x *moriensv1.Partners, messages uint64) (sums.PackedPartners, error) {
	if x == nil {
		return nil, nil
	}
	rows, err := sums.DecodePartners(x)
	if err != nil {
		return nil, err
	}
	all := uint64(0)
	for i := range rows {
		r := &rows[i]
		if err := p.soundPartner(r); err != nil {
			return nil, err
		}
		if all += r.Count; r.Count > maxTransfers || all > messages {
			return nil, fmt.Errorf("%d messages by calls, and more by partners", messages)
		}
		r.Path = s.paths.number(p, r.Function, r.Path)
	}
	if all < messages {
		return nil, fmt.Errorf("%d messages by calls and %d by partners", messages, all)
	}
	return sums.PackPartners(sums.EncodePartners(rows)), nil
}

// soundPartner says what is wrong with a row of partners by its key; nil if nothing.
func (p *Process) soundPartner(r *sums.Partner) error {
	if err := p.callsFrom(r.Function, r.Path); err != nil || r.Others() {
		return err
	}
	return p.peer(r.Comm, r.Peer)
}

// soundRow says what is wrong with a row by itself; nil if nothing.
func (p *Process) soundRow(r *sums.Row) (err error) {
	if r.Kind <= moriensv1.Transfers_KIND_UNSPECIFIED || r.Kind > moriensv1.Transfers_KIND_READ {
		return fmt.Errorf("kind %d", r.Kind)
	}
	message := r.Kind == moriensv1.Transfers_KIND_SENT || r.Kind == moriensv1.Transfers_KIND_RECEIVED
	timed := message
	switch r.What {
	case moriensv1.Sums_WHAT_SITE:
		err, timed = p.site(r), false
	case moriensv1.Sums_WHAT_PEER:
		err = p.peer(r.Comm(), r.Peer())
	case moriensv1.Sums_WHAT_SIZE:
		if r.A > 64 || r.B != 0 || !message {
			err = fmt.Errorf("size %d, %d of kind %d", r.A, r.B, r.Kind)
		}
	case moriensv1.Sums_WHAT_END:
		if err = p.site(r); err == nil && !message {
			err = fmt.Errorf("kind %d is completed", r.Kind)
		}
	case moriensv1.Sums_WHAT_REST:
		if r.A != 0 || r.B != 0 {
			err = fmt.Errorf("a rest of %d, %d", r.A, r.B)
		}
	}
	if err != nil {
		return err
	}
	return soundTimes(r, timed)
}

// soundTimes says what is wrong with the times of a row, which may have some; nil if nothing.
func soundTimes(r *sums.Row, timed bool) error {
	one := r.What == moriensv1.Sums_WHAT_PEER || r.What == moriensv1.Sums_WHAT_REST // that has times of one transfer
	switch most, longest := bits.Mul64(r.Longest, r.Count); {
	case !timed && r.Blocked|r.Longest|r.First != 0,
		!one && r.Longest|r.First != 0,
		r.What == moriensv1.Sums_WHAT_REST && r.First != 0:
		return fmt.Errorf("times %d, %d and %d of kind %d in a row of %s", r.Blocked, r.Longest, r.First, r.Kind, r.What)
	case one && (r.First > r.Longest || r.Longest > r.Blocked || most == 0 && r.Blocked > longest):
		return fmt.Errorf("%d transfers took %d ticks, the longest %d and the first %d", r.Count, r.Blocked, r.Longest, r.First)
	}
	return nil
}

// total is what the rows of a what add up to. Messages are sent or received.
type total struct{ transfers, messages, ticks uint64 }

func (t *total) add(r *sums.Row) error {
	if r.Count > maxTransfers-t.transfers {
		return fmt.Errorf("%d transfers and %d", t.transfers, r.Count)
	}
	if r.Blocked > maxBlocked-t.ticks {
		return fmt.Errorf("%d ticks and %d", t.ticks, r.Blocked)
	}
	t.transfers += r.Count
	t.ticks += r.Blocked
	if r.Kind == moriensv1.Transfers_KIND_SENT || r.Kind == moriensv1.Transfers_KIND_RECEIVED {
		t.messages += r.Count
	}
	return nil
}

// soundTotals says which totals contradict each other; nil if none. Agents of versions before sizes and ends were
// counted have none of these.
func soundTotals(all map[moriensv1.Sums_What]total) error {
	sites, sizes, ends := all[moriensv1.Sums_WHAT_SITE], all[moriensv1.Sums_WHAT_SIZE], all[moriensv1.Sums_WHAT_END]
	peers, rest := all[moriensv1.Sums_WHAT_PEER], all[moriensv1.Sums_WHAT_REST]
	ticks := peers.ticks + rest.ticks
	switch {
	case peers.transfers+rest.transfers != sites.transfers:
		return fmt.Errorf("%d transfers by calls and %d by peers", sites.transfers, peers.transfers+rest.transfers)
	case sizes.messages != sites.messages && sizes.messages+ends.messages+ticks != 0:
		return fmt.Errorf("%d messages by calls and %d by sizes", sites.messages, sizes.messages)
	case ends.messages > sites.messages:
		return fmt.Errorf("%d messages by calls, of which %d were completed", sites.messages, ends.messages)
	case sizes.ticks != ticks || ends.ticks != ticks:
		return fmt.Errorf("%d ticks by peers, %d by sizes and %d by calls", ticks, sizes.ticks, ends.ticks)
	}
	return nil
}

// site says what is wrong with the key of calls; nil if nothing.
func (p *Process) site(r *sums.Row) error {
	if r.A > math.MaxUint16 {
		return fmt.Errorf("unknown MPI function %d", r.A)
	}
	return p.callsFrom(r.Function(), r.Path())
}

// callsFrom says what is wrong with calls of a function from a call path; nil if nothing.
func (p *Process) callsFrom(function mpicall.ID, path uint32) error {
	if !function.Known() {
		return fmt.Errorf("unknown MPI function %d", function)
	}
	if _, known := p.local[path]; !known && path != 0 {
		return fmt.Errorf("call path %d is not defined", path)
	}
	return nil
}

const (
	// maxTransfers is more than any process has.
	maxTransfers = 1 << 56
	// maxBlocked is more ticks than all threads of any process take.
	maxBlocked = 1 << 62
)
