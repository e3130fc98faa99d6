// Package window keeps the full detail of a node's ranks on its disk, in windows between collective calls of all ranks.
// Where there is no space for all windows, every node keeps the same ones.
//
// In come the messages of a node's agent, commit by commit: Calls, Marks, Transfers, Collectives and Gaps, in ticks,
// and the messages that describe the processes. Out come, by Fetch, the windows of the requested processes. The latest
// commits lie in the fresh log in their order of arrival. From there windows move to sorted files, in the order of a
// hash of run and window, so that the windows to evict first lie at the ends. Unmarked windows are evicted first, by
// their hash, then unusual ones, then those that the collector has pinned; evictions are counted. A Store never talks
// to other nodes. docs/format/window.md describes the files byte by byte.
package window

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// Windows leave the fresh log a file at a time, which is in memory then, decoded. Its size is a share of the bound.
	freshShare    = 32
	freshMinBytes = 4 << 10
	freshMaxBytes = 2 << 20
	// runBytes is how much of consecutive windows is one record of a sorted file, before compression.
	runBytes = 64 << 10
	// roomWait is how long Append may wait for others to be done with the files. The ranks' rings hold longer.
	roomWait = 100 * time.Millisecond
	// Eviction begins at the one and ends at the other share of what may be held, in 32nds.
	evictFrom = 28
	evictTo   = 26
)

// Config says where windows lie and how many.
type Config struct {
	Run string       // of whose hash windows are ordered
	Dir string       // made with mode 0700
	Max func() int64 // bytes that all files may take, now; nil: no bound
	// Whole: all detail is kept here, and Replay gives it to a restarted agent.
	Whole bool
	// Committed is the last transaction that counts. What of later ones was written is cut off: they recur.
	Committed uint64
	Log       *slog.Logger
}

// A Store holds one node's windows. Its methods may be called concurrently, but Append not beside itself.
type Store struct {
	config Config

	mu            sync.Mutex // guards what follows
	fresh, sorted *segment.Log
	state         *segment.Log
	processes     map[uint64]*process
	rings         map[uint64]*ring
	communicators map[uint32]*moriensv1.Communicator
	definitions   []*moriensv1.ReportRequest
	declared      []*moriensv1.ReportRequest    // of those the ones that no transaction has noted yet
	clocks        map[moriensv1.Clock][]reading // the first and the latest of each
	marks         map[key]mark
	torn          map[key]bool    // part of them could not be written; the rest is to go
	below         [classes]uint64 // windows whose hash is not are evicted
	files         []*file         // sorted ones
	// What the sorted files hold: the fresh log up to a file and a transaction, and where rings stood then.
	sortedFile, sortedTransaction uint64
	sortedTracks                  map[uint64]*moriensv1.WindowTrack
	last                          uint64 // transaction
	stateBytes                    int64  // of the state log after its last rewrite
	stats                         Stats
	gaveWay                       bool    // windows were given up for lack of disk space
	failed                        error   // why full detail is missing
	batch                         batch   // the latest
	record                        encoder // likewise, of the fresh log

	fetchRuns int // for tests

	reading sync.Mutex // held while files are read or rewritten; taken before mu
	work    chan struct{}
	done    sync.WaitGroup
}

// Stats say what a Store holds and what it has lost.
type Stats struct {
	Bytes          int64  // on disk
	EvictedBytes   uint64 // as they lay on disk
	EvictedWindows uint64 // of all processes
	// Below: windows whose hash is below this are all held; the share of windows is Below / 2^64. The largest number: all
	// are.
	Below   uint64
	Unusual uint64 // windows that were found unusual here
	Pinned  uint64 // windows that were pinned, as far as they arrived
}

// Open opens the windows in a directory, or begins with none.
func Open(config Config) (*Store, error) {
	s := &Store{
		config: config, processes: make(map[uint64]*process), rings: make(map[uint64]*ring),
		communicators: make(map[uint32]*moriensv1.Communicator), clocks: make(map[moriensv1.Clock][]reading),
		sortedTracks: make(map[uint64]*moriensv1.WindowTrack),
		marks:        make(map[key]mark), torn: make(map[key]bool), below: [classes]uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64}, work: make(chan struct{}, 1),
		fetchRuns: fetchRuns,
	}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("windows in %s: %w", config.Dir, err)
	}
	s.done.Go(s.run)
	s.wake()
	return s, nil
}

func (s *Store) open() error {
	if err := s.openLogs(); err != nil {
		return err
	}
	if err := s.recover(); err != nil {
		return errors.Join(err, s.closeLogs())
	}
	return nil
}

func (s *Store) closeLogs() (err error) {
	for _, l := range []*segment.Log{s.state, s.sorted, s.fresh} {
		err = errors.Join(err, l.Close())
	}
	return err
}

func (s *Store) freshBytes() int64 {
	return min(max(s.max()/freshShare, freshMinBytes), freshMaxBytes)
}

