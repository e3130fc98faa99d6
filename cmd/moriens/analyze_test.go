package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Ten times 5 and 50 us; a poll of half a microsecond; one burst of 2 us with many instructions for each.
const loopHeader = "#Paraver (04/03/2026 at 15:06):1000000_ns:1(1):1:1(1:1)\n"

func loopTrace() []byte {
	text := []byte(loopHeader)
	at := 0
	burst := func(length, instructions, cycles int) {
		end := at + length
		text = append(text, states(at, end, instructions, cycles)...)
		at = end + 1000
	}
	for i := range 10 {
		burst(5000+i, 10000+i, 8000)
		burst(50000+i, 500000+i, 250000)
	}
	burst(500, 1000, 1000)
	burst(2000, 20000, 2000)
	return text
}

func states(begin, end, instructions, cycles int) string {
	n := func(v int) string { b, _ := json.Marshal(v); return string(b) }
	return "1:1:1:1:1:" + n(begin) + ":" + n(end) + ":1\n" +
		"2:1:1:1:1:" + n(end) + ":42000050:" + n(instructions) + ":42000059:" + n(cycles) + ":50000001:1\n" +
		"2:1:1:1:1:" + n(end+1000) + ":50000001:0\n"
}

// The command line's options reach the analysis.
func TestAnalyzeOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loop.prv")
	if err := os.WriteFile(path, loopTrace(), 0o644); err != nil {
		t.Fatal(err)
	}
	type figures struct {
		Bursts, Filtered, Clusters, Noise int
		Eps                               []float64
	}
	for _, tt := range []struct {
		name string
		args []string
		want figures
	}{
		{"density", []string{"--dbscan", "0.05,4"}, figures{22, 0, 2, 2, []float64{.05}}},
		{"fraction of a microsecond", []string{"--dbscan", "0.05,4", "--min-duration", "0.6us"}, figures{22, 1, 2, 1, []float64{.05}}},
		{"ranges", []string{"--dbscan", "0.05,4", "--range", "IPC=..2.5", "--range", "duration=1us.."}, figures{22, 2, 2, 0, []float64{.05}}},
		{"dimensions", []string{"--dbscan", "0.9,4", "--dims", "IPC:log"}, figures{22, 0, 1, 0, []float64{.9}}},
		{"rare", []string{"--dbscan", "0.05,100"}, figures{22, 0, 1, 0, []float64{}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			args := append([]string{binary(t), "analyze", path, "--out", out, "--json", "--threads", "1", "--keep-bursts", "all"}, tt.args...)
			o := execute(t, nil, args...)
			var got figures
			if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || o.status != 0 || o.stderr != "" {
				t.Fatalf("status %d, %v\n%s%s", o.status, err, o.stdout, o.stderr)
			}
			if g, w := mustJSON(got), mustJSON(tt.want); g != w {
				t.Errorf("%s, want %s", g, w)
			}
			if n := readBursts(t, out).Threads[0].Bursts.Len(); n != tt.want.Bursts {
				t.Errorf("%d bursts in bursts.parquet", n)
			}
		})
	}
}

// The refinement's options do too.
func TestAnalyzeTree(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "loop.prv")
	if err := os.WriteFile(path, loopTrace(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, rules := range []string{"strict", "kinds"} {
		tree, out := filepath.Join(dir, rules+".dot"), filepath.Join(dir, rules)
		args := []string{binary(t), "analyze", path, "--out", out, "--tree", tree}
		if rules == "strict" {
			args = append(args, "--strict")
		}
		if o := execute(t, nil, args...); o.status != 0 {
			t.Fatalf("%s: status %d\n%s", rules, o.status, o.stderr)
		}
		if text, err := os.ReadFile(tree); err != nil || !strings.HasPrefix(string(text), "digraph refinement {\n") || !strings.HasSuffix(string(text), "}\n") {
			t.Errorf("%s: %v\n%s", rules, err, text)
		}
		var c struct{ Refinement struct{ Rules string } }
		text, err := os.ReadFile(filepath.Join(out, "clusters.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &c); err != nil || c.Refinement.Rules != rules {
			t.Errorf("%v: rules %q, want %q", err, c.Refinement.Rules, rules)
		}
	}
}

// Where over 1 % of a trace is left out analyze and status end with 3; as figures for programs it is on stderr, else in
// the first line.
func TestAnalyzeLeavesOut(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "loop.prv")
	if err := os.WriteFile(path, append(loopTrace(), "nonsense\nnonsense\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "json")
	o := execute(t, nil, binary(t), "analyze", path, "--lenient", "--json", "--out", out)
	if o.status != 3 || !json.Valid([]byte(o.stdout)) {
		t.Errorf("status %d\n%s", o.status, o.stdout)
	}
	const left = "2.94 % of the records left out" // 2 of 68
	if want := "moriens: " + left + ": 2 malformed lines of the trace skipped\nhint: see the notes; the results are in " + out + "\n"; o.stderr != want {
		t.Errorf("stderr %q, want %q", o.stderr, want)
	}
	out = filepath.Join(dir, "text")
	o = execute(t, nil, binary(t), "analyze", path, "--lenient", "--out", out)
	if first := "\nmoriens: " + left + " · loop.prv · 1 rank on 1 host · "; o.status != 3 || o.stderr != "" || !strings.HasPrefix(o.stdout, first) {
		t.Errorf("status %d, stderr %q\n%s", o.status, o.stderr, o.stdout)
	}
	if o := execute(t, nil, binary(t), "status", out); o.status != 3 || o.stderr != "" || !strings.Contains(o.stdout, left) {
		t.Errorf("status: %+v", o)
	}
}

func mustJSON(v any) string { text, _ := json.Marshal(v); return string(text) }
