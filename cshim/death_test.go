package cshim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// TestDeath has rank 0 die in every way: what it did until then is all there, and so is what the
// other rank did.
func TestDeath(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "die")
		for _, c := range []struct {
			how        string
			state      ring.State // of rank 0
			unfinished mpicall.ID // the call it died in
		}{
			{"kill", ring.Running, 0},
			{"segv", ring.Running, 0},
			{"abort", ring.Aborted, 0},
			{"exit", ring.Running, 0},
			{"inside", ring.Running, mpicall.Recv},
		} {
			t.Run(c.how, func(t *testing.T) {
				t.Parallel() // each mostly waits for its launcher to notice
				o := job{mpi: mpi, preload: library, program: []string{app, c.how, "5000"}}.run(t)
				ranks := expectExact(t, o)
				if ranks[0].State() != c.state || ranks[1].State() != ring.Running {
					t.Errorf("states %v, %v", ranks[0].State(), ranks[1].State())
				}
				expectDead(t, ranks[0])
				expectDead(t, ranks[1])
				var unfinished mpicall.ID
				if len(ranks[0].unfinished) > 0 {
					unfinished = ranks[0].unfinished[0].Call
				}
				if unfinished != c.unfinished {
					t.Errorf("died inside %v, want %v", unfinished, c.unfinished)
				}
				if c.unfinished == mpicall.Recv {
					want := []ring.Transfer{{Kind: ring.Received, Bytes: 4, Peer: 1, Tag: 77, Comm: 1}}
					if diff := cmp.Diff(want, ranks[0].unfinished[0].Transfers); diff != "" {
						t.Errorf("whom it waited for:\n%s", diff)
					}
				}
				records := ranks[0].threads[0]
				if last := records[len(records)-1]; c.how == "abort" && (last.Call != mpicall.Abort || last.Exit != last.Enter) {
					t.Errorf("last record %+v", last)
				}
			})
		}
	})
}

func TestChildOfForkIsSilent(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		// Open MPI warns about the fork, so stderr may hold something.
		o := job{mpi: mpi, preload: library, program: []string{mpi.App(t, "die"), "fork", "100"}}.run(t)
		if o.err != nil {
			t.Errorf("%v\n%s", o.err, o.stderr)
		}
		expectEnded(t, expectExact(t, o))
	})
}

// TestException leaves a call by a C++ exception: that call has no exit and is counted as abandoned, and
// the calls after it are recorded, from deeper frames too.
func TestException(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, program: []string{mpi.App(t, "cxx"), "throw"}}.run(t)
		if o.err != nil {
			t.Fatalf("%v\n%s", o.err, o.stderr)
		}
		ranks, _ := read(t, o.dir)
		for rank, p := range ranks {
			got, want := p.calls(), o.counts[rank]
			if got["MPI_Barrier"] != want["MPI_Barrier"] || got["MPI_Allreduce"] != want["MPI_Allreduce"] || got["MPI_Send"] != 0 || p.dropped != 0 || p.abandoned != 1 {
				t.Errorf("rank %d: recorded %v, dropped %d, abandoned %d; planted %v", rank, got, p.dropped, p.abandoned, want)
			}
			for _, rec := range p.threads[0] {
				if first := rec.Call == mpicall.Barrier; rec.Lost != first {
					t.Errorf("rank %d: %+v", rank, rec)
				} else if first {
					break
				}
			}
		}
	})
}

// TestSmallRing has no reader for a ring that is too small: it holds the first records, and says how many
// there were no room for.
func TestSmallRing(t *testing.T) {
	const slots = 64 << 10 / 32
	const held = slots/2 + 1 // MPI_Init, receives of two slots each, and, in the last slot, MPI_Finalize
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, env: []string{"MORIENS_RING=1", "MORIENS_RING_MAX=0"}, program: []string{mpi.App(t, "die"), "none", "10000"}}.run(t)
		succeed(t, o)
		ranks, _ := read(t, o.dir)
		for rank, p := range ranks {
			planted := 0
			for _, n := range o.counts[rank] {
				planted += n
			}
			if len(p.threads[0]) != held || len(p.threads[0])+p.dropped != planted {
				t.Errorf("rank %d: %d records and %d dropped of %d", rank, len(p.threads[0]), p.dropped, planted)
			}
			if p.State() != ring.Finalized {
				t.Errorf("rank %d: %v", rank, p.State())
			}
		}
	})
}

