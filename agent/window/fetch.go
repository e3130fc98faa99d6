package window

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"moriens/internal/anchor"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// partBytes bounds one answer to a Fetch.
const partBytes = 1 << 20

// fetchRuns is about how many runs of sorted files are in memory at a time.
const fetchRuns = 64

// Fetch calls emit for the parts of windows that are asked for, by name or by calls that they hold, in no order, and
// returns the end of the answer. An error of emit ends it early. Rows of a window that are not yet read from the rings
// are not included. Windows that are evicted before their turn are reported as gone; all others are sent in full, once.
// A slow emit keeps nothing from being written or evicted in that time, unless everything is asked for.
func (s *Store) Fetch(f *moriensv1.Fetch, emit func(*moriensv1.WindowPart) error) *moriensv1.WindowsEnd {
	end := &moriensv1.WindowsEnd{Number: f.Number}
	switch {
	case f.Transfers:
		s.fetchTransfers(f, end, emit)
	case f.Everything:
		s.fetchEverything(f, end, emit)
	default:
		s.fetchWindows(f, end, emit)
	}
	return end
}

// fetchWindows calls emit for the parts of the windows that are named, and of those that calls which are named are in.
func (s *Store) fetchWindows(f *moriensv1.Fetch, end *moriensv1.WindowsEnd, emit func(*moriensv1.WindowPart) error) {
	if !same(len(f.Ring), len(f.FirstRow), len(f.BehindRow)) {
		end.Error = errColumns.Error()
		return
	}
	wanted, hashes := s.wanted(f)
	sent := make(map[key]bool)
	err := s.fetch(hashes, func(k key) bool { return wanted[k] }, func(p part) error {
		sent[p.key] = true
		w, err := p.decode()
		if err != nil {
			return err
		}
		return pieces(w, func(piece *moriensv1.WindowPart) error {
			piece.Number = f.Number
			end.Parts++
			return emit(piece)
		})
	})
	if err != nil {
		end.Error = err.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range slices.SortedFunc(maps.Keys(wanted), compareKeys) {
		if !sent[k] && s.gone(k) {
			end.GoneProcess, end.GoneWindow = append(end.GoneProcess, k.process), append(end.GoneWindow, uint64(k.window))
		}
	}
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.window, b.window), cmp.Compare(a.process, b.process))
}

