package parquet

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	pq "github.com/parquet-go/parquet-go"

	"moriens/trace"
	"moriens/trace/tracetest"
)

func rows[T any](t *testing.T, write func(*bytes.Buffer) error) []T {
	t.Helper()
	var file bytes.Buffer
	if err := write(&file); err != nil {
		t.Fatal(err)
	}
	list, err := pq.Read[T](bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestMarks(t *testing.T) {
	run := tracetest.Small()
	const halo = "halo \"x\"\n→"
	wantPhases := []phaseRow{
		{Name: "solve", BeginNS: 600_000, DurationNS: 7_900_000},
		{Name: halo, Depth: 1, BeginNS: 1_900_000, DurationNS: 3_100_000},
		{Name: halo, Depth: 1, BeginNS: 5_000_000},
		{Rank: 1, Name: "solve", BeginNS: 700_000, DurationNS: 8_400_000, Unfinished: true},
	}
	if d := cmp.Diff(wantPhases, rows[phaseRow](t, func(b *bytes.Buffer) error { return WritePhases(b, run) })); d != "" {
		t.Error(d)
	}
	wantEvents := []eventRow{
		{Name: "residual", TimeNS: 4_000_000, Value: -12}, {Name: "residual", TimeNS: 8_200_000, Value: 1 << 40},
		{Rank: 1, Thread: 1, Name: "?", TimeNS: 4_900_000, Value: 7}}
	if d := cmp.Diff(wantEvents, rows[eventRow](t, func(b *bytes.Buffer) error { return WriteEvents(b, run) })); d != "" {
		t.Error(d)
	}
	type burst struct {
		StartNS int64   `parquet:"start_ns"`
		Phase   *string `parquet:"phase,optional"`
	}
	var got []string
	for _, b := range rows[burst](t, func(b *bytes.Buffer) error {
		_, err := Write(b, run)
		return err
	}) {
		if b.Phase == nil {
			got = append(got, "none")
		} else {
			got = append(got, *b.Phase)
		}
	}
	if d := cmp.Diff([]string{"solve", halo, "solve", "solve", "solve", "solve", "none"}, got); d != "" {
		t.Errorf("phases of the bursts:\n%s", d)
	}
}

// More rows than a batch holds.
func TestManyMarks(t *testing.T) {
	run := &trace.Run{MarkNames: []string{"?", "a"}, Threads: make([]trace.Thread, 2)}
	const n = 3*rowsPerBatch + 1
	for i := range run.Threads {
		run.Threads[i].Thread = i
		for k := range int64(n) {
			run.Threads[i].Events = append(run.Threads[i].Events, trace.Event{Name: 1, TimeNS: k, Value: -k})
		}
	}
	list := rows[eventRow](t, func(b *bytes.Buffer) error { return WriteEvents(b, run) })
	if len(list) != 2*n {
		t.Fatalf("%d rows", len(list))
	}
	for i, row := range list {
		if want := (eventRow{Thread: int32(i / n), Name: "a", TimeNS: int64(i % n), Value: -int64(i % n)}); row != want {
			t.Fatalf("row %d: %+v, want %+v", i, row, want)
		}
	}
}
