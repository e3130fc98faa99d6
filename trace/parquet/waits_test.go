package parquet

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pq "github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"moriens/trace"
)

// waitsRow is any row that there may be.
func waitsRow(t *rapid.T) WaitsRow {
	number, id := rapid.Int64Range(0, 1<<62), rapid.Int32Range(0, 1<<20)
	within := func(ns int64) *rapid.Generator[int64] {
		return rapid.OneOf(rapid.Just(ns), rapid.Int64Range(0, ns))
	}
	name := rapid.SampledFrom([]string{"", "MPI_Send", "two\nlines"})
	r := WaitsRow{
		Kind:  rapid.SampledFrom([]string{WaitsWait, WaitsCause, WaitsPath, WaitsLink}).Draw(t, "kind"),
		World: id.Draw(t, "world"), Rank: id.Draw(t, "rank"), Thread: id.Draw(t, "thread"), Iterations: -1,
	}
	if r.Kind != WaitsLink {
		r.CallPath = name.Draw(t, "path")
	}
	if r.Kind == WaitsCause || r.Kind == WaitsPath {
		if r.What = rapid.SampledFrom([]string{WaitsComputing, WaitsMPI, WaitsOutside}).Draw(t, "what"); r.What == WaitsComputing {
			r.Cluster = rapid.Int32Range(-3, 9).Draw(t, "cluster")
		}
	}
	switch r.Kind {
	case WaitsWait:
		r.Wait = trace.WaitKind(rapid.IntRange(1, trace.WaitKinds-1).Draw(t, "wait")).String()
		r.Iterations = rapid.Int32Range(-1, 3).Draw(t, "iterations")
		r.Count, r.WaitNS, r.ResidualNS = number.Draw(t, "count"), number.Draw(t, "wait"), number.Draw(t, "residual")
		r.MainWaitNS = within(r.WaitNS).Draw(t, "wait within main")
	case WaitsCause:
		r.Count, r.ChargedNS, r.MoreNS = number.Draw(t, "count"), number.Draw(t, "charged"), number.Draw(t, "more")
		r.DirectNS = rapid.Int64Range(0, r.ChargedNS).Draw(t, "direct")
		r.MainChargedNS = within(r.ChargedNS).Draw(t, "charged within main")
		r.MainDirectNS = within(min(r.DirectNS, r.MainChargedNS)).Draw(t, "direct within main")
	case WaitsPath:
		r.PathNS = number.Draw(t, "path")
		r.MainPathNS = within(r.PathNS).Draw(t, "path within main")
	case WaitsLink:
		r.ForWorld, r.ForRank, r.ForThread = id.Draw(t, "for world"), id.Draw(t, "for rank"), id.Draw(t, "for thread")
		r.Count, r.WaitNS, r.ComputingNS = number.Draw(t, "count"), number.Draw(t, "wait"), number.Draw(t, "computing")
		r.MainWaitNS = within(r.WaitNS).Draw(t, "wait within main")
		r.MPINS, r.OutsideNS, r.HandedOnNS = number.Draw(t, "MPI"), number.Draw(t, "outside"), number.Draw(t, "handed on")
	}
	return r
}

func waitsFile(t interface{ Fatal(...any) }, rows []WaitsRow) []byte {
	var file bytes.Buffer
	if err := WriteWaits(&file, rows); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func readWaits(file []byte) ([]WaitsRow, error) {
	return ReadWaits(bytes.NewReader(file), int64(len(file)))
}

func TestWaitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOf(rapid.Custom(waitsRow)).Draw(t, "rows")
		back, err := readWaits(waitsFile(t, rows))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(rows, back, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("read back (+) differs from what was written (-):\n%s", d)
		}
	})
}

// manyWaits are the rows of so many ranks with noise in every time: waits at collectives in which rank 7 is late, its
// causes, and waits for neighbours.
func manyWaits(ranks int) []WaitsRow {
	random := rand.New(rand.NewPCG(1, 2))
	var rows []WaitsRow
	for path := range 8 {
		for rank := range int32(ranks) {
			rows = append(rows, WaitsRow{
				Kind: WaitsWait, Rank: rank, CallPath: "MPI_Allreduce@solve.c:" + string(rune('1'+path)), Wait: trace.AtNToN.String(), Iterations: int32(path % 2),
				Count: 1000 - int64(random.IntN(3)), WaitNS: 500_000_000 + random.Int64N(5_000_000), ResidualNS: 20_000_000 + random.Int64N(500_000),
			})
		}
	}
	for cluster := range int32(8) {
		for rank := range int32(ranks) {
			ns := random.Int64N(300_000)
			rows = append(rows, WaitsRow{
				Kind: WaitsCause, Rank: rank, CallPath: "MPI_Allreduce@solve.c:1", What: WaitsComputing, Cluster: cluster, Iterations: -1, Count: int64(random.IntN(9)), ChargedNS: ns, DirectNS: ns, MoreNS: ns / 100,
			})
		}
	}
	for rank := range int32(ranks) {
		ns := random.Int64N(300_000)
		rows = append(rows, WaitsRow{Kind: WaitsLink, Rank: rank, ForRank: rank ^ 1, Iterations: -1, Count: int64(random.IntN(9)), WaitNS: ns, ComputingNS: ns})
	}
	rows = append(rows, WaitsRow{Kind: WaitsPath, Rank: 7, CallPath: "MPI_Allreduce@solve.c:1", What: WaitsComputing, Cluster: 3, Iterations: -1, PathNS: 1_000_000_000})
	for i := range rows { // all but some of one row is within main
		r := &rows[i]
		r.MainWaitNS, r.MainChargedNS, r.MainDirectNS, r.MainPathNS = r.WaitNS, r.ChargedNS, r.DirectNS, r.PathNS
	}
	rows[0].MainWaitNS = 0
	return rows
}

