package main_test

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/app/pairing"
	"moriens/internal/mpitest"
	"moriens/trace/rundir"
)

// exchanged is what moriens pairs --json prints of a run.
func exchanged(t *testing.T, out string, options ...string) *pairing.Result {
	t.Helper()
	o := execute(t, nil, append([]string{binary(t), "pairs", "--json", out}, options...)...)
	if o.status != 0 || o.stderr != "" {
		t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	x := new(pairing.Result)
	if err := json.Unmarshal([]byte(o.stdout), x); err != nil {
		t.Fatal(err)
	}
	return x
}

// latePairs are runs of the mini-app late in which pairs have to find who is late.
func latePairs(mpi mpitest.MPI) map[string]lateRun {
	runs := lateRuns(mpi)
	one := rundir.ThreadName{Rank: 1}
	n := runs["ring"].ranks
	return map[string]lateRun{
		"ring":    runs["ring"],
		"chain":   runs["chain"],
		"ssend":   {how: "ssend", ranks: n, who: one, named: "rank 1", place: "to the late one"},
		"waitall": {how: "waitall", ranks: n, who: one, named: "rank 1", place: "from all"},
		"any":     {how: "any", ranks: n, who: one, named: "rank 1", place: "to the one that takes any"},
	}
}

// The rank that is late is found first, whichever way others wait for it, and whatever is kept.
func TestPairsOfLateRank(t *testing.T) {
	t.Parallel()
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		runs := latePairs(mpi)
		for _, how := range []string{"ring", "chain", "ssend", "waitall", "any"} {
			t.Run(how, func(t *testing.T) {
				r := runs[how]
				out, summary, _ := r.measured(t, mpi, "--keep-bursts", "all")
				x := exchanged(t, out)
				kind := rundir.PairsLateSender
				if how == "ssend" {
					kind = rundir.PairsLateReceiver
				}
				if len(x.Findings) == 0 || x.Findings[0].Kind != kind || !slices.Equal(x.Findings[0].Ranks, []int{r.who.Rank}) {
					t.Fatalf("findings %+v, want %s of %s first", x.Findings, kind, r.named)
				}
				if first := &x.Findings[0]; !strings.Contains(first.Text, r.named) || !strings.HasSuffix(first.CallPath, callSite(t, "late.c", r.place)) {
					t.Errorf("%s: %q", first.CallPath, first.Text)
				}
				if c := x.Causes; len(c) == 0 || c[0].Rank == nil || *c[0].Rank != r.who.Rank {
					t.Errorf("causes %+v", c)
				}
				o := execute(t, nil, binary(t), "pairs", out)
				if o.status != 0 || !strings.Contains(o.stdout, x.Findings[0].Text) {
					t.Errorf("status %d, want %q\n%s%s", o.status, x.Findings[0].Text, o.stdout, o.stderr)
				}
				if !strings.Contains(summary, "\npairs: ") {
					t.Errorf("the summary has no pairs:\n%s", summary)
				}
			})
		}
	})
}

// Of a run that keeps some windows alone it is estimated who is late: the same rank is found, with the standard error,
// and the one of a run that keeps all is exact.
func TestPairsOfWindows(t *testing.T) {
	t.Parallel()
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		r := latePairs(mpi)["ring"]
		r.how, r.iterations = "rounds", 200 // the 64 windows that are all compared, and others
		for basis, options := range map[string][]string{rundir.PairsWindows: nil, rundir.PairsAll: {"--keep-bursts", "all"}} {
			t.Run(basis, func(t *testing.T) {
				out, _, _ := r.measured(t, mpi, options...)
				x := exchanged(t, out)
				estimated := basis == rundir.PairsWindows
				if x.Exact == estimated || x.Totals.Messages != int64(r.ranks*r.iterations) {
					t.Fatalf("exact: %t, %+v", x.Exact, x.Totals)
				}
				if len(x.Findings) == 0 || x.Findings[0].Kind != rundir.PairsLateSender || !slices.Equal(x.Findings[0].Ranks, []int{r.who.Rank}) {
					t.Fatalf("findings %+v, want that %s is late first", x.Findings, r.named)
				}
				if c := x.Causes; len(c) == 0 || c[0].Rank == nil || *c[0].Rank != r.who.Rank {
					t.Errorf("causes %+v", c)
				}
				if strings.Contains(x.Findings[0].Text, " ± ") != estimated || (x.Totals.LateSenderError > 0) != estimated {
					t.Errorf("%q, %+v", x.Findings[0].Text, x.Totals)
				}
				messages := int64(0)
				for _, p := range x.Pairs {
					if len(p.Sizes) != 1 || p.Sizes[0].FromBytes != 4 {
						t.Errorf("%+v", p)
					}
					messages += p.Sizes[0].Messages
				}
				if known := messages == x.Totals.Messages; !known && !estimated || messages < x.Totals.Messages/4 {
					t.Errorf("sizes of %d messages, of %d", messages, x.Totals.Messages)
				}
			})
		}
	})
}

