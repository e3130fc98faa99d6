package main_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"moriens/app/profiling"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace/calltree/calltreetest"
	"moriens/trace/parquet"
)

// profiled runs moriens profile and returns what it prints.
func profiled(t *testing.T, args ...string) string {
	t.Helper()
	o := execute(t, nil, append([]string{binary(t), "profile"}, args...)...)
	if o.status != 0 || o.stderr != "" {
		t.Fatalf("profile %q: status %d\n%s", args, o.status, o.stderr)
	}
	return o.stdout
}

// total is the time of all rows of the file that make up the time of threads; of some of them where they are named.
func (p *phased) total(is func(r *parquet.ProfileRow) bool) (ns int64) {
	for i := range p.profile {
		switch r := &p.profile[i]; r.Kind {
		case parquet.ProfileMPI, parquet.ProfileComputation, parquet.ProfilePaused, parquet.ProfileUnrecorded:
			if is(r) {
				ns += r.TimeNS
			}
		}
	}
	return ns
}

func everyRow(*parquet.ProfileRow) bool { return true }

// Of a run on two ranks each format has what the run directory has, as readers find that share no code with moriens.
func TestProfileFormats(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "go")
	testenv.NeedFile(t, calltreetest.Python3)
	testenv.NeedLibrary(t, "libunwind.so.8")
	p := runPhases(t, keepDefault, "bt", "12", "7")
	source, err := profiling.Open(p.out)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := source.Tree(profiling.Exported, nil)
	if err != nil {
		t.Fatal(err)
	}
	dump, folder := calltreetest.Dump(t, tree), t.TempDir()
	for format, reader := range map[string][]string{"pprof": {"pprof"}, "folded": {"folded", "us"}, "hatchet": {"hatchet"}, "tau": {"tauprofile"}} {
		path := filepath.Join(folder, format)
		if said := profiled(t, p.out, "--format", format, "--out", path); !strings.Contains(said, "of 2 threads") {
			t.Errorf("%s: %q", format, said)
		}
		verify := filepath.Join(mpitest.Root(t), "trace", reader[0], "testdata", "verify.py")
		if found := calltreetest.Python(t, append([]string{verify, path, dump}, reader[1:]...)...); found != "" {
			t.Errorf("%s: %s", format, found)
		}
	}
	total := p.total(everyRow)
	top := calltreetest.GoToolPprof(t, "-top", "-unit=ns", "-nodefraction=0", filepath.Join(folder, "pprof"))
	if want := fmt.Sprintf("Total samples = %dns", total); total == 0 || !strings.Contains(top, want) {
		t.Errorf("no %q in\n%s", want, top)
	}
	p.checkDifference(t, folder)
	p.checkTexts(t, total)
}

// checkDifference has pprof compare both ranks.
func (p *phased) checkDifference(t *testing.T, folder string) {
	t.Helper()
	ranks := make([]string, 2)
	for rank := range ranks {
		ranks[rank] = filepath.Join(folder, fmt.Sprint("rank", rank))
		profiled(t, p.out, "--format", "pprof", "--by", "call", "--rank", fmt.Sprint(rank), "--out", ranks[rank])
	}
	top := calltreetest.GoToolPprof(t, "-top", "-unit=ns", "-nodefraction=0", "-diff_base="+ranks[0], ranks[1])
	for _, function := range []string{"MPI_Wait", "MPI_Isend", "MPI_Irecv"} {
		of := func(rank int32) int64 {
			return p.total(func(r *parquet.ProfileRow) bool {
				return r.Kind == parquet.ProfileMPI && r.Rank == rank && strings.HasPrefix(r.CallPath, function+"@")
			})
		}
		more := of(1) - of(0)
		if of(0) == 0 || of(1) == 0 {
			t.Errorf("%s is on one rank only", function)
		}
		if more != 0 && !regexp.MustCompile(fmt.Sprintf(`(?m)^ *%dns .* %s$`, more, function)).MatchString(top) {
			t.Errorf("no %d ns of %s in\n%s", more, function, top)
		}
	}
}

// checkTexts compares JSON and CSV with the directory, in a file and on stdout.
func (p *phased) checkTexts(t *testing.T, total int64) {
	t.Helper()
	type sum struct{ Sum int64 }
	type row struct {
		Type, Name string
		Time       struct {
			Exclusive *sum `json:"exclusive_ns"`
			Inclusive *sum `json:"inclusive_ns"`
		}
	}
	folder := t.TempDir()
	for _, by := range []string{"call", "callpath", "function", "phase", "cluster"} {
		var got struct {
			Total row
			Rows  []row
		}
		path := filepath.Join(folder, by+".json")
		if said := profiled(t, p.out, "--by", by, "--format", "json", "--out", path); said != "" {
			t.Errorf("%q", said)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if stdout := profiled(t, p.out, "--by", by, "--format", "json"); stdout != string(text) {
			t.Errorf("by %s: stdout and the file differ", by)
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		var sums []string
		own, phases := int64(0), int64(0)
		for _, r := range got.Rows {
			x := ""
			if r.Time.Exclusive != nil {
				if r.Type == "phase" || r.Type == "program" {
					phases += r.Time.Exclusive.Sum
				} else {
					own += r.Time.Exclusive.Sum
				}
				x = fmt.Sprint(r.Time.Exclusive.Sum)
			}
			sums = append(sums, r.Type+" "+r.Name+" "+x)
		}
		if by == "phase" && phases != total {
			t.Errorf("phases have %d ns, the directory %d", phases, total)
		}
		if own != total || got.Total.Time.Inclusive.Sum != total {
			t.Errorf("by %s: rows have %d ns, the total %d, the directory %d", by, own, got.Total.Time.Inclusive.Sum, total)
		}
		path = filepath.Join(folder, by+".csv")
		profiled(t, p.out, "--by", by, "--format", "csv", "--out", path)
		if text, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		at := slices.Index(lines[0], "exclusive_ns_sum")
		var cells []string
		for _, line := range lines[1:] {
			cells = append(cells, line[0]+" "+line[1]+" "+line[at])
		}
		if !slices.Equal(cells, sums) {
			t.Errorf("by %s: CSV has %q, JSON %q", by, cells, sums)
		}
	}
	var series struct {
		Instances []struct {
			Sum int64 `json:"sum_ns"`
		}
	}
	if err := json.Unmarshal([]byte(profiled(t, p.out, "--by", "instance", "--in", "ITERATE", "--format", "json")), &series); err != nil {
		t.Fatal(err)
	}
	sums := int64(0)
	for _, x := range series.Instances {
		sums += x.Sum
	}
	of := int64(0)
	for _, s := range p.of(parquet.ProfilePhase, "ITERATE") {
		of += s.timeNS
	}
	if len(series.Instances) != 12 || sums != of {
		t.Errorf("%d instances of %d ns, the phase has %d", len(series.Instances), sums, of)
	}
}
