package efficiency

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/conclude/factors"
	"moriens/internal/hint"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// What a run directory of an earlier version has is computed from its profile, and says what is missing of it.
func TestReadOfProfile(t *testing.T) {
	dir := t.TempDir()
	m := &rundir.Manifest{Seconds: 2, Ranks: 2, Incomplete: []string{"3 records dropped"}, Losses: rundir.Losses{RanksDied: []rundir.RankDied{{Rank: 1, How: "killed by signal 9"}}}}
	if _, _, err := Read(dir, m); !errors.Is(err, fs.ErrNotExist) || hint.Of(err) == "" {
		t.Errorf("without a profile: %v", err)
	}
	put := func(name string, write func(f *os.File) error) {
		t.Helper()
		f, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = errors.Join(write(f), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p := &parquet.Profile{Rows: []parquet.ProfileRow{
		{Kind: parquet.ProfileComputation, Cluster: 1, Iterations: -1, Count: 3, TimeNS: 1e9}, {Kind: parquet.ProfileMPI, Iterations: -1, Count: 3, TimeNS: 5e8},
		{Kind: parquet.ProfileComputation, Rank: 1, Cluster: 1, Iterations: -1, Count: 3, TimeNS: 2e9},
	}}
	put(rundir.ProfileFile, func(f *os.File) error { return parquet.WriteProfile(f, p) })
	if _, _, err := Read(dir, m); err == nil || hint.Of(err) == "" {
		t.Errorf("without clusters: %v", err)
	}
	put(rundir.ClustersFile, func(f *os.File) error {
		return json.NewEncoder(f).Encode(map[string]any{"format": rundir.ClustersFormat, "clusters": []any{}})
	})
	e, computed, err := Read(dir, m)
	if err != nil || !computed || e.Within != factors.Run {
		t.Fatalf("%v, %+v", err, e)
	}
	want := []string{"only sums of the whole run are known", "3 records dropped", "1 rank died (rank 1: killed by signal 9): what it computed after its last MPI call is not known"}
	if r := &e.Runs[0]; !r.Bound || !slices.EqualFunc(r.Why, want, strings.HasPrefix) || r.Locations != 2 {
		t.Errorf("%+v", r)
	}
	put(rundir.EfficiencyFile, func(f *os.File) error { return e.Write(f) })
	if e, computed, err := Read(dir, m); err != nil || computed || len(e.Runs) != 1 {
		t.Errorf("with efficiency.json: %v, %v", computed, err)
	}
	put(rundir.EfficiencyFile, func(f *os.File) error { _, err := f.WriteString(`{"format": 1, "runs": []}`); return err })
	if _, _, err := Read(dir, m); err == nil || errors.Is(err, fs.ErrNotExist) || hint.Of(err) == "" {
		t.Errorf("of no run: %v", err)
	}
}
