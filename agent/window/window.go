// Package window keeps the full detail of a node's ranks on its disk, in windows between collective calls of all ranks.
// Where there is no space for all windows, every node keeps the same ones.
//
// In comes, transaction by transaction, what the node's agent has read: messages that describe the processes and say
// which calls they made, and what those calls have moved. What was moved is encoded once, into sections
// (internal/section), which are appended to a log and never rewritten. The window of each call decides which log that
// is: 64 windows are a chunk, and chunks with similar hashes of run and number share a log, so that to evict is to
// unlink. Unmarked windows are evicted first, by their hash, then unusual ones, then those that the collector has
// pinned; evictions are counted. Out come, by Fetch, the windows of the requested processes. A Store never talks to
// other nodes. docs/format/window.md describes the files byte by byte.
package window

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"

	"moriens/internal/anchor"
	"moriens/internal/section"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// evictFrom is at what share of what may be held eviction begins, in 32nds: what it copies needs room too.
const evictFrom = 28

// Config says where windows lie and how many.
type Config struct {
	Run string       // of whose hash windows are ordered
	Dir string       // made with mode 0700
	Max func() int64 // bytes that all files may take, now; nil: no bound
	// Whole: all detail is kept here, and Replay gives it to a restarted agent.
	Whole bool
	// Committed is the last transaction that counts. What of later ones was written is void: they recur.
	Committed uint64
	Log       *slog.Logger
}

// A Store holds one node's windows. Its methods may be called concurrently, but Append, Undo, Again and GiveWay not
// beside each other.
type Store struct {
	config Config

	mu            sync.Mutex // guards what follows
	logs          map[logKey]*segment.Log
	chunks        map[chunkKey]*held
	state         *segment.Log
	processes     map[uint64]*process
	rings         map[uint64]*ring
	communicators map[uint32]*moriensv1.Communicator
	definitions   []*moriensv1.ReportRequest
	clocks        map[moriensv1.Clock][]reading // the first and the latest of each
	marks         map[key]mark
	torn          map[key]bool    // part of them could not be written; the rest counts as evicted
	below         [classes]uint64 // windows whose hash is above are evicted
	last          uint64          // transaction
	pending       pending
	latest        appended
	stateBytes    int64 // of the state log after its last rewrite
	stats         Stats
	gaveWay       bool  // windows were given up for lack of disk space
	lost          bool  // windows could not be written
	failed        error // why full detail is missing

	encoder  section.Encoder
	gatherer section.Gatherer
	block    section.Block
	records  []record // of the transaction
	bytes    []byte   // that they are in
}

// pending is what was learned since the last transaction that was written.
type pending struct {
	definitions []*moriensv1.ReportRequest
	unusual     []key
	touched     map[*ring]bool
	evicted     uint64 // windows, which began since then or are torn
	// Of the transaction at hand, what could not be written.
	torn  map[key]bool
	bytes uint64
}

func newPending() pending { return pending{touched: make(map[*ring]bool), torn: make(map[key]bool)} }

// Stats say what a Store holds and what it has lost.
type Stats struct {
	Bytes          int64  // on disk
	EvictedBytes   uint64 // as they lay on disk
	EvictedWindows uint64 // of all processes
	// Below: chunks whose hash is not above this are all held; the share of windows is Below / 2^64. The largest number:
	// all are.
	Below   uint64
	Unusual uint64 // windows that were found unusual here
	Pinned  uint64 // windows that were pinned, as far as they arrived
}

// A key is a window of a process.
type key struct {
	process uint64
	window  anchor.ID
}

// Open opens the windows in a directory, or begins with none.
func Open(config Config) (*Store, error) {
	s := &Store{
		config: config, logs: make(map[logKey]*segment.Log), chunks: make(map[chunkKey]*held),
		processes: make(map[uint64]*process), rings: make(map[uint64]*ring),
		communicators: make(map[uint32]*moriensv1.Communicator), clocks: make(map[moriensv1.Clock][]reading),
		marks: make(map[key]mark), torn: make(map[key]bool), below: [classes]uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64},
		pending: newPending(),
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("windows in %s: %w", config.Dir, err), s.closeLogs())
	}
	return s, nil
}

func (s *Store) closeLogs() (err error) {
	if s.state != nil {
		err = s.state.Close()
	}
	for _, l := range s.logs {
		err = errors.Join(err, l.Close())
	}
	return err
}

// max is how many bytes all files may take.
func (s *Store) max() int64 {
	if s.config.Max == nil {
		return math.MaxInt64
	}
	return s.config.Max()
}

// Close closes the files, and keeps them.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closeLogs()
}

// Stats returns the counts so far.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Bytes, stats.Below = s.size(), s.below[ordinary]
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

// size is how many bytes all files take.
func (s *Store) size() int64 {
	n := s.state.Bytes()
	for _, l := range s.logs {
		n += l.Bytes()
	}
	return n
}

func (s *Store) fail(err error) {
	if s.failed == nil {
		s.config.Log.Error("full detail is missing", "error", err)
	}
	s.failed = cmp.Or(s.failed, err)
}
