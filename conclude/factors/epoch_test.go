package factors

import (
	"math"
	"slices"
	"testing"

	"moriens/internal/team"
	"moriens/internal/testenv"
	"moriens/trace/prv"
	"moriens/trace/rundir"
)

// published are BSC's figures of the two real traces, in per cent and seconds, from the trace's time 0 to its end.
var published = []struct {
	file                                                          string
	parallel, balance, communication, t, inMPI, most, mostOutside float64
}{
	{"epoch_2proc.prv.gz", 99.378252, 99.760930, 99.616405, 11.528373565, .137667, 11.484151, 11.486235},
	{"epoch_4proc.prv.gz", 97.349953, 98.687584, 98.644580, 6.082352213, .631646, 5.999911, 6.002862},
}

func TestEpoch(t *testing.T) {
	var runs []rundir.EfficiencyRun
	for _, want := range published {
		read, err := prv.ReadFile(testenv.RealTrace(t, want.file), prv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := Measure(read.Run, team.Threads{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := &e.Runs[0]
		k := slices.IndexFunc(r.Stretches, func(s rundir.EfficiencyStretch) bool { return s.Within == Run })
		s := &r.Stretches[k]
		for _, x := range []struct {
			what      string
			got, want float64
			within    float64
		}{
			{"PE", 100 * float64(s.Parallel), want.parallel, .001},
			{"LB", 100 * float64(s.Balance), want.balance, .001},
			{"CE", 100 * float64(s.Communication), want.communication, .001},
			{"T", float64(s.Seconds), want.t, 1e-9},
			{"max(U)", float64(s.MostComputing), want.most, 1e-6},
			{"max(V)", float64(s.MostOutsideMPI), want.mostOutside, 1e-6},
			{"in MPI", float64(s.Budget.MPI), want.inMPI, 1e-6},
		} {
			if math.Abs(x.got-x.want) > x.within {
				t.Errorf("%s: %s is %v, want %v", want.file, x.what, x.got, x.want)
			}
		}
		r.Take(*s)
		r.Dir = want.file
		runs = append(runs, *r)
	}
	kind, err := Compare(runs, "", Auto)
	if err != nil || kind != Strong || runs[0].Dir != published[0].file {
		t.Fatalf("%s scaling, %v, reference %s", kind, err, runs[0].Dir)
	}
	for what, x := range map[string][2]float64{
		"computation scaling": {float64(runs[1].ComputationScaling), .967436}, "IPC scaling": {float64(runs[1].IPCScaling), .99829},
		"instruction scaling": {float64(runs[1].InstructionScaling), .99008}, "frequency scaling": {float64(runs[1].FrequencyScaling), .97880},
	} {
		if math.Abs(x[0]-x[1]) > 1e-5 {
			t.Errorf("%s is %v, want %v", what, x[0], x[1])
		}
	}
}
