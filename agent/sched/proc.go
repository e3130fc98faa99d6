package sched

import (
	"bytes"
	"strconv"
	"strings"
)

// maxCPU bounds the numbers of cores that a text may name.
const maxCPU = 1 << 16

// tickNS is the unit of /proc/stat, USER_HZ, which is 100 in a second on all that Linux runs on.
const tickNS = 10_000_000

// parseSchedstat reads /proc/PID/task/TID/schedstat: ns on a core, ns ready to run without one, and how often it got
// one. A kernel that does not keep these says 0 to all.
func parseSchedstat(text []byte) (runNS, waitNS uint64, ok bool) {
	fields := bytes.Fields(text)
	if len(fields) != 3 {
		return 0, 0, false
	}
	run, runErr := strconv.ParseUint(string(fields[0]), 10, 63)
	wait, waitErr := strconv.ParseUint(string(fields[1]), 10, 63)
	if runErr != nil || waitErr != nil || run == 0 && string(fields[2]) == "0" {
		return 0, 0, false
	}
	return run, wait, true
}

// status is what we read of /proc/PID/task/TID/status.
type status struct {
	voluntary, involuntary uint64
	innermost              int // the process's number where it is farthest in, as it knows it itself; 0 = not known
	cpus                   []int
}

func parseStatus(text []byte) (s status) {
	for line := range bytes.Lines(text) {
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimSpace(value)
		switch name {
		case "voluntary_ctxt_switches":
			s.voluntary, _ = strconv.ParseUint(value, 10, 63)
		case "nonvoluntary_ctxt_switches":
			s.involuntary, _ = strconv.ParseUint(value, 10, 63)
		case "NSpid":
			if numbers := strings.Fields(value); len(numbers) > 0 {
				s.innermost, _ = strconv.Atoi(numbers[len(numbers)-1])
			}
		case "Cpus_allowed_list":
			s.cpus = parseList(value)
		}
	}
	return s
}

// parseList reads "0-1,4": the cores that something may run on. What is no list has none.
func parseList(text string) (cpus []int) {
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.Atoi(low)
		last, lastErr := strconv.Atoi(high)
		if err != nil || lastErr != nil || first < 0 || last < first || last >= maxCPU {
			return nil
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// parseStat reads the sum of all cores in /proc/stat: ns in which they ran something, and in which they were to and the
// machine's host let them not.
func parseStat(text []byte) (busyNS, stealNS uint64, ok bool) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0, false
	}
	var ticks [9]uint64 // user nice system idle iowait irq softirq steal; guests are in user and nice
	for i := 1; i < 9; i++ {
		n, err := strconv.ParseUint(fields[i], 10, 63)
		if err != nil || n > 1<<38 {
			return 0, 0, false
		}
		ticks[i] = n
	}
	return (ticks[1] + ticks[2] + ticks[3] + ticks[6] + ticks[7]) * tickNS, ticks[8] * tickNS, true
}
