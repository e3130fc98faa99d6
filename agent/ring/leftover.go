package ring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A Leftover is the directory of a run in which no process lives: a moriens that was killed leaves its run's behind, in
// memory.
type Leftover struct {
	Path  string
	Bytes uint64
}

// Leftovers lists those of the user. A young one may belong to a run whose first rank is about to start: it is none.
func Leftovers(shm string, uid int) ([]Leftover, error) {
	paths, err := filepath.Glob(DirectoryPath(shm, uid, "*"))
	if err != nil {
		return nil, fmt.Errorf("ring: %w", err)
	}
	var list []Leftover
	for _, path := range paths {
		info, err := os.Lstat(path)
		// Anybody can make a directory of that name in a place that is open to all, and files in it that shrink while they
		// are mapped.
		if err != nil || !info.IsDir() || !private(info, uid) || time.Since(info.ModTime()) < sweepAge || inUse(path) {
			continue
		}
		l := Leftover{Path: path}
		filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil
			}
			if info, err := entry.Info(); err == nil {
				l.Bytes += min(uint64(info.Size()), uint64(info.Sys().(*syscall.Stat_t).Blocks)*512) // rings have holes
			}
			return nil
		})
		list = append(list, l)
	}
	return list, nil
}

// private reports whether a file belongs to the user and is open to nobody else.
func private(info fs.FileInfo, uid int) bool {
	return info.Sys().(*syscall.Stat_t).Uid == uint32(uid) && info.Mode().Perm()&0o077 == 0
}

// Sweep removes the leftovers and returns how many there were.
func Sweep(shm string, uid int) (int, error) {
	list, err := Leftovers(shm, uid)
	if err != nil {
		return 0, err
	}
	for removed, l := range list {
		if err := NewDirectory(l.Path).Remove(); err != nil {
			return removed, err
		}
	}
	return len(list), nil
}

const sweepAge = 10 * time.Minute

// inUse reports whether a process of the run lives, or its agent does, or whether that cannot be determined.
func inUse(path string) bool {
	claim, err := NewDirectory(path).Claim()
	if err != nil {
		return true
	}
	claim.Close()
	found, err := NewDirectory(path).Scan()
	if err != nil || found.Starting > 0 {
		return true
	}
	// Its parent may be about to start it again.
	if locked, err := lockedFile(filepath.Join(path, AgentFile)); locked || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	for _, name := range found.Processes {
		p, err := OpenProcess(name)
		if errors.Is(err, ErrCorrupt) {
			continue
		}
		if err != nil {
			return true
		}
		alive, err := p.Alive()
		p.Close()
		if alive || err != nil {
			return true
		}
	}
	return false
}
