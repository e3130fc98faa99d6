package doctor

import (
	"fmt"
	"math"

	"moriens/internal/units"
)

func checkMemory(s Memory) []Finding {
	directory := Finding{ID: "memory", Status: OK, Found: fmt.Sprintf("%s: %s, %s free of %s", s.Path, s.Type, size(s.Free), size(s.Bytes))}
	if s.NoExec {
		directory.Facts = append(directory.Facts, "noexec: harmless, nothing is executed from there")
	}
	switch {
	case s.Error != "":
		directory = Finding{ID: "memory", Status: Fatal, Found: s.Path + " cannot be used", Why: s.Error,
			Do: "name a directory on a memory file system with --shm or MORIENS_SHM (containers: --shm-size, or mount a tmpfs)"}
		return []Finding{directory}
	case s.Write != "" && s.Bytes < s.MinimumBytes:
		directory.Status, directory.Why = Fatal, fmt.Sprintf("it is too small: a rank needs at least %s", size(s.MinimumBytes))
		directory.Do = larger(s.Path) + ", or name another directory with --shm or MORIENS_SHM"
		return []Finding{directory}
	case s.Write != "" && s.Free < s.MinimumBytes:
		directory.Status, directory.Why, directory.Do = Fatal, "it is full: "+s.Write, "free some space, or name another directory with --shm or MORIENS_SHM"
		return append([]Finding{directory}, checkLeftovers(s)...)
	case s.Write != "":
		directory.Status, directory.Why = Fatal, "no file can be created there: "+s.Write
		directory.Do = "make it writable for this user, or name another directory with --shm or MORIENS_SHM"
		return []Finding{directory}
	case !s.InMemory:
		directory.Status, directory.Why = Warn, "it is not in memory: every record would be written to disk, and MPI calls would wait"
		directory.Do = "name a directory on a tmpfs with --shm or MORIENS_SHM"
	}
	return append([]Finding{directory, checkSpace(s)}, checkLeftovers(s)...)
}

// checkSpace compares what the ranks' files take with what the library allows itself: no file takes more than a quarter
// of what is free by the CPUs of the machine.
func checkSpace(s Memory) Finding {
	ranks := uint64(s.Ranks)
	whole := ranks * (s.RingBytes + s.ProcessBytes)
	f := Finding{ID: "memory.room", Status: OK, Found: fmt.Sprintf("%s for %s with one thread each", size(whole), units.Count(s.Ranks, "rank"))}
	if !s.RanksWereSaid {
		f.Facts = append(f.Facts, "one rank per CPU; --ranks sets another number")
	}
	share := s.Free / (4 * uint64(s.CPUs))
	switch {
	case s.Free < ranks*s.MinimumBytes:
		f.Status = Warn
		f.Why = fmt.Sprintf("%s free, but at least %s needed for %s: the last ones run unrecorded", size(s.Free), size(ranks*s.MinimumBytes), units.Count(s.Ranks, "rank"))
		f.Do = "free space, or " + larger(s.Path)
	case share < s.RingBytes || s.Free < whole:
		f.Status = Warn
		f.Why = fmt.Sprintf("ring buffers will be smaller than the %s of MORIENS_RING: a file takes at most a quarter of the free space divided by the CPUs, %s", size(s.RingBytes), size(share))
		f.Do = "free space, or " + larger(s.Path)
	}
	return f
}

func larger(path string) string {
	return "mount it larger: mount -o remount,size=… " + path + " (containers: --shm-size)"
}

func checkLeftovers(s Memory) []Finding {
	var bytes uint64
	var facts []string
	for _, l := range s.Leftovers {
		bytes += l.Bytes
		facts = append(facts, l.Path)
	}
	if len(facts) == 0 {
		return nil
	}
	return []Finding{{
		ID: "memory.leftovers", Status: Warn, Found: fmt.Sprintf("%s left %s in %s", units.Count(len(facts), "ended run"), size(bytes), s.Path), Facts: facts,
		Why: "their moriens process was killed", Do: "the next moriens run removes them",
	}}
}

func checkLimits(m Machine) []Finding {
	l, ranks := m.Limits, int64(m.Memory.Ranks)
	descriptors := Finding{ID: "limits.descriptors", Status: OK, Found: number(l.Descriptors) + " open files per process"}
	if need := ranks + 256; l.Descriptors >= 0 && l.Descriptors < need {
		descriptors.Status, descriptors.Why = Warn, fmt.Sprintf("the agent needs one per rank, and some for debug information: about %d", need)
		descriptors.Do = fmt.Sprintf("ulimit -n %d (the hard limit is %s)", need, number(l.DescriptorsHard))
	}
	threads := Finding{ID: "limits.threads", Status: OK, Found: fmt.Sprintf("%s processes and threads per user, %s in this cgroup", number(l.Threads), number(l.PIDs))}
	for _, limit := range []int64{l.Threads, l.PIDs} {
		if need := 32 + 8*ranks; limit >= 0 && limit < need && threads.Status == OK {
			threads.Status, threads.Why = Warn, fmt.Sprintf("agent and collector need up to 32, each MPI rank about 8: %d", need)
			threads.Do = "raise ulimit -u, or the cgroup's pids.max"
		}
	}
	locked := Finding{ID: "limits.locked", Status: OK, Found: size64(l.Locked) + " of locked memory: ring buffers need none"}
	cpus := Finding{ID: "limits.cpus", Status: OK, Found: fmt.Sprintf("%d of %d CPUs", l.CPUs, l.AllCPUs)}
	if l.Quota > 0 {
		cpus.Found += fmt.Sprintf(", %.2g of them by the cgroup's quota", l.Quota)
		if l.Quota < float64(l.CPUs) {
			cpus.Status, cpus.Why, cpus.Do = Warn, "the cgroup stops processes that have used up their quota: some bursts get longer at random", "raise cpu.max, or start at most as many ranks as the quota has CPUs"
		}
	}
	return []Finding{descriptors, threads, locked, cpus}
}

func number(n int64) string {
	if n < 0 {
		return "unlimited"
	}
	return fmt.Sprint(n)
}

func size64(n int64) string {
	if n < 0 {
		return "unlimited"
	}
	return units.Bytes(n).String()
}

// size writes what is counted without a sign, as file systems do; some that have no end say more than there are numbers
// with one.
func size(n uint64) string { return units.Bytes(min(n, math.MaxInt64)).String() }
