// Package spool is an agent's working directory on its node, and the outbox in it: what the ranks have recorded waits there
// for the collector's acknowledgement, and with it what an agent that is started again needs to go on.
//
// In come transactions of messages and state; out go messages in order of their sequence, and after a restart the state. The
// package does not know what messages or states mean, and never blocks but for the disk.
package spool

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"moriens/internal/files"
	"moriens/internal/units"
)

const (
	// MinBytes is the least that a spool can be bounded to.
	MinBytes = units.Bytes(1 << 20)
	// maxBytes bounds a spool that is not bounded by its user.
	maxBytes = 1 << 30
	// freeShare is what part of the free space such a spool may take.
	freeShare = 10

	identityFile = "identity.json"
	outboxDir    = "outbox"
	// sweepAge is from when on a spool without a living agent is one that nobody comes back to.
	sweepAge = 7 * 24 * time.Hour
)

// Config says where a spool is and what it is for.
type Config struct {
	Dir string      // empty: $TMPDIR, or /tmp
	Max units.Bytes // 0: the smaller of 1 GiB and a tenth of what is free
	Run string
	// Shm is the directory of the run's rings. Agents that share Dir but not that one, as in containers, have spools of their own.
	Shm string
}

// A Spool is the working directory of one agent, over all of its lives.
type Spool struct {
	Agent  uint64 // random id
	Budget *Budget

	path string
	run  string
	lock *files.Lock
}

type identity struct {
	Run   string `json:"run"`
	Agent uint64 `json:"agent,string"`
}

// ErrInUse is returned for a spool of which another agent is at work.
var ErrInUse = errors.New("another agent is at work in this spool")

// ErrTooSmall is returned for a bound that no spool can keep.
var ErrTooSmall = errors.New("the spool is too small")

// Open makes or finds an agent's spool and takes it until Close.
func Open(c Config) (*Spool, error) {
	if c.Max != 0 && c.Max < MinBytes {
		return nil, fmt.Errorf("%w: %s, the least is %s", ErrTooSmall, c.Max, MinBytes)
	}
	user, err := userDir(c.Dir)
	if err != nil {
		return nil, err
	}
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	s := &Spool{path: filepath.Join(user, name), run: c.Run}
	if s.lock, err = take(s.path); err != nil {
		return nil, err
	}
	bytes := int64(c.Max)
	if bytes == 0 {
		bytes, err = defaultMax(s.path)
	}
	if err == nil {
		s.Budget = NewBudget(bytes)
		s.Agent, err = s.identify()
	}
	if err != nil {
		s.lock.Close()
		return nil, err
	}
	return s, nil
}

// userDir makes the user's directory of spools, and returns where it is.
func userDir(dir string) (string, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("spool: %w", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("moriens-%d", os.Getuid()))
	f, err := private(path)
	if err != nil {
		return "", err
	}
	return path, f.Close()
}

// name is the run's, and the number of the directory of its rings.
func (c Config) name() (string, error) {
	var stat unix.Stat_t
	if err := unix.Stat(c.Shm, &stat); err != nil {
		return "", fmt.Errorf("spool: %s: %w", c.Shm, err)
	}
	return fmt.Sprintf("%s-%x-%x", c.Run, stat.Dev, stat.Ino), nil
}

// private makes a directory, if it is missing, and opens it if it is this user's alone.
func private(path string) (*os.File, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("spool: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil || int(stat.Uid) != os.Getuid() || stat.Mode&0o077 != 0 {
		f.Close()
		return nil, fmt.Errorf("spool: %s is not this user's alone: %w", path, errors.Join(fs.ErrPermission, err))
	}
	return f, nil
}

// take makes a spool's directory private and locks it.
func take(path string) (*files.Lock, error) {
	f, err := private(path)
	if err != nil {
		return nil, err
	}
	lock, err := files.TryLock(f)
	if err == nil {
		return lock, nil
	}
	f.Close()
	if errors.Is(err, files.ErrLocked) {
		err = ErrInUse
	}
	return nil, fmt.Errorf("spool %s: %w", path, err)
}

func defaultMax(path string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return 0, fmt.Errorf("spool: %s: %w", path, err)
	}
	free := int64(stat.Bavail) * int64(stat.Bsize)
	return max(min(maxBytes, free/freeShare), int64(MinBytes)), nil
}

// identify reads the agent's id, or gives it one.
func (s *Spool) identify() (uint64, error) {
	path := filepath.Join(s.path, identityFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		var b [8]byte
		rand.Read(b[:]) // never fails, crypto/rand
		id := identity{s.run, binary.LittleEndian.Uint64(b[:])}
		return id.Agent, s.writeIdentity(id)
	}
	if err != nil {
		return 0, fmt.Errorf("spool: %w", err)
	}
	var id identity
	if err := json.Unmarshal(data, &id); err != nil {
		return 0, fmt.Errorf("spool: %s: %w", path, err)
	}
	if id.Run != s.run || id.Agent == 0 {
		return 0, fmt.Errorf("spool: %s is of run %q, not of %q", path, id.Run, s.run)
	}
	return id.Agent, nil
}

func (s *Spool) writeIdentity(id identity) error {
	data, err := json.Marshal(id)
	if err != nil {
		return err
	}
	path := filepath.Join(s.path, identityFile)
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return os.Rename(path+".new", path)
}

// again makes the directory anew that somebody has removed, with or without what is in it, for the same agent.
func (s *Spool) again() error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(s.lock.Fd()), &stat); err == nil && stat.Nlink > 0 { // it is there, and taken
		return s.writeIdentity(identity{s.run, s.Agent})
	}
	if _, err := userDir(filepath.Dir(filepath.Dir(s.path))); err != nil {
		return err
	}
	lock, err := take(s.path)
	if err != nil {
		return err
	}
	if err := s.writeIdentity(identity{s.run, s.Agent}); err != nil {
		lock.Close()
		return err
	}
	s.lock.Close()
	s.lock = lock
	return nil
}

// Path is the directory.
func (s *Spool) Path() string { return s.path }

// Close gives the spool up. It stays for the agent's next life.
func (s *Spool) Close() error { return s.lock.Close() }

// Remove removes it with everything in it, and the user's directory when there is nothing else in that.
func (s *Spool) Remove() error {
	err := os.RemoveAll(s.path)
	os.Remove(filepath.Dir(s.path)) // not empty: others are at work
	return errors.Join(err, s.lock.Close())
}

// lastUse is when something in the spool was last written: what the agent of a long job has left is not old when the agent dies.
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

// Sweep removes the user's spools that no agent is at work in and that nobody has come back to for a week.
func Sweep(dir string) (removed int, err error) {
	user, err := userDir(dir)
	if err != nil {
		return 0, err
	}
	entries, err := os.ReadDir(user)
	if err != nil {
		return 0, fmt.Errorf("spool: %w", err)
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
	return removed, nil
}
