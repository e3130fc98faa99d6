// Package spool is an agent's working directory on its node and the outbox in it. The outbox holds what the ranks have
// recorded until the collector acknowledges it, and the state that a restarted agent needs to resume.
//
// In come transactions of messages and state. Out come messages in the order of their sequence and, after a restart,
// the state. The package does not interpret messages or states, and blocks on nothing but the disk.
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
	// memoryBytes bounds a spool in memory, which is the ranks' too.
	memoryBytes = 64 << 20

	identityFile = "identity.json"
	outboxDir    = "outbox"
	// maxTries is how often a spool is made whose directory is removed in the same moment, as another agent of this user
	// removes the common directory when it is empty.
	maxTries = 3
)

// Config says where a spool is and what it is for.
type Config struct {
	Dir string      // before all other places; empty: the usual ones
	Max units.Bytes // 0: the smaller of 1 GiB and a tenth of what is free
	Run string
	// Shm is the directory of the run's rings. Agents that share Dir but not that one, as in containers, have spools of
	// their own. Where no disk of the node can have a spool it is there, in memory.
	Shm    string
	RunDir string // the last resort; empty: there is none
	Not    []Miss // places that have failed
}

// A Spool is the working directory of one agent, over all of its lives.
type Spool struct {
	Agent  uint64 // random id
	Budget *Budget

	config Config
	path   string
	lock   *files.Lock
	place  place
	fresh  bool
	said   string // of where it is
}

type identity struct {
	Run   string `json:"run"`
	Agent uint64 `json:"agent,string"`
	Said  string `json:"said,omitempty"`
}

// ErrInUse is returned for a spool of which another agent is at work.
var ErrInUse = errors.New("another agent uses this spool")

// ErrTooSmall is returned for a bound that no spool can keep.
var ErrTooSmall = errors.New("the spool is too small")

// Open finds the spool of an agent's earlier life, wherever that had it, or makes one in the first place that can have
// it, and takes it until Close.
func Open(c Config) (*Spool, error) {
	if c.Max != 0 && c.Max < MinBytes {
		return nil, fmt.Errorf("%w: %s, the least is %s", ErrTooSmall, c.Max, MinBytes)
	}
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	if s, err := c.find(name); s != nil || err != nil {
		return s, err
	}
	var b [8]byte
	rand.Read(b[:]) // never fails, crypto/rand
	return c.make(name, binary.LittleEndian.Uint64(b[:]))
}

// name is the run's, and the number of the directory of its rings.
func (c Config) name() (string, error) {
	var stat unix.Stat_t
	if err := unix.Stat(c.Shm, &stat); err != nil {
		return "", fmt.Errorf("spool: %s: %w", c.Shm, err)
	}
	return fmt.Sprintf("%s-%x-%x", c.Run, stat.Dev, stat.Ino), nil
}

// find opens the spool that an earlier life has left, the one that was written to last; nil where there is none.
func (c Config) find(name string) (*Spool, error) {
	var found *Spool
	for _, p := range c.places() {
		for _, user := range p.users() {
			s := &Spool{config: c, path: filepath.Join(user, name), place: p}
			if _, err := os.Lstat(filepath.Join(s.path, identityFile)); err != nil || p.missed(c.Not) {
				continue
			}
			if found == nil || found.lastUse().Before(s.lastUse()) {
				found = s
			}
		}
	}
	if found == nil {
		return nil, nil
	}
	var err error
	if found.lock, err = take(found.path); err != nil {
		return nil, err
	}
	if err = found.bound(); err == nil {
		err = found.identify()
	}
	if err == nil {
		return found, nil
	}
	found.lock.Close()
	if errors.Is(err, fs.ErrNotExist) { // it was removed in this moment
		err = nil
	}
	return nil, err
}

// make makes a spool for an agent in the first place that can have it.
func (c Config) make(name string, agent uint64) (*Spool, error) {
	missed := c.Not
	for _, p := range c.places() {
		if p.missed(c.Not) {
			continue
		}
		s, err := c.makeIn(p, name, agent, missed)
		for try := 1; errors.Is(err, fs.ErrNotExist) && try < maxTries; try++ {
			s, err = c.makeIn(p, name, agent, missed)
		}
		switch {
		case err == nil:
			return s, nil
		case errors.Is(err, ErrInUse):
			return nil, err
		case !p.session:
			missed = append(missed[:len(missed):len(missed)], Miss{p.dir, err})
		}
	}
	err := errors.New("spool: no directory for it")
	for _, m := range missed {
		err = errors.Join(err, m.Err)
	}
	return nil, err
}

