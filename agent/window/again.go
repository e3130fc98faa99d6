package window

import (
	"errors"
	"math"
	"os"
	"path/filepath"

	"moriens/internal/segment"
)

// Again starts over where files were removed, as cleaners of temporary directories do, or in another directory than
// before. All windows so far are gone then, and counted as evicted.
func (s *Store) Again(dir string) {
	s.mu.Lock()
	removed := dir != s.config.Dir || s.fresh.Removed() || s.sorted.Removed() || s.state.Removed()
	s.mu.Unlock()
	if !removed {
		return
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	before := [...]*segment.Log{s.fresh, s.sorted, s.state}
	bytes, was := s.bytes(), s.config.Dir
	s.config.Dir = dir
	err := os.RemoveAll(dir)
	if err == nil {
		err = s.openLogs()
	}
	if err != nil {
		s.fresh, s.sorted, s.state = before[0], before[1], before[2]
		s.config.Dir = was
		s.fail(err)
		return
	}
	s.config.Log.Error("the windows of full detail were removed while ranks ran", "directory", was)
	for _, l := range before {
		l.Close() // it is gone
	}
	s.sortedFile = 0
	s.allGone(bytes)
}

// GiveWay gives up all windows so far, where the disk is full and what has to be kept finds no room on it. They are
// counted as evicted.
func (s *Store) GiveWay() {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh.Bytes()+s.sorted.Bytes() <= 2*segment.Start {
		return
	}
	bytes := s.fresh.Bytes() + s.sorted.Bytes()
	if err := errors.Join(s.fresh.Restart(), s.sorted.Restart()); err != nil {
		s.fail(err)
		return
	}
	if !s.gaveWay {
		s.gaveWay = true
		s.config.Log.Error("windows in full detail are given up: the disk is full", "directory", s.config.Dir)
	}
	s.allGone(bytes)
}

// allGone counts the windows so far, which took so many bytes, as evicted.
func (s *Store) allGone(bytes int64) {
	s.stats.EvictedBytes += uint64(bytes)
	for _, r := range s.rings {
		for _, e := range r.edges {
			if k := (key{r.process.id, e.window}); !s.gone(k) {
				s.torn[k] = true
				s.stats.EvictedWindows++
			}
		}
		s.sortedTracks[r.id] = r.track()
	}
	s.files, s.sortedTransaction = nil, s.last
	if err := s.save(); err != nil {
		s.fail(err)
	}
}

// openLogs opens the logs, all of them or none.
func (s *Store) openLogs() error {
	var opened []*segment.Log
	open := func(to **segment.Log, dir, kind string, fileBytes int64) error {
		l, err := segment.Open(dir, kind, fileBytes)
		if err == nil {
			*to = l
			opened = append(opened, l)
		}
		return err
	}
	err := open(&s.state, filepath.Join(s.config.Dir, "state"), "winstate", freshMaxBytes)
	if err == nil {
		err = open(&s.sorted, filepath.Join(s.config.Dir, "sorted"), "winsort", math.MaxInt64)
	}
	if err == nil {
		err = open(&s.fresh, filepath.Join(s.config.Dir, "fresh"), "winfresh", s.freshBytes())
	}
	if err != nil {
		for _, l := range opened {
			err = errors.Join(err, l.Close())
		}
		return err
	}
	s.fresh.Compress(false) // what is kept is compressed where it is sorted
	return nil
}
