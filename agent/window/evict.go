package window

import (
	"bytes"
	"cmp"
	"errors"
	"iter"
	"slices"

	moriensv1 "moriens/proto/moriens/v1"
)

// Small files are put together where there are many: so many at a time, which are read side by side.
const (
	mergeFrom  = 24
	mergeFiles = 8
)

// rewriteShare is the share of the bound that is rewritten at a time, because until a rewrite ends it takes its room
// twice: half of what is between the bound and where eviction begins.
const rewriteShare = 16

// atATime splits files into groups so that no more is rewritten at a time than there is room for, but at least one
// file; bytes is how much of a file that is.
func (s *Store) atATime(files []*file, bytes func(*file) int64) (groups [][]*file) {
	room := s.max() / rewriteShare
	left := int64(0)
	for _, f := range files {
		n := bytes(f)
		if left -= n; len(groups) == 0 || left < 0 {
			groups, left = append(groups, nil), room-n
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], f)
	}
	return groups
}

// run does what Append leaves to be done.
func (s *Store) run() {
	for range s.work {
		if err := s.tidy(); err != nil {
			s.mu.Lock()
			s.fail(err)
			s.mu.Unlock()
		}
	}
}

// tidy sorts what has left the fresh log, puts small files together, and evicts until what is left has room.
func (s *Store) tidy() error {
	s.reading.Lock()
	defer s.reading.Unlock()
	return s.tidyFiles()
}

// tidyFiles is tidy for a caller that holds the files.
func (s *Store) tidyFiles() error {
	s.mu.Lock()
	fresh := s.fresh.Files()
	s.mu.Unlock()
	for _, f := range fresh[:len(fresh)-1] {
		if err := s.sort(f); err != nil {
			return err
		}
		if err := errors.Join(s.merge(), s.compact(), s.shrink()); err != nil {
			return err
		}
	}
	return errors.Join(s.compact(), s.shrink())
}

// over is how many bytes are to go; 0 as long as there is room.
func (s *Store) over(share int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, s.bytes()-s.max()/32*share)
}

// shrink evicts where the bound is near.
func (s *Store) shrink() error {
	if s.over(evictFrom) == 0 {
		return nil
	}
	for c := ordinary; c < classes; {
		need := s.over(evictTo)
		if need == 0 {
			return nil
		}
		if s.below[c] == 0 {
			c++
			continue
		}
		below := s.threshold(c, uint64(need))
		s.mu.Lock()
		s.below[c] = below
		s.mu.Unlock()
		var err error
		if c == ordinary {
			err = s.cut()
		} else {
			err = s.sift()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// threshold is the hash from which on windows of a class have to go so that so many bytes do: of ordinary ones as the
// files show; of marked ones, about which they do not, an eighth.
func (s *Store) threshold(c class, need uint64) uint64 {
	if c != ordinary {
		return s.lower(c)
	}
	var runs []run
	for _, f := range s.files {
		if !f.marked {
			runs = append(runs, f.runs...)
		}
	}
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(b.first, a.first) })
	have := uint64(0)
	for _, r := range runs {
		if have += uint64(r.end - r.start); have >= need {
			return min(s.below[c], r.first-min(r.first, 1))
		}
	}
	return 0
}

// lower is the hash that seven of eight marked windows of a class are below.
func (s *Store) lower(c class) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var hashes []uint64
	for k, m := range s.marks {
		if h := s.hash(k.window); m.class == c && h <= s.below[c] {
			hashes = append(hashes, h)
		}
	}
	if len(hashes) == 0 {
		return 0
	}
	slices.Sort(hashes)
	return hashes[len(hashes)*7/8] - min(hashes[len(hashes)*7/8], 1)
}

// firstCut is the first run of a file that has windows which go because of their hashes; -1: none has.
func (s *Store) firstCut(f *file) int {
	if f.marked {
		return -1
	}
	return slices.IndexFunc(f.runs, func(r run) bool { return r.last > s.below[ordinary] })
}

// cut takes the ends off the files of ordinary windows.
func (s *Store) cut() error {
	var files []*file
	for _, f := range s.files {
		if s.firstCut(f) >= 0 {
			files = append(files, f)
		}
	}
	for _, group := range s.atATime(files, func(f *file) int64 { return f.bytes() - f.runs[s.firstCut(f)].start }) {
		if err := s.cutEnds(group); err != nil {
			return err
		}
	}
	return nil
}

