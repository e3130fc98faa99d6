package measure

import (
	"log/slog"
	"os"

	"moriens/agent/ring"
	"moriens/agent/spool"
)

// sweep removes what this user's runs that were killed have left on this node.
func sweep(shm, spools string, log *slog.Logger) {
	if n, err := ring.Sweep(shm, os.Getuid()); err != nil || n > 0 {
		log.Warn("removed ring buffers that killed runs left in shared memory", "removed", n, "error", err)
	}
	if n, err := spool.Sweep(spools); err != nil || n > 0 {
		log.Warn("removed spools that killed runs left", "removed", n, "error", err)
	}
}