// tmpfs mounts a memory file system of that many bytes.
func tmpfs(t *testing.T, options string) string {
	t.Helper()
	testenv.NeedRoot(t)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		testenv.Lacking(t, "cannot mount a tmpfs here: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFullMemory(t *testing.T) {
	library := mpitest.Library(t)
	app := mpitest.OpenMPI.App(t, "threads")
	run := func(t *testing.T, shm string) (map[int]*process, []ring.Fault, outcome) {
		o := job{mpi: mpitest.OpenMPI, preload: library, shm: shm, program: []string{app, "4", "50"}}.run(t)
		if o.err != nil {
			t.Errorf("the application noticed: %v\n%s", o.err, o.stderr)
		}
		ranks, faults := read(t, o.dir)
		return ranks, faults, o
	}
	t.Run("nothing fits", func(t *testing.T) {
		ranks, faults, o := run(t, tmpfs(t, "size=64k"))
		if len(ranks) != 0 || len(faults) != 2 || faults[0].Errno != syscall.ENOSPC || o.stderr != "" {
			t.Errorf("ranks %v, faults %v, stderr %q", ranks, faults, o.stderr)
		}
	})
	t.Run("no file at all", func(t *testing.T) {
		// The directory takes the second inode, after the root's.
		ranks, faults, o := run(t, tmpfs(t, "size=64k,nr_inodes=2"))
		if len(ranks) != 0 || len(faults) != 0 || strings.Count(o.stderr, "moriens: not recording") != 1 || !strings.Contains(o.stderr, "hint: ") {
			t.Errorf("ranks %v, faults %v, stderr %q", ranks, faults, o.stderr)
		}
	})
	t.Run("some threads fit", func(t *testing.T) {
		// A process with one ring takes 88 KiB here, each further ring 68.
		ranks, faults, o := run(t, tmpfs(t, "size=340k"))
		if len(ranks) != 2 || len(faults) != 0 || o.stderr != "" {
			t.Fatalf("ranks %v, faults %v, stderr %q", ranks, faults, o.stderr)
		}
		failed := 0
		for rank, p := range ranks {
			losses := p.Losses()
			recorded, planted := 0, 0
			for _, n := range p.calls() {
				recorded += n
			}
			for _, n := range o.counts[rank] {
				planted += n
			}
			if recorded+int(losses.Unrecorded) != planted || losses.Threads != 5 || (losses.ThreadsFailed > 0) != (losses.Fault == syscall.ENOSPC) {
				t.Errorf("rank %d: %d records and %+v of %d", rank, recorded, losses, planted)
			}
			failed += losses.ThreadsFailed
		}
		if failed == 0 || failed == 8 {
			t.Errorf("%d threads failed", failed)
		}
	})
}

// TestForeignDirectory: a run's directory that others can enter is not used.
func TestForeignDirectory(t *testing.T) {
	shm := t.TempDir()
	dir := ring.DirectoryPath(shm, os.Getuid(), "test")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	o := job{mpi: mpitest.OpenMPI, preload: mpitest.Library(t), shm: shm, program: []string{mpitest.OpenMPI.App(t, "cxx")}}.run(t)
	if o.err != nil || strings.Count(o.stderr, "moriens: not recording") != 1 {
		t.Errorf("%v, stderr %q", o.err, o.stderr)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestWithoutProgram: ranks without MORIENS_RUN want an agent of their own, and there is no program for it beside this
// library.
func TestWithoutProgram(t *testing.T) {
	library := filepath.Join(t.TempDir(), "libmoriens.so")
	if err := os.Symlink(mpitest.Library(t), library); err != nil {
		t.Fatal(err)
	}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		shm := t.TempDir()
		o := job{mpi: mpi, preload: library, shm: shm, env: []string{"MORIENS_RUN="}, program: []string{mpi.App(t, "cxx")}}.run(t)
		want := "moriens: not recording: " + filepath.Join(filepath.Dir(library), "moriens") + ": No such file or directory\n" +
			"hint: set MORIENS_BIN to the moriens program, or switch the library off with MORIENS=off\n"
		if o.err != nil || o.stderr != want {
			t.Errorf("%v, stderr %q", o.err, o.stderr)
		}
		if entries, err := os.ReadDir(shm); err != nil || len(entries) != 0 {
			t.Errorf("%v, %v", entries, err)
		}
	})
}

// TestOtherPrograms: what is not MPI does not notice, and leaves nothing.
func TestOtherPrograms(t *testing.T) {
	library := mpitest.Library(t)
	shm := t.TempDir()
	cmd := exec.Command("/bin/sh", "-c", "/bin/true && echo said $(echo inside)")
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, "MORIENS_RUN=test", "MORIENS_SHM="+shm)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "said inside\n" {
		t.Errorf("%v, %q", err, out)
	}
	if entries, err := os.ReadDir(shm); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestMissingFunction: a wrapper whose function the MPI lacks says so, and the library itself is believed.
func TestMissingFunction(t *testing.T) {
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher)
	o := job{mpi: mpi, preload: mpitest.Library(t), ranks: 1, program: []string{mpi.App(t, "missing")}}.run(t)
	const want = "moriens: the program called MPI_Session_finalize, which its MPI library does not have\n"
	if o.err == nil || !strings.Contains(o.stderr, want) {
		t.Errorf("%v\n%s", o.err, o.stderr)
	}
}

// TestLibrary looks at what the library asks of a process that it is loaded into.
func TestLibrary(t *testing.T) {
	testenv.Need(t, "nm", "readelf")
	library := mpitest.Library(t)
	out, err := exec.Command("nm", "-D", "--defined-only", library).Output()
	if err != nil {
		t.Fatal(err)
	}
	inC := 0
	text, err := os.ReadFile(filepath.Join("testdata", "exports.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for line := range strings.Lines(string(text)) {
		if name := strings.TrimSpace(line); name != "" && !strings.HasPrefix(name, "#") {
			ours = append(ours, name)
		}
	}
	slices.Sort(ours)
	var found []string
	for line := range strings.Lines(string(out)) {
		name := strings.Fields(line)[2]
		_, fortran := wrappedFunction(name)
		if _, c := mpicall.ByName(name); c {
			inC++
		} else if !fortran {
			found = append(found, name)
		}
	}
	if slices.Sort(found); !slices.Equal(found, ours) {
		t.Errorf("exports %v besides MPI, not %v", found, ours)
	}
	if inC != len(mpicall.All()) {
		t.Errorf("exports %d functions of C, the table has %d", inC, len(mpicall.All()))
	}
	out, err = exec.Command("readelf", "-d", library).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "(NEEDED)") && !strings.Contains(line, "libc.so") && !strings.Contains(line, "ld-linux") {
			t.Errorf("%s needs %s", filepath.Base(library), line)
		}
	}
}
