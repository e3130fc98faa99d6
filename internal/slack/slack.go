// Package slack gives a process a timer slack of 1 ms: its timers may fire that much late, so that the kernel has it
// sleep longer and wakes it less often. Go's monitor thread alone would wake 20,000 times a second while anything runs.
//
// The slack is of a thread (prctl(2), PR_SET_TIMERSLACK). Threads inherit that of the thread that starts them, and the
// monitor thread is started before main; but slack survives execve(2). So Widen sets it and starts the program again in
// the same process. Programs that the process starts get the slack that it was started with itself, by Start.
package slack

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	wide = int(time.Millisecond)
	// variable has the slack that the program had at first, in ns, for the one that is started again, which takes it out
	// of its environment.
	variable = "MORIENS_TIMER_SLACK"
)

// before is the slack that this process was started with, in ns; 0: its threads have that still.
var before int

// Widen gives all threads of this process a slack of 1 ms, unless they have as much: the program begins again, so that
// main calls it before anything else. Where that is not possible it returns, and the slack is what it was.
func Widen() {
	now, err := of()
	if text, again := os.LookupEnv(variable); again {
		os.Unsetenv(variable)
		if ns, parseErr := strconv.Atoi(text); parseErr == nil && ns > 0 && err == nil && now == wide {
			before = ns
		}
		return
	}
	path, known := self()
	if err != nil || now <= 0 || now >= wide || !known {
		return
	}
	runtime.LockOSThread() // execve leaves this thread alone
	defer runtime.UnlockOSThread()
	if set(wide) != nil {
		return
	}
	var files unix.Rlimit
	limited := unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	syscall.Exec(path, os.Args, append(os.Environ(), variable+"="+strconv.Itoa(now)))
	if limited == nil { // Exec has lowered it to what it was before Go raised it
		unix.Prlimit(0, unix.RLIMIT_NOFILE, &files, nil)
	}
	set(now)
}

// self is the path of this program, unless another file is there by now. By its path, and not by /proc/self/exe, the
// program keeps its name in lists of processes.
func self() (path string, known bool) {
	path, err := os.Executable()
	if err != nil {
		return "", false
	}
	running, err := os.Stat("/proc/self/exe")
	if err != nil {
		return "", false
	}
	there, err := os.Stat(path)
	return path, err == nil && os.SameFile(running, there)
}

// Start starts a program with the slack that this process was started with.
func Start(cmd *exec.Cmd) error {
	if before == 0 {
		return cmd.Start()
	}
	runtime.LockOSThread() // the program inherits that of the thread that starts it; threads do not from one that is locked
	defer runtime.UnlockOSThread()
	if set(before) == nil {
		defer set(wide)
	}
	return cmd.Start()
}

// of is the slack of the calling thread.
func of() (ns int, err error) { return unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0) }

// set sets it.
func set(ns int) error { return unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(ns), 0, 0, 0) }
