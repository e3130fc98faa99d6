package parquet

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pq "github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"moriens/trace"
)

func profileRows(t *rapid.T, counters int, classes bool) []ProfileRow {
	kinds := []string{ProfilePhase, ProfileComputation, ProfileMPI, ProfilePaused, ProfileUnrecorded, ProfileDurations, ProfileIterations}
	if classes {
		kinds = append(kinds, ProfileTraffic, ProfileClassComputation, ProfileClassMPI, ProfileClassTraffic)
	}
	number := rapid.Int64()
	id := rapid.Int32Range(0, 1<<20)
	name := rapid.SampledFrom([]string{"", "MPI_Send", "solve", "two\nlines"})
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) ProfileRow {
		r := ProfileRow{
			Kind:       rapid.SampledFrom(kinds).Draw(t, "kind"),
			Iterations: -1, Count: number.Draw(t, "count"), Records: number.Draw(t, "records"), TimeNS: number.Draw(t, "time"),
		}
		if ofThread(&r) {
			r.World, r.Rank, r.Thread = id.Draw(t, "world"), id.Draw(t, "rank"), id.Draw(t, "thread")
		}
		if classes {
			r.Class = -1
			if _, is := r.OfClass(); is {
				r.Class, r.Threads = id.Draw(t, "class"), id.Draw(t, "threads")
			} else if ofRank(&r) {
				r.Class, r.Paths = rapid.Int32Range(-1, 3).Draw(t, "class"), rapid.Int32Range(0, 3).Draw(t, "paths")
			}
		}
		if ofThread(&r) || ofRecords(&r) {
			if r.InPhase = rapid.Bool().Draw(t, "in phase"); r.InPhase {
				r.Phase = name.Draw(t, "phase")
			}
		}
		if ofRecords(&r) {
			r.CallPath = name.Draw(t, "path")
			r.Iterations = rapid.Int32Range(-1, 3).Draw(t, "iterations")
			r.SquaresNS2 = rapid.Float64().Draw(t, "squares")
			if r.WholeNS = r.TimeNS; rapid.Bool().Draw(t, "cut") {
				r.WholeNS = rapid.Int64Min(0).Draw(t, "whole")
			}
		}
		switch r.Kind {
		case ProfilePhase:
			r.ExclusiveNS, r.SquaresNS2 = number.Draw(t, "exclusive"), rapid.Float64().Draw(t, "squares")
		case ProfileComputation, ProfileClassComputation:
			r.Context, r.EstimatedNS = rapid.Int32Range(-1, 16).Draw(t, "context"), rapid.Int64Min(0).Draw(t, "estimated")
			r.Cluster, r.OfKind = rapid.Int32Range(-3, 9).Draw(t, "cluster"), rapid.Int32Range(-3, 9).Draw(t, "kind")
			for range counters {
				r.Counters = append(r.Counters, ProfileCounter{number.Draw(t, "sum"), number.Draw(t, "min"), number.Draw(t, "max"), rapid.Float64().Draw(t, "squares"), number.Draw(t, "missing")})
			}
		case ProfileMPI, ProfileClassMPI:
			if r.InTraffic = rapid.Bool().Draw(t, "in traffic"); !r.InTraffic {
				r.SentBytes, r.ReceivedBytes = number.Draw(t, "sent"), number.Draw(t, "received")
			}
		case ProfileTraffic, ProfileClassTraffic:
			r.CallPath, r.SentBytes, r.ReceivedBytes = name.Draw(t, "path"), number.Draw(t, "sent"), number.Draw(t, "received")
		case ProfileDurations:
			r.Cluster = rapid.Int32Range(-3, 9).Draw(t, "cluster")
		case ProfileIterations:
			r.Iterations, r.First, r.ElapsedNS = rapid.Int32Range(0, 3).Draw(t, "iterations"), number.Draw(t, "first"), number.Draw(t, "elapsed")
			return r
		}
		if ofTimes(&r) {
			r.MinNS, r.MaxNS = number.Draw(t, "min"), number.Draw(t, "max")
		}
		return r
	})).Draw(t, "rows")
}

func TestProfileRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Profile{Format: ProfileFormat, Counters: []trace.Counter{{Name: "count", Unit: "instructions"}, {Name: "a.sum"}, {Name: "a"}}[:rapid.IntRange(0, 3).Draw(t, "counters")]}
		p.Classes = rapid.Bool().Draw(t, "classes")
		p.Rows = profileRows(t, len(p.Counters), p.Classes)
		var file bytes.Buffer
		if err := WriteProfile(&file, p); err != nil {
			t.Fatal(err)
		}
		back, err := ReadProfile(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, back, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); d != "" {
			t.Fatalf("read back (+) differs from what was written (-):\n%s", d)
		}
	})
}

