package console

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"moriens/internal/golden"
	"moriens/trace"
	"moriens/trace/rundir"
)

// unpacked reads a recorded run directory, which has its files packed.
func unpacked(t *testing.T, dir string) *Results {
	t.Helper()
	whole := t.TempDir()
	golden.Unpack(t, dir, whole)
	var err error
	r := &Results{Run: new(trace.Run), Clusters: new(rundir.Clusters), Dir: "/run/" + filepath.Base(dir)}
	if r.Manifest, err = rundir.ReadManifest(whole); err != nil {
		t.Fatal(err)
	}
	if r.Written, err = r.Manifest.Written(whole); err != nil {
		t.Fatal(err)
	}
	if r.Manifest.Nobody() {
		return r
	}
	if r.Clusters, err = rundir.ReadClusters(whole); err != nil {
		t.Fatal(err)
	}
	if r.Run, err = r.Clusters.Outline(); err != nil {
		t.Fatal(err)
	}
	if r.Efficiency, err = rundir.ReadEfficiency(whole); err != nil {
		t.Fatal(err)
	}
	if r.Waits, err = rundir.ReadWaits(whole); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if r.Pairs, err = rundir.ReadPairs(whole); errors.Is(err, fs.ErrNotExist) {
		r.Pairs = nil
	} else if err != nil {
		t.Fatal(err)
	}
	return r
}

// What moriens status prints of recorded runs of real programs, to the letter: go test -update writes it again, make
// record-summaries the runs too.
func TestGoldenSummaries(t *testing.T) {
	dirs, err := filepath.Glob("testdata/summaries/*/" + rundir.ManifestFile + ".gz")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recorded summaries: %v", err)
	}
	for _, path := range dirs {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			r := unpacked(t, filepath.Dir(path))
			for file, long := range map[string]bool{"summary.txt": false, "long.txt": true} {
				var b bytes.Buffer
				if err := Finished(&b, r, long); err != nil {
					t.Fatal(err)
				}
				golden.Check(t, filepath.Join("summaries", name, file), b.Bytes())
				if !long {
					fits(t, b.String())
				}
			}
		})
	}
}

// fits checks that a summary is not too large, and that no two rows of its table read alike.
func fits(t *testing.T, summary string) {
	t.Helper()
	lines, rows := strings.Split(strings.Trim(summary, "\n"), "\n"), make(map[string]bool)
	lines = lines[:len(lines)-1] // when it was finished: of moriens status alone
	if len(lines) > 20 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > lineWidth {
			t.Errorf("%d characters: %s", n, line)
		}
		if calls := line[strings.LastIndex(line, "  ")+1:]; strings.Contains(calls, " → ") {
			if rows[calls] {
				t.Errorf("two rows read alike: %s", calls)
			}
			rows[calls] = true
		}
	}
}
