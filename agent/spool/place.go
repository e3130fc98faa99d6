package spool

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"moriens/agent/ring"
	"moriens/internal/units"
)

// A place is where a user's directories of spools can be.
type place struct {
	dir     string
	session bool // it is the user's alone, small, and goes with the session: XDG_RUNTIME_DIR
	memory  bool // it is the directory of the run's rings
}

// A Miss is a place that cannot have a spool, and why.
type Miss struct {
	Place string
	Err   error
}

// Miss is that of this spool's place.
func (s *Spool) Miss(err error) Miss { return Miss{s.place.dir, err} }

// Said is the notice for the user about the place of the spool: empty where it is the usual one.
func (s *Spool) Said() string { return s.said }

// say says where the spool is after places have been missed, or where another user has the usual name of this user's
// directory.
func (s *Spool) say(missed []Miss, taken error) string {
	why := missed
	if taken != nil {
		why = append(why[:len(why):len(why)], Miss{s.place.dir, taken})
	}
	if len(why) == 0 {
		return ""
	}
	var texts []string
	for _, m := range why {
		lines := strings.Split(m.Err.Error(), "\n")
		for i := range lines {
			lines[i] = strings.TrimPrefix(lines[i], "spool: ")
		}
		text := strings.Join(lines, "; ")
		if !strings.Contains(text, m.Place) {
			text = m.Place + ": " + text
		}
		texts = append(texts, text)
	}
	where := "in " + filepath.Dir(s.path)
	if s.place.memory {
		where = fmt.Sprintf("in memory, %s at most", units.Bytes(s.Budget.Max()))
	}
	return fmt.Sprintf("the spool is %s: %s", where, strings.Join(texts, "; "))
}

var temporary = "/tmp" // tests have their own

// places lists where a spool can be, in the order in which they are tried.
func (c Config) places() (list []place) {
	add := func(p place) {
		if p.dir == "" {
			return
		}
		if p.dir = filepath.Clean(p.dir); !slices.ContainsFunc(list, func(o place) bool { return o.dir == p.dir }) {
			list = append(list, p)
		}
	}
	add(place{dir: c.Dir})
	add(place{dir: runtimeDir(), session: true})
	add(place{dir: os.Getenv("TMPDIR")})
	add(place{dir: temporary})
	add(place{dir: c.Shm, memory: true})
	add(place{dir: c.RunDir})
	return list
}

// runtimeDir is XDG_RUNTIME_DIR where it is what it should be; batch systems pass it on to nodes that do not have it.
func runtimeDir() string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(dir) {
		return ""
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
		return ""
	}
	return dir
}

// batch are variables of the batch systems, whose jobs outlive a session of their user on the node.
var batch = []string{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "PALS_APID", "ALPS_APP_ID", "COBALT_JOBID", "OAR_JOB_ID", "SGE_TASK_ID"}

// sessionBytes is the least bound of a spool that is worth to go to a session's directory, which is mostly memory.
const sessionBytes = 64 << 20

// fits says why a place cannot have a spool of so many bytes, 0 for as many as it gets; nil: perhaps it can.
func (p place) fits(most units.Bytes) error {
	if !p.session && !p.memory {
		if err := os.MkdirAll(p.dir, 0o700); err != nil {
			return fmt.Errorf("spool: %w", err)
		}
	}
	least := int64(MinBytes)
	switch {
	case p.memory:
		least *= 2 // the rings are there
	case p.session:
		if slices.ContainsFunc(batch, func(name string) bool { return os.Getenv(name) != "" }) {
			return fmt.Errorf("spool: %s is removed at logout, and this is a batch job", p.dir)
		}
		if least = int64(most); least == 0 {
			least = freeShare * sessionBytes
		}
	}
	free, err := freeBytes(p.dir)
	if err == nil && free < least {
		err = fmt.Errorf("spool: %s: %w: %s free, of %s", p.dir, unix.ENOSPC, units.Bytes(free), units.Bytes(least))
	}
	return err
}

func freeBytes(path string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return 0, fmt.Errorf("spool: %s: %w", path, err)
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil
}

// missed reports whether a place is among those that have failed.
func (p place) missed(list []Miss) bool {
	return slices.ContainsFunc(list, func(m Miss) bool { return m.Place == p.dir })
}

// usual is the name of the user's directory in a place, which can be guessed, and so be taken. Others begin with random
// characters.
func (p place) usual() string {
	if p.memory {
		return filepath.Join(p.dir, ring.SpoolDir)
	}
	return filepath.Join(p.dir, fmt.Sprintf("moriens-%d", os.Getuid()))
}

func (p place) random() string {
	return filepath.Join(p.dir, fmt.Sprintf("moriens-spool-%d-", os.Getuid()))
}

// users lists the user's directories of spools that are in a place.
func (p place) users() (list []string) {
	names := []string{p.usual()}
	if !p.memory {
		entries, _ := os.ReadDir(p.dir) // no place, no spool
		for _, e := range entries {
			if path := filepath.Join(p.dir, e.Name()); strings.HasPrefix(path, p.random()) {
				names = append(names, path)
			}
		}
	}
	for _, path := range names {
		if f, err := openPrivate(path); err == nil {
			f.Close()
			list = append(list, path)
		}
	}
	return list
}

// makeUser makes the user's directory of spools, if it is missing, and returns where it is. Where another user has its
// usual name it has one that nobody can guess, and taken says who that user is.
func (p place) makeUser() (path string, taken, err error) {
	f, err := private(p.usual())
	if err == nil {
		return p.usual(), nil, f.Close()
	}
	if p.memory || !errors.Is(err, errTaken) {
		return "", nil, err
	}
	taken = err
	if others := p.users(); len(others) > 0 {
		return others[0], taken, nil
	}
	var b [8]byte
	rand.Read(b[:]) // never fails, crypto/rand
	path = p.random() + hex.EncodeToString(b[:])
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", nil, errors.Join(taken, fmt.Errorf("spool: %w", err))
	}
	return path, taken, nil
}

// again makes the directory again after its removal, with or without its contents, for the same agent; in another place
// where it cannot be there.
func (s *Spool) again() error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(s.lock.Fd()), &stat); err == nil && stat.Nlink > 0 { // it is there, and taken
		if err := s.writeIdentity(); err == nil {
			return nil
		}
	}
	made, err := s.config.makeIn(s.place, filepath.Base(s.path), s.Agent, nil)
	if errors.Is(err, ErrInUse) {
		err = fmt.Errorf("%s: %w", s.path, fs.ErrExist) // by ourselves: there it cannot be
	}
	if err != nil {
		c := s.config
		c.Not = append(slices.Clone(c.Not), s.Miss(err))
		if made, err = c.make(filepath.Base(s.path), s.Agent); err != nil {
			return err
		}
		os.RemoveAll(s.path) // so that no agent resumes with the rest of it
	}
	s.lock.Close()
	s.path, s.lock, s.place, s.said = made.path, made.lock, made.place, made.said
	s.Budget.bound(made.Budget.Max())
	return nil
}
