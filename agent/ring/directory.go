package ring

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"moriens/internal/files"
)

// DirectoryPath is where the processes of a run leave their files. shm is MORIENS_SHM, which is
// /dev/shm where it is not set.
func DirectoryPath(shm string, uid int, run string) string {
	return filepath.Join(shm, fmt.Sprintf("moriens-%d-%s", uid, run))
}

// DirectoryIn is the directory of a run by a given name, where another user has the run's usual name.
func DirectoryIn(shm, name string, uid int, run string) string {
	if name == "" {
		return DirectoryPath(shm, uid, run)
	}
	return filepath.Join(shm, name)
}

// Fault says that a rank could not record at all.
type Fault struct {
	Name  string // of the file that says so
	Rank  int    // -1 = unknown
	Size  int    // of its world; 0 = unknown
	PID   int
	Errno syscall.Errno
	// Before is the library before libmoriens.so that has answered all calls of the rank itself; empty: there is none, and
	// Errno says why.
	Before string
	// Past is the path of the MPI library that the rank has called past the recording; empty: it has not, and Errno says
	// why.
	Past string
	// Reason is why it calls that, for people; empty: it has found it by dlopen.
	Reason string
}

// Scanned is what a scan found that no scan before it had.
type Scanned struct {
	Processes []string // paths
	Rings     []string
	Faults    []Fault
	Starting  int // ranks that are about to record; of these, those that are still there are found each time
}

// SpoolDir is the directory in a run's that holds the agent's spool where no disk has a place for it: agent/spool.
const SpoolDir = "spool"

// A DirectoryError is why there is no directory for rings.
type DirectoryError struct{ err error }

func (e *DirectoryError) Error() string { return "ring: " + e.err.Error() }
func (e *DirectoryError) Unwrap() error { return e.err }

// Claim makes the directory if it is missing and takes it for this agent, until the lock that it returns is
// closed: two readers of one ring would each see half of it.
func (d *Directory) Claim() (*files.Lock, error) {
	if err := os.Mkdir(d.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, &DirectoryError{err}
	}
	f, err := os.OpenFile(d.path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("ring: %w", err)
	}
	if info, err := f.Stat(); err != nil || !private(info, os.Getuid()) {
		f.Close()
		return nil, fmt.Errorf("ring: %s is accessible to other users: %w", d.path, errors.Join(fs.ErrPermission, err))
	}
	lock, err := files.TryLock(f)
	if err == nil {
		return lock, nil
	}
	f.Close()
	if errors.Is(err, files.ErrLocked) {
		return nil, ErrClaimed
	}
	return nil, fmt.Errorf("ring: %s: %w", d.path, err)
}

// ErrClaimed is returned to a second agent of a run on one node.
var ErrClaimed = errors.New("another agent serves this run on this node")

// Forget makes the next Scan report a file again: it could not be opened for lack of descriptors.
func (d *Directory) Forget(path string) {
	delete(d.seen, filepath.Base(path))
	d.listed = time.Time{}
}

// Path is where the directory is.
func (d *Directory) Path() string { return d.path }

// Pass makes Scan pass over files, by name: an earlier agent has dealt with them.
func (d *Directory) Pass(names ...string) {
	for _, name := range names {
		d.seen[name] = true
	}
}

// ProcessFile is the name of a process's file, and RingFile that of the ring of one of its threads.
func ProcessFile(process uint64) string { return fmt.Sprintf("%016x.process", process) }

// RingFile is described with ProcessFile.
func RingFile(process uint64, thread uint32) string {
	return fmt.Sprintf("%016x.%d.ring", process, thread)
}

// Directory is the directory of one run. One goroutine at a time may use it.
type Directory struct {
	path string
	seen map[string]bool
	// When it was listed, and when it had changed before; zero where it has to be listed again.
	listed, changed time.Time
	readDir         func(string) ([]os.DirEntry, error) // os.ReadDir, except in tests
}

