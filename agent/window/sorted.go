package window

import (
	"cmp"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	"moriens/internal/anchor"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// A file is a sorted one.
type file struct {
	number uint64
	marked bool // in no order, and all of it is marked
	runs   []run
}

// A run is one record of it: windows whose hashes follow each other.
type run struct {
	first, last uint64 // hashes
	start, end  int64  // offsets
	windows     uint64
}

func (f *file) bytes() int64 {
	if len(f.runs) == 0 {
		return 0
	}
	return f.runs[len(f.runs)-1].end
}

func (f *file) describe() *moriensv1.WindowFile {
	d := &moriensv1.WindowFile{File: f.number, Marked: f.marked}
	for _, r := range f.runs {
		d.Runs = append(d.Runs, &moriensv1.WindowRun{First: r.first, Last: r.last, End: uint64(r.end), Windows: r.windows})
	}
	return d
}

func fileOf(d *moriensv1.WindowFile) *file {
	f := &file{number: d.File, marked: d.Marked}
	start := int64(0)
	for _, r := range d.Runs {
		f.runs = append(f.runs, run{r.First, r.Last, start, int64(r.End), r.Windows})
		start = int64(r.End)
	}
	return f
}

// A writer writes windows to a new sorted file, a run at a time.
type writer struct {
	s     *Store
	file  *file
	batch moriensv1.EncodedBatch
	size  int
	run   run
}

// write begins a sorted file.
func (s *Store) write(marked bool) (*writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sorted.End().Offset > segment.Start {
		if err := s.sorted.Rotate(); err != nil {
			return nil, err
		}
	}
	return &writer{s: s, file: &file{number: s.sorted.End().File, marked: marked}}, nil
}

func (w *writer) add(p *moriensv1.EncodedPart) error { return w.addSized(p, proto.Size(p)) }

func (w *writer) addSized(p *moriensv1.EncodedPart, size int) error {
	hash := w.s.hash(anchor.Window(p.Window))
	if len(w.batch.Parts) == 0 {
		w.run = run{first: hash, last: hash}
	}
	w.run.first, w.run.last = min(w.run.first, hash), max(w.run.last, hash)
	if !p.Continued {
		w.run.windows++
	}
	w.batch.Parts = append(w.batch.Parts, p)
	if w.size += size; w.size >= runBytes {
		return w.flush()
	}
	return nil
}

func (w *writer) flush() error {
	if len(w.batch.Parts) == 0 {
		return nil
	}
	bytes, err := proto.Marshal(&w.batch)
	if err != nil {
		return err
	}
	w.s.mu.Lock()
	end, err := w.s.sorted.Append(bytes)
	w.s.mu.Unlock()
	if err != nil {
		return err
	}
	w.run.start, w.run.end = w.file.bytes(), end.Offset
	w.file.runs = append(w.file.runs, w.run)
	w.batch.Parts, w.size = w.batch.Parts[:0], 0
	return nil
}

// abandon takes back a file that could not be written.
func (w *writer) abandon() error {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return errors.Join(w.s.sorted.Rotate(), w.s.sorted.Remove(w.file.number))
}

// errEnough ends a reading.
var errEnough = errors.New("enough")

// readRuns calls take for the records of a file's runs from one on, as many as are asked for; -1: all.
func (s *Store) readRuns(f *file, from, count int, take func(record []byte) error) error {
	if from >= len(f.runs) || count == 0 {
		return nil
	}
	left := len(f.runs) - from
	if count > 0 {
		left = min(left, count)
	}
	err := s.sorted.Read(segment.Position{File: f.number, Offset: f.runs[from].start}, func(_ segment.Position, record []byte) error {
		if err := take(record); err != nil {
			return err
		}
		if left--; left == 0 {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// readParts calls take for the parts of a record.
func readParts(record []byte, take func(*moriensv1.WindowPart) error) error {
	b := new(moriensv1.WindowBatch)
	if err := proto.Unmarshal(record, b); err != nil {
		return err
	}
	for _, p := range b.Parts {
		if err := take(p); err != nil {
			return err
		}
	}
	return nil
}

// readEncoded calls take for the parts of a file's runs, like readRuns, and leaves their messages as they are.
func (s *Store) readEncoded(f *file, from, count int, take func(*moriensv1.EncodedPart) error) error {
	return s.readRuns(f, from, count, func(record []byte) error {
		b := new(moriensv1.EncodedBatch)
		if err := proto.Unmarshal(record, b); err != nil {
			return err
		}
		for _, p := range b.Parts {
			if err := take(p); err != nil {
				return err
			}
		}
		return nil
	})
}

// sort moves the windows of a file of the fresh log to a new sorted file, those that stay.
func (s *Store) sort(fresh segment.File) error {
	parts := make(map[key]*moriensv1.EncodedPart)
	var order []key
	tracks := make(map[uint64]*moriensv1.WindowTrack)
	transaction := uint64(0)
	err := s.fresh.ReadFile(fresh.Number, func(_ segment.Position, record []byte) error {
		b := new(moriensv1.EncodedBatch)
		if err := proto.Unmarshal(record, b); err != nil {
			return err
		}
		for _, p := range b.Parts {
			if whole := parts[keyOf(p)]; whole != nil {
				whole.Messages = append(whole.Messages, p.Messages...)
			} else {
				parts[keyOf(p)] = p
				order = append(order, keyOf(p))
			}
		}
		for _, t := range b.Tracks {
			tracks[t.Ring] = t
		}
		transaction = max(transaction, b.Transaction)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(order, func(a, b key) int {
		return cmp.Or(cmp.Compare(s.hash(a.window), s.hash(b.window)), cmp.Compare(a.process, b.process))
	})
	w, err := s.write(false)
	if err != nil {
		return err
	}
	n := &moriensv1.WindowState{Transaction: transaction}
	kept, size := 0, 0
	sizes := make(map[key]int, len(order))
	s.mu.Lock()
	for _, k := range order {
		p := s.processes[k.process]
		parts[k].Continued = p.out && k.window <= p.passed
		sizes[k] = proto.Size(parts[k])
		size += sizes[k]
	}
	stay := order[:0]
	for _, k := range order {
		p := s.processes[k.process]
		switch was := s.torn[k]; {
		case s.stays(k):
			stay = append(stay, k)
			kept += sizes[k]
		case !was && !parts[k].Continued:
			n.EvictedWindows++
		}
		if !p.out || k.window > p.passed {
			p.out, p.passed = true, k.window
		}
	}
	s.mu.Unlock()
	// As much of the file as what goes is of what was in it.
	n.EvictedBytes = uint64(float64(fresh.Bytes) * float64(size-kept) / float64(max(size, 1)))
	for _, k := range stay {
		if err := w.addSized(parts[k], sizes[k]); err != nil {
			return errors.Join(err, w.abandon())
		}
	}
	if err := w.flush(); err != nil {
		return errors.Join(err, w.abandon())
	}
	for _, t := range tracks {
		n.Tracks = append(n.Tracks, t)
	}
	d := w.file.describe()
	d.ReplacesFresh = fresh.Number
	n.Files = []*moriensv1.WindowFile{d}
	return s.replaced(n, []*file{w.file}, nil)
}

// replaced puts new files in the place of those that they replace, first in the state log, then in fact.
func (s *Store) replaced(n *moriensv1.WindowState, added, cut []*file) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rings {
		if len(r.edges) > r.saved {
			e := &moriensv1.WindowEdges{Ring: r.id}
			for _, x := range r.edges[r.saved:] {
				e.Row, e.Window = append(e.Row, x.row), append(e.Window, uint64(x.window))
			}
			n.Edges = append(n.Edges, e)
		}
	}
	for _, p := range s.processes {
		if p.out {
			n.Passed = append(n.Passed, &moriensv1.WindowPassed{Process: p.id, Window: uint64(p.passed)})
		}
	}
	n.Below = s.below[:]
	if err := s.noted(n); err != nil {
		return err
	}
	s.behind(n)
	for _, r := range s.rings {
		r.saved = len(r.edges)
	}
	for _, c := range cut {
		i := slices.IndexFunc(s.files, func(f *file) bool { return f.number == c.number })
		s.files[i] = c
	}
	s.stats.EvictedBytes += n.EvictedBytes
	s.stats.EvictedWindows += n.EvictedWindows
	for _, f := range added {
		if len(f.runs) > 0 {
			s.files = append(s.files, f)
		}
	}
	for _, d := range n.Files {
		if d.ReplacesFresh > 0 {
			s.sortedFile = d.ReplacesFresh
			if err := s.removeFresh(d.ReplacesFresh); err != nil {
				return err
			}
		}
		for _, number := range d.Replaces {
			s.files = slices.DeleteFunc(s.files, func(f *file) bool { return f.number == number })
		}
	}
	return s.clear()
}

// removeFresh removes the files of the fresh log up to one.
func (s *Store) removeFresh(upTo uint64) error {
	for _, f := range s.fresh.Files() {
		if f.Number <= upTo {
			if err := s.fresh.Remove(f.Number); err != nil {
				return err
			}
		}
	}
	return nil
}

// clear removes and cuts sorted files until they are what the state log says.
func (s *Store) clear() error {
	ends := make(map[uint64]int64)
	for _, f := range s.files {
		ends[f.number] = f.bytes()
	}
	for _, f := range s.sorted.Files() {
		end := ends[f.Number]
		if end == f.Bytes || f.Number == s.sorted.End().File && f.Bytes <= segment.Start {
			continue
		}
		if f.Number == s.sorted.End().File {
			if err := s.sorted.Rotate(); err != nil {
				return err
			}
		}
		if end == 0 {
			if err := s.sorted.Remove(f.Number); err != nil {
				return err
			}
			continue
		}
		if err := s.sorted.Truncate(segment.Position{File: f.Number, Offset: end}); err != nil {
			return err
		}
	}
	return nil
}
