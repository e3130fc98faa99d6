//go:build !quick

package slack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// role makes the test program another one: what it does before it reports.
const role = "MORIENS_SLACK_ROLE"

// A report is what such a program finds.
type report struct {
	PID, Parent  int
	Args         []string
	Input, Dir   string
	Name         string // in lists of processes
	Own, Child   int    // slack
	Threads      []int  // of those that may be read
	Leaves       bool   // the variable is in its environment,
	LeavesChild  bool   // or in that of a program that it starts
	ChildFailure string
	Files        unix.Rlimit // open files
}

func TestMain(m *testing.M) {
	what, is := os.LookupEnv(role)
	if !is {
		os.Exit(m.Run())
	}
	if _, again := os.LookupEnv(variable); what != "" && !again {
		if err := displace(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	Widen()
	if err := json.NewEncoder(os.Stdout).Encode(look()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// displace removes the file of this program, has another one take its place, or makes it one that nobody may start.
func displace(what string) error {
	path, err := os.Executable()
	if err == nil && what == "no program" {
		return os.Chmod(path, 0o600)
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err == nil && what == "replaced" {
		err = os.WriteFile(path, []byte("#!/bin/sh\necho another program\n"), 0o700)
	}
	return err
}

// look reports what this process is like.
func look() (r report) {
	r.PID, r.Parent, r.Args = os.Getpid(), os.Getppid(), os.Args[1:]
	input, _ := io.ReadAll(os.Stdin)
	r.Input = string(input)
	r.Dir, _ = os.Getwd()
	name, _ := os.ReadFile("/proc/self/comm")
	r.Name = strings.TrimSpace(string(name))
	r.Own, _ = of()
	unix.Getrlimit(unix.RLIMIT_NOFILE, &r.Files)
	_, r.Leaves = os.LookupEnv(variable)
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		if text, err := os.ReadFile(filepath.Join("/proc", task.Name(), "timerslack_ns")); err == nil {
			ns, _ := strconv.Atoi(strings.TrimSpace(string(text)))
			r.Threads = append(r.Threads, ns)
		}
	}
	cmd := exec.Command("sh", "-c", "cat /proc/self/timerslack_ns; env")
	var said, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &failed
	err := Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		r.ChildFailure = fmt.Sprintf("%v: %s", err, &failed)
	}
	first, rest, _ := strings.Cut(said.String(), "\n")
	r.Child, _ = strconv.Atoi(first)
	r.LeavesChild = strings.Contains(rest, variable+"=")
	// A thread that comes now is like the others.
	again := make(chan int)
	go func() {
		runtime.LockOSThread()
		ns, _ := of()
		again <- ns
	}()
	r.Threads = append(r.Threads, <-again)
	return r
}

// started starts this test program from a thread of that slack, as one that reports.
func started(t *testing.T, program string, ns int, env ...string) (r report) {
	t.Helper()
	cmd := exec.Command(program, "--an", "argument with spaces")
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = t.TempDir()
	cmd.Stdin = strings.NewReader("typed")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := func() error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		was, err := of()
		if err != nil {
			return err
		}
		if err := set(ns); err != nil {
			return err
		}
		defer set(was)
		return cmd.Start()
	}()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	if r.PID != cmd.Process.Pid || r.Parent != os.Getpid() || !slices.Equal(r.Args, cmd.Args[1:]) || r.Input != "typed" || r.Dir != cmd.Dir {
		t.Errorf("it is another process: %+v, started as %d in %s with %q", r, cmd.Process.Pid, cmd.Dir, cmd.Args[1:])
	}
	if want := filepath.Base(program); r.Name != want[:min(len(want), 15)] {
		t.Errorf("its name is %q, of %s", r.Name, program)
	}
	if r.Leaves || r.LeavesChild || r.ChildFailure != "" {
		t.Errorf("what it leaves: %+v", r)
	}
	return r
}

// copied is a copy of this test program, which may be lost.
func copied(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copied")
	if err := os.WriteFile(path, text, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// All threads of a process get the slack, those included that are there before main, and programs that it starts that
// which it was started with.
func TestWiden(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const more = 3 * int(time.Millisecond)
	for _, x := range []struct {
		name            string
		slack           int
		env             []string
		own, ofChildren int
	}{
		{"less", 60_000, nil, wide, 60_000},
		{"as much", wide, nil, wide, wide},
		{"more", more, nil, more, more},
		{"a variable of somebody else", 60_000, []string{variable + "=7"}, 60_000, 60_000},
		{"a variable that is no number", wide, []string{variable + "=x"}, wide, wide},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := started(t, self, x.slack, append(x.env, role+"=")...)
			if r.Own != x.own || r.Child != x.ofChildren || slices.ContainsFunc(r.Threads, func(ns int) bool { return ns != x.own }) {
				t.Errorf("%d ns, of threads %d, of a program that it starts %d; want %d and %d", r.Own, r.Threads, r.Child, x.own, x.ofChildren)
			}
		})
	}
}

// A program whose file is gone, is another one or cannot be started goes on as it is, with as many open files as Go
// gives it.
func TestWidenWithoutFile(t *testing.T) {
	var all unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &all); err != nil {
		t.Fatal(err)
	}
	few := unix.Rlimit{Cur: 256, Max: all.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &all)
	for _, what := range []string{"deleted", "replaced", "no program"} {
		t.Run(what, func(t *testing.T) {
			r := started(t, copied(t), 60_000, role+"="+what)
			if r.Own != 60_000 || r.Child != 60_000 {
				t.Errorf("%d ns, of a program that it starts %d", r.Own, r.Child)
			}
			if r.Files.Cur <= few.Cur {
				t.Errorf("%d open files of %d", r.Files.Cur, r.Files.Max)
			}
		})
	}
}
