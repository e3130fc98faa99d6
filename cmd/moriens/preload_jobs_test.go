package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"moriens/internal/mpitest"
)

// TestPreloadOneAfterAnother: jobs have a run each, and never each other's directory.
func TestPreloadOneAfterAnother(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "planted")
		script := strings.Join(append(mpi.Args(2, "", app, "1", "20", "600", "2000", "10", "10"), "&&",
			app, "1", "20", "600", "2000", "10", "10", "&&", app, "1", "20", "600", "2000", "10", "10"), " ")
		j := preloadJobOf(t, []string{"MORIENS_DIR=below/run", "MORIENS_OPTIONS=--dims=duration:lin"}, "/bin/sh", "-c", script)
		if err := j.Run(); err != nil {
			t.Fatalf("%v\n%s", err, &j.stderr)
		}
		var said string
		for i, ranks := range []int{2, 1, 1} {
			dir := filepath.Join(j.folder, "below", "run")
			if i > 0 {
				dir += "-" + strconv.Itoa(i+1)
			}
			if m := readManifest(t, dir); m.Ranks != ranks || len(m.Worlds) != 1 {
				t.Errorf("%s: manifest %+v", dir, m)
			}
			said += "moriens: results in " + dir + "\n"
			clusters, err := os.ReadFile(filepath.Join(dir, "clusters.json"))
			if err != nil {
				t.Fatal(err)
			}
			contains(t, string(clusters), `"scale": "lin"`)
		}
		if j.stderr.String() != said {
			t.Errorf("stderr %q", &j.stderr)
		}
	})
}

// TestPreloadAtOnce: two jobs of one user on one node at the same time do not meet.
func TestPreloadAtOnce(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		first := untilOver(t, mpi, "MORIENS_DIR=run", "MORIENS_QUIET=1")
		second := preloadJobOf(t, []string{"MORIENS_DIR=run", "MORIENS_QUIET=1", "MORIENS_SHM=" + first.shm}, short(mpi, t)...)
		second.shm = first.shm
		if err := first.Start(); err != nil {
			t.Fatal(err)
		}
		first.waitForAgents(t, 2)
		if err := second.Run(); err != nil || second.stderr.Len() != 0 {
			t.Fatalf("%v\n%s", err, &second.stderr)
		}
		end(t, first.over)
		if err := first.Wait(); err != nil || first.stderr.Len() != 0 {
			t.Fatalf("%v\n%s", err, &first.stderr)
		}
		for _, j := range []*preloadJob{first, second} {
			j.checkPreloaded(t, filepath.Join(j.folder, "run"), 2)
		}
	})
}

// TestPreloadTwoNodes: ranks that do not share memory have an agent each, and one of those has the collector.
func TestPreloadTwoNodes(t *testing.T) {
	mpi := mpitest.OpenMPI
	app := []string{mpi.App(t, "planted"), "1", "200", "6000", "20000", "100", "10"}
	other := t.TempDir()
	args := slices.Concat([]string{mpi.Launcher, "--oversubscribe", "-n", "1"}, app, []string{":", "-n", "1", "-x", "MORIENS_SHM=" + other}, app)
	j := preloadJobOf(t, []string{"MORIENS_DIR=run"}, args...)
	if err := j.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &j.stderr)
	}
	j.checkPreloaded(t, filepath.Join(j.folder, "run"), 2)
	if left := j.left(t); !slices.Equal(left, []string{"run"}) {
		t.Errorf("left are %q", left)
	}
	if left, err := os.ReadDir(other); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestPreloadSpawn: what a job spawns is a world of the same run.
func TestPreloadSpawn(t *testing.T) {
	mpi := mpitest.OpenMPI // Debian's MPICH cannot spawn
	j := preloadJobOf(t, []string{"MORIENS_DIR=run"}, mpi.Args(2, "", mpi.App(t, "siblings"))...)
	if err := j.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &j.stderr)
	}
	m := readManifest(t, filepath.Join(j.folder, "run"))
	if m.MPICalls["MPI_Recv"] != 40 || m.MPICalls["MPI_Send"] != 40 || m.MPICalls["MPI_Finalize"] != 6 || len(m.Worlds) != 3 || m.Ranks != 6 {
		t.Errorf("manifest %+v", m)
	}
	if left := j.left(t); !slices.Equal(left, []string{"run"}) {
		t.Errorf("left are %q", left)
	}
}

// TestPreloadSessions: a program without MPI_Finalize waits for its results when it exits.
func TestPreloadSessions(t *testing.T) {
	mpi := mpitest.MPICH // Open MPI 4 has no sessions
	for _, args := range [][]string{nil, {"world"}} {
		j := preloadJobOf(t, []string{"MORIENS_DIR=run"}, mpi.Args(2, "", append([]string{mpi.App(t, "sessions")}, args...)...)...)
		if err := j.Run(); err != nil {
			t.Fatalf("%v\n%s", err, &j.stderr)
		}
		j.checkPreloaded(t, filepath.Join(j.folder, "run"), 2)
	}
}

// TestPreloadUnderRun: where there is a run no other is made, though the library is preloaded twice.
func TestPreloadUnderRun(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		j := preloadJobOf(t, nil, append([]string{binary(t), "run", "--out", "run", "--"}, short(mpi, t)...)...)
		if err := j.Run(); err != nil {
			t.Fatalf("%v\n%s", err, &j.stderr)
		}
		if left := j.left(t); !slices.Equal(left, []string{"run"}) {
			t.Errorf("left are %q", left)
		}
		if m := readManifest(t, filepath.Join(j.folder, "run")); m.Ranks != 2 || len(m.Worlds) != 1 {
			t.Errorf("manifest %+v", m)
		}
	})
}
