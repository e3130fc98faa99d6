package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"moriens/internal/mpitest"
)

// A job under `moriens run` has the timer slack that moriens was started with, while that has 1 ms itself; its
// environment does not show that.
func TestTimerSlack(t *testing.T) {
	const usual = 70_000
	out := filepath.Join(t.TempDir(), "run")
	script := `cat /proc/self/timerslack_ns; cat /proc/$PPID/timerslack_ns /proc/$PPID/comm; echo $PPID; env`
	cmd := exec.Command(binary(t), "--log", "error", "run", "--out", out, "--", "sh", "-c", script)
	cmd.Env = mpitest.Environ()
	var said strings.Builder
	cmd.Stdout = &said
	err := func() error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		was, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		if err != nil {
			return err
		}
		defer unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(was), 0, 0, 0)
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, usual, 0, 0, 0); err != nil {
			return err
		}
		return cmd.Start()
	}()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // that no rank has connected is its status
	want := []string{strconv.Itoa(usual)}
	if os.Getuid() == 0 { // others may not look
		want = append(want, strconv.Itoa(int(time.Millisecond)))
	}
	want = append(want, "moriens", strconv.Itoa(cmd.Process.Pid))
	if !strings.HasPrefix(said.String(), strings.Join(want, "\n")+"\n") || strings.Contains(said.String(), "TIMER_SLACK") {
		t.Errorf("%s\nwant first: %q", said.String(), want)
	}
}
