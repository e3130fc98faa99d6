package window

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"google.golang.org/protobuf/proto"

	"moriens/internal/anchor"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// stateFrom is from how many bytes on the state log is rewritten, once it has doubled.
const stateFrom = 64 << 10

const (
	stateDir  = "state"
	stateKind = "winstate"
	unbounded = math.MaxInt64 // a log is one file
)

func (s *Store) statePath() string { return filepath.Join(s.config.Dir, stateDir) }

// open makes the store what its files say.
func (s *Store) open() error {
	state, err := segment.Open(s.statePath(), stateKind, unbounded)
	if err != nil {
		return err
	}
	s.state = state
	notes, err := s.readState()
	if err != nil {
		return err
	}
	ends := make(map[logKey]uint64)
	for _, n := range notes {
		for _, l := range n.Logs {
			ends[logKey{class(min(l.Rank, uint32(pinned))), int(min(l.Level, levels-1))}] = l.End
		}
		s.apply(n)
	}
	if err := s.openLogs(ends); err != nil {
		return err
	}
	if s.last < s.config.Committed { // each transaction is noted before it counts
		s.fail(fmt.Errorf("%s ends behind transaction %d of %d", s.statePath(), s.last, s.config.Committed))
		s.last = s.config.Committed
		s.allGone(s.size() - s.state.Bytes())
		return nil
	}
	if err := s.save(); !full(err) {
		return err
	}
	return nil // the files as they are say the same
}

// readState reads the records of the state log that count: neither what recurs, nor what was undone.
func (s *Store) readState() (notes []*moriensv1.WindowState, err error) {
	last := uint64(0)
	var pieces []*moriensv1.WindowState // of a rewrite, which counts when the last one is there
	err = s.state.Read(segment.Position{}, func(_ segment.Position, record []byte) error {
		n := new(moriensv1.WindowState)
		if err := proto.Unmarshal(record, n); err != nil {
			return err
		}
		switch {
		case n.Complete:
			if pieces = append(pieces, n); !n.More {
				notes, last, pieces = pieces, n.Transaction, nil
			}
			return nil
		case n.Transaction > s.config.Committed:
			return nil
		case n.Transaction > 0:
			if n.Transaction <= last {
				notes = slices.DeleteFunc(notes, func(x *moriensv1.WindowState) bool { return !x.Complete && x.Transaction >= n.Transaction })
			}
			last = n.Transaction
		}
		notes, pieces = append(notes, n), nil
		return nil
	})
	return notes, err
}

// openLogs opens the logs that the state knows. What an eviction has left that was not finished is removed.
func (s *Store) openLogs(ends map[logKey]uint64) error {
	entries, err := os.ReadDir(s.config.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == stateDir {
			continue
		}
		k, known := keyOf(e.Name())
		if !known || s.evicted(k) || ends[k] == 0 {
			if err := os.RemoveAll(filepath.Join(s.config.Dir, e.Name())); err != nil {
				return err
			}
			continue
		}
		if err := s.reread(k, int64(ends[k])); err != nil {
			return err
		}
		if s.logs[k] == nil {
			delete(ends, k) // it was damaged
		}
	}
	for k, end := range ends {
		if s.logs[k] == nil && !s.evicted(k) && end > 0 {
			s.damaged(k, fmt.Errorf("%s is missing", filepath.Join(s.config.Dir, k.dir())))
		}
	}
	return nil
}

// keyOf is the log of a directory.
func keyOf(name string) (k logKey, known bool) {
	for rank, its := range rankNames {
		for level := range levels {
			if k = (logKey{class(rank), level}); its+fmt.Sprintf("-%02d", level) == name {
				return k, true
			}
		}
	}
	return k, false
}

// reread takes what a log holds up to where it ended behind the last transaction that counts.
func (s *Store) reread(k logKey, end int64) error {
	log, err := s.log(k)
	if errors.Is(err, segment.ErrCorrupt) {
		s.damaged(k, err)
		return s.remove(k)
	}
	if err != nil {
		return err
	}
	offset := segment.Start
	err = log.Read(segment.Position{}, func(at segment.Position, record []byte) error {
		if at.Offset > end {
			return errEnough
		}
		if len(record) < recordHead {
			return fmt.Errorf("%w: %s at offset %d: a record of %d bytes", segment.ErrCorrupt, k.dir(), offset, len(record))
		}
		of := chunkKey{binary.LittleEndian.Uint64(record[8:]), chunk(binary.LittleEndian.Uint64(record[16:]))}
		if level := s.level(of.chunk); level != k.level {
			return fmt.Errorf("%w: %s at offset %d: a record of level %d", segment.ErrCorrupt, k.dir(), offset, level)
		}
		s.index(of, k.rank, offset)
		offset = at.Offset
		return nil
	})
	switch {
	case offset == end && errors.Is(err, errEnough):
		return log.CutAt(end)
	case offset != end && (err == nil || errors.Is(err, errEnough)):
		err = fmt.Errorf("%w: %s has no record that ends at %d, but at %d", segment.ErrCorrupt, k.dir(), end, offset)
	}
	if errors.Is(err, segment.ErrCorrupt) {
		s.damaged(k, err)
		return s.remove(k)
	}
	return err
}

// full reports whether an error is that of a disk that has no room.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

var errEnough = errors.New("enough was read")

