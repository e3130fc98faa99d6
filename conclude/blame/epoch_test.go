package blame

import (
	"math"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/waits"
	"moriens/conclude/clustering"
	"moriens/internal/team"
	"moriens/internal/testenv"
	"moriens/trace"
	"moriens/trace/prv"
	"moriens/trace/rundir"
)

// The particle-in-cell code of the real traces: figures of other implementations, in ns.
func TestEpoch(t *testing.T) {
	for _, x := range []struct {
		file                                   string
		lateSender, nToN, barrier, bcast       int64
		inMPI, pathOfMPI, pathOfLargest, lasts int64
	}{
		{"epoch_2proc.prv.gz", 72_871_000, 3_845_000, 5_588_000, 8_192_000, 137_667_000, 24_210_000, 9_690_429_000, 11_528_373_565},
		{"epoch_4proc.prv.gz", 222_628_000, 242_012_000, 18_169_000, 22_941_000, 631_646_000, 32_082_000, 4_180_934_000, 6_082_352_213},
	} {
		t.Run(x.file, func(t *testing.T) {
			run := epoch(t, x.file)
			b, err := Measure(run, team.Threads{}, Options{Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			if !b.Full || b.Contradictions+b.OneSided+b.Incomplete+b.UnexplainedNS != 0 {
				t.Errorf("%v, %d contradictions, %d messages of one side, %d incomplete, %d ns unexplained", b.Full, b.Contradictions, b.OneSided, b.Incomplete, b.UnexplainedNS)
			}
			b.Apply(run)
			kinds := make(map[trace.WaitKind]int64)
			total := int64(0)
			for i := range run.Threads {
				th := &run.Threads[i]
				for k, row := range th.Waits.Call {
					ns := th.Waits.UntilNS[k] - th.Calls.EnterNS[row]
					kinds[th.Waits.Kind[k]] += ns
					total += ns
				}
			}
			charged, path, pathOfMPI, ofKind := int64(0), int64(0), int64(0), make(map[int32]int64)
			for _, c := range b.Causes {
				charged += c.NS
			}
			for _, s := range b.Shares {
				path += s.NS
				switch k := b.Keys[s.Key]; {
				case k.What == waits.MPI:
					pathOfMPI += s.NS
				case k.Cluster > 0:
					ofKind[run.Clusters[k.Cluster-1].Kind()] += s.NS
				}
			}
			for _, v := range []struct {
				what      string
				got, want int64
			}{
				{"late sender", kinds[trace.LateSender] + kinds[trace.WrongOrder], x.lateSender},
				{"N-to-N", kinds[trace.AtNToN], x.nToN}, {"barrier", kinds[trace.AtBarrier], x.barrier}, {"late broadcast", kinds[trace.LateBroadcast], x.bcast},
				{"MPI", b.MPINS, x.inMPI}, {"the path in MPI", pathOfMPI, x.pathOfMPI}, {"the path in the largest cluster", ofKind[1], x.pathOfLargest},
			} {
				if math.Abs(float64(v.got-v.want)) > 500 { // they are given in us
					t.Errorf("%s: %d ns, want %d", v.what, v.got, v.want)
				}
			}
			if total != b.WaitNS || charged != total || path != x.lasts || run.DurationNS != x.lasts {
				t.Errorf("waits %d and %d, charged %d; the path %d of %d", total, b.WaitNS, charged, path, run.DurationNS)
			}
			described(t, run, b)
		})
	}
}

// described tests that the words of the files say the same.
func described(t *testing.T, run *trace.Run, b *Blame) {
	w, rows, err := b.Describe(run, team.Threads{})
	if err != nil {
		t.Fatal(err)
	}
	var waited, charged, path, linked int64
	for i := range rows {
		r := &rows[i]
		if r.ForRank == r.Rank && r.Kind == "link" {
			t.Errorf("rank %d waits for itself", r.Rank)
		}
		charged += r.ChargedNS
		path += r.PathNS
		if r.Kind == "link" {
			linked += r.WaitNS
		} else {
			waited += r.WaitNS
		}
	}
	if waited != b.WaitNS || charged != b.WaitNS || path != run.DurationNS || linked == 0 || linked >= waited {
		t.Errorf("rows have waits of %d ns, charges of %d, a path of %d, links of %d", waited, charged, path, linked)
	}
	x := w.WholeRun
	if x.Basis != rundir.WaitsFull || x.Ranks != len(run.Threads) || len(w.Why) > 0 || w.Windows != nil || x.CausesTotal < len(x.Causes) || len(x.Causes) != mostListed || x.Path.PartsTotal <= len(x.Path.Parts) {
		t.Errorf("%+v", w)
	}
	sum := 0.
	for _, k := range x.Kinds {
		sum += float64(k.Seconds)
	}
	parts := float64(x.Path.Rest)
	for _, p := range x.Path.Parts {
		parts += float64(p.Seconds)
	}
	if math.Abs(sum-float64(x.Waiting)) > 1e-9 || math.Abs(parts-float64(x.Seconds)) > 1e-9 || x.Path.Rest < 0 {
		t.Errorf("kinds come to %v s of %v, parts of the path to %v of %v", sum, x.Waiting, parts, x.Seconds)
	}
}

func epoch(t testing.TB, file string) *trace.Run {
	read, err := prv.ReadFile(testenv.RealTrace(t, file), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := read.Run
	run.AddSharedPaths()
	if _, err := clustering.Cluster(run, grouping.Options{By: grouping.ByAuto, Normalise: true, Workers: 2}); err != nil {
		t.Fatal(err)
	}
	return run
}

// What is not explained is apart from the residual: with the waits they are the time in MPI.
func TestTimeInMPI(t *testing.T) {
	run := loops(3, 20, 4)
	run.Threads[1].Calls.Unfinished = true
	b, err := Measure(run, team.Threads{}, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := b.Describe(run, team.Threads{})
	if err != nil {
		t.Fatal(err)
	}
	x := w.WholeRun
	if len(x.NotExplained) != 1 || x.NotExplained[0].Seconds <= 0 {
		t.Fatalf("%+v", x.NotExplained)
	}
	if sum := x.Waiting + x.Residual + x.NotExplained[0].Seconds; math.Abs(float64(sum-x.MPI)) > 1e-12 {
		t.Errorf("waits of %v, a residual of %v, and %v not explained in %v of MPI", x.Waiting, x.Residual, x.NotExplained[0].Seconds, x.MPI)
	}
}

// The kinds of waits have the same numbers in the model.
func TestKinds(t *testing.T) {
	if int(waits.Kinds) != trace.WaitKinds {
		t.Errorf("%d kinds, the model has %d", waits.Kinds, trace.WaitKinds)
	}
	for kind, word := range map[waits.Kind]string{
		waits.LateSender: "late sender", waits.WrongOrder: "late sender, wrong order", waits.LateReceiver: "late receiver", waits.Barrier: "barrier",
		waits.NToN: "N-to-N", waits.LateBroadcast: "late broadcast", waits.EarlyReduce: "early reduce", waits.Scan: "scan", waits.Window: "window",
		waits.Start: "start", waits.End: "end",
	} {
		if got := trace.WaitKind(kind).String(); got != word {
			t.Errorf("%d is %q, want %q", kind, got, word)
		}
	}
}
