package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"moriens/analysis/program/programtest"
	"moriens/conclude/levels"
	"moriens/internal/mpitest"
	"moriens/internal/rendezvous"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/tracetest"
)

// programFiles are those of a program that was written by hand.
func programFiles(t *testing.T) *rundir.Structured {
	t.Helper()
	files, err := levels.DescribeProgram(programtest.Nest())
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// everything is a run directory with every file that one may hold.
func everything(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := rundir.Create(dir); err != nil {
		t.Fatal(err)
	}
	run := tracetest.Small()
	run.Threads[0].Transfers = trace.Transfers{
		Call: []uint32{1}, Kind: []trace.TransferKind{trace.Sent}, Peer: []int32{1}, PeerWorld: []int32{0}, Tag: []int32{7}, Comm: []int32{0}, Bytes: []int64{10}, Done: []int32{1},
	}
	c := &rundir.Content{
		Run: run, Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters),
		Levels: &rundir.Levels{Profile: &parquet.Profile{Rows: []parquet.ProfileRow{{Kind: parquet.ProfileMPI, Iterations: -1}}}, Structure: &rundir.Structure{Format: rundir.StructureFormat}, Program: programFiles(t)},
	}
	if _, err := rundir.Write(c, dir); err != nil {
		t.Fatal(err)
	}
	if o := bounded(t, "report", dir); o.status != 0 || o.stderr != "" {
		t.Fatalf("%+v", o)
	}
	return dir
}

// bounded runs a command that has to end by itself, in memory for which there is a limit.
func bounded(t testing.TB, args ...string) outcome {
	t.Helper()
	program := binary(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -v 4000000; exec "$0" "$@"`, program}, args...)...)
	cmd.Env = mpitest.Environ()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); ctx.Err() != nil {
		t.Fatalf("moriens %s has not ended within a minute: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// foreign makes what others may put in the place of a file, and says what moriens is to call it.
var foreign = []struct {
	name, said string
	make       func(path string) error
}{
	{"FIFO", "a FIFO", func(path string) error { return unix.Mkfifo(path, 0o600) }},
	{"device", "a device", func(path string) error { return os.Symlink("/dev/zero", path) }},
	{"directory", "a directory", func(path string) error { return os.Mkdir(path, 0o700) }},
	{"socket", "a socket", func(path string) error { return unix.Mknod(path, unix.S_IFSOCK|0o600, 0) }},
	{"endless", "", func(path string) error { // no disk has so much, yet it is there to be read
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(path, 1<<40)
	}},
}

// No file of a run directory that others may have made keeps a command waiting, or takes more memory than there is:
// it is named, with what it is. Where a page can do without, it says so.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	dir := everything(t)
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if name, relErr := filepath.Rel(dir, path); err == nil && !d.IsDir() {
			names, err = append(names, name), relErr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		rundir.ManifestFile, rundir.ClustersFile, rundir.BurstsFile, rundir.ProfileFile, rundir.StructureFile, rundir.PhasesFile, rundir.EventsFile, rundir.TraceFile,
		rundir.ProgramFile, rundir.ProgramTextFile, rundir.TransfersFile, rundir.LabelsFile, rundir.NamesFile, rundir.ScatterFile, rundir.TimelineFile, rundir.OverviewFile, rundir.ReportFile,
	} {
		if !slices.Contains(names, name) {
			t.Fatalf("no %s among %q", name, names)
		}
	}
	names = append(names, rendezvous.File, rundir.JournalDir)
	whole := bounded(t, "status", dir).status // it is not that of a job
	for i, name := range names {
		path := filepath.Join(dir, name)
		kept := filepath.Join(t.TempDir(), "kept")
		there := os.Rename(path, kept) == nil
		for k, kind := range foreign {
			unread := slices.Contains([]string{rundir.JournalDir, rundir.StructureFile, rundir.ProgramTextFile}, name) || strings.HasSuffix(name, ".svg") || strings.HasSuffix(name, ".cfg")
			if unread && kind.name != "FIFO" { // only its size is looked at
				continue
			}
			if err := kind.make(path); err != nil {
				t.Fatal(err)
			}
			at := name + ": " + kind.name
			for _, command := range [][]string{{"status", dir}, {"report", dir}, {"export", "--format", "csv", "--out", filepath.Join(t.TempDir(), "out"), dir}} {
				if command[0] == "export" && (i+k)%len(foreign) != 0 { // the same reader as that of report
					continue
				}
				o := bounded(t, command...)
				what := fmt.Sprintf("moriens %s, %s: status %d\n%s", command[0], at, o.status, o.stderr)
				needs, reads, good := false, false, 0 // where it cannot continue, where it says what is left out, and how it ends otherwise
				switch command[0] {
				case "status":
					good = whole
					needs = name == rundir.ManifestFile || name == rundir.ClustersFile || name == rendezvous.File
				case "report":
					needs = name == rundir.ManifestFile || name == rundir.ReportFile && kind.name == "directory"
					reads = !needs && name != rendezvous.File && name != rundir.JournalDir && name != rundir.ReportFile
				case "export":
					needs = name != rundir.ReportFile && name != rendezvous.File && name != rundir.JournalDir
				}
				switch {
				case needs && o.status != 1, !needs && o.status != good:
					t.Error(what)
				case (needs || reads) && !strings.Contains(o.stderr, filepath.Base(name)):
					t.Errorf("%s\nit does not name the file", what)
				case strings.Contains(o.stderr, "goroutine ") || strings.Contains(o.stderr, "out of memory"):
					t.Error(what)
				case kind.said != "" && (name == rundir.ManifestFile || name == rundir.ClustersFile && command[0] == "status") && !strings.Contains(o.stderr, kind.said):
					t.Errorf("%s\nit does not say that it is %s", what, kind.said)
				}
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
		if there {
			if err := os.Rename(kept, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if o := bounded(t, "report", dir); o.status != 0 || o.stderr != "" {
		t.Errorf("in the end: %+v", o)
	}
}

// Neither does what the user names, nor what lies beside it. Links to regular files are files.
func TestForeignInputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, err := filepath.Abs(filepath.Join("..", "..", "trace", "prv", "testdata", "small.prv"))
	if err != nil {
		t.Fatal(err)
	}
	analyze := func(i int, trace string) []string {
		return []string{"analyze", trace, "--out", filepath.Join(dir, fmt.Sprint("out", i))}
	}
	for i, kind := range foreign {
		if kind.said == "" {
			continue
		}
		for _, ext := range []string{".prv", ".pcf", ".row", ".csv"} {
			path := filepath.Join(dir, "t"+ext)
			prv := filepath.Join(dir, "t.prv")
			if err := kind.make(path); err != nil {
				t.Fatal(err)
			}
			command := analyze(i, prv)
			if ext == ".csv" {
				command = []string{"cluster", path, "--eps", "1", "--min-points", "1", "--out", filepath.Join(dir, "labels")}
			} else if ext != ".prv" {
				if err := os.Symlink(good, prv); err != nil {
					t.Fatal(err)
				}
			}
			o := bounded(t, command...)
			if o.status != 1 || !strings.Contains(o.stderr, path) || !strings.Contains(o.stderr, kind.said) || !strings.Contains(o.stderr, "hint: ") {
				t.Errorf("%s: %s: status %d\n%s", ext, kind.name, o.status, o.stderr)
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			os.Remove(prv)
		}
	}
	link := filepath.Join(dir, "link.prv")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	if o := bounded(t, analyze(100, link)...); o.status != 3 || o.stderr != "" { // it is read: a stretch is missing in it
		t.Errorf("a link: %+v", o)
	}
}
