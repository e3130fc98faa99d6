package doctor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// childLimit is how long a child may take to answer.
const childLimit = 10 * time.Second

// A Config says where to look.
type Config struct {
	Library      string // libmoriens.so
	LibraryError error  // why there is none
	LibraryHint  string
	Shm          string // directory for the rings
	Ranks        int    // of a node; 0: as many as CPUs
	Events       string // to try; empty: the usual ones
}

// Probe looks at this machine.
func Probe(ctx context.Context, c Config) Machine {
	m := Machine{Arch: runtime.GOARCH, PMU: probePMU(), Slurm: probeSlurm(ctx), Limits: probeLimits()}
	m.Host, _ = os.Hostname()
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	m.Library = probeLibrary(ctx, c)
	m.Order = probeOrder(ctx, m.Library)
	m.Launchers = probeLaunchers(ctx)
	m.MPIs = probeMPIs(ctx, m.Library, m.Launchers)
	m.Memory = probeMemory(c, m.Limits.AllCPUs)
	return m
}

var errNoAnswer = errors.New("it did not answer in time")

// said is what a child has said.
type said struct {
	stdout, stderr string
	err            error
}

// complaint is why it failed: the last line that it said, or, if it said nothing, the error.
func (s said) complaint() string {
	lines := strings.Split(s.stderr, "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" && !errors.Is(s.err, errNoAnswer) {
		return last
	}
	return s.err.Error()
}

// ask starts a program with more in its environment and waits for it, no longer than childLimit. What it starts ends
// with it.
func ask(ctx context.Context, env []string, program string, args ...string) said {
	ctx, cancel := context.WithTimeout(ctx, childLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = errNoAnswer
	}
	return said{stdout.String(), strings.TrimSpace(stderr.String()), err}
}

// errno names an error as the manuals do.
func errno(err error) string {
	if err == nil {
		return ""
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		if name := unix.ErrnoName(number); name != "" {
			return name
		}
	}
	return err.Error()
}

// readText is the content of a small file without blanks round it; empty if it cannot be read.
func readText(path string) string {
	text, _ := os.ReadFile(path)
	return strings.TrimSpace(string(text))
}
