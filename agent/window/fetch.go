package window

import (
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
	wanted := make(map[key]bool)
	var hashes []uint64
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
		if !wanted[keyOf(p)] {
			return nil
		}
		return pieces(p, func(piece *moriensv1.WindowPart) error {
			piece.Number = f.Number
			end.Parts++
			return emit(piece)
		})
	}
	if err := s.fetch(files, fresh, hashes, take); err != nil {
		end.Error = err.Error()
	}
	return end
}

func (s *Store) fetch(files []*file, fresh []segment.File, hashes []uint64, take func(*moriensv1.WindowPart) error) error {
	for _, f := range files {
		for i, r := range f.runs {
			if at, _ := slices.BinarySearch(hashes, r.first); at == len(hashes) || hashes[at] > r.last {
				continue
			}
			if err := s.readRuns(f, i, 1, func(record []byte) error { return readParts(record, take) }); err != nil {
				return err
			}
		}
	}
	of := func(_ segment.Position, record []byte) error { return readParts(record, take) }
	last := len(fresh) - 1
	for _, f := range fresh[:last] {
		if err := s.fresh.ReadFile(f.Number, of); err != nil {
			return err
		}
	}
	var parts []*moriensv1.WindowPart // Append must not wait for emit
	s.mu.Lock()
	err := s.fresh.Read(segment.Position{File: fresh[last].Number}, func(_ segment.Position, record []byte) error {
		return readParts(record, func(p *moriensv1.WindowPart) error {
			parts = append(parts, p)
			return nil
		})
	})
	s.mu.Unlock()
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := take(p); err != nil {
			return err
		}
	}
	return nil
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
