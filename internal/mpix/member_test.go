package mpix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/internal/hint"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// act is this program as a member of a job that a test has started. It returns the exit status.
func act(part string) int {
	m, err := Open()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\nhint: %s\n", err, hint.Of(err))
		return 3
	}
	if os.Getenv("MPIX_SMALL") != "" {
		shrink(m)
	}
	last := m.Rank() == m.Size()-1
	switch part {
	case "properties":
		for _, p := range properties {
			if err := p.hold(m); err != nil {
				fmt.Fprintf(os.Stderr, "member %d: %s: %v\n", m.Rank(), p.name, err)
				return 1
			}
		}
		err = m.Close()
	case "abort":
		if last {
			m.Abort(7)
		}
		err = m.Barrier()
	case "kill":
		if last {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		_, err = m.AllGather(nil)
	case "panic":
		if last {
			go func() { panic("planted in a goroutine") }()
			select {}
		}
		_, err = m.Recv(m.Size() - 1)
	case "exit":
		if last {
			os.Exit(3)
		}
		err = m.Close()
	case "recover": // MPI has not taken the signals from which Go makes panics
		err = errors.Join(dereference(nil), m.Close())
	case "idle":
		err = idle(m)
	default:
		err = fail(m, part)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func dereference(p *int) (err error) {
	defer func() {
		if recover() == nil {
			err = errors.New("no panic")
		}
	}()
	*p++
	return nil
}

// fail is a member's part in one of the failures: it leaves its error in a file, and waits for the others to do so, for
// the job ends with the first of them.
func fail(m Transport, which string) error {
	i, err := strconv.Atoi(which)
	if err != nil {
		return err
	}
	dir := os.Getenv("MPIX_DIR")
	said := "no error"
	if err := failures[i].do(m); err != nil {
		said = err.Error()
	}
	path := func(rank int) string { return filepath.Join(dir, fmt.Sprintf("member.%d", rank)) }
	if err := os.WriteFile(path(m.Rank())+".new", []byte(said), 0o600); err != nil {
		return err
	}
	if err := os.Rename(path(m.Rank())+".new", path(m.Rank())); err != nil {
		return err
	}
	for rank := range m.Size() {
		for _, err := os.Stat(path(rank)); err != nil; _, err = os.Stat(path(rank)) {
			time.Sleep(time.Millisecond)
		}
	}
	return errors.New(said)
}

// idle has member 0 be late at a barrier, and returns what share of a core the others have taken until then.
func idle(m Transport) error {
	if err := m.Barrier(); err != nil {
		return err
	}
	start, before := time.Now(), testenv.ProcessorTime()
	if m.Rank() == 0 {
		time.Sleep(5 * time.Second)
	}
	if err := m.Barrier(); err != nil {
		return err
	}
	fmt.Printf("member %d: %.2f %% of a core\n", m.Rank(), 100*(testenv.ProcessorTime()-before).Seconds()/time.Since(start).Seconds())
	return m.Close()
}

// runJob runs members of a job until they have ended, and returns what they say and the launcher's exit status.
func runJob(t *testing.T, mpi mpitest.MPI, program, part string, env ...string) (status int, said string) {
	t.Helper()
	members := 4
	if mpi.Name == mpitest.MPICH.Name {
		members = 2 // it spins where it waits inside MPI
	}
	return await(t, part, mpitest.Environ(append(env, "MPIX_TEST="+part)...), mpi.Args(members, "", program)...)
}

// await runs a job's launcher until it has ended.
func await(t *testing.T, part string, env []string, command ...string) (status int, said string) {
	t.Helper()
	// Only what hangs takes so long.
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%s: the job has not ended\n%s", part, out)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", part, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// Everything under real MPI, by this test's own program built with the tag mpi.
func TestUnderMPI(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		program := filepath.Join(t.TempDir(), "mpix.test")
		mpi.Go(t, ".", "test", "-c", "-tags", "mpi", "-o", program)
		for _, small := range []string{"", "1"} {
			if status, said := runJob(t, mpi, program, "properties", "MPIX_SMALL="+small); status != 0 {
				t.Errorf("properties: status %d\n%s", status, said)
			}
		}
		// One process, with a launcher and without, is a team of one.
		env := mpitest.Environ("MPIX_TEST=properties")
		for _, command := range [][]string{mpi.Args(1, "", program), {program}} {
			if status, said := await(t, "properties", env, command...); status != 0 {
				t.Errorf("%q: status %d\n%s", command, status, said)
			}
		}
		for _, c := range []struct {
			part   string
			status int // -1 = any but 0
			said   string
		}{
			{"recover", 0, ""},
			{"abort", 7, ""},
			{"kill", -1, ""},
			{"panic", -1, "panic: planted in a goroutine"},
			{"exit", -1, ""},
		} {
			status, said := runJob(t, mpi, program, c.part)
			if status != c.status && (c.status >= 0 || status == 0) || !strings.Contains(said, c.said) {
				t.Errorf("%s: status %d, want %d\n%s", c.part, status, c.status, said)
			}
		}
		for i, f := range failures {
			dir := t.TempDir()
			status, said := runJob(t, mpi, program, strconv.Itoa(i), "MPIX_DIR="+dir)
			files, _ := filepath.Glob(filepath.Join(dir, "member.[1-9]"))
			if status == 0 || len(files) == 0 {
				t.Errorf("%s: status %d, the errors of %d members\n%s", f.name, status, len(files), said)
			}
			for _, file := range files {
				if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), f.want) {
					t.Errorf("%s: %s: %q, %v, want %q", f.name, filepath.Base(file), text, err, f.want)
				}
			}
		}
	})
}

// A program under a launcher that it knows nothing of takes itself for alone: that is refused, built with MPI or
// without.
func TestStrangeLauncher(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		other := mpitest.MPICH
		if mpi.Name == other.Name {
			other = mpitest.OpenMPI
		}
		dir := t.TempDir()
		without, with := filepath.Join(dir, "without.test"), filepath.Join(dir, "with.test")
		mpi.Go(t, ".", "test", "-c", "-o", without)
		other.Go(t, ".", "test", "-c", "-tags", "mpi", "-o", with)
		for program, want := range map[string]string{without: "built without MPI", with: "the launcher belongs to another MPI"} {
			status, said := runJob(t, mpi, program, "properties")
			if status == 0 || !strings.Contains(said, want) || !strings.Contains(said, "hint: ") {
				t.Errorf("%s: status %d\n%s", filepath.Base(program), status, said)
			}
		}
	})
}
