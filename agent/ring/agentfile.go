package ring

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// AgentFile is the file in a run's directory that holds, under a plain preload, the lock of the agent and what it has
// to say to the user: cshim/src/launch.h.
const AgentFile = "agent"

// lockedFile reports whether a process has a file locked.
func lockedFile(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return locked(f)
}

// locked reports whether a process holds a lock on any part of a file. The question is asked on behalf of our open
// file, not of our process, so that it sees every process's lock, and in tests our own.
func locked(f *os.File) (bool, error) { return lockedTo(f, 0) }

// lockedTo is locked for so many bytes from the first on; 0: for all.
func lockedTo(f *os.File, bytes int64) (bool, error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Len: bytes}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil {
		return false, err
	}
	return lock.Type != unix.F_UNLCK, nil
}

// beingStarted reports whether a rank is starting an agent, whose file that is, or has just failed to and removed it:
// cshim/src/lock.h.
func beingStarted(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	if starting, err := lockedTo(f, 1); err != nil || starting {
		return err == nil
	}
	_, err = os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist) || isAnother(path, f)
}

// Taken reports whether the directory is another agent's by now than the one that has this file.
func (d *Directory) Taken(agent *os.File) bool {
	return isAnother(filepath.Join(d.path, AgentFile), agent)
}

// isAnother reports whether a path is that of another file.
func isAnother(path string, f *os.File) bool {
	own, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && !os.SameFile(own, named)
}
