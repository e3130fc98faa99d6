package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// A terminal is a pseudo-terminal with a command on it.
type terminal struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	mu     sync.Mutex
	output strings.Builder
	done   chan struct{}
}

// onTerminal starts a command as the foreground job of a terminal of its own, 24 rows of 100 columns.
func onTerminal(t *testing.T, env []string, args ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		testenv.Lacking(t, "no pseudo-terminals here: "+err.Error())
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = mpitest.Environ(append(env, "TERM=xterm")...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, master: master, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(x.done)
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			x.mu.Lock()
			x.output.Write(buffer[:n])
			x.mu.Unlock()
			if err != nil { // EIO when the last process has left the terminal
				return
			}
		}
	}()
	return x
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.output.String()
}

func (x *terminal) waitFor(pattern string) {
	x.t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(2 * time.Minute); !re.MatchString(x.text()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.cmd.Process.Kill()
			x.t.Fatalf("no %q on the terminal:\n%q", pattern, x.text())
		}
	}
}

func (x *terminal) press(key string) {
	x.t.Helper()
	if _, err := x.master.WriteString(key); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) wait() (status int, output string) {
	x.cmd.Wait()
	<-x.done
	return x.cmd.ProcessState.ExitCode(), x.text()
}

// bursts on the status line: the job has begun to compute.
const someBursts = `moriens [0-9.]+ .?s · [1-9][0-9,]* bursts`

// Ctrl-C ends the job, once or twice, and never the analysis.
func TestCtrlC(t *testing.T) {
	for _, times := range []int{1, 2} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			app := mpitest.OpenMPI.App(t, "planted")
			out := filepath.Join(t.TempDir(), "run")
			x := onTerminal(t, []string{"MINIAPP_OUT=" + t.TempDir()}, append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--"},
				mpitest.OpenMPI.Args(2, "", app, "10000", "200", "1000", "5000", "10", "5")...)...)
			x.waitFor(someBursts)
			for range times {
				x.press("\x03")
				x.waitFor("moriens: interrupt: ")
			}
			status, output := x.wait()
			m := readManifest(t, out)
			if status == 0 || status != m.ExitCode { // Open MPI's mpirun ends with 1
				t.Errorf("status %d, in the manifest %d", status, m.ExitCode)
			}
			contains(t, output, "moriens: interrupt: ", "results: "+out)
			if m.Bursts == 0 || len(m.Losses.RanksDied) != 2 {
				t.Errorf("manifest %+v", m)
			}
			checkTrace(t, out, readBursts(t, out))
		})
	}
}

// A signal to moriens alone reaches the job.
func TestSignal(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			dir := t.TempDir()
			ready, out := filepath.Join(dir, "ready"), filepath.Join(dir, "run")
			cmd := exec.Command(binary(t), "run", "--out", out, "--", "sh", "-c",
				`trap "exit 9" INT TERM; : >"$0"; while :; do sleep 0.01; done`, ready)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
				if _, err := os.Stat(ready); err == nil || time.Now().After(deadline) {
					break
				}
			}
			cmd.Process.Signal(signal)
			cmd.Wait()
			if status := cmd.ProcessState.ExitCode(); status != 9 {
				t.Errorf("status %d, want the job's 9", status)
			}
			readManifest(t, out)
		})
	}
}

// The status line appears, does not mix with the job's output, and is gone in the end.
func TestStatusLine(t *testing.T) {
	app := mpitest.OpenMPI.App(t, "until")
	out, over := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "over")
	x := onTerminal(t, nil, append([]string{binary(t), "run", "--out", out, "--"}, mpitest.OpenMPI.Args(2, "", app, over)...)...)
	x.waitFor(someBursts)
	end(t, over)
	status, output := x.wait()
	if status != 0 {
		t.Errorf("status %d\n%s", status, output)
	}
	const region, release = "\033[1;23r", "\033[r"
	if first, last := strings.Index(output, region), strings.LastIndex(output, release); first < 0 || last < first {
		t.Errorf("the scroll region is set at %d and released at %d", first, last)
	}
	for _, line := range regexp.MustCompile(`(?s)\x1b7\x1b\[24;1H.*?\x1b8`).FindAllString(output, -1) {
		if strings.ContainsAny(line, "\r\n") {
			t.Errorf("the status line breaks: %q", line)
		}
	}
	if _, rest, _ := strings.Cut(output, release); strings.Contains(rest, "\033[24;1H\033[7m") {
		t.Error("the status line is drawn after its end")
	}
}
