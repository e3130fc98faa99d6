package cshim_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// expectCounted sees that every call of the ranks is either recorded or counted as lost, and that so many threads of
// each have no ring.
func expectCounted(t *testing.T, o outcome, failed int, why syscall.Errno) {
	t.Helper()
	ranks, faults := read(t, o.dir)
	if len(ranks) != len(o.counts) || len(faults) != 0 {
		t.Fatalf("%d of %d ranks, faults %v", len(ranks), len(o.counts), faults)
	}
	for rank, p := range ranks {
		losses := p.Losses()
		recorded, planted := 0, 0
		for _, n := range p.calls() {
			recorded += n
		}
		for _, n := range o.counts[rank] {
			planted += n
		}
		if recorded+int(losses.Unrecorded) != planted || losses.ThreadsFailed != failed || losses.Fault != why || p.dropped != 0 {
			t.Errorf("rank %d: %d records, %d dropped and %+v of %d", rank, recorded, p.dropped, losses, planted)
		}
	}
}

// TestChildrenAreSilent starts other programs in the middle, in every way there is: they leave nothing, and what their
// parents do is recorded as ever.
func TestChildrenAreSilent(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, program: []string{mpi.App(t, "middle"), "children"}}.run(t)
		succeed(t, o)
		expectEnded(t, expectExact(t, o))
	})
}

// TestNoDescriptors leaves no descriptor for the rings of later threads: their calls are counted.
func TestNoDescriptors(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, program: []string{mpi.App(t, "middle"), "descriptors", "3"}}.run(t)
		succeed(t, o)
		expectCounted(t, o, 3, syscall.EMFILE)
	})
}

// TestManyThreads has more threads than there is room for: as many as fit are recorded, the others' calls counted.
func TestManyThreads(t *testing.T) {
	const threads = 300
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		run := func(t *testing.T, shm string) outcome {
			o := job{mpi: mpi, preload: library, shm: shm, env: []string{"MORIENS_RING=65536"}, program: []string{mpi.App(t, "middle"), "nothing", "300", "20"}}.run(t)
			succeed(t, o)
			return o
		}
		t.Run("all fit", func(t *testing.T) {
			for rank, p := range expectExact(t, run(t, "")) {
				if len(p.threads) != threads+1 {
					t.Errorf("rank %d: %d rings", rank, len(p.threads))
				}
			}
		})
		t.Run("some fit", func(t *testing.T) {
			o := run(t, tmpfs(t, "size=8m"))
			ranks, faults := read(t, o.dir)
			if len(ranks) != 2 || len(faults) != 0 {
				t.Fatalf("%d ranks, faults %v", len(ranks), faults)
			}
			failed := 0
			for rank, p := range ranks {
				losses := p.Losses()
				failed += losses.ThreadsFailed
				got := p.calls()["MPI_Recv"] + int(losses.Unrecorded)
				if want := o.counts[rank]["MPI_Recv"]; got != want || losses.Threads != threads+1 || int(losses.Unrecorded) != 20*losses.ThreadsFailed {
					t.Errorf("rank %d: %d of %d calls, %+v", rank, got, want, losses)
				}
				if losses.ThreadsFailed > 0 && losses.Fault != syscall.ENOSPC {
					t.Errorf("rank %d: %+v", rank, losses)
				}
			}
			// Some 110 rings fit.
			if failed < threads || failed > 2*threads-60 {
				t.Errorf("%d threads have no ring", failed)
			}
		})
	})
}

// whenReady runs the mini-app middle, calls whenBothWait when both of its ranks wait, and lets it continue.
func whenReady(t *testing.T, j job, whenBothWait func(dir string)) outcome {
	t.Helper()
	j.out = t.TempDir()
	j.program = []string{j.mpi.App(t, "middle"), "wait", "3"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if ready, _ := filepath.Glob(filepath.Join(j.out, "ready.*")); len(ready) == 2 {
				whenBothWait(j.shm)
				break
			}
		}
		if err := os.WriteFile(filepath.Join(j.out, "go"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}()
	o := j.run(t)
	<-done
	succeed(t, o)
	return o
}

// TestMemoryGoes takes the shared memory away in the middle.
func TestMemoryGoes(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		t.Run("full", func(t *testing.T) {
			shm := tmpfs(t, "size=16m")
			o := whenReady(t, job{mpi: mpi, preload: library, shm: shm}, func(dir string) {
				// Until nothing is left: a last write may be short.
				for i := range 100 {
					f, err := os.Create(filepath.Join(dir, "filler"+strings.Repeat("x", i)))
					if err != nil {
						break
					}
					n, _ := f.Write(make([]byte, 4<<20))
					f.Close()
					if n == 0 {
						break
					}
				}
			})
			expectCounted(t, o, 3, syscall.ENOSPC)
		})
		t.Run("removed", func(t *testing.T) {
			shm := tmpfs(t, "size=64m")
			whenReady(t, job{mpi: mpi, preload: library, shm: shm}, func(dir string) {
				if err := os.RemoveAll(filepath.Join(dir, "moriens-0-test")); err != nil {
					t.Error(err)
				}
			})
		})
		t.Run("unmounted", func(t *testing.T) {
			testenv.NeedRoot(t)
			shm := t.TempDir()
			if err := syscall.Mount("tmpfs", shm, "tmpfs", 0, "size=64m"); err != nil {
				testenv.Lacking(t, "cannot mount a tmpfs here: "+err.Error())
			}
			unmount := func() error { return syscall.Unmount(shm, syscall.MNT_DETACH) }
			whenReady(t, job{mpi: mpi, preload: library, shm: shm}, func(dir string) {
				if err := unmount(); err != nil {
					t.Error(err)
				}
			})
		})
	})
}

// TestNoMemory has no shared memory to begin with: the job runs, and says once why it is not recorded.
func TestNoMemory(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "middle")
		for name, shm := range map[string]string{"gone": filepath.Join(t.TempDir(), "nowhere"), "read-only": tmpfs(t, "ro,size=1m")} {
			t.Run(name, func(t *testing.T) {
				o := job{mpi: mpi, preload: library, shm: shm, program: []string{app}}.run(t)
				if o.err != nil || strings.Count(o.stderr, "moriens: not recording: ") != 1 || strings.Count(o.stderr, "\n") != 2 || !strings.Contains(o.stderr, "hint: set MORIENS_SHM") {
					t.Errorf("%v\n%s", o.err, o.stderr)
				}
			})
		}
	})
}