// makeIn makes a spool in a place, after others have been missed. If it fails no files remain.
func (c Config) makeIn(p place, name string, agent uint64, missed []Miss) (*Spool, error) {
	if err := p.fits(c.Max); err != nil {
		return nil, err
	}
	user, taken, err := p.makeUser()
	if err != nil {
		return nil, err
	}
	s := &Spool{Agent: agent, config: c, path: filepath.Join(user, name), place: p, fresh: true}
	if s.lock, err = take(s.path); err == nil {
		if err = s.bound(); err == nil {
			s.said = s.say(missed, taken)
			err = s.writeIdentity()
		}
		if err != nil {
			return nil, errors.Join(err, s.Remove())
		}
		return s, nil
	}
	os.Remove(user) // only if empty
	return nil, err
}

// private makes a directory, if it is missing, and opens it if it is this user's alone.
func private(path string) (*os.File, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("spool: %w", err)
	}
	return openPrivate(path)
}

// errTaken is what is wrong with a name that something else has than a directory of this user alone.
var errTaken = errors.New("it is accessible to other users")

func openPrivate(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil, fmt.Errorf("spool: %w: %w", errTaken, err)
	case err != nil: // no descriptor, or a directory that was removed in this moment: no other user is the cause
		return nil, fmt.Errorf("spool: %w", err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil || int(stat.Uid) != os.Getuid() || stat.Mode&0o077 != 0 {
		f.Close()
		return nil, fmt.Errorf("spool: %s: %w: %w", path, errTaken, errors.Join(fs.ErrPermission, err))
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

// bound bounds the spool by what its user has said, or by what is free where it is.
func (s *Spool) bound() error {
	free, err := freeBytes(s.path)
	if err != nil {
		return err
	}
	bytes := int64(s.config.Max)
	if bytes == 0 {
		bytes = min(maxBytes, free/freeShare)
	}
	if s.place.memory {
		bytes = min(bytes, memoryBytes, free/freeShare)
	}
	bytes = max(bytes, int64(MinBytes))
	if s.Budget == nil {
		s.Budget = NewBudget(bytes)
	} else {
		s.Budget.bound(bytes)
	}
	return nil
}

// maxIdentity is more than any identity has, in bytes.
const maxIdentity = 1 << 20

// identify reads whose it is.
func (s *Spool) identify() error {
	path := filepath.Join(s.path, identityFile)
	data, err := files.ReadFile(path, maxIdentity)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	var id identity
	if err := json.Unmarshal(data, &id); err != nil {
		return fmt.Errorf("spool: %s: %w", path, err)
	}
	if id.Run != s.config.Run || id.Agent == 0 {
		return fmt.Errorf("spool: %s is of run %q, not of %q", path, id.Run, s.config.Run)
	}
	s.Agent, s.said = id.Agent, id.Said
	return nil
}

func (s *Spool) writeIdentity() error {
	data, err := json.Marshal(identity{s.config.Run, s.Agent, s.said})
	if err != nil {
		return err
	}
	path := filepath.Join(s.path, identityFile)
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return os.Rename(path+".new", path)
}

// Path is the directory.
func (s *Spool) Path() string { return s.path }

// Fresh reports whether no earlier life of the agent has left anything in it.
func (s *Spool) Fresh() bool { return s.fresh }

// InMemory reports whether it goes with the directory of the run's rings.
func (s *Spool) InMemory() bool { return s.place.memory }

// Close gives the spool up. The files are kept for a restarted agent.
func (s *Spool) Close() error { return s.lock.Close() }

// Remove removes it with everything in it, and the user's directory when there is nothing else in that.
func (s *Spool) Remove() error {
	err := os.RemoveAll(s.path)
	os.Remove(filepath.Dir(s.path)) // not empty: others are at work
	return errors.Join(err, s.lock.Close())
}
