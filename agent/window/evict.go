package window

import (
	"errors"
	"os"
	"slices"

	"moriens/internal/anchor"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// makeRoom evicts until so many bytes more can be held, and reports whether it had to.
func (s *Store) makeRoom(need int64) (evicted bool, err error) {
	for s.size()+need > s.max()/32*evictFrom {
		k, any := s.nextToGo()
		if !any {
			break
		}
		evicted = true
		if err := s.evict(k); err != nil {
			return true, err
		}
	}
	if s.size()+need > s.max() {
		return evicted, errBound
	}
	return evicted, nil
}

// nextToGo is the log that is evicted next: of the lowest rank that has any, that with the highest hashes.
func (s *Store) nextToGo() (next logKey, any bool) {
	for k := range s.logs {
		if !any || k.rank < next.rank || k.rank == next.rank && k.level < next.level {
			next, any = k, true
		}
	}
	return next, any
}

// evict removes a log. What is marked in it moves to that of the next rank. No chunk with so high a hash is kept from
// now on, unless it is marked.
func (s *Store) evict(k logKey) error {
	chunks, records, err := s.marked(k)
	if err != nil {
		s.damaged(k, err)
		return s.remove(k)
	}
	was, bytes := s.below, s.logs[k].Bytes()
	s.below[k.rank] = min(s.below[k.rank], edgeOf(k.level))
	to := logKey{k.rank + 1, k.level}
	n := &moriensv1.WindowState{Below: s.below[:], EvictedWindows: s.newlyGone(was), Marks: s.foundUnusual()}
	copied := int64(0)
	for _, r := range records {
		copied += int64(frameBytes + len(r))
	}
	var offsets []int64
	err = errBound
	if s.size()+copied <= s.max() {
		offsets, err = s.move(to, records, bytes, n)
	}
	removed := s.remove(k)
	if err != nil { // now there is room
		offsets, err = s.move(to, records, bytes, n)
	}
	if err != nil {
		n.Logs = []*moriensv1.WindowLog{{Rank: uint32(k.rank), Level: uint32(k.level)}}
		s.tear(chunks, n)
		s.fail(err)
		return removed
	}
	s.stats.EvictedBytes += n.EvictedBytes
	for i, of := range chunks {
		s.index(of, to.rank, offsets[i])
	}
	return removed
}

// countGone counts a window that is evicted now. It returns 1 where that is to be noted now, and 0 where it is with
// the transaction in which the window began.
func (s *Store) countGone(p *process, w anchor.ID) uint64 {
	s.stats.EvictedWindows++
	if p.isNoted(w) {
		return 1
	}
	s.pending.evicted++
	return 0
}

// marked are the records of a log with marked windows, and the chunks that they are of.
func (s *Store) marked(k logKey) (chunks []chunkKey, records [][]byte, err error) {
	marked := make(map[chunkKey]bool)
	for at, m := range s.marks {
		if m.class > k.rank {
			marked[chunkKey{at.process, chunkOf(at.window)}] = true
		}
	}
	for of, h := range s.chunks {
		if h.rank != k.rank || s.level(of.chunk) != k.level || !marked[of] && !marked[chunkKey{0, of.chunk}] {
			continue
		}
		for _, offset := range h.offsets {
			record, err := s.logs[k].Record(offset)
			if err != nil {
				return nil, nil, err
			}
			chunks, records = append(chunks, of), append(records, record)
		}
	}
	return chunks, records, nil
}

// move writes records of an evicted log, which had so many bytes, to another one, and down that they are there, all
// or nothing. It returns where they begin.
func (s *Store) move(to logKey, records [][]byte, bytes int64, n *moriensv1.WindowState) (offsets []int64, err error) {
	n.EvictedBytes, n.Logs = uint64(bytes), nil
	if len(records) == 0 {
		return nil, s.writeState(n)
	}
	log, err := s.log(to)
	if err != nil {
		return nil, err
	}
	begin := log.End().Offset
	if _, err := log.Append(records...); err != nil {
		return nil, err
	}
	offset := begin
	for _, r := range records {
		offsets = append(offsets, offset)
		offset += int64(frameBytes + len(r))
	}
	n.EvictedBytes = uint64(max(0, bytes-(offset-begin)))
	n.Logs = []*moriensv1.WindowLog{s.describe(to)}
	if err := s.writeState(n); err != nil {
		return nil, errors.Join(err, log.CutAt(begin))
	}
	return offsets, nil
}

// newlyGone counts the windows that are evicted now and were not before. It returns how many of them are to be noted.
func (s *Store) newlyGone(was [classes]uint64) (n uint64) {
	for _, p := range s.processes {
		for _, w := range p.windows() {
			k := key{p.id, w}
			if s.torn[k] || p.out && w <= p.lost {
				continue
			}
			edge, c := edgeOf(s.level(chunkOf(w))), s.class(k)
			if edge >= s.below[c] && edge < was[c] {
				n += s.countGone(p, w)
			}
		}
	}
	return n
}

// tear says that the marked windows of chunks are gone.
func (s *Store) tear(chunks []chunkKey, n *moriensv1.WindowState) {
	for _, of := range chunks {
		p := s.processes[of.process]
		if p == nil {
			continue
		}
		for _, w := range p.windows() {
			if k := (key{p.id, w}); chunkOf(w) == of.chunk && s.retained(k) {
				s.torn[k] = true
				n.EvictedWindows += s.countGone(p, w)
				n.Marks = append(n.Marks, &moriensv1.WindowMark{Process: p.id, Window: uint64(w)})
			}
		}
	}
	s.note(n)
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

// Again starts over where files were removed, as cleaners of temporary directories do, or in another directory than
// before. All windows so far are gone then, and counted as evicted.
func (s *Store) Again(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	removed := dir != s.config.Dir || s.state.Removed()
	for _, l := range s.logs {
		removed = removed || l.Removed()
	}
	if !removed {
		return
	}
	was, state, bytes := s.config.Dir, s.state, s.size()
	s.config.Dir = dir
	err := os.RemoveAll(dir)
	if err == nil {
		s.state, err = segment.Open(s.statePath(), stateKind, unbounded)
	}
	if err != nil {
		s.config.Dir, s.state = was, state
		s.fail(err)
		return
	}
	s.config.Log.Error("the windows of full detail were removed while ranks ran", "directory", was)
	state.Close() // it is gone
	s.allGone(bytes)
}

// GiveWay gives up all windows so far, where the disk is full and what has to be kept finds no room on it. They are
// counted as evicted.
func (s *Store) GiveWay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.logs) == 0 {
		return
	}
	bytes := s.size() - s.state.Bytes()
	if !s.gaveWay {
		s.gaveWay = true
		s.config.Log.Error("windows in full detail are given up: the disk is full", "directory", s.config.Dir)
	}
	s.allGone(bytes)
}

// allGone removes the windows so far, which took so many bytes, and counts them as evicted.
func (s *Store) allGone(bytes int64) {
	s.stats.EvictedBytes += uint64(bytes)
	for _, p := range s.processes {
		for _, w := range p.windows() {
			if s.retained(key{p.id, w}) {
				s.countGone(p, w)
			}
			p.lost, p.out = max(p.lost, w), true
		}
	}
	for k := range s.logs {
		if err := s.remove(k); err != nil {
			s.fail(err)
		}
	}
	clear(s.torn)
	s.latest = appended{number: s.last}
	if err := s.save(); err != nil {
		s.fail(err)
	}
}
