package window

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"moriens/internal/anchor"
	"moriens/internal/section"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// partBytes is about how large a part of an answer to a Fetch is.
const partBytes = 1 << 20

// Fetch calls emit for the parts of windows that are asked for, by name or by calls that they hold, in no order,
// and returns the end of the answer. An error of emit ends it early. Rows of a window that are not yet read from
// the rings are not included. Windows that are evicted before their turn are reported as gone; all others are sent
// in full, once. A slow emit keeps nothing from being written or evicted in that time.
func (s *Store) Fetch(f *moriensv1.Fetch, emit func(*moriensv1.WindowPart) error) *moriensv1.WindowsEnd {
	end := &moriensv1.WindowsEnd{Number: f.Number}
	if len(f.Ring) != len(f.FirstRow) || len(f.Ring) != len(f.BehindRow) {
		end.Error = "windows: columns of different lengths"
		return end
	}
	send := func(p *moriensv1.WindowPart) error {
		p.Number = f.Number
		end.Parts++
		return emit(p)
	}
	fetch := s.fetchWindows
	if f.Transfers || f.Everything {
		fetch = s.fetchAll
	}
	if err := fetch(f, end, send); err != nil {
		end.Error = err.Error()
	}
	return end
}

// fetchWindows calls emit for the windows that are named, and those that calls which are named are in.
func (s *Store) fetchWindows(f *moriensv1.Fetch, end *moriensv1.WindowsEnd, emit func(*moriensv1.WindowPart) error) error {
	reader := new(reader)
	for wanted := s.wanted(f); len(wanted) > 0; {
		n := 1
		for n < len(wanted) && wanted[n].process == wanted[0].process && chunkOf(wanted[n].window) == chunkOf(wanted[0].window) {
			n++
		}
		windows, records := s.choose(wanted[:n], end)
		complete, err := reader.read(s, windows, records)
		if err != nil {
			return err
		}
		for i := range windows {
			if w := &windows[i]; !complete {
				w.isGone(end)
			} else if err := w.emit(emit); err != nil {
				return err
			}
		}
		wanted = wanted[n:]
	}
	return nil
}

// wanted are the windows that a Fetch is about, chunk by chunk. Processes and rings that are not here are another
// node's.
func (s *Store) wanted(f *moriensv1.Fetch) []key {
	wanted := make(map[key]bool)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(f.Window) > 0 {
		for _, p := range s.asked(f.Process) {
			for _, w := range f.Window {
				wanted[key{p.id, anchor.ID(w)}] = true
			}
		}
	}
	for i, id := range f.Ring {
		r := s.rings[id]
		if r == nil {
			continue
		}
		for row, end := f.FirstRow[i], min(f.BehindRow[i], r.rows); row < end; {
			w, _, behind := r.stretch(row)
			wanted[key{r.process.id, w}] = true
			row = behind
		}
	}
	return slices.SortedFunc(maps.Keys(wanted), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(chunkOf(a.window), chunkOf(b.window)), cmp.Compare(a.window, b.window))
	})
}

// A wantedWindow is one with the rows that are of it.
type wantedWindow struct {
	key
	parts []*moriensv1.WindowPart
	rows  map[uint64][2]uint64 // by ring: first, behind
}

func (w *wantedWindow) isGone(end *moriensv1.WindowsEnd) {
	end.GoneProcess, end.GoneWindow = append(end.GoneProcess, w.process), append(end.GoneWindow, uint64(w.window))
}

func (w *wantedWindow) emit(emit func(*moriensv1.WindowPart) error) error {
	for _, p := range w.parts {
		if err := emit(p); err != nil {
			return err
		}
	}
	return nil
}

// choose says which windows of one chunk of a process are gone, and gives the others, with how many records the chunk
// has.
func (s *Store) choose(wanted []key, end *moriensv1.WindowsEnd) (windows []wantedWindow, records int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.processes[wanted[0].process]
	for _, k := range wanted {
		w := wantedWindow{key: k, rows: make(map[uint64][2]uint64)}
		switch {
		case !p.had(k.window):
			continue
		case s.gone(k):
			w.isGone(end)
			continue
		}
		part := &moriensv1.WindowPart{Process: k.process, Window: uint64(k.window)}
		for _, r := range p.rings {
			if first, behind, any := r.rowsOf(k.window); any {
				w.rows[r.id] = [2]uint64{first, behind}
				part.Ring = append(part.Ring, r.id)
				part.FirstRow, part.BehindRow = append(part.FirstRow, first), append(part.BehindRow, behind)
			}
		}
		w.parts = append(w.parts, part)
		windows = append(windows, w)
	}
	if h := s.chunks[chunkKey{p.id, chunkOf(wanted[0].window)}]; h != nil {
		records = len(h.offsets)
	}
	return windows, records
}

// sections are those of one record of a chunk, by its number; there are none where the chunk is evicted by now. The
// records of a chunk keep their numbers when it moves to another log. A damaged log is evicted.
func (s *Store) sections(of chunkKey, number int) (sections []byte, held bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.chunks[of]
	if h == nil || number >= len(h.offsets) {
		return nil, false, nil
	}
	k := logKey{h.rank, s.level(of.chunk)}
	record, err := s.logs[k].Record(h.offsets[number])
	switch {
	case errors.Is(err, segment.ErrCorrupt):
		s.damaged(k, err)
		return nil, false, s.remove(k)
	case err != nil:
		return nil, false, err
	}
	return record[recordHead:], true, nil
}

// A reader takes records of moves apart.
type reader struct {
	section  section.Section
	decoder  section.Decoder
	block    section.Block
	encoder  section.Encoder
	gatherer section.Gatherer
	part     section.Block
}

