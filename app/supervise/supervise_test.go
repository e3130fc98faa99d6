package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is the program too: it notes that it was started, and ends in the way that its arguments give for that time.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != "be" {
		os.Exit(m.Run())
	}
	lock := os.NewFile(3, "lock")
	fmt.Fprintln(lock, "started")
	text, _ := os.ReadFile(os.Args[2])
	n := strings.Count(string(text), "started")
	switch how := os.Args[3:][min(n, len(os.Args)-3)-1]; how {
	case "killed":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "crash":
		panic("on request")
	case "fail":
		os.Exit(1)
	case "wait":
		fmt.Fprintln(lock, "waits")
		time.Sleep(time.Hour)
	}
	os.Exit(0)
}

func program(t *testing.T, how ...string) (Program, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	return Program{Path: os.Args[0], Args: append([]string{"be", path}, how...), Lock: lock}, path
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		how            []string
		status, starts int
		died           bool
	}{
		{[]string{"end"}, 0, 1, false},
		{[]string{"fail"}, 1, 1, false},
		{[]string{"killed", "crash", "end"}, 0, 3, false},
		{[]string{"killed", "fail"}, 1, 2, false},
		{[]string{"killed"}, 1, maxDeaths, true},
	} {
		p, path := program(t, c.how...)
		status, err := Run(p)
		var death *DeathError
		if status != c.status || errors.As(err, &death) != c.died || err != nil && !c.died {
			t.Errorf("%v: %d, %v", c.how, status, err)
		}
		if c.died && !strings.Contains(err.Error(), "8 times in a row, the last time: signal: killed") {
			t.Errorf("%v: %v", c.how, err)
		}
		text, err := os.ReadFile(path)
		if got := strings.Count(string(text), "started"); err != nil || got != c.starts {
			t.Errorf("%v: started %d times, want %d", c.how, got, c.starts)
		}
	}
	if _, err := Run(Program{Path: "/nonexistent", Lock: os.Stdin}); err == nil || !strings.Contains(err.Error(), "start the agent") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// TestSignal: what asks the parent to end is for the program, whose end is then its own.
func TestSignal(t *testing.T) {
	p, path := program(t, "wait", "end")
	go func() {
		for {
			if text, _ := os.ReadFile(path); strings.Contains(string(text), "waits") {
				syscall.Kill(os.Getpid(), syscall.SIGTERM)
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	// The program has no handler and dies of the signal, so that it is started once more.
	if status, err := Run(p); status != 0 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
}
