package main_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace"
	"moriens/trace/perfetto/perfettotest"
	"moriens/trace/prv"
	"moriens/trace/rundir"
)

// A real trace, analysed and exported, has its communication lines, communicators and clusters in every format.
func TestExportRealTrace(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	run := at("run")
	o := execute(t, nil, binary(t), "analyze", testenv.RealTrace(t, "epoch_4proc.prv.gz"), "--out", run, "--keep-bursts", "all", "--dbscan", "0.05,4")
	if o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	for format, out := range map[string]string{"prv": "x.prv.gz", "perfetto": "x.pftrace", "csv": "csv", "parquet": "parquet"} {
		o := execute(t, nil, binary(t), "export", run, "--format", format, "--out", at(out))
		if o.status != 0 || o.stderr != "" {
			t.Fatalf("%s: status %d\n%s", format, o.status, o.stderr)
		}
		contains(t, o.stdout, at(out), "7,508 bursts, 7,496 MPI calls, 2,556 messages, 5 communicators, 14 clusters")
	}

	read, err := prv.ReadFile(at("x.prv.gz"), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := read.Run; len(r.Messages) != 2556 || len(r.Communicators) != 5 || len(r.Clusters) != 14 {
		t.Errorf("Paraver: %d messages, %d communicators, %d clusters", len(r.Messages), len(r.Communicators), len(r.Clusters))
	}

	file, err := os.ReadFile(at("x.pftrace"))
	if err != nil {
		t.Fatal(err)
	}
	flows, communicators := 0, 0
	clusters := make(map[any]bool)
	d := perfettotest.Decode(t, file)
	for _, e := range slices.Concat(d.Slices, d.Instants) {
		flows += len(e.Closes)
		if e.Category == "communicator" {
			communicators++
		}
		if id, _ := e.Notes["cluster"].(int64); e.Category == "burst" && id > 0 {
			clusters[id] = true
		}
	}
	if flows != 2556 || communicators != 5 || len(clusters) != 14 {
		t.Errorf("Perfetto: %d flows, %d communicators, %d clusters", flows, communicators, len(clusters))
	}

	for name, want := range map[string]int64{"messages": 2556, "communicators": 5, "clusters": 14, "bursts": 7508, "calls": 7496, "ranks": 4} {
		f, err := os.Open(at("csv/" + name + ".csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		records, err := csv.NewReader(f).ReadAll()
		if err != nil || int64(len(records)) != want+1 {
			t.Errorf("CSV: %d lines of %s, want %d; %v", len(records), name, want+1, err)
		}
		if column := slices.Index(records[0], "cluster"); name == "bursts" {
			ids := make(map[string]bool)
			for _, r := range records[1:] {
				if !strings.HasPrefix(r[column], "-") {
					ids[r[column]] = true
				}
			}
			if len(ids) != 14 {
				t.Errorf("CSV: bursts of %d clusters", len(ids))
			}
		}
		p, err := os.Open(at("parquet/" + name + ".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		info, err := p.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if file, err := pq.OpenFile(p, info.Size()); err != nil || file.NumRows() != want {
			t.Errorf("Parquet: %s: %v, want %d rows", name, err, want)
		}
	}
}

// A measured job is exported in every format as its run directory holds it.
func TestExportJob(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		t.Run("everything", func(t *testing.T) { exportJob(t, mpi, "--keep-bursts", "all") })
		t.Run("kept", func(t *testing.T) { exportJob(t, mpi) })
	})
}

func exportJob(t *testing.T, mpi mpitest.MPI, options ...string) {
	app := mpi.App(t, "messages")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	args := slices.Concat([]string{binary(t), "run", "--out", at("run")}, options, []string{"--"}, mpi.Args(2, "", app, "20"))
	if o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, args...); o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	run, m, _, err := rundir.Read(at("run"))
	if err != nil {
		t.Fatal(err)
	}
	sends, calls := 0, int64(0)
	for i := range run.Threads {
		th := &run.Threads[i]
		for _, kind := range th.Transfers.Kind {
			if kind == trace.Sent {
				sends++
			}
		}
		for k := range th.Calls.EnterNS {
			if th.Calls.Count == nil {
				calls++
			} else {
				calls += th.Calls.Count[k]
			}
		}
	}
	measured := int64(0)
	for _, n := range m.MPICalls {
		measured += n
	}
	if (run.Windows == nil) != (options != nil) {
		t.Errorf("%d windows", len(run.Windows))
	}
	if run.Windows == nil && (calls != measured || int64(sends) != m.Messages.Sends || int64(len(run.Messages)) != m.Messages.Matched || sends == 0) {
		t.Errorf("%d MPI calls, %d sends and %d messages read back of %d, %d and %d", calls, sends, len(run.Messages), measured, m.Messages.Sends, m.Messages.Matched)
	}
	for format, out := range map[string]string{"prv": "x.prv", "perfetto": "x.pftrace", "csv": "csv", "parquet": "parquet"} {
		if o := execute(t, nil, binary(t), "export", at("run"), "--format", format, "--out", at(out)); o.status != 0 || o.stderr != "" {
			t.Fatalf("%s: status %d\n%s", format, o.status, o.stderr)
		}
	}
	file, err := os.ReadFile(at("x.pftrace"))
	if err != nil {
		t.Fatal(err)
	}
	perfettotest.Compare(t, run, file)
	if read, err := prv.ReadFile(at("x.prv"), prv.Options{}); err != nil || len(read.Run.Messages) != len(run.Messages) {
		t.Errorf("Paraver: %v, want %d messages", err, len(run.Messages))
	}
}

// exportable makes a run directory of a small trace.
func exportable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loop.prv")
	if err := os.WriteFile(path, loopTrace(), 0o644); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(t.TempDir(), "run")
	if o := execute(t, nil, binary(t), "analyze", path, "--out", run, "--keep-bursts", "all"); o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	return run
}

// On a terminal the export says what it is at.
func TestExportOnTerminal(t *testing.T) {
	run, out := exportable(t), filepath.Join(t.TempDir(), "tables")
	x := onTerminal(t, nil, binary(t), "export", run, "--format", "csv", "--out", out)
	x.waitFor(`moriens: reading `)
	x.waitFor(`moriens: writing bursts.csv, `)
	x.waitFor(`12 files, .* of 22 bursts`)
	<-x.done
	if err := x.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
