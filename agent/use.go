package agent

import (
	"time"

	"golang.org/x/sys/unix"

	moriensv1 "moriens/proto/moriens/v1"
)

// use is what this process and earlier lives of the agent have used: of the processor in sum, of memory at most.
func (n *Node) use() (cpu time.Duration, peakBytes uint64) {
	cpu, peakBytes = processUse()
	return n.cpu + cpu, max(n.peak, peakBytes)
}

// processUse is what this process has used; nothing where the system does not say.
func processUse() (cpu time.Duration, peakBytes uint64) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), uint64(u.Maxrss) << 10
}

func (n *Node) describeDone() *moriensv1.Done {
	cpu, peak := n.use()
	full, dropped := n.fullSoFar()
	return &moriensv1.Done{
		Resent: n.up.Stats().Resent, Restarts: n.restarts, CpuNs: uint64(cpu), PeakBytes: peak, Shared: n.config.Shared,
		SpoolPeakBytes: uint64(n.spool.Budget.OutboxPeak()), SpoolFullNs: uint64(full), SpoolFullDropped: dropped, SpoolCutBytes: uint64(n.outbox.Cut()), Windows: n.windows.describe(),
	}
}
