package parquet

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func instanceRow(t *rapid.T) (r InstanceRow) {
	number, id := rapid.Int64(), rapid.Int32Range(0, 1<<20)
	text := rapid.SampledFrom([]string{"", "MPI_Send", "solve/it", "two\nlines"})
	r.What = rapid.SampledFrom([]string{InstanceWhole, InstanceComputation, InstanceMPI, InstancePaused, InstanceUnrecorded}).Draw(t, "what")
	r.Iterations = rapid.Int32Range(-1, 3).Draw(t, "iterations")
	if r.InPhase = rapid.Bool().Draw(t, "in phase"); r.InPhase {
		r.Phase = text.Draw(t, "phase")
	}
	r.Instance, r.Instances, r.Count, r.Calls = number.Draw(t, "instance"), number.Draw(t, "instances"), number.Draw(t, "count"), number.Draw(t, "calls")
	r.SumNS, r.DirectNS = number.Draw(t, "sum"), number.Draw(t, "direct")
	switch r.What {
	case InstanceWhole:
		r.LongestNS, r.LongestInstance = number.Draw(t, "longest"), number.Draw(t, "number")
	case InstanceComputation:
		r.Cluster = rapid.Int32Range(-3, 9).Draw(t, "cluster")
	case InstanceMPI:
		r.Function = text.Draw(t, "function")
	}
	if r.OfThread = rapid.Bool().Draw(t, "of a thread"); r.OfThread {
		r.World, r.Rank, r.Thread = id.Draw(t, "world"), id.Draw(t, "rank"), id.Draw(t, "thread")
		r.settle()
		return r
	}
	if r.Timed = rapid.Bool().Draw(t, "timed"); r.Timed {
		r.BeginNS, r.EndNS = number.Draw(t, "begin"), number.Draw(t, "end")
	}
	r.LeastNS, r.MostNS, r.SquaresNS2 = number.Draw(t, "least"), number.Draw(t, "most"), rapid.Float64().Draw(t, "squares")
	r.MostWorld, r.MostRank, r.MostThread = id.Draw(t, "world"), id.Draw(t, "rank"), id.Draw(t, "thread")
	return r
}

func TestInstancesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOf(rapid.Custom(instanceRow)).Draw(t, "rows")
		var file bytes.Buffer
		if err := WriteInstances(&file, rows); err != nil {
			t.Fatal(err)
		}
		back, err := ReadInstances(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(rows, back.Rows, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); d != "" {
			t.Fatalf("read back (+) differs from what was written (-):\n%s", d)
		}
	})
}

// Damaged files, and files of other tables, are errors.
func TestInstancesRefuse(t *testing.T) {
	var file bytes.Buffer
	if err := WriteInstances(&file, make([]InstanceRow, 100)); err != nil {
		t.Fatal(err)
	}
	read := func(b []byte) error {
		_, err := ReadInstances(bytes.NewReader(b), int64(len(b)))
		return err
	}
	for n := range file.Len() {
		if n%53 == 0 && read(file.Bytes()[:n]) == nil {
			t.Errorf("cut to %d of %d bytes: no error", n, file.Len())
		}
	}
	var other bytes.Buffer
	if err := WritePairs(&other, nil); err != nil {
		t.Fatal(err)
	}
	if err := read(other.Bytes()); err == nil || !strings.Contains(err.Error(), "no column what") {
		t.Errorf("pairs: %v", err)
	}
}

// A file without the columns of times, of an earlier version, has rows whose times are not known.
func TestInstancesWithoutTimes(t *testing.T) {
	rows := []InstanceRow{{What: InstanceWhole, Instances: 1, Count: 1, SumNS: 5, DirectNS: 5, LeastNS: 5, MostNS: 5, Iterations: -1, Timed: true, BeginNS: 3, EndNS: 8}}
	columns := slices.DeleteFunc(instanceColumns(), func(c column[InstanceRow]) bool { return c.name == "begin_ns" || c.name == "end_ns" })
	var file bytes.Buffer
	if err := writeColumns(&file, "instances", columns, rows); err != nil {
		t.Fatal(err)
	}
	back, err := ReadInstances(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	rows[0].Timed, rows[0].BeginNS, rows[0].EndNS = false, 0, 0
	if d := cmp.Diff(rows, back.Rows); d != "" {
		t.Errorf("read back (+) differs (-):\n%s", d)
	}
}
