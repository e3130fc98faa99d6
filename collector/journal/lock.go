package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"moriens/internal/files"
)

// lockFile marks a directory as a journal's. The collector that works on it holds its lock, which the kernel releases
// however that ends.
const lockFile = "lock"

// ErrInUse is returned for a journal that another process works on.
var ErrInUse = errors.New("another collector is working on this run")

// claim takes the lock of a directory.
func claim(dir string, log *slog.Logger) (*files.Lock, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	switch owner := info.Sys().(*syscall.Stat_t).Uid; {
	case !info.IsDir():
		return nil, fmt.Errorf("journal %s: not a directory", dir)
	case owner != uint32(os.Getuid()):
		return nil, fmt.Errorf("journal %s: it belongs to user %d", dir, owner)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("journal %s: mode %04o lets other users read the run's token; it must be 0700", dir, info.Mode().Perm())
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	lock, err := files.TryLock(f)
	switch {
	case errors.Is(err, files.ErrLocked):
		f.Close()
		return nil, fmt.Errorf("journal %s: %w", dir, ErrInUse)
	case err != nil:
		log.Warn("this file system has no locks: a second collector cannot be kept from this run", "journal", dir, "error", err)
		return &files.Lock{File: f}, nil
	}
	return lock, nil
}
