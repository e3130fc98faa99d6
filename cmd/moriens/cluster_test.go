package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Plain points from a file, the same with any number of threads.
func TestClusterPoints(t *testing.T) {
	dir := t.TempDir()
	csv := filepath.Join(dir, "points.csv")
	os.WriteFile(csv, []byte("x,y\n5,5\n0,0\n3,4\n9,9\n5,6\n0,0\n"), 0o644)
	for _, threads := range []string{"1", "2", "8"} {
		out := filepath.Join(dir, "labels"+threads)
		o := execute(t, nil, binary(t), "cluster", csv, "--eps", "1", "--min-points", "2", "--out", out, "--threads", threads)
		if o.status != 0 || o.stderr != "" {
			t.Fatalf("status %d\n%s", o.status, o.stderr)
		}
		var said map[string]float64
		if err := json.Unmarshal([]byte(o.stdout), &said); err != nil {
			t.Fatalf("%v in %q", err, o.stdout)
		}
		if said["points"] != 6 || said["clusters"] != 2 || said["noise"] != 2 || !(said["seconds"] > 0) || len(said) != 4 {
			t.Errorf("%v", said)
		}
		// 0 is the cluster whose smallest core point is the smallest.
		if labels, _ := os.ReadFile(out); string(labels) != "1\n0\n-1\n-1\n1\n0\n" {
			t.Errorf("%s threads: labels %q", threads, labels)
		}
	}
}

func TestClusterMistakes(t *testing.T) {
	dir := t.TempDir()
	csv := filepath.Join(dir, "points.csv")
	os.WriteFile(csv, []byte("1,2\n3,4\n"), 0o644)
	bad := filepath.Join(dir, "bad.csv")
	os.WriteFile(bad, []byte("1,2\n3,NaN\n"), 0o644)
	wide := filepath.Join(dir, "wide.csv")
	os.WriteFile(wide, []byte("1,2,3,4,5,6,7,8,9\n"), 0o644)
	labels := filepath.Join(dir, "labels")
	density := []string{"--eps", "1", "--min-points", "2"}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		stderr string
	}{
		{"no density", []string{csv}, 2, "--eps"},
		{"Eps below 0", []string{csv, "--eps=-1", "--min-points", "2"}, 2, "--eps -1"},
		{"Eps NaN", []string{csv, "--eps", "NaN", "--min-points", "2"}, 2, "--eps NaN"},
		{"Eps infinite", []string{csv, "--eps", "Inf", "--min-points", "2"}, 2, "--eps +Inf"},
		{"MinPts 0", []string{csv, "--eps", "1", "--min-points", "0"}, 2, "--min-points 0"},
		{"negative threads", append([]string{csv, "--threads=-1"}, density...), 2, "--threads"},
		{"no file", append([]string{dir + "/absent"}, density...), 1, "absent"},
		{"a directory", append([]string{dir}, density...), 1, "directory"},
		{"NaN", append([]string{bad}, density...), 1, "bad.csv: line 2, column 2: NaN"},
		{"labels over the points", append([]string{csv, "--out", csv}, density...), 2, "points.csv is the file of points"},
		{"nine dimensions", append([]string{wide}, density...), 1, "9 dimensions: want at most 8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := execute(t, nil, append([]string{binary(t), "cluster", "--out", labels}, c.args...)...)
			lines := strings.Split(strings.TrimSpace(o.stderr), "\n")
			if o.status != c.status || len(lines) != 2 || !strings.HasPrefix(lines[1], "hint: ") || o.stdout != "" {
				t.Errorf("status %d, want %d\n%s%s", o.status, c.status, o.stdout, o.stderr)
			}
			contains(t, o.stderr, c.stderr)
			if _, err := os.Stat(labels); err == nil {
				t.Error("labels were written")
			}
		})
	}
	if text, err := os.ReadFile(csv); string(text) != "1,2\n3,4\n" {
		t.Errorf("the points are %q now, %v", text, err)
	}
	o := execute(t, nil, append([]string{binary(t), "cluster", csv, "--out", dir + "/no/labels"}, density...)...)
	if o.status != 1 {
		t.Errorf("no folder for the labels: status %d", o.status)
	}
	contains(t, o.stderr, "no/labels", "hint: ")
}
