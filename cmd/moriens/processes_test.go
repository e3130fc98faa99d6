package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
)

// start starts moriens in the background.
func start(t *testing.T, args ...string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	output := new(strings.Builder)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, output
}

type meeting struct{ Run, Address, Fingerprint, Token string }

// readMeeting waits for the collector to say where it is.
func readMeeting(t *testing.T, out string, collectOutput *strings.Builder) (path string, meet meeting) {
	t.Helper()
	path = filepath.Join(out, "collector.json")
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(path); err == nil {
			if err := json.Unmarshal(text, &meet); err != nil {
				t.Fatal(err)
			}
			return path, meet
		} else if time.Now().After(deadline) {
			t.Fatalf("no rendezvous: %v\n%s", err, collectOutput)
		}
	}
}

// Collector, agent and job are processes of their own, as on a cluster: over TCP, with TLS and a token.
func TestCollectAndAgent(t *testing.T) {
	bin := binary(t)
	library := filepath.Join(filepath.Dir(bin), "libmoriens.so")
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "planted")
		planted, shm, out := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "run")
		collect, collectOutput := start(t, "collect", "--keep-bursts", "all", "--out", out)
		agent, agentOutput := start(t, "agent", "--dir", out, "--shm", shm, "--idle", "500ms", "--wait", "2m")

		meeting, meet := readMeeting(t, out, collectOutput)
		if info, err := os.Stat(meeting); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("collector.json: %v, %v", info.Mode(), err)
		}
		if !strings.HasPrefix(meet.Address, "127.0.0.1:") {
			t.Errorf("the collector listens on %s", meet.Address)
		}

		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if claimed, _ := filepath.Glob(shm + "/moriens-*"); len(claimed) > 0 || time.Now().After(deadline) {
				break
			}
		}
		second := execute(t, nil, bin, "agent", "--dir", out, "--shm", shm)
		if second.status != 1 {
			t.Errorf("a second agent ends with %d", second.status)
		}
		contains(t, second.stderr, "another agent serves this run", "hint: ")

		o := execute(t, []string{"MINIAPP_OUT=" + planted, "MORIENS_RUN=" + meet.Run, "MORIENS_SHM=" + shm},
			mpi.Args(2, library, app, "1", "200", "6000", "20000", "100", "10")...)
		if o.status != 0 {
			t.Fatalf("job: status %d\n%s", o.status, o.stderr)
		}
		if err := agent.Wait(); err != nil {
			t.Errorf("agent: %v\n%s", err, agentOutput)
		}
		if err := collect.Wait(); err != nil {
			t.Errorf("collect: %v\n%s", err, collectOutput)
		}
		contains(t, collectOutput.String(), "moriens agent --dir "+out+"\n", "LD_PRELOAD="+library+" MORIENS_RUN="+meet.Run+"\n")
		m := readManifest(t, out)
		if d := cmp.Diff(sum(mpitest.Counts(t, planted)), m.MPICalls); d != "" {
			t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
		}
		if m.Ranks != 2 || m.Dropped != 0 || len(m.Losses.RanksDied) != 0 {
			t.Errorf("manifest %+v", m)
		}
		if _, err := os.Stat(meeting); err == nil {
			t.Error("collector.json is still there")
		}
		if left, _ := os.ReadDir(shm); len(left) != 0 {
			t.Errorf("%d files are left in shared memory", len(left))
		}
		checkTrace(t, out, readBursts(t, out))
		for _, output := range []string{collectOutput.String(), agentOutput.String()} {
			if strings.Contains(output, meet.Token) {
				t.Error("the token was printed")
			}
		}
	})
}
