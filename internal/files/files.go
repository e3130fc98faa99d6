// Package files does in one call what takes several calls of os.
package files

import (
	"errors"
	"os"
	"syscall"
)

// Same reports whether two names are of one regular file that is there, by links or otherwise.
func Same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && x.Mode().IsRegular() && os.SameFile(x, y)
}

// SyncDir makes the names of a directory's files safe from the death of the machine; file systems that cannot are left
// at that.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
