package timing

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// A Usage is what a process has taken.
type Usage struct {
	CPU      float64 // seconds of processor time, of all its threads
	Switches float64 // times that one of its threads had nothing to do and slept
	Resident float64 // bytes
	Peak     float64 // of them at most
	Shared   float64 // of Resident, memory that it shares with others: of the ranks' rings, what is mapped
}

// UsageOf reads the process's clock (clock_getcpuclockid(3)) and /proc (proc(5)).
func UsageOf(pid int) (u Usage, err error) {
	if u.CPU, err = processorTime(pid); err != nil {
		return u, err
	}
	for name, bytes := range map[string]*float64{"VmRSS": &u.Resident, "VmHWM": &u.Peak, "RssShmem": &u.Shared} {
		if *bytes, err = status(fmt.Sprintf("/proc/%d/status", pid), name); err != nil {
			return u, err
		}
		*bytes *= 1024
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		return u, err
	}
	for _, task := range tasks {
		n, err := status(task, "voluntary_ctxt_switches")
		if err != nil {
			return u, err
		}
		u.Switches += n
	}
	return u, nil
}

// CPU is the processor time that this process has taken so far, in seconds, of all its threads: what UsageOf says of
// it, in a microsecond.
func CPU() (seconds float64, err error) { return processorTime(os.Getpid()) }

// status is a number in a status file.
func status(path, name string) (float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, name+":"); is {
			return strconv.ParseFloat(strings.Fields(value)[0], 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", path, name)
}

// processorTime is the seconds that all threads of a process have run, those included that have ended.
func processorTime(pid int) (float64, error) {
	const scheduled = 2 // CPUCLOCK_SCHED of all threads
	var t syscall.Timespec
	clock := ^uintptr(pid)<<3 | scheduled
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return 0, fmt.Errorf("processor time of process %d: %w", pid, errno)
	}
	return time.Duration(t.Nano()).Seconds(), nil
}
