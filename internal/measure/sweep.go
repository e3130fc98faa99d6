package measure

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"moriens/agent/ring"
	"moriens/agent/spool"
)

// sweep removes what this user's runs that were killed have left on this node.
func sweep(shm, spools string, log *slog.Logger) {
	if n, err := ring.Sweep(shm, os.Getuid()); err != nil || n > 0 {
		log.Warn("runs that were killed had left their rings in shared memory", "removed", n, "error", err)
	}
	if n, err := spool.Sweep(spools); err != nil || n > 0 {
		log.Warn("runs that were killed had left their spools", "removed", n, "error", err)
	}
	if n := sweepSockets(os.TempDir()); n > 0 {
		log.Warn("runs that were killed had left their sockets", "removed", n)
	}
}

// A run's socket has a directory of its own.
const (
	socketPrefix = "moriens-socket-"
	socketName   = "collector"
)

// sweepSockets removes the sockets of this user's runs that were killed: nobody listens there any more.
func sweepSockets(dir string) (removed int) {
	paths, _ := filepath.Glob(filepath.Join(dir, socketPrefix+"*", socketName)) // no such directory: none
	for _, path := range paths {
		parent, err := os.Lstat(filepath.Dir(path))
		if err != nil || !parent.IsDir() || parent.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
			continue
		}
		conn, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			conn.Close()
		}
		if errors.Is(err, syscall.ECONNREFUSED) && os.RemoveAll(filepath.Dir(path)) == nil {
			removed++
		}
	}
	return removed
}
