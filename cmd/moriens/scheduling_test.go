package main_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/internal/mpitest"
	"moriens/trace/rundir"
)

// For every rank the output has how long it ran and how long others ran in its place; for its host the sums and how
// many ranks were on how many cores; and where that was much, one line says so.
func TestScheduling(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		const ranks = 3
		out := filepath.Join(t.TempDir(), "run")
		args := append([]string{binary(t), "run", "--moriens-timeout", "10m", "--out", out, "--"}, mpi.Args(ranks, "", mpi.App(t, "planted"), "1")...)
		o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, args...)
		if o.status != 0 {
			t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
		m, err := rundir.ReadManifest(out)
		if err != nil {
			t.Fatal(err)
		}
		s := m.Scheduling
		if s == nil || len(s.Hosts) != 1 || len(s.Ranks) != ranks || s.MoreRanks != 0 {
			t.Fatalf("%+v", s)
		}
		h := s.Hosts[0]
		run, wait, switches := 0., 0., int64(0)
		for i, r := range s.Ranks {
			if r.Rank != i || r.World != 0 || r.Host != h.Host || r.RunSeconds <= 0 || r.WaitSeconds < 0 || r.LostShare < 0 || r.LostShare > 1 || r.Voluntary < 0 || r.Involuntary < 0 {
				t.Errorf("%+v", r)
			}
			run, wait, switches = run+float64(r.RunSeconds), wait+float64(r.WaitSeconds), switches+r.Voluntary+r.Involuntary
		}
		if math.Abs(float64(h.RunSeconds)-run) > 1e-9 || math.Abs(float64(h.WaitSeconds)-wait) > 1e-9 || math.Abs(float64(h.LostShare)-wait/(run+wait)) > 1e-9 || s.LostShare != h.LostShare {
			t.Errorf("%+v, of %+v", h, s.Ranks)
		}
		if h.RanksAtOnce != ranks || h.Cores < 1 || switches == 0 || h.Voluntary+h.Involuntary != switches || h.BusySeconds <= 0 || h.StealSeconds < 0 {
			t.Errorf("%+v", h)
		}
		warned := strings.Contains(long(t, out), "\nwarning: "+s.Warning+"\n")
		if (s.Warning != "") != s.Overcommitted || slices.Contains(m.Notes, s.Warning) != s.Overcommitted || warned != s.Overcommitted || h.RanksAtOnce > h.Cores && !s.Overcommitted {
			t.Errorf("overcommitted %v, notes %q\n%s", s.Overcommitted, m.Notes, o.stdout)
		}
	})
}
