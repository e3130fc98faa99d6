package profiling

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moriens/app/question"
	"moriens/internal/hint"
	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// lateRows are waits of the planted profile's calls for late senders and receivers, and others, which do not count.
func lateRows(ranks int) (list []parquet.WaitsRow) {
	for rank := range int32(ranks) {
		for i, x := range []struct {
			path string
			kind trace.WaitKind
			ns   int64
		}{
			{rundirtest.WaitX, trace.LateSender, 1_000_003}, {rundirtest.WaitX, trace.WrongOrder, 70_001}, {rundirtest.WaitY, trace.LateSender, 500_009}, {rundirtest.SendX, trace.LateReceiver, 20_011},
			{rundirtest.Reduce, trace.AtNToN, 900_000}, {rundirtest.Missing, trace.AtBarrier, 10_000},
		} {
			if int(rank)%3 == i%3 {
				continue // that one does not wait
			}
			list = append(list, parquet.WaitsRow{Kind: parquet.WaitsWait, Rank: rank, CallPath: x.path, Iterations: -1, Wait: x.kind.String(), Count: 2, WaitNS: x.ns + 1000*int64(rank)})
		}
	}
	return append(list, parquet.WaitsRow{Kind: parquet.WaitsCause, Rank: 1, What: parquet.WaitsComputing, CallPath: rundirtest.WaitX, Iterations: -1, ChargedNS: 5_000_000})
}

// isLate reports whether waits of a kind, as files name it, count.
func isLate(kind string) bool {
	return kind == trace.LateSender.String() || kind == trace.LateReceiver.String() || kind == trace.WrongOrder.String()
}

// waitsOf is waits.json of rows.
func waitsOf(rows []parquet.WaitsRow) *rundir.Waits {
	sums := make(map[[2]string]*rundir.WaitsCallPath)
	table := &rundir.WaitsTable{Basis: rundir.WaitsFull, Ranks: 6, Locations: 6, End: 1, Seconds: 1, Path: rundir.WaitsPath{Seconds: 1}}
	var order [][2]string
	for _, r := range rows {
		if r.Kind != parquet.WaitsWait {
			continue
		}
		at := [2]string{r.CallPath, r.Wait}
		if sums[at] == nil {
			sums[at] = &rundir.WaitsCallPath{CallPath: r.CallPath, Kind: r.Wait}
			order = append(order, at)
		}
		sums[at].Count += r.Count
		sums[at].Seconds += rundir.Number(float64(r.WaitNS) / 1e9)
	}
	for _, at := range order {
		table.CallPaths = append(table.CallPaths, *sums[at])
	}
	return &rundir.Waits{Format: rundir.WaitsFormat, WholeRun: table}
}

