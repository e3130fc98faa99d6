package main_test

import (
	bin "encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/agent/ring"
	"moriens/internal/mpitest"
)

// An agent that is stopped or killed in the middle costs the job the time that MORIENS_DRAIN allows, and nothing else;
// one that continues afterwards finds everything.
func TestAgentIsGone(t *testing.T) {
	t.Parallel()
	library := filepath.Join(filepath.Dir(binary(t)), "libmoriens.so")
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "until")
		for _, c := range []struct {
			name   string
			signal syscall.Signal
		}{
			{"stopped", syscall.SIGSTOP},
			{"killed", syscall.SIGKILL},
		} {
			t.Run(c.name, func(t *testing.T) {
				planted, shm, out, over := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "over")
				collect, collectOutput := start(t, "collect", "--keep-bursts", "all", "--out", out)
				agent, agentOutput := start(t, "agent", "--dir", out, "--shm", shm, "--spool", t.TempDir(), "--idle", "500ms", "--wait", "2m")
				_, meet := readMeeting(t, out, collectOutput)

				args := mpi.Args(2, library, app, over)
				job := exec.Command(args[0], args[1:]...)
				job.Env = mpitest.Environ("MINIAPP_OUT="+planted, "MORIENS_RUN="+meet.Run, "MORIENS_SHM="+shm, "MORIENS_DRAIN=300")
				var complaints strings.Builder
				job.Stderr = &complaints
				if err := job.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { job.Process.Kill() })
				dir := ring.DirectoryPath(shm, os.Getuid(), meet.Run)
				waitForReader(t, dir, 2)
				agent.Process.Signal(c.signal)
				end(t, over)
				if err := job.Wait(); err != nil || complaints.Len() != 0 {
					t.Fatalf("the job noticed: %v\n%s", err, complaints.String())
				}
				counts := sum(mpitest.Counts(t, planted))
				if c.signal == syscall.SIGKILL {
					expectNotes(t, dir, 2)
					return
				}
				agent.Process.Signal(syscall.SIGCONT)
				if err := agent.Wait(); err != nil {
					t.Errorf("agent: %v\n%s", err, agentOutput)
				}
				if err := collect.Wait(); err != nil {
					t.Errorf("collect: %v\n%s", err, collectOutput)
				}
				m := readManifest(t, out)
				if d := cmp.Diff(counts, m.MPICalls); d != "" {
					t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
				}
				if !slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, "waited 300 ms at the end of MPI") }) {
					t.Errorf("notes %q", m.Notes)
				}
			})
		}
	})
}

// waitForReader waits until an agent reads that many rings.
func waitForReader(t *testing.T, dir string, rings int) {
	t.Helper()
	const agent = 264 // of struct moriens_ring: docs/format/ring.md
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		n := 0
		paths, _ := filepath.Glob(filepath.Join(dir, "*.ring"))
		for _, path := range paths {
			if header, err := os.ReadFile(path); err == nil && len(header) > agent+4 && bin.LittleEndian.Uint32(header[agent:]) == 1 {
				n++
			}
		}
		if n >= rings {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d rings are read", n, rings)
		}
	}
}

// expectNotes checks that so many processes have ended and each reports, once, that it waited.
func expectNotes(t *testing.T, dir string, processes int) {
	t.Helper()
	found, err := ring.NewDirectory(dir).Scan()
	if err != nil || len(found.Processes) != processes {
		t.Fatalf("%v, %v", found, err)
	}
	for _, path := range found.Processes {
		p, err := ring.OpenProcess(path)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		log, err := p.ReadLog()
		if err != nil || len(log.Notes) != 1 || !strings.Contains(log.Notes[0], "waited 300 ms") || p.State() != ring.Finalized {
			t.Errorf("%v, %v, notes %q", err, p.State(), log.Notes)
		}
	}
}