// What other readers see: units, null where a column does not apply, and few bytes a row though every time has noise.
func TestWaitsFile(t *testing.T) {
	rows := manyWaits(20_000)
	file := waitsFile(t, rows)
	f, err := pq.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for column, unit := range map[string]string{"wait_ns": "ns", "path_ns": "ns", "count": "", "rank": ""} {
		if got, _ := f.Lookup(keyUnit + column); got != unit {
			t.Errorf("%s is in %q, want %q", column, got, unit)
		}
	}
	groups := f.Metadata().RowGroups
	if len(groups) != 2 || groups[0].NumRows != rowsPerGroup {
		t.Fatalf("%d row groups, the first of %d rows", len(groups), groups[0].NumRows)
	}
	const waits, causes = 160_000, rowsPerGroup - 160_000 // of the first group
	for column, nulls := range map[string]int64{"wait": causes, "iterations": causes, "what": waits, "cluster": waits, "charged_ns": waits, "for_rank": rowsPerGroup, "path_ns": rowsPerGroup, "main_wait_ns": rowsPerGroup - 1, "main_charged_ns": rowsPerGroup, "call_path": 0, "count": 0} {
		c, ok := f.Schema().Lookup(column)
		if !ok {
			t.Errorf("no column %s", column)
			continue
		}
		if got := groups[0].Columns[c.ColumnIndex].MetaData.Statistics.NullCount; got != nulls {
			t.Errorf("%s: %d nulls, want %d", column, got, nulls)
		}
	}
	each := float64(len(file)) / float64(len(rows))
	if t.Logf("%.2f bytes a row", each); each > 6 {
		t.Errorf("%.2f bytes a row", each)
	}
	back, err := readWaits(file)
	if err != nil || !slices.Equal(back, rows) {
		t.Errorf("%d rows of %d: %v", len(back), len(rows), err)
	}
}

// What no row says is neither written nor read.
func TestWaitsRefuse(t *testing.T) {
	for want, spoil := range map[string]func(*WaitsRow){
		`no kind of rows "x"`:     func(r *WaitsRow) { r.Kind = "x" },
		`no kind of waits "x"`:    func(r *WaitsRow) { r.Kind, r.Wait = WaitsWait, "x" },
		`no cause ""`:             func(r *WaitsRow) { r.What = "" },
		"a thread below 0":        func(r *WaitsRow) { r.Rank = -1 },
		"a time or number below ": func(r *WaitsRow) { r.ChargedNS = -1 },
		"more direct waits than ": func(r *WaitsRow) { r.DirectNS = 1 },
		"more time within main":   func(r *WaitsRow) { r.MainChargedNS = 1 },
		"time or number below 0":  func(r *WaitsRow) { r.MainChargedNS = -2 },
	} {
		rows := []WaitsRow{{Kind: WaitsCause, What: WaitsMPI, Iterations: -1}, {Kind: WaitsCause, What: WaitsMPI, Iterations: -1}}
		spoil(&rows[1])
		if err := WriteWaits(new(bytes.Buffer), rows); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "row 1: ") {
			t.Errorf("%v, want %q", err, want)
		}
		var file bytes.Buffer
		if err := writeColumns(&file, "waits", waitsColumns(true), rows); err != nil {
			t.Fatal(err)
		}
		if _, err := readWaits(file.Bytes()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read: %v, want %q", err, want)
		}
	}
	good := waitsFile(t, manyWaits(100))
	for n := range good {
		if n%97 == 0 {
			if _, err := readWaits(good[:n]); err == nil {
				t.Errorf("cut to %d of %d bytes: no error", n, len(good))
			}
		}
	}
	var newer, other bytes.Buffer
	if err := WriteProfile(&newer, profile(3)); err != nil {
		t.Fatal(err)
	}
	if _, err := readWaits(newer.Bytes()); err == nil || !strings.Contains(err.Error(), `format "2", not 1`) {
		t.Errorf("a profile: %v", err)
	}
	columns, err := profileColumns(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeColumns(&other, "other", columns, profile(0).Rows); err != nil {
		t.Fatal(err)
	}
	if _, err := readWaits(other.Bytes()); err == nil || !strings.Contains(err.Error(), "column world is of type") {
		t.Errorf("columns of a profile: %v", err)
	}
}

// Whatever a file says, reading takes memory in proportion to it, and what is read can be written.
func FuzzWaits(f *testing.F) {
	good := waitsFile(f, manyWaits(3))
	n := int(binary.LittleEndian.Uint32(good[len(good)-8:]))
	f.Add(good[:len(good)-8-n], good[len(good)-8-n:len(good)-8])
	f.Fuzz(func(t *testing.T, body, footer []byte) {
		file := append(slices.Clone(body), footer...)
		file = append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
		var rows []WaitsRow
		var err error
		if took := allocated(func() { rows, err = readWaits(file) }); took > 64<<20+2000*uint64(len(file)) {
			t.Errorf("%d bytes taken for a file of %d", took, len(file))
		}
		if err == nil {
			waitsFile(t, rows)
		}
	})
}
