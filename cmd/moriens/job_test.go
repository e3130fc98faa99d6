package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"moriens/internal/mpitest"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// built is bin/moriens and bin/libmoriens.so as `make build` leaves them, built once for all tests.
var built = sync.OnceValues(func() (dir string, err error) {
	dir, err = os.MkdirTemp("", "moriens-test-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "moriens"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%v: %v\n%s", build, err, out)
	}
	shim := exec.Command("make", "-s", "-C", "../../cshim", "BIN="+dir)
	if out, err := shim.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%v: %v\n%s", shim, err, out)
	}
	return dir, nil
})

func binary(t testing.TB) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "moriens")
}

// An outcome is what a command has left.
type outcome struct {
	status         int
	stdout, stderr string
}

// minutes are lines that give the state once a minute where there is no terminal: on a slow machine some come.
var minutes = regexp.MustCompile(`(?m)^moriens [0-9].* · .*\n`)

func execute(t testing.TB, env []string, args ...string) outcome {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = mpitest.Environ(env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	checkWritten(t, args)
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), minutes.ReplaceAllString(stderr.String(), "")}
}

// checkWritten checks what a command that measures or analyses says of phases, in the run directory that it has
// written: every nanosecond of every thread of every program of the tests is in one phase.
func checkWritten(t testing.TB, args []string) {
	t.Helper()
	if k := slices.Index(args, "--"); k >= 0 {
		args = args[:k]
	}
	command := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(filepath.Base(arg), "moriens") })
	out := slices.Index(args, "--out")
	if command < 0 || command+1 >= len(args) || out < 0 || out+1 >= len(args) || !slices.Contains([]string{"run", "analyze", "collect"}, args[command+1]) {
		return
	}
	if _, err := os.Stat(filepath.Join(args[out+1], rundir.ManifestFile)); err == nil {
		rundirtest.CheckPhasesIfKnown(t, args[out+1])
	}
}

// manifest is as much of manifest.json as the tests look at, read as a stranger would.
type manifest struct {
	Ranks    int `json:"ranks"`
	MPI      struct{ Library, Version string }
	MPICalls map[string]int `json:"mpi_calls"`
	Bursts   int
	Dropped  int
	Seconds  float64
	Empty    string
	Notes    []string
	Command  []string
	ExitCode int    `json:"exit_status"`
	EndedBy  string `json:"ended_by"`
	Worlds   []struct {
		Size          int
		RanksRecorded int `json:"ranks_recorded"`
		Unrecorded    []rundir.Unrecorded
	}
	Complete   *bool // nil: it is not said
	Incomplete []string
	Messages   rundir.Messages
	Losses     struct {
		Hidden    []string `json:"hidden_by_tools"`
		RanksDied []struct {
			World, Rank int
			How         string
		} `json:"ranks_died"`
		ThreadsUnrecorded   int      `json:"threads_unrecorded"`
		CallsUnrecorded     int      `json:"calls_unrecorded"`
		CallPathsLost       int64    `json:"call_paths_lost"`
		CountersUnavailable []string `json:"counters_unavailable"`
		MessagesRefused     int      `json:"messages_refused"`
		BatchesDuplicate    int      `json:"batches_duplicate"`
		CollectorRestarts   int      `json:"collector_restarts"`
		JournalBytesCut     int      `json:"journal_bytes_cut"`
	}
}

func readManifest(t testing.TB, dir string) manifest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	rundirtest.CheckPhasesIfKnown(t, dir)
	return m
}

// sum adds up what the ranks say they called.
func sum(counts map[int]map[string]int) map[string]int {
	total := map[string]int{}
	for _, byName := range counts {
		for name, n := range byName {
			total[name] += n
		}
	}
	return total
}

// plantedBurst is a burst as the planted mini-app saw it, in CLOCK_MONOTONIC, ns.
type plantedBurst struct {
	kind       int
	start, end int64
	away       int64 // of the time since the burst before it the rank did not run; other mini-apps do not say it
}

func readPlanted(t testing.TB, dir string, rank int) []plantedBurst {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "bursts."+strconv.Itoa(rank)))
	if err != nil {
		t.Fatal(err)
	}
	var list []plantedBurst
	for line := range strings.Lines(string(text)) {
		var b plantedBurst
		if n, err := fmt.Sscan(line, &b.kind, &b.start, &b.end, &b.away); n < 3 {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}
