package window

import (
	"cmp"
	"errors"
	"slices"
	"syscall"

	"google.golang.org/protobuf/proto"

	"moriens/internal/anchor"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// noted writes a record to the state log.
func (s *Store) noted(n *moriensv1.WindowState) error {
	bytes, err := proto.Marshal(n)
	if err != nil {
		return err
	}
	_, err = s.state.Append(bytes)
	return err
}

// note writes down what a later run of the agent needs to know, and logs where that fails.
func (s *Store) note(n *moriensv1.WindowState) {
	if err := s.noted(n); err != nil {
		s.fail(err)
	}
}

// recover makes the store what its files say: the state log first, then the fresh log up to what counts.
func (s *Store) recover() error {
	err := s.state.Read(segment.Position{}, func(_ segment.Position, record []byte) error {
		n := new(moriensv1.WindowState)
		if err := proto.Unmarshal(record, n); err != nil {
			return err
		}
		s.apply(n)
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range s.rings {
		r.saved = len(r.edges)
	}
	s.trim()
	if err := s.clear(); err != nil {
		return err
	}
	if err := s.reread(); err != nil {
		return err
	}
	if err := s.save(); !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return nil // the files as they are have the same content: on a full disk they are kept
}

// apply does what a record of the state log says.
func (s *Store) apply(n *moriensv1.WindowState) {
	for _, m := range n.Definitions {
		s.define(m)
	}
	for _, m := range n.Marks {
		s.mark(m)
	}
	for _, d := range n.Files {
		if d.File != 0 {
			s.files = slices.DeleteFunc(s.files, func(f *file) bool { return f.number == d.File })
			if len(d.Runs) > 0 {
				s.files = append(s.files, fileOf(d))
			}
		}
		for _, number := range d.Replaces {
			s.files = slices.DeleteFunc(s.files, func(f *file) bool { return f.number == number })
		}
		s.sortedFile = max(s.sortedFile, d.ReplacesFresh)
	}
	for _, e := range n.Edges {
		if r := s.rings[e.Ring]; r != nil {
			for i, row := range e.Row {
				r.begin(row, 0, anchor.ID(e.Window[i]))
			}
			r.times = nil
		}
	}
	for _, p := range n.Passed {
		if at := s.processes[p.Process]; at != nil {
			at.out, at.passed = true, max(at.passed, anchor.ID(p.Window))
		}
	}
	for i, below := range n.Below {
		if i < len(s.below) {
			s.below[i] = min(s.below[i], below)
		}
	}
	if n.Transaction <= s.config.Committed {
		for _, t := range n.Tracks {
			s.resume(t)
		}
		s.behind(n)
		s.last = max(s.last, n.Transaction)
	}
	s.stats.EvictedBytes += n.EvictedBytes
	s.stats.EvictedWindows += n.EvictedWindows
	s.stats.Unusual += n.Unusual
}

// behind stores the positions of rings after what is no longer in the fresh log.
func (s *Store) behind(n *moriensv1.WindowState) {
	s.sortedTransaction = max(s.sortedTransaction, n.Transaction)
	for _, t := range n.Tracks {
		s.sortedTracks[t.Ring] = t
	}
}

// trim forgets runs that are not in their files any more.
func (s *Store) trim() {
	bytes := make(map[uint64]int64)
	for _, f := range s.sorted.Files() {
		bytes[f.Number] = f.Bytes
	}
	for _, f := range s.files {
		f.runs = slices.DeleteFunc(f.runs, func(r run) bool { return r.end > bytes[f.number] })
	}
	s.files = slices.DeleteFunc(s.files, func(f *file) bool { return len(f.runs) == 0 })
}

// reread takes what the fresh log has, and cuts off the transactions that do not count.
func (s *Store) reread() error {
	if err := s.dropSorted(); err != nil {
		return err
	}
	var end segment.Position
	err := s.fresh.Read(segment.Position{}, func(at segment.Position, record []byte) error {
		b := new(moriensv1.WindowBatch)
		if err := proto.Unmarshal(record, b); err != nil {
			return err
		}
		if b.Transaction > s.config.Committed {
			return errEnough
		}
		end = at
		s.beginAgain(b)
		for _, t := range b.Tracks {
			s.resume(t)
		}
		s.last = max(s.last, b.Transaction)
		return nil
	})
	for _, r := range s.rings {
		r.cut(r.rows) // what recurs may be in other windows
		r.times = nil
	}
	if !errors.Is(err, errEnough) {
		return err
	}
	return s.cutFresh(end)
}

// beginAgain takes from a record of the fresh log where windows begin. The state log may have reported that already, as
// of what was written until a file was sorted.
func (s *Store) beginAgain(b *moriensv1.WindowBatch) {
	begins := make(map[*ring][]edge)
	for _, p := range b.Parts {
		for _, m := range p.Messages {
			if c := m.GetCalls(); c != nil && s.rings[c.Ring] != nil {
				r := s.rings[c.Ring]
				begins[r] = append(begins[r], edge{c.First, anchor.ID(p.Window)})
			}
		}
	}
	for r, list := range begins {
		slices.SortFunc(list, func(a, b edge) int { return cmp.Compare(a.row, b.row) })
		r.cut(list[0].row)
		for _, e := range list {
			r.begin(e.row, 0, e.window)
		}
	}
}

// dropSorted removes the files of the fresh log whose windows are in sorted ones.
func (s *Store) dropSorted() error {
	if s.sortedFile == 0 {
		return nil
	}
	for s.fresh.End().File <= s.sortedFile {
		if err := s.fresh.Rotate(); err != nil {
			return err
		}
	}
	return s.removeFresh(s.sortedFile)
}

// cutFresh cuts the fresh log after a position.
func (s *Store) cutFresh(end segment.Position) error {
	if err := s.fresh.Rotate(); err != nil {
		return err
	}
	files := s.fresh.Files()
	for _, f := range files[:len(files)-1] {
		switch {
		case f.Number > end.File:
			if err := s.fresh.Remove(f.Number); err != nil {
				return err
			}
		case f.Number == end.File:
			if err := s.fresh.Truncate(end); err != nil {
				return err
			}
		}
	}
	return nil
}

// compact rewrites the state log once its notes are much larger than the state.
func (s *Store) compact() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Bytes() < max(2*s.stateBytes, s.freshBytes()) {
		return nil
	}
	return s.save()
}

// clockSamples are the first and the latest reading of each clock.
func (s *Store) clockSamples() (list []*moriensv1.ReportRequest) {
	for clock, readings := range s.clocks {
		for _, r := range readings {
			list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{
				ClockSample: &moriensv1.ClockSample{Clock: clock, Ticks: r.ticks, MonotonicNs: r.ns},
			}})
		}
	}
	return list
}