// wanted are the windows that a Fetch is about, and their hashes in order. Processes and rings that are not here are
// another node's.
func (s *Store) wanted(f *moriensv1.Fetch) (wanted map[key]bool, hashes []uint64) {
	wanted, hashes = make(map[key]bool), []uint64{}
	want := func(k key) {
		if !wanted[k] {
			wanted[k] = true
			hashes = append(hashes, s.hash(k.window))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(f.Window) > 0 {
		for _, p := range s.asked(f.Process) {
			for _, w := range f.Window {
				want(key{p.id, anchor.ID(w)})
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
			want(key{r.process.id, w})
			row = behind
		}
	}
	slices.Sort(hashes)
	return wanted, slices.Compact(hashes)
}

// fetch calls take for the parts that are wanted, of windows that are not gone; where hashes are given all of those
// have one of them. It goes through the windows in the order of their hashes and holds the files only while it reads
// those of a stretch of hashes, all of them: what is done to the files in between can tear no window, nor bring one
// twice.
func (s *Store) fetch(hashes []uint64, wanted func(key) bool, take func(part) error) error {
	for from := uint64(0); ; {
		if hashes != nil {
			i, _ := slices.BinarySearch(hashes, from)
			if i == len(hashes) {
				return nil
			}
			from = hashes[i]
		}
		parts, to, err := s.readStretch(from, hashes, wanted)
		if err != nil {
			return err
		}
		for _, p := range parts {
			if err := take(p); err != nil {
				return err
			}
		}
		if to == math.MaxUint64 {
			return nil
		}
		from = to + 1
	}
}

// readStretch reads what is held of windows that are wanted and not gone from a hash on, as much as about fetchRuns
// runs have, and says up to which hash.
func (s *Store) readStretch(from uint64, hashes []uint64, wanted func(key) bool) (parts []part, to uint64, err error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	files, fresh := slices.Clone(s.files), s.fresh.Files()
	s.mu.Unlock()
	to = s.upTo(files, from, hashes)
	add := func(p part) error {
		if h := s.hash(p.window); from <= h && h <= to && wanted(p.key) {
			p.messages = bytes.Clone(p.messages)
			parts = append(parts, p)
		}
		return nil
	}
	for _, f := range files {
		for i, r := range f.runs {
			if !r.has(hashes, from, to) {
				continue
			}
			if err := s.readParts(f, i, 1, add); err != nil {
				return nil, 0, err
			}
		}
	}
	ofRecord := func(_ segment.Position, record []byte) error { return readParts(record, add) }
	last := len(fresh) - 1
	for _, f := range fresh[:last] {
		if err := s.fresh.ReadFile(f.Number, ofRecord); err != nil {
			return nil, 0, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fresh.Read(segment.Position{File: fresh[last].Number}, ofRecord); err != nil {
		return nil, 0, err
	}
	return slices.DeleteFunc(parts, func(p part) bool { return s.gone(p.key) }), to, nil
}

// upTo is the hash with which a stretch of about fetchRuns runs ends.
func (s *Store) upTo(files []*file, from uint64, hashes []uint64) uint64 {
	var ends []uint64
	for _, f := range files {
		n := 0
		for _, r := range f.runs {
			if n == s.fetchRuns {
				break
			}
			if r.has(hashes, from, math.MaxUint64) {
				ends = append(ends, r.last)
				n++
			}
		}
	}
	if len(ends) <= s.fetchRuns {
		return math.MaxUint64
	}
	slices.Sort(ends)
	return ends[s.fetchRuns-1]
}

// has reports whether a run may have a window with one of the hashes, nil: any, between two of which both count.
func (r run) has(hashes []uint64, from, to uint64) bool {
	first, last := max(from, r.first), min(to, r.last)
	i, _ := slices.BinarySearch(hashes, first)
	return first <= last && (hashes == nil || i < len(hashes) && hashes[i] <= last)
}

// fetchTransfers calls emit for parts with the transfers of all windows of the processes that are asked for.
func (s *Store) fetchTransfers(f *moriensv1.Fetch, end *moriensv1.WindowsEnd, emit func(*moriensv1.WindowPart) error) {
	s.mu.Lock()
	asked := make(map[uint64]bool)
	for _, p := range s.asked(f.Process) {
		asked[p.id] = true
	}
	s.mu.Unlock()
	all := &moriensv1.WindowPart{Number: f.Number}
	size := 0
	send := func() error {
		if len(all.Messages) == 0 {
			return nil
		}
		end.Parts++
		err := emit(all)
		all, size = &moriensv1.WindowPart{Number: f.Number}, 0
		return err
	}
	err := s.fetch(nil, func(k key) bool { return asked[k.process] }, func(p part) error {
		w, err := p.decode()
		if err != nil {
			return err
		}
		for _, m := range w.Messages {
			if m.GetTransfers() == nil {
				continue
			}
			all.Messages = append(all.Messages, m)
			if size += proto.Size(m); size < partBytes {
				continue
			}
			if err := send(); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = send()
	}
	if err != nil {
		end.Error = err.Error()
	}
}

// pieces cuts a part into messages' worth.
func pieces(p *moriensv1.WindowPart, emit func(*moriensv1.WindowPart) error) error {
	piece := &moriensv1.WindowPart{Process: p.Process, Window: p.Window, Continued: p.Continued}
	size := 0
	for _, m := range p.Messages {
		if n := proto.Size(m); size > 0 && size+n > partBytes {
			if err := emit(piece); err != nil {
				return err
			}
			piece, size = &moriensv1.WindowPart{Process: p.Process, Window: p.Window, Continued: true}, 0
		}
		piece.Messages = append(piece.Messages, m)
		size += proto.Size(m)
	}
	return emit(piece)
}
