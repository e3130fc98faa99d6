package spool

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// sweepAge is the age from which a spool without a running agent counts as abandoned.
const sweepAge = 7 * 24 * time.Hour

// lastUse is when something in the spool was last written: what the agent of a long job has left is not old when the
// agent dies.
func (s *Spool) lastUse() (last time.Time) {
	filepath.WalkDir(s.path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := entry.Info(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
		return nil
	})
	return last
}

// Sweep removes the user's spools without an agent at work that were abandoned for a week, in all places where they can
// be. Those in memory go with the rings that they are beside.
func Sweep(dir string) (removed int, err error) {
	for _, p := range (Config{Dir: dir}).places() {
		for _, user := range p.users() {
			n, err := sweepUser(user)
			if removed += n; err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

func sweepUser(user string) (removed int, err error) {
	entries, err := os.ReadDir(user)
	if err != nil {
		return 0, nil // it goes in this moment, with what was in it
	}
	for _, entry := range entries {
		s := &Spool{path: filepath.Join(user, entry.Name())}
		if _, err := os.Lstat(filepath.Join(s.path, identityFile)); err != nil || time.Since(s.lastUse()) < sweepAge {
			continue
		}
		if s.lock, err = take(s.path); err != nil {
			continue
		}
		if err := s.Remove(); err != nil {
			return removed, err
		}
		removed++
	}
	if info, err := os.Lstat(user); err == nil && len(entries) == 0 && time.Since(info.ModTime()) > sweepAge {
		os.Remove(user) // of an agent that was killed before it had its spool
	}
	return removed, nil
}