// save writes all of the state to a new file of its log and removes the others.
func (s *Store) save() error {
	n := &moriensv1.WindowState{
		Below: s.below[:], EvictedBytes: s.stats.EvictedBytes, EvictedWindows: s.stats.EvictedWindows, Unusual: s.stats.Unusual,
		Definitions: slices.Clip(s.definitions), Transaction: s.sortedTransaction,
	}
	n.Definitions = append(n.Definitions, s.clockSamples()...)
	for _, t := range s.sortedTracks {
		n.Tracks = append(n.Tracks, t)
	}
	for k, m := range s.marks {
		why := moriensv1.Keep_WHY_UNUSUAL
		if m.class == pinned {
			why = moriensv1.Keep_WHY_PINNED
		}
		n.Marks = append(n.Marks, &moriensv1.WindowMark{Process: k.process, Window: uint64(k.window), Why: why, Reason: m.reason})
	}
	for k := range s.torn {
		n.Marks = append(n.Marks, &moriensv1.WindowMark{Process: k.process, Window: uint64(k.window)})
	}
	for _, f := range s.files {
		n.Files = append(n.Files, f.describe())
	}
	n.Files = append(n.Files, &moriensv1.WindowFile{ReplacesFresh: s.sortedFile})
	for _, p := range s.processes {
		if p.out {
			n.Passed = append(n.Passed, &moriensv1.WindowPassed{Process: p.id, Window: uint64(p.passed)})
		}
	}
	saved := make(map[*ring]int)
	for _, r := range s.rings {
		e := &moriensv1.WindowEdges{Ring: r.id}
		for _, x := range r.edges {
			e.Row, e.Window = append(e.Row, x.row), append(e.Window, uint64(x.window))
		}
		saved[r] = len(r.edges)
		n.Edges = append(n.Edges, e)
	}
	bytes, err := proto.Marshal(n)
	if err != nil {
		return err
	}
	if s.state.End().Offset > segment.Start {
		if err := s.state.Rotate(); err != nil {
			return err
		}
	}
	if _, err := s.state.Append(bytes); err != nil {
		return err
	}
	s.stateBytes = s.state.End().Offset
	for r, n := range saved {
		r.saved = n
	}
	files := s.state.Files()
	for _, f := range files[:len(files)-1] {
		if err := s.state.Remove(f.Number); err != nil {
			return err
		}
	}
	return nil
}