// max is how many bytes all files may take.
func (s *Store) max() int64 {
	if s.config.Max == nil {
		return math.MaxInt64
	}
	return s.config.Max()
}

// Close ends the work on files, closes them, and keeps them.
func (s *Store) Close() error {
	close(s.work)
	s.done.Wait()
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closeLogs()
}

// Stats returns the counts so far.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Bytes, stats.Below = s.bytes(), s.below[ordinary]
	for _, m := range s.marks {
		if m.class == pinned {
			stats.Pinned++
		}
	}
	return stats
}

// Failed says why full detail is missing that was not evicted; nil if none is.
func (s *Store) Failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// bytes is what all files take.
func (s *Store) bytes() int64 { return s.fresh.Bytes() + s.sorted.Bytes() + s.state.Bytes() }

// Append takes the messages of a transaction in their order; the numbers of transactions grow. One that is there
// already changes nothing. The caller still owns the messages. Where they cannot be held, because the disk or the bound
// is reached, they are counted as evicted, and the ranks' next windows are held again. An error means malformed
// messages; the rest of the transaction is not held either.
func (s *Store) Append(transaction uint64, messages []*moriensv1.ReportRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if transaction <= s.last {
		return nil
	}
	s.last = transaction
	b, err := s.split(messages)
	if err != nil {
		s.fail(err)
		return err
	}
	if len(b.definitions) > 0 || len(b.unusual) > 0 {
		s.note(&moriensv1.WindowState{Definitions: b.definitions, Marks: s.markUnusual(b.unusual), Unusual: uint64(len(b.unusual))})
	}
	if len(b.touched) == 0 {
		return nil
	}
	parts := s.admit(b.parts)
	tracks := make([]*moriensv1.WindowTrack, 0, len(b.touched))
	for r := range b.touched {
		tracks = append(tracks, r.track())
	}
	record, err := s.encode(transaction, parts, tracks)
	if err != nil {
		s.fail(err)
		return err
	}
	lose := func() { s.lose(transaction, parts, tracks, uint64(len(record))) }
	if s.bytes() >= s.max() { // at most one commit goes beyond the bound
		s.mu.Unlock()
		s.makeRoom()
		s.mu.Lock()
	}
	if s.bytes() >= s.max() {
		lose()
		s.wake()
		return nil
	}
	if files := s.fresh.Files(); files[len(files)-1].Bytes >= s.freshBytes() {
		if err := s.fresh.Rotate(); err != nil { // only now: what follows this transaction counts
			s.fail(err)
		}
		s.wake()
	}
	if _, err := s.fresh.Append(record); err != nil {
		s.fail(err)
		lose()
		return nil
	}
	if s.bytes() > s.max()/32*evictFrom {
		s.wake()
	}
	return nil
}

// encode makes a record of the fresh log, which lasts until the next one is made.
func (s *Store) encode(transaction uint64, parts []part, tracks []*moriensv1.WindowTrack) ([]byte, error) {
	e := s.record.empty()
	e.number(batchTransaction, transaction)
	for i := range parts {
		e.parts(parts[i])
	}
	for _, t := range tracks {
		if err := e.message(batchTracks, t); err != nil {
			return nil, err
		}
	}
	s.record = e
	return e, nil
}

// admit leaves out what belongs to windows that are gone: transfers that have ended only now.
func (s *Store) admit(parts []part) []part {
	kept := parts[:0]
	for _, p := range parts {
		if s.gone(p.key) {
			s.stats.EvictedBytes += uint64(len(p.messages))
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// lose counts what could not be written.
func (s *Store) lose(transaction uint64, parts []part, tracks []*moriensv1.WindowTrack, bytes uint64) {
	s.stats.EvictedBytes += bytes
	n := &moriensv1.WindowState{Transaction: transaction, Tracks: tracks, EvictedBytes: bytes}
	for _, p := range parts {
		if !s.torn[p.key] {
			s.torn[p.key] = true
			n.EvictedWindows++
			n.Marks = append(n.Marks, &moriensv1.WindowMark{Process: p.process, Window: uint64(p.window)})
		}
	}
	s.stats.EvictedWindows += n.EvictedWindows
	s.note(n)
}

func (s *Store) fail(err error) {
	if s.failed == nil {
		s.config.Log.Error("full detail is missing", "error", err)
	}
	s.failed = cmp.Or(s.failed, err)
}

// makeRoom does at once what the work on files would do a little later, where that has not kept up.
func (s *Store) makeRoom() {
	for end := time.Now().Add(roomWait); !s.reading.TryLock(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return
		}
	}
	defer s.reading.Unlock()
	if err := s.tidyFiles(); err != nil {
		s.mu.Lock()
		s.fail(err)
		s.mu.Unlock()
	}
}

func (s *Store) wake() {
	select {
	case s.work <- struct{}{}:
	default:
	}
}