const parcelIterations = 10

// parcels measures the mini-app of that name.
func parcels(t *testing.T, mpi mpitest.MPI, ranks int, options ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	args := append([]string{binary(t), "run", "--moriens-timeout", "10m", "--out", out}, options...)
	o := execute(t, []string{"OMPI_MCA_mpi_yield_when_idle=1"}, append(append(args, "--"), mpi.Args(ranks, "", mpi.App(t, "parcels"), fmt.Sprint(parcelIterations))...)...)
	if o.status != 0 || o.stderr != "" {
		t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	return out
}

// Pairs, sizes and calls have each message once, in whatever way they are known.
func TestPairsOfParcels(t *testing.T) {
	t.Parallel()
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		ranks := 2
		if mpi.Name == mpitest.OpenMPI.Name {
			ranks = 3
		}
		for name, options := range map[string][]string{"windows": nil, "all": {"--keep-bursts", "all"}, "cells": {"--cells"}} {
			t.Run(name, func(t *testing.T) {
				x := exchanged(t, parcels(t, mpi, ranks, options...))
				small, each := int64(200*parcelIterations*ranks), int64(parcelIterations*ranks)
				if got, want := x.Totals.Messages, small+2*each; got != want {
					t.Errorf("%d messages, want %d", got, want)
				}
				if got, want := x.Totals.Bytes, small*128+each*3456; got != want {
					t.Errorf("%d bytes, want %d", got, want)
				}
				sizes := map[int64]int64{0: each, 128: small, 2048: each}
				for _, s := range x.Sizes {
					if sizes[s.FromBytes] != s.Messages {
						t.Errorf("%d messages from %d to %d bytes, want %d", s.Messages, s.FromBytes, s.ToBytes, sizes[s.FromBytes])
					}
					delete(sizes, s.FromBytes)
				}
				if len(sizes) > 0 {
					t.Errorf("sizes without messages: %v", sizes)
				}
				if want := ranks * (ranks - 1) / 2; len(x.Pairs) != want || len(x.Merges) != ranks-1 {
					t.Fatalf("%d pairs, want %d, %d merges", len(x.Pairs), want, len(x.Merges))
				}
				messages, blocked := int64(0), 0.
				for _, p := range x.Pairs {
					messages += p.Messages
					blocked += float64(p.Blocked)
				}
				if messages != x.Totals.Messages || !about(blocked, float64(x.Totals.Blocked), .01) {
					t.Errorf("pairs have %d messages and %v s, totals %+v", messages, blocked, x.Totals)
				}
				places := make(map[string]int64)
				blocked = 0
				for _, p := range x.CallPaths {
					function, _, _ := strings.Cut(p.CallPath, "@")
					places[function] += p.Messages
					blocked += float64(p.Blocked)
				}
				if places["MPI_Recv"] != small || places["MPI_Waitall"] != 2*each || !about(blocked, float64(x.Totals.Blocked), 1e-6) {
					t.Errorf("completed by %v, in %v s of %v", places, blocked, x.Totals.Blocked)
				}
			})
		}
	})
}

// about says that two numbers differ by a part at most.
func about(a, b, part float64) bool { return math.Abs(a-b) <= part*math.Max(math.Abs(a), math.Abs(b)) }
