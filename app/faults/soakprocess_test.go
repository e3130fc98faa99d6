package faults

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// processes lists the round's own, by their environment: those that have this in it too.
func (r *soakRound) processes(with string) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env := procFile(pid, "environ") // of one that has ended it is empty
		if slices.Contains(env, mark+r.work) && (with == "" || slices.Contains(env, with)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// procFile is what /proc says of a process, in strings.
func procFile(pid int, name string) []string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	return strings.Split(string(data), "\x00")
}

// A held is a process of a plain preload's agent. The descriptor refers to this process alone, even if another has its
// number later.
type held struct {
	pid, fd int
	agent   bool // not its parent
	starter int  // the rank's process that has started the parent
}

// preloaded are those of the round, parents first. An agent that its parent has only just begun has the parent's
// command line yet, and counts as one.
func (r *soakRound) preloaded() (list []held) {
	for _, pid := range r.processes("") {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has ended
		}
		r.t.Cleanup(func() { unix.Close(fd) })
		args := procFile(pid, "cmdline") // after it is held, and so its own
		if len(args) < 2 || args[1] != "preloaded" {
			continue
		}
		p := held{pid: pid, fd: fd, agent: slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--agent=") })}
		if i := slices.Index(args, "--starter"); i >= 0 && i+1 < len(args) {
			p.starter, _ = strconv.Atoi(args[i+1])
		}
		list = append(list, p)
	}
	slices.SortStableFunc(list, func(a, b held) int { return strings.Compare(strconv.FormatBool(a.agent), strconv.FormatBool(b.agent)) })
	return list
}

func (p held) signal(s syscall.Signal) {
	unix.PidfdSendSignal(p.fd, s, nil, 0) // that it has ended is no error
}

// awaitEnd waits until all of its threads have ended, and with them its locks. It may be a zombie then.
func (p held) awaitEnd(t *testing.T) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, 1000); n > 0 && err == nil {
			return
		}
	}
	t.Errorf("process %d does not die", p.pid)
}

// standing says where the round's processes are.
func (r *soakRound) standing() string {
	var b strings.Builder
	for _, pid := range r.processes("") {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", pid))
		fmt.Fprintf(&b, "%d %s [%s]\n", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '}), state)
	}
	return b.String()
}

// endAll ends processes, and waits until they are gone.
func (r *soakRound) endAll(pids []int) {
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	for deadline := time.Now().Add(time.Minute); len(r.processes("")) > 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		for _, pid := range r.processes("") {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
