package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"moriens/internal/testenv"
)

// A real trace, analysed and exported as OTF2 by the program that make builds for it: otf2-print finds its messages,
// bursts, calls and clusters.
func TestExportOTF2(t *testing.T) {
	testenv.Need(t, "gcc", "otf2-print")
	testenv.NeedFile(t, "/usr/include/otf2/otf2.h")
	dir := t.TempDir()
	run, out := filepath.Join(dir, "run"), filepath.Join(dir, "out")
	said, err := exec.Command("go", "build", "-tags", "otf2", "-o", filepath.Join(dir, "moriens-otf2"), "moriens/cmd/moriens-otf2").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	path := "PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")
	o := execute(t, nil, binary(t), "analyze", testenv.RealTrace(t, "epoch_4proc.prv.gz"), "--out", run, "--keep-bursts", "all", "--dbscan", "0.05,4")
	if o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	o = execute(t, []string{path}, binary(t), "export", run, "--format", "otf2", "--out", out)
	if o.status != 0 || o.stderr != "" || !strings.HasSuffix(o.stdout, " of 7,508 bursts, 7,496 MPI calls, 2,556 messages, 5 communicators, 14 clusters\n") {
		t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	text, err := exec.Command("otf2-print", "-Werror", "-A", filepath.Join(out, "traces.otf2")).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	clusters := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		first, _, _ := strings.Cut(line, " ")
		got[first]++
		if _, region, is := strings.Cut(line, `Region: "cluster `); is && first == "ENTER" {
			id, _, _ := strings.Cut(region, `"`)
			clusters[id] = true
		}
	}
	// 7,508 bursts and 7,496 calls; MPI_COMM_WORLD and that of all worlds are added to the trace's five communicators.
	for record, want := range map[string]int{"ENTER": 15004, "LEAVE": 15004, "MPI_SEND": 2556, "MPI_RECV": 2556, "COMM": 7, "LOCATION": 4} {
		if got[record] != want {
			t.Errorf("%d records %s, want %d", got[record], record, want)
		}
	}
	if len(clusters) != 14 {
		t.Errorf("bursts of %d clusters, want 14", len(clusters))
	}
	if o := execute(t, []string{path}, binary(t), "export", run, "--format", "otf2", "--out", out); o.status != 1 || !strings.Contains(o.stderr, "hint: ") {
		t.Errorf("over what is there: status %d\n%s", o.status, o.stderr)
	}
}