// Late times are those of waits.json, by call, call path, function, rank and node, and add up.
func TestLate(t *testing.T) {
	p := rundirtest.Profile(6)
	s := plant(t, p)
	rows := lateRows(6)
	if err := rundirtest.WriteWaits(s.Dir, waitsOf(rows), rows); err != nil {
		t.Fatal(err)
	}
	file, err := rundir.ReadWaits(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	byPath, all := make(map[string]float64), 0.0
	for _, x := range file.WholeRun.CallPaths {
		if isLate(x.Kind) {
			byPath[x.CallPath] += 1e9 * float64(x.Seconds)
			all += 1e9 * float64(x.Seconds)
		}
	}
	// By functions: every function round a call has its waits.
	byFunction, byCall := make(map[string]float64), make(map[string]float64)
	for path, ns := range byPath {
		seen := make(map[string]bool)
		for _, f := range strings.Split(frames[path], " > ") {
			name, _, _ := strings.Cut(f[strings.Index(f, ":")+1:], "@")
			if !seen[name] {
				byFunction[name] += ns
			}
			seen[name] = true
		}
		function, _, _ := strings.Cut(path, "@")
		byCall[function] += ns
	}
	near := func(got int64, want float64) bool { return math.Abs(float64(got)-want) < .5 }
	for by, want := range map[By]map[string]float64{ByCall: byCall, ByCallPath: byPath, ByFunctions: byFunction} {
		for _, ranks := range []string{"", "0-5"} {
			q := Question{By: by, Metric: metricLate}
			if ranks != "" {
				q.Ranks = mustRanks(t, ranks)
			}
			a := ask(t, s, q)
			own := int64(0)
			for i := range a.Table.Rows {
				r := &a.Table.Rows[i]
				if !near(r.Inclusive.Sum, want[r.Name]) {
					t.Errorf("by %s: %s has %d ns, want %v", by, r.Name, r.Inclusive.Sum, want[r.Name])
				}
				if r.Type == calltree.Function && r.Exclusive.Sum != 0 {
					t.Errorf("by %s: %s waits itself: %d", by, r.Name, r.Exclusive.Sum)
				}
				own += r.Exclusive.Sum
				delete(want, "")
			}
			for name := range want {
				if !containsRow(a, name) {
					t.Errorf("by %s: no row %s", by, name)
				}
			}
			if !near(own, all) || !near(a.Table.Total.Inclusive.Sum, all) || a.Table.Unit != "ns" {
				t.Errorf("by %s: rows have %d ns, the total %d, want %v", by, own, a.Table.Total.Inclusive.Sum, all)
			}
		}
	}
	// Statistics of a rank, and ranks and nodes as a list.
	ofRank := make(map[int32]int64)
	for _, r := range rows {
		if r.Kind == parquet.WaitsWait && isLate(r.Wait) {
			ofRank[r.Rank] += r.WaitNS
		}
	}
	a := ask(t, s, Question{By: ByRank, Metric: metricLate})
	for _, x := range a.Table.Shares {
		if x.Value != ofRank[x.Rank] {
			t.Errorf("rank %d: %d, want %d", x.Rank, x.Value, ofRank[x.Rank])
		}
	}
	a = ask(t, s, Question{By: ByNode, Metric: metricLate})
	if list := a.Table.Shares; len(list) != 2 || list[0].Value != ofRank[0]+ofRank[1]+ofRank[2]+ofRank[3] || list[1].Value != ofRank[4]+ofRank[5] {
		t.Errorf("%+v", a.Table.Shares)
	}
	a = ask(t, s, Question{By: ByCall, Metric: metricLate, Ranks: mustRanks(t, "1,4"), Stat: Most})
	if x := a.Table.Total.Inclusive; x.Sum != ofRank[1]+ofRank[4] || x.Most != max(ofRank[1], ofRank[4]) || x.Least != min(ofRank[1], ofRank[4]) {
		t.Errorf("%+v of %v", x, ofRank)
	}
	for _, r := range a.Table.Rows {
		if r.InclusiveNS.Sum == 0 && r.Inclusive.Sum == 0 {
			t.Errorf("a row of ranks that were not asked for: %+v", r)
		}
	}
	// Waits of a thread that the profile does not have are in no row: the answer would be wrong.
	more := append(rows, parquet.WaitsRow{Kind: parquet.WaitsWait, Rank: 17, CallPath: rundirtest.WaitX, Iterations: -1, Wait: trace.LateSender.String(), Count: 1, WaitNS: 12345})
	if err := rundirtest.WriteWaits(s.Dir, waitsOf(more), more); err != nil {
		t.Fatal(err)
	}
	a = ask(t, s, Question{By: ByCall, Metric: metricLate})
	if note := strings.Join(a.Notes, "\n"); !strings.Contains(note, "12345 ns") {
		t.Errorf("notes %q", a.Notes)
	}
}

func containsRow(a *Answer, name string) bool {
	for i := range a.Table.Rows {
		if a.Table.Rows[i].Name == name {
			return true
		}
	}
	return false
}

// Where late times are not known of the whole run, the answer says what is lacking, and what to do.
func TestNoLateTimes(t *testing.T) {
	s := plant(t, rundirtest.Profile(2))
	why := func(q Question) error {
		q.Dir, q.Metric, q.Found = s.Dir, metricLate, -1
		_, err := Ask(q)
		return err
	}
	if err := why(Question{By: ByCall}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "it has no waits.json") || hint.Of(err) == "" {
		t.Error(err)
	}
	rows := lateRows(2)
	for _, basis := range []string{rundir.WaitsCollectives, ""} {
		w := waitsOf(rows)
		if w.WholeRun.Basis = basis; basis == "" {
			w.WholeRun = nil
		}
		if err := rundirtest.WriteWaits(s.Dir, w, rows); err != nil {
			t.Fatal(err)
		}
		for _, by := range []By{ByCall, ByCallPath, ByFunctions, ByRank, ByNode} {
			if err := why(Question{By: by}); !errors.As(err, new(question.UsageError)) || !strings.Contains(err.Error(), "not known of the whole run") || !strings.Contains(hint.Of(err), "--keep-bursts all") {
				t.Errorf("basis %q, by %s: %v; hint: %s", basis, by, err, hint.Of(err))
			}
		}
	}
	if err := rundirtest.WriteWaits(s.Dir, waitsOf(rows), rows); err != nil {
		t.Fatal(err)
	}
	for _, q := range []Question{{By: ByPhase}, {By: ByCluster}, {By: ByCall, In: mustPattern(t, "adi")}, {By: ByInstance, In: mustPattern(t, "adi")}} {
		if err := why(q); !errors.As(err, new(question.UsageError)) || hint.Of(err) == "" {
			t.Errorf("%+v: %v", q, err)
		}
	}
	table := filepath.Join(s.Dir, rundir.WaitsTableFile)
	if err := os.WriteFile(table, []byte("PAR1"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := why(Question{By: ByCall}); err == nil || !strings.Contains(err.Error(), rundir.WaitsTableFile+": ") || hint.Of(err) != rundir.AdviseDamage {
		t.Errorf("%v; hint: %s", err, hint.Of(err))
	}
	if err := os.Remove(table); err != nil {
		t.Fatal(err)
	}
	if err := why(Question{By: ByCall}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), fmt.Sprintf("it has no %s beside", rundir.WaitsTableFile)) {
		t.Error(err)
	}
}