// profile has so many rows of one thread.
func profile(rows int) *Profile {
	p := &Profile{Counters: []trace.Counter{{Name: "PAPI_TOT_INS", Unit: "instructions"}}}
	for i := range rows {
		p.Rows = append(p.Rows, ProfileRow{
			Kind: ProfileComputation, CallPath: "MPI_Send", Cluster: int32(i % 7), Context: -1, Iterations: -1, Count: int64(i), Records: int64(i), TimeNS: int64(1000 * i), WholeNS: int64(1000 * i),
			Counters: []ProfileCounter{{Sum: int64(i)}},
		})
	}
	return p
}

// Of the columns those that are wanted are read, in all batches of all groups.
func TestProfileScan(t *testing.T) {
	p := profile(rowsPerGroup + rowsPerBatch + 5)
	var file bytes.Buffer
	if err := WriteProfile(&file, p); err != nil {
		t.Fatal(err)
	}
	at := 0
	err := ScanProfile(bytes.NewReader(file.Bytes()), int64(file.Len()), []string{"cluster", "PAPI_TOT_INS.sum"}, func(batch *Profile) {
		if len(batch.Rows) > rowsPerBatch || len(batch.Counters) != 1 {
			t.Fatalf("%d rows at a time, counters %v", len(batch.Rows), batch.Counters)
		}
		for _, r := range batch.Rows {
			want := ProfileRow{Kind: ProfileComputation, Cluster: int32(at % 7), Context: -1, Iterations: -1, Counters: []ProfileCounter{{Sum: int64(at)}}}
			if d := cmp.Diff(want, r); d != "" {
				t.Fatalf("row %d:\n%s", at, d)
			}
			at++
		}
	})
	if err != nil || at != len(p.Rows) {
		t.Errorf("%d rows of %d: %v", at, len(p.Rows), err)
	}
}

// What other readers see: groups of bounded size, units, null where a column does not apply.
func TestProfileFile(t *testing.T) {
	p := profile(rowsPerGroup + 5)
	p.Rows[3] = ProfileRow{Kind: ProfileIterations, Iterations: 0, Count: 10, Records: 4, TimeNS: 7, ElapsedNS: 9}
	var file bytes.Buffer
	if err := WriteProfile(&file, p); err != nil {
		t.Fatal(err)
	}
	f, err := pq.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if groups := f.Metadata().RowGroups; len(groups) != 2 || groups[0].NumRows != rowsPerGroup {
		t.Errorf("%d row groups, the first of %d rows", len(groups), groups[0].NumRows)
	}
	for column, unit := range map[string]string{"time_ns": "ns", "PAPI_TOT_INS.sum": "instructions", "PAPI_TOT_INS.squares": "instructions2", "sent_bytes": "bytes"} {
		if got, _ := f.Lookup(keyUnit + column); got != unit {
			t.Errorf("%s is in %q, want %q", column, got, unit)
		}
	}
	for column, nulls := range map[string]int64{"cluster": 1, "elapsed_ns": rowsPerGroup - 1, "PAPI_TOT_INS.sum": 1, "sent_bytes": rowsPerGroup, "phase": rowsPerGroup} {
		c, ok := f.Schema().Lookup(column)
		if !ok {
			t.Errorf("no column %s", column)
			continue
		}
		if got := f.Metadata().RowGroups[0].Columns[c.ColumnIndex].MetaData.Statistics.NullCount; got != nulls {
			t.Errorf("%s: %d nulls, want %d", column, got, nulls)
		}
	}
	back, err := ReadProfile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil || len(back.Rows) != len(p.Rows) {
		t.Fatal(err)
	}
}

func TestProfileRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Profile){
		"without a name": func(p *Profile) { p.Counters[0].Name = "" },
		"two columns":    func(p *Profile) { p.Counters = append(p.Counters, p.Counters[0]) },
		"0 counters":     func(p *Profile) { p.Rows[1].Counters = nil },
	} {
		p := profile(3)
		spoil(p)
		if err := WriteProfile(new(bytes.Buffer), p); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	var file bytes.Buffer
	if err := WriteProfile(&file, profile(1000)); err != nil {
		t.Fatal(err)
	}
	good := file.Bytes()
	for n := range good {
		if n%97 == 0 {
			if _, err := ReadProfile(bytes.NewReader(good[:n]), int64(n)); err == nil {
				t.Errorf("cut to %d of %d bytes: no error", n, len(good))
			}
		}
	}
	file.Reset()
	if _, err := Write(&file, large(2, 10)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadProfile(bytes.NewReader(file.Bytes()), int64(file.Len())); err == nil {
		t.Error("bursts are no profile: no error")
	}
}