// read gives windows of one chunk their moves, out of so many records, and reports whether all of those are still held.
func (r *reader) read(s *Store, windows []wantedWindow, records int) (complete bool, err error) {
	for i := 0; i < records && len(windows) > 0; i++ {
		of := chunkKey{windows[0].process, chunkOf(windows[0].window)}
		bytes, held, err := s.sections(of, i)
		if err != nil || !held {
			return false, err
		}
		for len(bytes) > 0 {
			if bytes, err = r.section.Read(bytes); err != nil {
				return false, err
			}
			if r.section.Kind != section.Moves {
				continue
			}
			if err := r.decoder.Moves(&r.section, &r.block); err != nil {
				return false, err
			}
			for i := range windows {
				r.add(&windows[i])
			}
		}
	}
	return true, nil
}

// add gives a window a section with its moves of the block.
func (r *reader) add(w *wantedWindow) {
	rows, any := w.rows[r.block.Ring]
	if !any {
		return
	}
	r.part.Empty()
	r.part.Ring, r.part.Epoch, r.part.First, r.part.Chunk = r.block.Ring, r.block.Epoch, rows[0], r.block.Chunk
	for i := range r.block.Transfers {
		if x := r.block.Transfers[i]; x.Row >= rows[0] && x.Row < rows[1] {
			r.gatherer.Add(&r.part, r.block.Lanes[x.Lane], x)
		}
	}
	if len(r.part.Transfers) == 0 {
		return
	}
	part := w.parts[len(w.parts)-1]
	if len(part.Sections) >= partBytes {
		part = &moriensv1.WindowPart{Process: w.process, Window: uint64(w.window)}
		w.parts = append(w.parts, part)
	}
	part.Sections = r.encoder.Moves(part.Sections, &r.part)
}

// fetchAll calls emit for parts with the moves of all windows of the processes that are asked for, or all that is
// held. What is gone by the end is reported, whether it was emitted before or not.
func (s *Store) fetchAll(f *moriensv1.Fetch, end *moriensv1.WindowsEnd, emit func(*moriensv1.WindowPart) error) error {
	s.mu.Lock()
	asked := make(map[uint64]bool)
	for _, p := range s.asked(f.Process) {
		asked[p.id] = true
	}
	var chunks []chunkKey
	for of := range s.chunks {
		if asked[of.process] {
			chunks = append(chunks, of)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(chunks, func(a, b chunkKey) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.chunk, b.chunk))
	})
	part := new(moriensv1.WindowPart)
	for _, of := range chunks {
		for i := 0; ; i++ {
			sections, held, err := s.sections(of, i)
			if err != nil {
				return err
			}
			if !held {
				break
			}
			for len(sections) > 0 {
				n, err := section.Length(sections)
				if err != nil {
					return err
				}
				if kind, _, _ := section.Of(sections); kind == section.Moves || f.Everything {
					part.Sections = append(part.Sections, sections[:n]...)
				}
				if sections = sections[n:]; len(part.Sections) < partBytes {
					continue
				}
				if err := emit(part); err != nil {
					return err
				}
				part = new(moriensv1.WindowPart)
			}
		}
	}
	if len(part.Sections) > 0 {
		if err := emit(part); err != nil {
			return err
		}
	}
	if f.Everything {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range s.asked(f.Process) {
			for _, w := range p.windows() {
				if s.gone(key{p.id, w}) {
					end.GoneProcess, end.GoneWindow = append(end.GoneProcess, p.id), append(end.GoneWindow, uint64(w))
				}
			}
		}
	}
	return nil
}

// Replay gives take the sections of calls that are held, for a restarted agent, those of a ring in the order of its
// rows, behind the messages that say who the processes are and before the ends of rings. It returns how many rows of
// calls are gone. Nothing may be appended in that time.
func (s *Store) Replay(define func([]*moriensv1.ReportRequest), take func(calls []byte) error) (gone uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	isEnd := func(m *moriensv1.ReportRequest) bool { return m.GetRingEnd() != nil }
	definitions := slices.Concat(s.definitions, s.clockSamples())
	define(slices.DeleteFunc(slices.Clone(definitions), isEnd))
	for _, r := range s.rings {
		gone += r.rows
	}
	type at struct {
		transaction, ring, first uint64
		log                      *segment.Log
		offset                   int64
	}
	var order []at
	for of, h := range s.chunks {
		log, err := s.log(logKey{h.rank, s.level(of.chunk)})
		if err != nil {
			return gone, err
		}
		for _, offset := range h.offsets {
			record, err := log.Record(offset)
			if err != nil {
				return gone, err
			}
			if kind, ring, first := section.Of(record[recordHead:]); kind == section.Calls {
				order = append(order, at{binary.LittleEndian.Uint64(record), ring, first, log, offset})
			}
		}
	}
	slices.SortFunc(order, func(a, b at) int {
		return cmp.Or(cmp.Compare(a.transaction, b.transaction), cmp.Compare(a.ring, b.ring), cmp.Compare(a.first, b.first), cmp.Compare(a.offset, b.offset))
	})
	var x section.Section
	for _, at := range order {
		record, err := at.log.Record(at.offset)
		if err != nil {
			return gone, err
		}
		if _, err := x.Read(record[recordHead:]); err != nil {
			return gone, err
		}
		gone -= min(gone, uint64(x.Rows))
		if err := take(record[recordHead:]); err != nil {
			return gone, err
		}
	}
	define(slices.DeleteFunc(definitions, func(m *moriensv1.ReportRequest) bool { return !isEnd(m) }))
	return gone, nil
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
