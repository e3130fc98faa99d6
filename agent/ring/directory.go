package ring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// DirectoryPath is where the processes of a run leave their files. shm is MORIENS_SHM, which is
// /dev/shm where it is not set.
func DirectoryPath(shm string, uid int, run string) string {
	return filepath.Join(shm, fmt.Sprintf("moriens-%d-%s", uid, run))
}

// Fault says that a rank could not record at all.
type Fault struct {
	Rank  int // -1 = unknown
	Errno syscall.Errno
}

// Found is what a scan has found that no scan before it had.
type Found struct {
	Processes []string // paths
	Rings     []string
	Faults    []Fault
}

// Directory is the directory of one run. One goroutine at a time may use it.
type Directory struct {
	path string
	seen map[string]bool
}

// NewDirectory gives the directory at path, which need not exist yet.
func NewDirectory(path string) *Directory {
	return &Directory{path: path, seen: map[string]bool{}}
}

var (
	processName = regexp.MustCompile(`^[0-9a-f]{16}\.process$`)
	ringName    = regexp.MustCompile(`^[0-9a-f]{16}\.[0-9]{1,10}\.ring$`)
	faultName   = regexp.MustCompile(`^fault-(-1|[0-9]{1,9})-([0-9]{1,5})$`)
)

// Scan lists what is new, by name. A directory that does not exist holds nothing. A ring may turn up
// one scan before its process. Other files are ignored: some are being written, under a leading dot.
func (d *Directory) Scan() (Found, error) {
	var found Found
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return found, fmt.Errorf("ring: %w", err)
	}
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
			rank, _ := strconv.Atoi(fault[1])
			errno, _ := strconv.Atoi(fault[2])
			found.Faults = append(found.Faults, Fault{Rank: rank, Errno: syscall.Errno(errno)})
		default:
			continue
		}
		d.seen[name] = true
	}
	return found, nil
}

// Remove removes what the run's processes have left, and the directory if then nothing is in it. Processes
// that still map their files are not disturbed.
func (d *Directory) Remove() error {
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ring: %w", err)
	}
	for _, entry := range entries {
		name := strings.TrimPrefix(entry.Name(), ".") // a file that was being made
		if processName.MatchString(name) || ringName.MatchString(name) || faultName.MatchString(name) {
			if err := os.Remove(filepath.Join(d.path, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("ring: %w", err)
			}
		}
	}
	if err := os.Remove(d.path); err != nil {
		return fmt.Errorf("ring: %w", err)
	}
	return nil
}

// Sweep removes the directories of the user's runs in which no process lives: a moriens that was killed
// leaves its run's behind, in memory. It returns how many there were.
func Sweep(shm string, uid int) (int, error) {
	paths, err := filepath.Glob(DirectoryPath(shm, uid, "*"))
	if err != nil {
		return 0, fmt.Errorf("ring: %w", err)
	}
	removed := 0
	for _, path := range paths {
		info, err := os.Lstat(path)
		// A young one may belong to a run whose first rank is about to start.
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < sweepAge || inUse(path) {
			continue
		}
		if err := NewDirectory(path).Remove(); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

const sweepAge = 10 * time.Minute

// inUse says whether a process of the run lives, or whether that cannot be told.
func inUse(path string) bool {
	found, err := NewDirectory(path).Scan()
	if err != nil {
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
