package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport analyses a trace, whose run directory then has a page, and rewrites the page.
func TestReport(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	var stdout, stderr bytes.Buffer
	if status := run([]string{"analyze", "../../trace/prv/testdata/small.prv", "--out", out}, &stdout, &stderr); status != statusIncomplete { // tracing was disabled for .9 ms
		t.Fatalf("status %d\n%s", status, &stderr)
	}
	page := filepath.Join(out, "report.html")
	first, err := os.ReadFile(page)
	if err != nil || !bytes.Contains(first, []byte(`data-mode="report"`)) {
		t.Fatalf("%v: %.200s", err, first)
	}
	if err := os.WriteFile(page, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	stderr.Reset()
	if status := run([]string{"report", out}, &stdout, &stderr); status != 0 || stderr.Len() > 0 {
		t.Fatalf("status %d\n%s", status, &stderr)
	}
	if again, err := os.ReadFile(page); err != nil || len(again) < len(first)/2 {
		t.Errorf("%v: %d bytes, %d at first", err, len(again), len(first))
	}
	for _, wrong := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"report", t.TempDir()}, statusFailure, "no manifest.json: not a run directory\nhint: "},
		{[]string{"view", filepath.Join(out, "else"), "--no-browser"}, statusFailure, "no such file or directory\nhint: "},
		{[]string{"view", out, "--listen", "0.0.0.0:0", "--no-browser"}, statusUsage, "not a loopback address\nhint: "},
	} {
		stderr.Reset()
		if status := run(wrong.args, &stdout, &stderr); status != wrong.status || !strings.Contains(stderr.String(), wrong.says) {
			t.Errorf("%v: status %d, %s", wrong.args, status, &stderr)
		}
	}
}
