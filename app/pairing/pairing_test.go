package pairing

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/app/question"
	"moriens/internal/hint"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// directory makes a run directory with what Ask reads.
func directory(t testing.TB, kind string, manifest map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	file, rows := rundirtest.Pairs(kind)
	ranks := 0
	for _, h := range file.Hosts {
		n, _ := rundir.CountRanks(h.Ranks)
		ranks += n
	}
	m := map[string]any{"format": rundir.ManifestFormat, "ranks": ranks}
	for name, value := range manifest {
		m[name] = value
	}
	text, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, rundir.ManifestFile), text, 0o666)
	}
	if err := errors.Join(err, rundirtest.WritePairs(dir, file, rows)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What is read is what was solved, for the ranks of a list.
func TestAsk(t *testing.T) {
	if _, err := Ask(directory(t, "late", map[string]any{"ranks": 9}), Question{}, nil); err != nil { // one of them has left no record
		t.Error(err)
	}
	a, err := Ask(directory(t, "late", nil), Question{}, RankList{{everyWorld, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	want := solve(t, "late", Question{Ranks: []int{2, 3}})
	if len(a.Pairs) != len(want.Pairs) || a.Pairs[0].Messages != want.Pairs[0].Messages || !slices.Equal(a.Order, want.Order) || a.Manifest == nil {
		t.Errorf("%+v, want %+v", a.Pairs, want.Pairs)
	}
}

// Files that are damaged or not there: what is wrong, and what to do.
func TestBadDirectories(t *testing.T) {
	damage := func(name string, text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666) }
	}
	without := func(name string) func(string) error {
		return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
	}
	table := func(change func(rows []parquet.PairsRow) []parquet.PairsRow) func(string) error {
		return func(dir string) error {
			file, rows := rundirtest.Pairs("late")
			n := file.Table.Rows
			err := rundirtest.WritePairs(dir, file, change(slices.Clone(rows)))
			if file.Table.Rows != n {
				return errors.New("the rows were counted again")
			}
			return err
		}
	}
	given := map[string]any{"reduction": map[string]any{"missing": []string{"structure.json is missing: x", "pairs.json is missing: pairs: out of time"}}}
	for what, c := range map[string]struct {
		kind     string
		manifest map[string]any
		spoil    func(dir string) error
		want     string
		missing  bool // as where a version did not write it
	}{
		"older":             {"late", nil, without(rundir.PairsFile), "it has no pairs.json: a version of moriens wrote it that did not compute pairs", true},
		"given up":          {"late", given, without(rundir.PairsFile), "pairs.json is missing: pairs: out of time", true},
		"cut":               {"late", nil, damage(rundir.PairsFile, `{"format": 1,`), "pairs.json: it is cut short", false},
		"of a later format": {"late", nil, damage(rundir.PairsFile, `{"format": 2}`), "pairs.json has format 2, this moriens reads 1", false},
		"without ranks":     {"late", nil, damage(rundir.PairsFile, `{"format": 1, "within": "main", "basis": "all", "totals": {}, "hosts": []}`), "is not in pairs.json", false},
		"of other ranks":    {"late", map[string]any{"ranks": 7}, func(string) error { return nil }, "pairs.json has 8 ranks, manifest.json says 7", false},
		"table of others":   {"late", nil, table(func(rows []parquet.PairsRow) []parquet.PairsRow { return rows[:len(rows)-1] }), "rows, pairs.json says ", false},
		"of as many rows": {"late", nil, table(func(rows []parquet.PairsRow) []parquet.PairsRow {
			i := slices.IndexFunc(rows, func(r parquet.PairsRow) bool { return r.Kind == parquet.PairsReceived && !r.Sized() })
			rows[i].Messages++
			return rows
		}), "pairs.parquet has 16,001 messages of 1,048,576,000 bytes, pairs.json says 16,000 of 1,048,576,000", false},
		"table cut":   {"late", nil, damage(rundir.PairsTableFile, "PAR1"), "pairs.parquet: it has 4 bytes", false},
		"no table":    {"late", nil, without(rundir.PairsTableFile), "it has no pairs.parquet beside pairs.json", false},
		"no manifest": {"late", nil, without(rundir.ManifestFile), "no manifest.json: not a run directory", false},
		"nobody":      {"late", map[string]any{"ranks": 0, "empty": "no process called MPI"}, func(string) error { return nil }, "no rank was recorded: no process called MPI", false},
		"no messages": {"none", nil, func(string) error { return nil }, "no messages are known: no rank sends or receives", false},
		"no reason":   {"none", nil, damage(rundir.PairsFile, `{"format": 1, "totals": null}`), "pairs.json has figures that cannot be", false},
	} {
		dir := directory(t, c.kind, c.manifest)
		if err := c.spoil(dir); err != nil {
			t.Fatal(err)
		}
		_, err := Ask(dir, Question{}, nil)
		var mistake question.UsageError
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), dir+": ") || strings.Contains(err.Error(), "\n") || hint.Of(err) == "" || errors.As(err, &mistake) {
			t.Errorf("%s: %v, hint %q", what, err, hint.Of(err))
		}
		if errors.Is(err, fs.ErrNotExist) && !c.missing {
			t.Errorf("%s: is said to be of another version", what)
		}
	}
	for want, ask := range map[string]func() error{
		"no rank 99 is recorded": func() error {
			_, err := Ask(directory(t, "late", nil), Question{}, RankList{{everyWorld, 99, 99}})
			return err
		},
		"spans of messages are not known": func() error {
			_, err := Ask(directory(t, "late", map[string]any{"kept": map[string]any{"how": "1 MiB"}}), Question{By: Span}, nil)
			return err
		},
	} {
		var mistake question.UsageError
		if err := ask(); !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%v, hint %q, want %q", err, hint.Of(err), want)
		}
	}
	if _, err := Ask(directory(t, "late", map[string]any{"kept": map[string]any{"how": "everything"}}), Question{By: Span}, nil); err == nil || hint.Of(err) == "" {
		t.Errorf("a directory that lacks what it says to keep: %v", err)
	}
}

