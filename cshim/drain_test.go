package cshim_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/agent/ring"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// fakeProgram builds a program on the MPI of this folder's own, with the library linked in.
func fakeProgram(t *testing.T, name, library string) string {
	t.Helper()
	testenv.Need(t, "gcc")
	build := t.TempDir()
	program := filepath.Join(build, name)
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-o", filepath.Join(build, "libfakempi.so"), "test/fakempi.c"},
		{"-o", program, "test/" + name + ".c", "-Wl,--no-as-needed", library, "-L" + build, "-lfakempi", "-Wl,-rpath," + build + ":" + filepath.Dir(library)},
	} {
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return program
}

// TestEndWaits has a reader come while a process waits at its end, or not: MPI_Finalize returns when all rings are
// read, those of threads that have ended too; after MORIENS_DRAIN where they are not; and at once without a reader.
func TestEndWaits(t *testing.T) {
	program := fakeProgram(t, "drain", mpitest.Library(t))
	const never = time.Hour
	for _, c := range []struct {
		name   string
		drain  string        // MORIENS_DRAIN
		opened bool          // a reader has the rings
		closed bool          // it has given them up again
		read   time.Duration // when it reads, after the process has said that it is about to end
		note   string        // what the process says
	}{
		{name: "nobody reads", drain: "60000", read: never},
		{name: "given up", drain: "60000", opened: true, closed: true, read: never},
		{name: "drained", drain: "60000", opened: true, read: 100 * time.Millisecond},
		{name: "stopped", drain: "150", opened: true, read: never, note: "waited 150 ms"},
		{name: "not to wait", drain: "0", opened: true, read: never},
		{name: "no number", drain: "long", opened: true, read: never, note: "waited 1000 ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shm := t.TempDir()
			dir := ring.DirectoryPath(shm, os.Getuid(), "test")
			cmd := exec.Command(program)
			cmd.Env = append(os.Environ(), "MORIENS_RUN=test", "MORIENS_SHM="+shm, "MORIENS_RING=65536", "MORIENS_DRAIN="+c.drain)
			input, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			output, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(output)
			say := func(want string) {
				t.Helper()
				if !lines.Scan() || lines.Text() != want {
					t.Fatalf("%q, want %q", lines.Text(), want)
				}
			}
			say("recorded")
			found, err := ring.NewDirectory(dir).Scan()
			if err != nil || len(found.Rings) != 2 {
				t.Fatalf("%v, %v", found, err)
			}
			var readers []*ring.Reader
			for _, path := range found.Rings {
				if c.opened {
					r, err := ring.OpenReader(path)
					if err != nil {
						t.Fatal(err)
					}
					readers = append(readers, r)
				}
			}
			if c.closed {
				for _, r := range readers {
					r.Close()
				}
				readers = nil
			}
			input.Write([]byte("\n"))
			say("ends")
			ended := make(chan bool, 1)
			go func() { ended <- lines.Scan() && lines.Text() == "ended" }()
			records := map[string]int{}
			if c.read != never {
				select {
				case <-ended:
					t.Fatal("it did not wait")
				case <-time.After(c.read):
				}
				for _, r := range readers {
					for _, rec := range readAll(t, r) {
						records[rec.Call.String()]++
					}
				}
			}
			select {
			case well := <-ended:
				if !well {
					t.Errorf("%q", lines.Text())
				}
			case <-time.After(2 * time.Minute):
				t.Error("it waits for ever")
				cmd.Process.Kill()
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			for _, r := range readers {
				for _, rec := range readAll(t, r) {
					records[rec.Call.String()]++
				}
				r.Close()
			}
			if want := map[string]int{"MPI_Barrier": 40, "MPI_Finalize": 1, "MPI_Init": 1}; readers != nil && !cmp.Equal(want, records) {
				t.Errorf("read %v, want %v", records, want)
			}
			p := readProcess(t, found.Processes[0])
			if notes := strings.Join(p.notes, "\n"); p.State() != ring.Finalized || (c.note == "") != (notes == "") || !strings.Contains(notes, c.note) {
				t.Errorf("%v, notes %q", p.State(), p.notes)
			}
		})
	}
}

func readAll(t *testing.T, r *ring.Reader) []ring.Record {
	t.Helper()
	records := make([]ring.Record, r.Slots())
	n, err := r.Read(records)
	if err != nil {
		t.Fatal(err)
	}
	r.Release()
	return records[:n]
}