const (
	// listEvery is how long a listing holds if nothing says that the directory has changed.
	listEvery = time.Second
	// listSettled is how much older than a listing the directory's latest change has to be, so that another one shows:
	// file systems count time in ticks of up to 10 ms.
	listSettled = 100 * time.Millisecond
)

// NewDirectory gives the directory at path, which need not exist yet.
func NewDirectory(path string) *Directory {
	return &Directory{path: path, seen: map[string]bool{}, readDir: os.ReadDir}
}

var (
	processName = regexp.MustCompile(`^[0-9a-f]{16}\.process$`)
	ringName    = regexp.MustCompile(`^[0-9a-f]{16}\.[0-9]{1,10}\.ring$`)
	pastName    = regexp.MustCompile(`^past-(-1|[0-9]{1,9})-([0-9]{1,9})-([0-9]{1,9})$`)
	startName   = regexp.MustCompile(`^[0-9a-f]{16}\.start$`)
	faultName   = regexp.MustCompile(`^fault-(-1|[0-9]{1,9})-([0-9]{1,5})(?:-([0-9]{1,9})-([0-9]{1,9}))?$`)
)

// Scan lists what is new, by name. A directory that does not exist holds nothing. A ring may turn up
// one scan before its process. A rank that is about to record is one that starts until its process or its fault is
// found. Start files of ranks that died are removed. Other files are ignored: some are being written, under a leading
// dot.
func (d *Directory) Scan() (Scanned, error) {
	var found Scanned
	var changed time.Time
	if info, err := os.Stat(d.path); err == nil {
		changed = info.ModTime()
	}
	now := time.Now()
	if !d.listed.IsZero() && changed.Equal(d.changed) && now.Sub(d.listed) < listEvery {
		return found, nil
	}
	d.listed = time.Time{}
	entries, starting, err := d.list()
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return found, fmt.Errorf("ring: %w", err)
	}
	found.Starting = starting
	for _, entry := range entries {
		name := entry.Name()
		if d.seen[name] {
			continue
		}
		switch fault := faultName.FindStringSubmatch(name); {
		case processName.MatchString(name):
			found.Processes = append(found.Processes, filepath.Join(d.path, name))
		case ringName.MatchString(name):
			found.Rings = append(found.Rings, filepath.Join(d.path, name))
		case fault != nil:
			var numbers [4]int // the pattern has checked them; libraries before this one have named two
			for i := range numbers {
				numbers[i], _ = strconv.Atoi(fault[1+i])
			}
			f := Fault{Name: name, Rank: numbers[0], Size: numbers[2], PID: numbers[3], Errno: syscall.Errno(numbers[1])}
			if f.Errno == 0 {
				if f.Before = d.text(name); f.Before == "" {
					f.Before = "a library" // the file cannot be read, or is no longer there
				}
			}
			found.Faults = append(found.Faults, f)
		case pastName.MatchString(name):
			past := pastName.FindStringSubmatch(name)
			var numbers [3]int
			for i := range numbers {
				numbers[i], _ = strconv.Atoi(past[1+i])
			}
			library, reason, _ := strings.Cut(d.text(name), "\n")
			if library == "" {
				library = "libmpi" // the file cannot be read, or is no longer there
			}
			found.Faults = append(found.Faults, Fault{Name: name, Rank: numbers[0], Size: numbers[1], PID: numbers[2], Past: library, Reason: reason})
		default:
			continue
		}
		d.seen[name] = true
	}
	if found.Starting == 0 && now.Sub(changed) > listSettled {
		d.listed, d.changed = now, changed
	}
	return found, nil
}