// damaged says that what a log held is gone.
func (s *Store) damaged(k logKey, err error) {
	s.config.Log.Error("windows in full detail are lost", "error", err)
	n := &moriensv1.WindowState{Logs: []*moriensv1.WindowLog{{Rank: uint32(k.rank), Level: uint32(k.level)}}}
	for _, p := range s.processes {
		for _, w := range p.windows() {
			at := key{p.id, w}
			if s.level(chunkOf(w)) != k.level || s.class(at) < k.rank || s.rankAt(k.level) != k.rank || !s.retained(at) {
				continue
			}
			s.torn[at] = true
			n.EvictedWindows += s.countGone(p, w)
			n.Marks = append(n.Marks, &moriensv1.WindowMark{Process: p.id, Window: uint64(w)})
		}
	}
	s.note(n)
}

// log is that of a key, which is made where it is missing.
func (s *Store) log(k logKey) (*segment.Log, error) {
	if l := s.logs[k]; l != nil {
		return l, nil
	}
	l, err := segment.Open(filepath.Join(s.config.Dir, k.dir()), "windows", unbounded)
	if err != nil {
		return nil, err
	}
	l.Compress(false) // it is packed
	s.logs[k] = l
	return l, nil
}

// remove removes a log, with what is known of its chunks.
func (s *Store) remove(k logKey) error {
	for of, h := range s.chunks {
		if h.rank == k.rank && s.level(of.chunk) == k.level {
			delete(s.chunks, of)
		}
	}
	if l := s.logs[k]; l != nil {
		l.Close()
		delete(s.logs, k)
	}
	return os.RemoveAll(filepath.Join(s.config.Dir, k.dir()))
}

// apply does what a record of the state log says.
func (s *Store) apply(n *moriensv1.WindowState) {
	for _, m := range n.Definitions {
		s.define(m)
	}
	for _, m := range n.Marks {
		s.mark(m)
	}
	for _, e := range n.Edges {
		r := s.rings[e.Ring]
		if r == nil || len(e.Row) == 0 || len(e.Window) != len(e.Row) {
			continue
		}
		r.cut(e.Row[0])
		for i, row := range e.Row {
			r.begin(row, anchor.ID(e.Window[i]))
		}
	}
	for _, p := range n.Passed {
		if at := s.processes[p.Process]; at != nil {
			at.out, at.lost = true, max(at.lost, anchor.ID(p.Window))
		}
	}
	for i, below := range n.Below {
		if i < len(s.below) {
			s.below[i] = min(s.below[i], below)
		}
	}
	for _, t := range n.Tracks {
		s.resume(t)
	}
	for _, r := range s.rings {
		r.noted.edges = len(r.edges)
	}
	s.last = max(s.last, n.Transaction)
	s.stats.EvictedBytes += n.EvictedBytes
	s.stats.EvictedWindows += n.EvictedWindows
	s.stats.Unusual += n.Unusual
}

// compact rewrites the state log once its notes are much larger than the state.
func (s *Store) compact() {
	if s.state.Bytes() < max(2*s.stateBytes, stateFrom) {
		return
	}
	s.stateBytes = s.state.Bytes() // not again before it has doubled, whatever becomes of it
	if err := s.save(); err != nil && !full(err) {
		s.fail(err)
	}
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

// describe says where a log ends.
func (s *Store) describe(k logKey) *moriensv1.WindowLog {
	return &moriensv1.WindowLog{Rank: uint32(k.rank), Level: uint32(k.level), End: uint64(s.logs[k].End().Offset)}
}

// pieceBytes is about how many bytes a record of a rewritten state has.
const pieceBytes = 1 << 20

// pieces are the records of a state that begins with n, and goes on with what is known of processes and rings.
func (s *Store) pieces(n *moriensv1.WindowState) (records [][]byte, err error) {
	size := 0
	piece := func(bytes int) { // n is the one to which so much is added
		if size += bytes; size <= pieceBytes || err != nil {
			return
		}
		var record []byte
		n.More = true
		record, err = proto.Marshal(n)
		records = append(records, record)
		n, size = &moriensv1.WindowState{Complete: true, Transaction: n.Transaction}, bytes
	}
	for _, list := range [][]*moriensv1.ReportRequest{s.definitions, s.clockSamples()} {
		for _, m := range list {
			piece(proto.Size(m))
			n.Definitions = append(n.Definitions, m)
		}
	}
	for _, r := range s.rings {
		if t := r.noted.track; t != nil {
			piece(proto.Size(t))
			n.Tracks = append(n.Tracks, t)
		}
		for edges := range slices.Chunk(r.edges[:r.noted.edges], pieceBytes/16) {
			e := edgesOf(r.id, edges)
			piece(proto.Size(e))
			n.Edges = append(n.Edges, e)
		}
	}
	record, last := proto.Marshal(n)
	return append(records, record), errors.Join(err, last)
}

// save writes all of the state, as of the last transaction, to a new file of its log and removes the others.
func (s *Store) save() error {
	n := &moriensv1.WindowState{
		Complete: true, Transaction: s.last, Below: s.below[:],
		EvictedBytes: s.stats.EvictedBytes, EvictedWindows: s.stats.EvictedWindows - s.pending.evicted,
		Unusual: s.stats.Unusual - uint64(len(s.pending.unusual)),
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
	for _, p := range s.processes {
		if p.out {
			n.Passed = append(n.Passed, &moriensv1.WindowPassed{Process: p.id, Window: uint64(p.lost)})
		}
	}
	for k := range s.logs {
		n.Logs = append(n.Logs, s.describe(k))
	}
	records, err := s.pieces(n)
	if err != nil {
		return err
	}
	if s.state.End().Offset > segment.Start {
		if err := s.state.Rotate(); err != nil {
			return err
		}
	}
	if _, err := s.state.Append(records...); err != nil {
		return err
	}
	s.stateBytes = s.state.End().Offset
	files := s.state.Files()
	for _, f := range files[:len(files)-1] {
		if err := s.state.Remove(f.Number); err != nil {
			return err
		}
	}
	return nil
}
