package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrLocked is returned for what another process, or another opening of the file in this one, has locked.
var ErrLocked = errors.New("locked by another process")

// Lock is an open file or directory that is locked. The kernel unlocks it however its process ends.
type Lock struct{ *os.File }

// TryLock locks an open file or directory and takes it over. On failure it is the caller's still.
func TryLock(f *os.File) (*Lock, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, err
	}
	return &Lock{f}, nil
}

// Close unlocks the file and closes it. Closing alone would leave it locked as long as a process that is being forked
// in this moment has not got to its own program: until then that has the same open file.
func (l *Lock) Close() error {
	unix.Flock(int(l.Fd()), unix.LOCK_UN) // what cannot be unlocked is not locked: some file systems have no locks
	return l.File.Close()
}