// Spans are from the entry of the send to the end of the receive, both ways together; of ranks without a record, and of
// a rank with itself, there are none.
func TestSpans(t *testing.T) {
	ranks := []Rank{{0, 0, "a"}, {0, 1, "a"}, {1, 0, "b"}}
	run := &trace.Run{
		Threads: []trace.Thread{{World: 0, Rank: 0}, {World: 0, Rank: 1}, {World: 0, Rank: 1, Thread: 1}, {World: 1, Rank: 0}, {World: 0, Rank: 7}},
		Messages: []trace.Message{
			{From: 0, To: 1, SendNS: 10, PhysicalRecvNS: 110}, {From: 2, To: 0, SendNS: 5, PhysicalRecvNS: 12}, {From: 3, To: 2, SendNS: 0, PhysicalRecvNS: 9},
			{From: 1, To: 2, SendNS: 1, PhysicalRecvNS: 50}, {From: 0, To: 4, SendNS: 1, PhysicalRecvNS: 50}, {From: 0, To: 3, SendNS: 60, PhysicalRecvNS: 50},
		},
	}
	got := spansOf(run, newNumbering(ranks))
	want := spans{{0, 1}: 107, {1, 2}: 9, {0, 2}: 0}
	if len(got) != len(want) || got[[2]int32{0, 1}] != 107 || got[[2]int32{1, 2}] != 9 {
		t.Errorf("%v, want %v", got, want)
	}
	file, rows := rundirtest.Pairs("late")
	s, err := newSolver(file, Question{By: Span})
	if err == nil {
		err = s.add(rows)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.spans = spans{{2, 3}: 5e9, {3, 4}: 1e9}
	r, err := s.result()
	if err != nil || len(r.Merges) != 2 || r.Merges[0].Height != .2 {
		t.Errorf("%v, %+v", err, r.Merges)
	}
}

// Order files are new, and there is one only where there is an order to write.
func TestOrderIsNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "order")
	for want, c := range map[string]struct {
		kind, format string
		q            Question
		usage        bool
	}{
		"all ranks are on one node":                          {"halo", OrderMPICH, Question{}, false},
		"none that was found saves 10 % of the bytes":        {"late", OrderMPICH, Question{}, false},
		"none that was found saves 10 % of the blocked time": {"placed", OrderMPICH, Question{Weigh: true, RanksPerNode: 4}, false},
		"the run has several":                                {"worlds", OrderMPICH, Question{}, true},
		"needs the names of hosts":                           {"placed", OrderSlurm, Question{RanksPerNode: 3}, true},
	} {
		a := &Answer{Result: solve(t, c.kind, c.q)}
		err := a.WriteOrder(path, c.format)
		var mistake question.UsageError
		if err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" || errors.As(err, &mistake) != c.usage {
			t.Errorf("%v, hint %q, want %q", err, hint.Of(err), want)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s: there is a file", want)
		}
	}
	none, err := Solve(&rundir.Pairs{Totals: new(rundir.PairsTotals)}, nil, Question{})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Answer{Result: none}).WriteOrder(path, OrderMPICH); err == nil || !strings.Contains(err.Error(), "exchange nothing") {
		t.Errorf("without ranks: %v", err)
	}
	a := &Answer{Result: solve(t, "placed", Question{})}
	if err := a.WriteOrder(path, "other"); err == nil {
		t.Error("an unknown format is written")
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("what could not be written is left")
	}
	for _, format := range []string{OrderMPICH, OrderRankfile, OrderHostfile, OrderSlurm} {
		os.Remove(path)
		if err := a.WriteOrder(path, format); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || len(text) == 0 {
			t.Errorf("%s: %q, %v", format, text, err)
		}
	}
	var mistake question.UsageError
	if err := a.WriteOrder(path, OrderMPICH); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "exists") {
		t.Errorf("over a file: %v", err)
	}
	if err := a.WriteOrder(filepath.Join(path, "in", "file"), OrderMPICH); err == nil || hint.Of(err) == "" {
		t.Errorf("no such folder: %v", err)
	}
}