// text is what the file of a fault holds, as far as it can be read: it has its name when it has its text.
func (d *Directory) text(name string) string {
	const maxText = 4096 // the longest path
	f, err := os.OpenFile(filepath.Join(d.path, name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, _ := io.ReadAll(io.LimitReader(f, maxText)) // as far as it can be read
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// list lists the directory, and counts the ranks that are about to record. A start file goes when what the rank records
// to has its name: one that has gone since it was listed may have left a process that the listing lacks.
func (d *Directory) list() ([]os.DirEntry, int, error) {
	for {
		entries, err := d.readDir(d.path)
		if err != nil {
			return nil, 0, err
		}
		starting, gone := 0, false
		for _, entry := range entries {
			if name := entry.Name(); startName.MatchString(name) && !d.seen[name] {
				if d.starts(name) {
					starting++
				} else { // and no other rank's has that name
					d.seen[name], gone = true, true
				}
			}
		}
		if !gone {
			return entries, starting, nil
		}
	}
}

// starts reports whether the rank that made a start file lives and is about to record, or whether that cannot be
// determined.
func (d *Directory) starts(name string) bool {
	path := filepath.Join(d.path, name)
	locked, err := lockedFile(path)
	if err == nil && !locked {
		os.Remove(path)
	}
	return locked || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// Clear removes what the run's processes have left, and the agent's spool where that is here. Processes that still map
// their files are not disturbed, nor is one that is making them: it would not record, and not report the reason to the
// user at its end.
func (d *Directory) Clear() error {
	if err := os.RemoveAll(filepath.Join(d.path, SpoolDir)); err != nil {
		return fmt.Errorf("ring: %w", err)
	}
	return d.clear(ours)
}

// ours reports whether a file is one that a process of the run makes, by its name.
func ours(name string) bool {
	return processName.MatchString(name) || ringName.MatchString(name) || faultName.MatchString(name) || pastName.MatchString(name) || startName.MatchString(name)
}

func (d *Directory) clear(ours func(name string) bool) error {
	entries, err := os.ReadDir(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ring: %w", err)
	}
	for _, entry := range entries {
		if !ours(entry.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(d.path, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("ring: %w", err)
		}
	}
	return nil
}

// Remove removes what the run's processes and its agent have left, and the directory if then nothing is in it.
func (d *Directory) Remove() error {
	if err := d.Clear(); err != nil {
		return err
	}
	err := d.clear(func(name string) bool {
		made := strings.TrimPrefix(name, ".") // a dot: a file that was being made
		return made == AgentFile || ours(made)
	})
	if err != nil {
		return err
	}
	if err := os.Remove(d.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ring: %w", err)
	}
	return nil
}

// Retire is how an agent to which no rank has connected ends: the files of ranks that died are deleted, and the
// directory with them. First the agent's file is moved out of sight, so that a rank which connects from then on starts
// another agent; that rank's files are left to the new agent. Then found looks for ranks that have seen the file
// before: where there are any the agent keeps running, unless another one is there by now, and Retire returns false.
func (d *Directory) Retire(found func() (bool, error)) (bool, error) {
	left, err := os.ReadDir(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("ring: %w", err)
	}
	file, aside := filepath.Join(d.path, AgentFile), filepath.Join(d.path, "."+AgentFile)
	if err := os.Rename(file, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("ring: %w", err)
	}
	some, err := found()
	if some || err != nil {
		linkErr := os.Link(aside, file)
		for errors.Is(linkErr, fs.ErrExist) && beingStarted(file) { // a rank that fails removes it
			time.Sleep(time.Millisecond)
			linkErr = os.Link(aside, file)
		}
		if linkErr == nil || errors.Is(linkErr, fs.ErrExist) {
			os.Remove(aside)
		}
		return errors.Is(linkErr, fs.ErrExist), err
	}
	for _, entry := range left {
		if name := entry.Name(); name == SpoolDir || ours(strings.TrimPrefix(name, ".")) {
			if err := os.RemoveAll(filepath.Join(d.path, name)); err != nil {
				return true, fmt.Errorf("ring: %w", err)
			}
		}
	}
	os.Remove(aside)
	os.Remove(d.path) // unless it is another agent's by now
	return true, nil
}

// Abandon removes the directory if nothing is in it: its agent gives up, and no rank has arrived.
func (d *Directory) Abandon() { os.Remove(d.path) }
