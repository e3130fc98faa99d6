package window

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// isDetail reports whether a message is detail, which windows hold.
func isDetail(m *moriensv1.ReportRequest) bool {
	switch m.Body.(type) {
	case *moriensv1.ReportRequest_Calls, *moriensv1.ReportRequest_Marks, *moriensv1.ReportRequest_Transfers,
		*moriensv1.ReportRequest_Collectives, *moriensv1.ReportRequest_Gaps:
		return true
	}
	return false
}

// apart is Part where all detail is kept.
func apart(messages []*moriensv1.ReportRequest) (reported, local []*moriensv1.ReportRequest) {
	for _, m := range messages {
		if isDetail(m) {
			local = append(local, m)
		} else {
			reported = append(reported, m)
		}
	}
	return reported, local
}

// defineWhole takes what a restarted agent has to know besides who the processes are, where all detail is kept.
func (s *Store) defineWhole(m *moriensv1.ReportRequest) bool {
	switch b := m.Body.(type) {
	case *moriensv1.ReportRequest_CallPath:
		p := s.processes[b.CallPath.Process]
		if p == nil || p.paths[b.CallPath.Path] {
			return false
		}
		if p.paths == nil {
			p.paths = make(map[uint32]bool)
		}
		p.paths[b.CallPath.Path] = true
	case *moriensv1.ReportRequest_RingEnd:
		r := s.rings[b.RingEnd.Ring]
		if r == nil || r.ended {
			return false
		}
		r.ended = true
	default:
		return false
	}
	s.definitions = append(s.definitions, m)
	return true
}

// Replay calls take for all that is held, for a restarted agent: who the processes are, then the windows in order, each
// process's messages at a time, calls first and each ring's rows in order, and last the ends of rings. It returns how
// many rows of calls are gone. Nothing may be appended in that time.
func (s *Store) Replay(take func([]*moriensv1.ReportRequest)) (gone uint64, err error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	definitions := slices.Concat(s.definitions, s.clockSamples())
	for _, r := range s.rings {
		gone += r.rows
	}
	s.mu.Unlock()
	isEnd := func(m *moriensv1.ReportRequest) bool { return m.GetRingEnd() != nil }
	ends := slices.DeleteFunc(slices.Clone(definitions), func(m *moriensv1.ReportRequest) bool { return !isEnd(m) })
	take(slices.DeleteFunc(definitions, isEnd))
	err = s.inOrder(func(k key) bool { return !s.gone(k) }, func(p *moriensv1.WindowPart) error {
		for _, m := range p.Messages {
			gone -= min(gone, uint64(len(m.GetCalls().GetFunction())))
		}
		take(p.Messages)
		return nil
	})
	take(ends)
	return gone, err
}

// fetchEverything calls emit for all that is held of processes, window by window, and holds the files until it returns.
func (s *Store) fetchEverything(f *moriensv1.Fetch, end *moriensv1.WindowsEnd, emit func(*moriensv1.WindowPart) error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	asked := make(map[uint64]bool)
	s.mu.Lock()
	for _, p := range s.asked(f.Process) {
		asked[p.id] = true
		for _, w := range p.windows() {
			if s.gone(key{p.id, w}) {
				end.GoneProcess, end.GoneWindow = append(end.GoneProcess, p.id), append(end.GoneWindow, uint64(w))
			}
		}
	}
	s.mu.Unlock()
	if len(asked) == 0 {
		return
	}
	err := s.inOrder(func(k key) bool { return asked[k.process] && !s.gone(k) }, func(p *moriensv1.WindowPart) error {
		return pieces(p, func(piece *moriensv1.WindowPart) error {
			piece.Number = f.Number
			end.Parts++
			return emit(piece)
		})
	})
	if err != nil {
		end.Error = err.Error()
	}
}

// windows lists the windows that a process has been in.
func (p *process) windows() (list []anchor.ID) {
	for _, r := range p.rings {
		for _, e := range r.edges {
			list = append(list, e.window)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// A place is a run of a sorted file.
type place struct {
	file *file
	run  int
}

// inOrder calls visit for the windows that are wanted, in their order, with all of a process's messages at a time.
// wanted is asked with the store locked, and the caller holds the files.
func (s *Store) inOrder(wanted func(key) bool, visit func(*moriensv1.WindowPart) error) error {
	s.mu.Lock()
	err := s.fresh.Rotate() // all of it gets sorted
	s.mu.Unlock()
	if err == nil {
		err = s.tidyFiles()
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	files := slices.Clone(s.files)
	s.mu.Unlock()
	held := func(k key) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return wanted(k)
	}
	at := make(map[anchor.ID][]place)
	for _, f := range files {
		for i := range f.runs {
			err := s.readParts(f, i, 1, func(p part) error {
				list := at[p.window]
				if here := (place{f, i}); held(p.key) && (len(list) == 0 || list[len(list)-1] != here) {
					at[p.window] = append(list, here)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	for _, w := range slices.Sorted(maps.Keys(at)) {
		if err := s.visitWindow(w, at[w], held, visit); err != nil {
			return err
		}
	}
	return nil
}

// visitWindow calls visit for each process of a window.
func (s *Store) visitWindow(w anchor.ID, at []place, wanted func(key) bool, visit func(*moriensv1.WindowPart) error) error {
	of := make(map[uint64]*moriensv1.WindowPart)
	for _, x := range at {
		err := s.readParts(x.file, x.run, 1, func(p part) error {
			if p.window != w || !wanted(p.key) {
				return nil
			}
			p.messages = bytes.Clone(p.messages)
			decoded, err := p.decode()
			if err != nil {
				return err
			}
			whole := of[p.process]
			if whole == nil {
				whole = &moriensv1.WindowPart{Process: p.process, Window: uint64(w)}
				of[p.process] = whole
			}
			whole.Messages = append(whole.Messages, decoded.Messages...)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(of)) {
		slices.SortStableFunc(of[id].Messages, compareRows)
		if err := visit(of[id]); err != nil {
			return err
		}
	}
	return nil
}

// compareRows orders the messages of a window: calls, marks, and what belongs to calls; each kind by rings and rows.
func compareRows(a, b *moriensv1.ReportRequest) int {
	kind, ring, row := rowOf(a)
	otherKind, otherRing, otherRow := rowOf(b)
	return cmp.Or(cmp.Compare(kind, otherKind), cmp.Compare(ring, otherRing), cmp.Compare(row, otherRow))
}

// rowOf is the first row that a message is of; 0 of gaps, which are of several kinds of rows.
func rowOf(m *moriensv1.ReportRequest) (kind int, ring, row uint64) {
	first := func(rows []int64) uint64 {
		if len(rows) == 0 {
			return 0
		}
		return uint64(rows[0])
	}
	switch b := m.Body.(type) {
	case *moriensv1.ReportRequest_Calls:
		return 0, b.Calls.Ring, b.Calls.First
	case *moriensv1.ReportRequest_Marks:
		return 1, b.Marks.Ring, b.Marks.First
	case *moriensv1.ReportRequest_Collectives:
		return 2, b.Collectives.Ring, first(b.Collectives.Row)
	case *moriensv1.ReportRequest_Transfers:
		return 3, b.Transfers.Ring, first(b.Transfers.Row)
	case *moriensv1.ReportRequest_Gaps:
		return 4, b.Gaps.Ring, 0
	}
	return 5, 0, 0
}