// cutEnds is cut for some of the files. What is kept of the runs that go is rewritten: marked windows to a file of
// their own, and the lower ones of the first run that goes.
func (s *Store) cutEnds(files []*file) error {
	marked, err := s.write(true)
	if err != nil {
		return err
	}
	var rest []part
	n := new(moriensv1.WindowState)
	var left, ends []*file
	for _, f := range files {
		i := s.firstCut(f)
		for _, r := range f.runs[i:] {
			n.EvictedWindows += r.windows
		}
		n.EvictedBytes += uint64(f.bytes() - f.runs[i].start)
		left = append(left, &file{number: f.number, runs: f.runs[:i]})
		ends = append(ends, &file{number: f.number, runs: f.runs[i:]})
	}
	err = s.sideBySide(ends, func(p part) error {
		s.mu.Lock()
		retained, torn, class := s.retained(p.key), s.torn[p.key], s.class(p.key)
		s.mu.Unlock()
		if !p.continued && (retained || torn) { // a torn one was counted when it was torn
			n.EvictedWindows--
		}
		if !retained {
			return nil
		}
		if class == ordinary {
			p.messages = bytes.Clone(p.messages)
			rest = append(rest, p)
			return nil
		}
		return marked.add(p)
	})
	if err != nil {
		return errors.Join(err, marked.abandon())
	}
	if err := marked.flush(); err != nil {
		return errors.Join(err, marked.abandon())
	}
	var added []*file
	if len(marked.file.runs) > 0 {
		added = append(added, marked.file)
	}
	if len(rest) > 0 {
		lower, err := s.write(false)
		if err != nil {
			return errors.Join(err, marked.abandon())
		}
		for _, p := range rest {
			if err := lower.add(p); err != nil {
				return errors.Join(err, lower.abandon(), marked.abandon())
			}
		}
		if err := lower.flush(); err != nil {
			return errors.Join(err, lower.abandon(), marked.abandon())
		}
		added = append(added, lower.file)
	}
	for _, f := range added {
		n.EvictedBytes -= min(n.EvictedBytes, uint64(f.bytes()))
		n.Files = append(n.Files, f.describe())
	}
	for _, f := range left {
		d := f.describe()
		if len(f.runs) == 0 {
			d = &moriensv1.WindowFile{Replaces: []uint64{f.number}}
		}
		n.Files = append(n.Files, d)
	}
	return s.replaced(n, added, left)
}

// sift rewrites the files of marked windows without those that go. All ordinary ones are gone by then, but windows that
// were sorted since may be marked: they are added to those files first.
func (s *Store) sift() error {
	if slices.ContainsFunc(s.files, func(f *file) bool { return !f.marked }) {
		if err := s.cut(); err != nil {
			return err
		}
	}
	var sources []*file
	for _, f := range s.files {
		if f.marked {
			sources = append(sources, f)
		}
	}
	for _, group := range s.atATime(sources, (*file).bytes) {
		if err := s.rewrite(group, true); err != nil {
			return err
		}
	}
	return nil
}

// merge puts the smallest files together where there are many, unless together they are too large: then all but one
// have half of that size or more, of which there are not many.
func (s *Store) merge() error {
	for _, marked := range []bool{false, true} {
		var files []*file
		for _, f := range s.files {
			if f.marked == marked {
				files = append(files, f)
			}
		}
		if len(files) <= mergeFrom {
			continue
		}
		slices.SortFunc(files, func(a, b *file) int { return cmp.Compare(a.bytes(), b.bytes()) })
		smallest := s.atATime(files[:mergeFiles], (*file).bytes)[0]
		if len(smallest) == 1 {
			continue
		}
		if err := s.rewrite(smallest, marked); err != nil {
			return err
		}
	}
	return nil
}

// rewrite makes one file of several, without what is not kept.
func (s *Store) rewrite(sources []*file, marked bool) error {
	w, err := s.write(marked)
	if err != nil {
		return err
	}
	n := new(moriensv1.WindowState)
	before := uint64(0)
	for _, f := range sources {
		before += uint64(f.bytes())
		n.Files = append(n.Files, &moriensv1.WindowFile{Replaces: []uint64{f.number}})
	}
	take := func(p part) error {
		s.mu.Lock()
		retained, torn := s.retained(p.key), s.torn[p.key]
		s.mu.Unlock()
		if retained {
			return w.add(p)
		}
		if !p.continued && !torn {
			n.EvictedWindows++
		}
		return nil
	}
	err = s.sideBySide(sources, take)
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		return errors.Join(err, w.abandon())
	}
	if n.EvictedWindows > 0 {
		n.EvictedBytes = before - min(before, uint64(w.file.bytes()))
	}
	n.Files = append(n.Files, w.file.describe())
	return s.replaced(n, []*file{w.file}, nil)
}

// sideBySide calls take for the parts of sorted files in the order of their hashes.
func (s *Store) sideBySide(sources []*file, take func(part) error) error {
	type source struct {
		next  func() (part, bool)
		head  part
		hash  uint64
		there bool
		err   error
	}
	list := make([]*source, len(sources))
	advance := func(x *source) {
		if x.head, x.there = x.next(); x.there {
			x.hash = s.hash(x.head.window)
		}
	}
	for i, f := range sources {
		x := new(source)
		var stop func()
		x.next, stop = iter.Pull(func(yield func(part) bool) {
			x.err = s.readParts(f, 0, -1, func(p part) error {
				if !yield(p) {
					return errEnough
				}
				return nil
			})
		})
		defer stop()
		advance(x)
		list[i] = x
	}
	for {
		var first *source
		for _, x := range list {
			if x.err != nil {
				return x.err
			}
			if x.there && (first == nil || x.hash < first.hash) {
				first = x
			}
		}
		if first == nil {
			return nil
		}
		if err := take(first.head); err != nil {
			return err
		}
		advance(first)
	}
}
