package main_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir/rundirtest"
)

// Phases that cut bursts have what the program counted in them, with the option, by itself and in the environment, and
// where bursts stay on the node; without it they share what the bursts counted, and say so. All phases together have
// what the program counted.
func TestPhaseCounters(t *testing.T) {
	const rounds, ranks = 60, 2
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher)
	testenv.NeedFile(t, "/usr/include/sde_lib.h")
	app := mpi.App(t, "phasecounts", "-I"+filepath.Join(mpitest.Root(t), "cshim", "include"), "-lsde")
	for name, c := range map[string]struct {
		options []string
		env     []string
		exact   bool
	}{
		"shared":      {nil, nil, false},
		"read":        {[]string{"--phase-counters"}, nil, true},
		"environment": {nil, []string{"MORIENS_PHASE_COUNTERS=1"}, true},
		"cells":       {[]string{"--phase-counters", "--cells"}, nil, true},
		"cells alone": {[]string{"--cells"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			command := append([]string{binary(t), "run", "--moriens-timeout", "10m", "--out", out, "--events", "sde:::planted::INS,sde:::planted::CYC"}, c.options...)
			o := execute(t, append([]string{"MINIAPP_OUT=" + t.TempDir()}, c.env...), append(append(command, "--"), mpi.Args(ranks, "", app, "60")...)...)
			if o.status != 0 {
				t.Fatalf("status %d\n%s", o.status, o.stderr)
			}
			profile := rundirtest.CheckProfilePhases(t, out)
			if d := cmp.Diff([]trace.Counter{{Name: "sde:::planted::INS"}, {Name: "sde:::planted::CYC"}}, profile.Counters); d != "" {
				t.Fatal(d)
			}
			type figures struct{ ins, cyc int64 }
			counted, all := make(map[string]figures), figures{}
			estimated := make(map[string]int64)
			for i := range profile.Rows {
				r := &profile.Rows[i]
				if r.Kind != parquet.ProfileComputation {
					continue
				}
				f, own := counted[r.Phase], figures{int64(r.Counters[0].Sum), int64(r.Counters[1].Sum)}
				counted[r.Phase] = figures{f.ins + own.ins, f.cyc + own.cyc}
				all = figures{all.ins + own.ins, all.cyc + own.cyc}
				estimated[r.Phase] += r.EstimatedNS
			}
			if want := (figures{1_000_007 * rounds * ranks, 101 * rounds * ranks}); all != want {
				t.Errorf("all phases counted %+v, the program %+v", all, want)
			}
			want := map[string]figures{
				"small": {1_000_000 * rounds * ranks, 10 * rounds * ranks}, "large": {0, 90 * rounds * ranks}, "": {7 * rounds * ranks, rounds * ranks}, "polled": {},
			}
			switch {
			case c.exact:
				if d := cmp.Diff(want, counted, cmp.AllowUnexported(figures{})); d != "" {
					t.Errorf("(-counted in phases +found):\n%s", d)
				}
				if estimated["small"] != 0 || estimated["large"] != 0 {
					t.Errorf("ns estimated: %v", estimated)
				}
			case counted["small"].ins >= want["small"].ins || counted["large"].ins == 0 || estimated["small"] == 0 || estimated["large"] == 0:
				t.Errorf("without the option: %v, ns estimated %v", counted, estimated)
			}
		})
	}
}
