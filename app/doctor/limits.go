package doctor

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func probeLimits() Limits {
	l := Limits{CPUs: runtime.NumCPU(), AllCPUs: allCPUs(), PIDs: -1}
	l.Descriptors, l.DescriptorsHard = limit(unix.RLIMIT_NOFILE)
	l.Locked, _ = limit(unix.RLIMIT_MEMLOCK)
	l.Threads, _ = limit(unix.RLIMIT_NPROC)
	for _, dir := range cgroups("/proc/self/cgroup", "/sys/fs/cgroup") {
		if n, err := strconv.ParseInt(readText(filepath.Join(dir, "pids.max")), 10, 64); err == nil && (l.PIDs < 0 || n < l.PIDs) {
			l.PIDs = n
		}
		if quota := cpuQuota(dir); quota > 0 && (l.Quota == 0 || quota < l.Quota) {
			l.Quota = quota
		}
	}
	return l
}

// limit returns the soft and the hard one; -1 is none.
func limit(resource int) (soft, hard int64) {
	var r unix.Rlimit
	if unix.Getrlimit(resource, &r) != nil {
		return -1, -1
	}
	number := func(n uint64) int64 {
		if n > math.MaxInt64 {
			return -1
		}
		return int64(n)
	}
	return number(r.Cur), number(r.Max)
}

func allCPUs() int {
	paths, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	online := 0
	for _, path := range paths {
		if state, err := os.ReadFile(filepath.Join(path, "online")); err != nil || strings.TrimSpace(string(state)) == "1" {
			online++
		}
	}
	return max(online, runtime.NumCPU())
}

// cgroups lists the directories of the cgroups that a process is in, version 1 or 2, and those above them: each limits
// it.
func cgroups(table, root string) []string {
	var list []string
	for line := range strings.Lines(readText(table) + "\n") {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		base := root
		if fields[1] != "" {
			base = filepath.Join(root, strings.TrimPrefix(fields[1], "name="))
		}
		for dir := filepath.Join(base, fields[2]); ; dir = filepath.Dir(dir) {
			list = append(list, dir)
			if len(dir) <= len(base) {
				break
			}
		}
	}
	return list
}

// cpuQuota is how many CPUs' time a cgroup has; 0: as much as there is.
func cpuQuota(dir string) float64 {
	quota, period, _ := strings.Cut(readText(filepath.Join(dir, "cpu.max")), " ")
	if quota == "" {
		quota, period = readText(filepath.Join(dir, "cpu.cfs_quota_us")), readText(filepath.Join(dir, "cpu.cfs_period_us"))
	}
	q, err := strconv.ParseFloat(quota, 64)
	p, errPeriod := strconv.ParseFloat(period, 64)
	if err != nil || errPeriod != nil || q <= 0 || p <= 0 {
		return 0
	}
	return q / p
}
