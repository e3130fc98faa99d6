package window

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/proto"

	"moriens/internal/anchor"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// partBytes bounds one answer to a Fetch.
const partBytes = 1 << 20

// Fetch calls emit for the parts of windows that are asked for, in no order, and returns what ends the answer. An error of emit ends it early. Rows of a window
// that are not yet read from the rings are not among them.
func (s *Store) Fetch(f *moriensv1.Fetch, emit func(*moriensv1.WindowPart) error) *moriensv1.WindowsEnd {
	s.reading.Lock()
	defer s.reading.Unlock()
	end := &moriensv1.WindowsEnd{Number: f.Number}
	if f.Transfers {
		s.fetchTransfers(f, end, emit)
		return end
	}
	if f.Everything {
		s.fetchEverything(f, end, emit)
		return end
	}
	wanted := make(map[key]bool)
	hashes := []uint64{}
	s.mu.Lock()
	for _, w := range f.Window {
		for _, p := range s.asked(f.Process) {
			switch k := (key{p.id, anchor.Window(w)}); {
			case s.gone(k):
				end.GoneProcess, end.GoneWindow = append(end.GoneProcess, p.id), append(end.GoneWindow, w)
			default:
				wanted[k] = true
			}
		}
		hashes = append(hashes, s.hash(anchor.Window(w)))
	}
	files, fresh := slices.Clone(s.files), s.fresh.Files()
	s.mu.Unlock()
	slices.Sort(hashes)

	take := func(p *moriensv1.WindowPart) error {
		return pieces(p, func(piece *moriensv1.WindowPart) error {
			piece.Number = f.Number
			end.Parts++
			return emit(piece)
		})
	}
	if err := s.fetch(files, fresh, hashes, func(k key) bool { return wanted[k] }, take); err != nil {
		end.Error = err.Error()
	}
	return end
}

// fetch calls take for the parts in files that are wanted; where hashes are given all of those have one of them.
func (s *Store) fetch(files []*file, fresh []segment.File, hashes []uint64, wanted func(key) bool, take func(*moriensv1.WindowPart) error) error {
	of := func(p part) error {
		if !wanted(p.key) {
			return nil
		}
		w, err := p.decode()
		if err != nil {
			return err
		}
		return take(w)
	}
	for _, f := range files {
		for i, r := range f.runs {
			if at, _ := slices.BinarySearch(hashes, r.first); hashes != nil && (at == len(hashes) || hashes[at] > r.last) {
				continue
			}
			if err := s.readParts(f, i, 1, of); err != nil {
				return err
			}
		}
	}
	last := len(fresh) - 1
	for _, f := range fresh[:last] {
		err := s.fresh.ReadFile(f.Number, func(_ segment.Position, record []byte) error { return readParts(record, of) })
		if err != nil {
			return err
		}
	}
	var parts []part // Append must not wait for take
	s.mu.Lock()
	err := s.fresh.Read(segment.Position{File: fresh[last].Number}, func(_ segment.Position, record []byte) error {
		return readParts(record, func(p part) error {
			p.messages = bytes.Clone(p.messages)
			parts = append(parts, p)
			return nil
		})
	})
	s.mu.Unlock()
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := of(p); err != nil {
			return err
		}
	}
	return nil
}

// fetchTransfers calls emit for parts with the transfers of all windows of the processes that are asked for.
func (s *Store) fetchTransfers(f *moriensv1.Fetch, end *moriensv1.WindowsEnd, emit func(*moriensv1.WindowPart) error) {
	s.mu.Lock()
	asked := make(map[uint64]bool)
	for _, p := range s.asked(f.Process) {
		asked[p.id] = true
	}
	files, fresh := slices.Clone(s.files), s.fresh.Files()
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
	held := func(k key) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return asked[k.process] && !s.gone(k)
	}
	err := s.fetch(files, fresh, nil, held, func(p *moriensv1.WindowPart) error {
		for _, m := range p.Messages {
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
