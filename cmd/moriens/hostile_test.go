package main_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	tables "moriens/trace/csv"
	"moriens/trace/rundir"
	"moriens/trace/tracetest"
)

// Names with control characters for a terminal or formulas for a spreadsheet do no harm to readers of a run, and are
// the same names in files for programs.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	const wild = "=x\x1b]0;own\a\u009b2J\u202e\nlosses: none\x7f"
	dir := filepath.Join(t.TempDir(), "run\x1b[2J")
	if err := rundir.Create(dir); err != nil {
		t.Fatal(err)
	}
	run := tracetest.Small()
	run.Nodes[0].Name, run.Worlds[0].Executable, run.Worlds[0].MPILibrary, run.MarkNames[0] = wild, "/bin/"+wild, wild, wild
	run.CallPaths[2].Frames[0].Function, run.CallPaths[2].Frames[0].Module = wild, wild
	m := &rundir.Manifest{Notes: []string{wild}, Command: []string{wild}, Empty: wild}
	if _, err := rundir.Write(&rundir.Content{Run: run, Manifest: m, Clusters: new(rundir.Clusters)}, dir); err != nil {
		t.Fatal(err)
	}
	tame := func(what, text string) {
		t.Helper()
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || r == '\u202e') }); i >= 0 || !utf8.ValidString(text) {
			t.Errorf("%s: something that a terminal obeys at byte %d of %q", what, i, text)
		}
	}
	out := filepath.Join(filepath.Dir(dir), "tables\x1b[2J")
	for _, args := range [][]string{
		{"status", dir}, {"finish", dir}, {"report", dir}, {"status", dir + "absent"}, {"report", filepath.Join(dir, wild)}, {wild}, {"status", "--" + wild, dir},
		{"export", "--format", "csv", "--out", out, dir}, {"export", "--format", "csv", "--out", out, dir}, // the second fails: it exists
		{"status", "--json", dir}, {"--log", "debug", "view", "--listen", wild, dir},
	} {
		o := bounded(t, args...)
		tame(strings.Join(args[:1], " ")+" stdout", o.stdout)
		tame(strings.Join(args[:1], " ")+" stderr", o.stderr)
		if o.stdout+o.stderr == "" {
			t.Errorf("%q says nothing", args)
		}
		if len(args) == 2 && args[0] == "status" && args[1] == dir && !strings.Contains(o.stdout, `note: =x\x1b]0;own\x07\u009b2J\u202e\nlosses: none\u007f`) {
			t.Errorf("no note in:\n%s", o.stdout)
		}
		if len(args) == 3 && args[1] == "--json" {
			var s struct{ Manifest struct{ Notes []string } }
			if err := json.Unmarshal([]byte(o.stdout), &s); err != nil || len(s.Manifest.Notes) == 0 || s.Manifest.Notes[0] != wild {
				t.Errorf("%+v, %v", s, err)
			}
		}
	}
	for _, name := range []string{rundir.LabelsFile, rundir.NamesFile, rundir.ScatterFile, rundir.TimelineFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		tame(name, strings.ReplaceAll(string(text), "\t", " "))
	}
	f, err := os.Open(filepath.Join(out, "ranks.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range rows[0] {
		if name == "node" && (rows[1][i] != "'"+wild || tables.TextOf(rows[1][i]) != wild) {
			t.Errorf("%q", rows[1][i])
		}
	}
}

// What report and view leave out is one line, whatever the names in it.
func TestHostileNameLeftOut(t *testing.T) {
	t.Parallel()
	dir := everything(t)
	clusters := filepath.Join(dir, rundir.ClustersFile)
	text, err := os.ReadFile(clusters)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), `"name": "MPI_Finalize"`, `"name": "MPI_Fi\nlize"`, 1) // of the same size
	if changed == string(text) {
		t.Fatal("clusters.json names no MPI_Finalize")
	}
	if err := os.WriteFile(clusters, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"report", dir}, {"view", "--no-browser", "--listen", "192.0.2.1:0", dir}} {
		reported := 0
		o := bounded(t, args...)
		for line := range strings.Lines(o.stderr) {
			if !strings.HasPrefix(line, "moriens: ") && !strings.HasPrefix(line, "hint: ") {
				t.Errorf("%s: a line of its own: %q", args[0], line)
			}
			if strings.HasPrefix(line, "moriens: left out: ") && strings.Contains(line, `MPI_Fi\nlize`) {
				reported++
			}
		}
		if reported == 0 {
			t.Errorf("%s does not say what is left out: %+v", args[0], o)
		}
	}
}
