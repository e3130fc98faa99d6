package window

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// A file is a sorted one.
type file struct {
	number uint64
	marked bool // all of it is
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
	batch encoder
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

// add writes parts of one window of a process, one after the other, as one: continued where the first is.
func (w *writer) add(parts ...part) error {
	hash := w.s.hash(parts[0].window)
	if len(w.batch) == 0 {
		w.run = run{first: hash, last: hash}
	}
	w.run.first, w.run.last = min(w.run.first, hash), max(w.run.last, hash)
	if !parts[0].continued {
		w.run.windows++
	}
	if w.batch.parts(parts...); len(w.batch) >= runBytes {
		return w.flush()
	}
	return nil
}

func (w *writer) flush() error {
	if len(w.batch) == 0 {
		return nil
	}
	w.s.mu.Lock()
	end, err := w.s.sorted.Append(w.batch)
	w.s.mu.Unlock()
	if err != nil {
		return err
	}
	w.run.start, w.run.end = w.file.bytes(), end.Offset
	w.file.runs = append(w.file.runs, w.run)
	w.batch = w.batch[:0]
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

// unsorted are the parts of a file of the fresh log.
type unsorted struct {
	list        []part
	tracks      map[uint64]*moriensv1.WindowTrack // of each ring the latest
	transaction uint64                            // the latest
}

func (s *Store) readUnsorted(number uint64) (u unsorted, err error) {
	u.tracks = make(map[uint64]*moriensv1.WindowTrack)
	err = s.fresh.ReadFile(number, func(_ segment.Position, record []byte) error {
		record = bytes.Clone(record)
		transaction, tracks, err := readTracks(record)
		if err != nil {
			return err
		}
		u.transaction = max(u.transaction, transaction)
		for _, t := range tracks {
			u.tracks[t.Ring] = t
		}
		return readParts(record, func(p part) error {
			u.list = append(u.list, p)
			return nil
		})
	})
	return u, err
}

// windows sorts the parts by hash and process, each window's in their order, and returns the windows.
func (s *Store) windows(list []part) (windows [][]part) {
	type hashed struct {
		hash uint64
		at   int
	}
	order := make([]hashed, len(list))
	for i := range list {
		order[i] = hashed{s.hash(list[i].window), i}
	}
	slices.SortFunc(order, func(a, b hashed) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(list[a.at].process, list[b.at].process), cmp.Compare(a.at, b.at))
	})
	sorted := make([]part, len(list))
	from := 0
	for i, o := range order {
		if sorted[i] = list[o.at]; sorted[i].key != sorted[from].key {
			windows = append(windows, sorted[from:i:i])
			from = i
		}
	}
	if len(sorted) > 0 {
		windows = append(windows, sorted[from:])
	}
	return windows
}

// sort moves the windows of a file of the fresh log that are kept to a new sorted file.
func (s *Store) sort(fresh segment.File) error {
	u, err := s.readUnsorted(fresh.Number)
	if err != nil {
		return err
	}
	w, err := s.write(false)
	if err != nil {
		return err
	}
	n := &moriensv1.WindowState{Transaction: u.transaction}
	kept, all := 0, 0
	windows := s.windows(u.list)
	s.mu.Lock()
	for _, parts := range windows {
		p := s.processes[parts[0].process]
		parts[0].continued = p != nil && p.out && parts[0].window <= p.passed
	}
	local := windows[:0]
	for _, parts := range windows {
		k, bytes := parts[0].key, 0
		for i := range parts {
			bytes += len(parts[i].messages)
		}
		all += bytes
		p := s.processes[k.process]
		if p == nil { // the file is not what it seems
			continue
		}
		switch was := s.torn[k]; {
		case s.retained(k):
			local = append(local, parts)
			kept += bytes
		case !was && !parts[0].continued:
			n.EvictedWindows++
		}
		if !p.out || k.window > p.passed {
			p.out, p.passed = true, k.window
		}
	}
	s.mu.Unlock()
	// As much of the file as what goes is of what was in it.
	n.EvictedBytes = uint64(float64(fresh.Bytes) * float64(all-kept) / float64(max(all, 1)))
	for _, parts := range local {
		if err := w.add(parts...); err != nil {
			return errors.Join(err, w.abandon())
		}
	}
	if err := w.flush(); err != nil {
		return errors.Join(err, w.abandon())
	}
	for _, t := range u.tracks {
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
