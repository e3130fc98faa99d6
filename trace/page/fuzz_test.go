package page_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moriens/trace"
	"moriens/trace/page"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// FuzzOpen makes pages of run directories of which one file is damaged: unless that is the one that says what the
// directory is, there is a page, whose columns are as long as its description says.
func FuzzOpen(f *testing.F) {
	run := long(2, 20) // without phases, events and transfers: each is a file that takes long to read
	c := content(run, run.Cut([]trace.Window{{BeginNS: 2000, EndNS: 9100, Threads: []int{0, 1}}}, [][]trace.Span{{{BeginNS: 2000, EndNS: 9100}}, {{BeginNS: 2000, EndNS: 9100}}}))
	c.Clusters.Dimensions = nil
	dir := filepath.Join(f.TempDir(), "run")
	if err := rundir.Create(dir); err != nil {
		f.Fatal(err)
	}
	if _, err := rundir.Write(c, dir); err != nil {
		f.Fatal(err)
	}
	profile, err := os.Create(filepath.Join(dir, rundir.ProfileFile))
	if err != nil {
		f.Fatal(err)
	}
	rows := []parquet.ProfileRow{
		{Kind: parquet.ProfileComputation, Cluster: 1, Iterations: -1, Count: 3, Records: 3, TimeNS: 30, SquaresNS2: 300, Counters: make([]parquet.ProfileCounter, len(run.Counters))},
		{Kind: parquet.ProfileMPI, Rank: 1, Iterations: -1, Count: 2, Records: 2, TimeNS: 7, SentBytes: 8},
	}
	if err := errors.Join(parquet.WriteProfile(profile, &parquet.Profile{Counters: run.Counters, Rows: rows}), profile.Close()); err != nil {
		f.Fatal(err)
	}
	waits, err := json.Marshal(caused())
	if err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, rundir.WaitsFile), waits, 0o666); err != nil {
		f.Fatal(err)
	}
	names := []string{rundir.ManifestFile, rundir.ClustersFile, rundir.TraceFile, rundir.LabelsFile, rundir.BurstsFile, rundir.ProfileFile, rundir.OverviewFile, rundir.WaitsFile}
	whole := make(map[string][]byte)
	for i, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			f.Fatal(err)
		}
		whole[name] = text
		if name == rundir.OverviewFile {
			text = unzipped(f, text)
		}
		f.Add(uint8(i), text)
	}
	put := func(t *testing.T, name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		name := names[int(which)%len(names)]
		if name == rundir.OverviewFile {
			text = stored(t, text)
		}
		put(t, name, text)
		if name != rundir.ManifestFile {
			put(t, rundir.ManifestFile, sized(t, whole[rundir.ManifestFile], name, len(text)))
		}
		s, err := page.Open(dir)
		put(t, name, whole[name])
		put(t, rundir.ManifestFile, whole[rundir.ManifestFile])
		if err != nil {
			if name != rundir.ManifestFile {
				t.Fatalf("%s: %v", name, err)
			}
			return
		}
		for _, problem := range s.Problems {
			if strings.Contains(problem, dir) {
				t.Fatalf("%q says where the directory is", problem)
			}
		}
		var b bytes.Buffer
		if err := page.Write(&b, page.Report, s, page.LimitsOf(page.Report)); err != nil {
			t.Fatal(err)
		}
		fits(t, open(t, b.Bytes()))
	})
}

// fits compares the lengths of columns with the description, as viewer/src/data/pack.ts does.
func fits(t *testing.T, s shown) {
	d := s.Document
	rows := map[string]int{"thread": d.Threads, "points": d.Points.Count, "rank": len(d.Groups), "calls": d.Detail.Calls, "waits": d.Detail.Waits, "messages": d.Detail.Messages, "critical": d.Detail.Critical, "heat": len(s.Floats["heat.group"])}
	for name, column := range s.Floats {
		table, _, _ := strings.Cut(name, ".")
		if n, known := rows[table]; known && n != len(column) {
			t.Fatalf("%s has %d rows, not %d", name, len(column), n)
		}
	}
	if o, waits := d.Overview, s.Floats["overview.wait"]; o != nil && waits != nil && len(waits) != len(o.Rows)*o.Bins {
		t.Fatalf("%d rows of %d bins, %d waits", len(o.Rows), o.Bins, len(waits))
	}
	if o := d.Overview; o != nil && (len(s.Floats["overview.cell"]) != len(o.Rows)*o.Bins || len(s.Floats["overview.profile"]) != len(o.Codes)*o.Bins) {
		t.Fatalf("%d rows of %d bins, %d cells, %d sums of %d codes", len(o.Rows), o.Bins, len(s.Floats["overview.cell"]), len(s.Floats["overview.profile"]), len(o.Codes))
	}
}

// sized has a manifest name the size of a file as it is now: nothing else of a damaged file would be looked at.
func sized(t *testing.T, manifest []byte, name string, size int) []byte {
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(manifest))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	files, _ := m["files"].([]any)
	for _, f := range files {
		if f, ok := f.(map[string]any); ok && f["name"] == name {
			f["bytes"] = size
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func unzipped(t testing.TB, text []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stored wraps bytes as gzip does, without making them fewer.
func stored(t *testing.T, text []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
