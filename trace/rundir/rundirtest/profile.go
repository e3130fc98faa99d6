package rundirtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// A Profiled is what a run directory has of a planted profile. Seal completes it.
type Profiled struct {
	Profile   parquet.Profile
	Paths     *trace.Run // call paths with their names
	Instances []parquet.InstanceRow
	Hosts     []rundir.PairsHost
}

// Names of the planted profile's call paths.
const (
	WaitX   = "MPI_Wait@x_solve.f:72"
	WaitY   = "MPI_Wait@y_solve.f:81"
	SendX   = "MPI_Isend@x_solve.f:60"
	Reduce  = "MPI_Allreduce@error.f:17"
	Read    = "MPI_File_read@io.c:9"
	Missing = "MPI_Barrier" // has no frames
)

// Names of its phases.
var (
	Adi     = trace.PhasePath("adi")
	XSolve  = trace.PhasePath("adi", "x_solve")
	YSolve  = trace.PhasePath("adi", "y_solve")
	Strange = trace.PhasePath("read/write \"in\" => a\tb", "x_solve")
)

// Profile is a program of so many ranks, four on a node: main calls adi, which calls x_solve and y_solve 3 times each.
// Instructions and cycles are counted. Rank r takes longer by r in all that it does.
func Profile(ranks int) *Profiled {
	p := &Profiled{Paths: profiledPaths()}
	p.Profile.Format = parquet.ProfileFormat
	p.Profile.Counters = []trace.Counter{{Name: "PAPI_TOT_INS", Unit: "instructions"}, {Name: "PAPI_TOT_CYC", Unit: "cycles"}}
	for r := range ranks {
		p.addRank(int32(r))
	}
	for first := 0; first < ranks; first += 4 {
		list, _ := json.Marshal(first)
		if last := min(first+4, ranks) - 1; last > first {
			end, _ := json.Marshal(last)
			list = append(append(list, '-'), end...)
		}
		p.Hosts = append(p.Hosts, rundir.PairsHost{Name: "n" + string(rune('a'+first/4%26)), Ranks: string(list)})
	}
	p.addInstances(ranks)
	p.Seal()
	return p
}

func (p *Profiled) addRank(r int32) {
	more := int64(r)
	row := func(kind, phase, path string, calls, ns int64) *parquet.ProfileRow {
		x := parquet.ProfileRow{
			Kind: kind, Rank: r, CallPath: path, Phase: phase, InPhase: phase != "", Context: -1, Iterations: -1,
			Count: calls, Records: calls, TimeNS: ns, WholeNS: ns, MinNS: 1, MaxNS: ns,
		}
		if kind == parquet.ProfileComputation {
			x.Counters = make([]parquet.ProfileCounter, len(p.Profile.Counters))
		} else if kind != parquet.ProfileMPI {
			x.CallPath, x.WholeNS = "", 0
		}
		p.Profile.Rows = append(p.Profile.Rows, x)
		return &p.Profile.Rows[len(p.Profile.Rows)-1]
	}
	mpi := func(phase, path string, calls, ns, sent, received int64) *parquet.ProfileRow {
		x := row(parquet.ProfileMPI, phase, path, calls, ns)
		x.SentBytes, x.ReceivedBytes = sent, received
		return x
	}
	burst := func(phase, path string, context, cluster int32, calls, ns int64) *parquet.ProfileRow {
		x := row(parquet.ProfileComputation, phase, path, calls, ns)
		x.Context, x.Cluster, x.OfKind = context, cluster, max(cluster, 0)
		x.Counters[0].Sum, x.Counters[1].Sum = 2*ns, ns+ns/2
		return x
	}
	mpi("", Missing, 1, 50_000+1_000*more, 0, 0)
	mpi("", Reduce, 4, 2_000_000+10_000*more, 32, 32)
	burst("", Reduce, 1, 3, 4, 1_000_000+100_000*more)
	burst("", Missing, -1, trace.LabelNoise, 2, 300_000)
	burst(Adi, WaitX, 2, 4, 3, 700_000+1_000*more)
	for _, x := range []struct {
		phase, send, wait string
		context, cluster  int32
		ns                int64
	}{{XSolve, SendX, WaitX, 3, 1, 9_000_000}, {YSolve, "", WaitY, 4, 2, 7_000_000}} { // y_solve is inlined into sweep
		if x.send != "" {
			mpi(x.phase, x.send, 6, 90_000+7*more, 6<<20, 0)
		}
		mpi(x.phase, x.wait, 6, 5_000_000-200_000*min(more, 20), 0, 6<<20)
		burst(x.phase, x.wait, x.context, x.cluster, 6, x.ns+400_000*more)
		cut := burst(x.phase, x.wait, x.context, 4, 0, 10_000) // whole in adi
		cut.Records, cut.EstimatedNS, cut.MinNS, cut.MaxNS, cut.WholeNS = 0, 10_000, 0, 0, 0
	}
	mpi(Strange, Read, 2, 400_000, 0, 1<<16)
	if r == 1 {
		row(parquet.ProfileUnrecorded, Adi, "", 1, 123_456)
		row(parquet.ProfilePaused, "", "", 2, 654_321)
	}
}

// frame is a call in a line of a function.
func frame(function, file string, line int, inlined ...trace.Scope) trace.Frame {
	return trace.Frame{Module: "bt", Offset: uint64(0x1000 + line), Function: function, File: "/src/" + file, Line: line, Inlined: inlined}
}

func profiledPaths() *trace.Run {
	main, adi := frame("main", "bt.f", 20), frame("adi", "adi.f", 7)
	folded := trace.Frame{Function: trace.Folded}
	r := &trace.Run{CallPaths: []trace.CallPath{
		{},
		{Function: "MPI_Wait", Frames: []trace.Frame{frame("x_solve", "x_solve.f", 72), adi, main}},
		{Function: "MPI_Wait", Frames: []trace.Frame{frame("y_solve", "y_solve.f", 81, trace.Scope{Function: "sweep", File: "/src/sweep.f", Line: 3}), adi, main}},
		{Function: "MPI_Isend", Frames: []trace.Frame{frame("x_solve", "x_solve.f", 60), adi, main}},
		{Function: "MPI_Allreduce", Frames: []trace.Frame{frame("error_norm", "error.f", 17), frame("main", "bt.f", 31)}},
		{Function: "MPI_File_read", Frames: []trace.Frame{frame("descend", "io.c", 9), folded, frame("descend", "io.c", 8), frame("main", "bt.f", 12)}},
		{Function: "MPI_Barrier"},
	}}
	r.PathNames = []string{"?", WaitX, WaitY, SendX, Reduce, Read, Missing}
	return r
}

// addInstances adds those of adi: of 3 instances, the last one slower, and of 40 of x_solve, of which the last rank has
// 38. Rows of single threads follow.
func (p *Profiled) addInstances(ranks int) {
	var single []parquet.InstanceRow
	add := func(x parquet.InstanceRow, instance int64, threads int, ns func(rank int64) int64) {
		x.InPhase, x.Iterations, x.Instance, x.Instances = true, -1, instance, 1
		x.Count, x.Calls, x.LeastNS = int64(threads), int64(threads), math.MaxInt64
		for r := range threads {
			t := ns(int64(r))
			x.SumNS, x.LeastNS, x.SquaresNS2 = x.SumNS+t, min(x.LeastNS, t), x.SquaresNS2+float64(t)*float64(t)
			if t > x.MostNS {
				x.MostNS, x.MostRank = t, int32(r)
			}
			one := x
			one.OfThread, one.Rank, one.Count, one.Calls, one.SumNS, one.DirectNS = true, int32(r), 1, 1, t, t
			one.LeastNS, one.MostNS, one.SquaresNS2, one.MostRank = t, t, float64(t)*float64(t), int32(r)
			one.LongestNS, one.LongestInstance = 0, 0
			if x.What == parquet.InstanceWhole {
				one.LongestNS, one.LongestInstance = t, instance
			}
			single = append(single, one)
		}
		x.DirectNS = x.SumNS
		if x.What == parquet.InstanceWhole {
			x.LongestNS, x.LongestInstance = x.MostNS, instance
		}
		p.Instances = append(p.Instances, x)
	}
	for i := range int64(3) {
		add(parquet.InstanceRow{What: parquet.InstanceWhole, Phase: Adi}, i, ranks, func(r int64) int64 { return 9_000_000 + 1_000*r + 5_000_000*(i/2) })
	}
	for i := range int64(40) {
		threads := ranks
		if i >= 38 {
			threads--
		}
		late := int64(0)
		if i == 21 {
			late = 9_000_000
		}
		jitter := i * 7919 % 13 * 10_000
		add(parquet.InstanceRow{What: parquet.InstanceWhole, Phase: XSolve}, i, threads, func(r int64) int64 { return 1_000_000 + jitter + 1_000*r + late })
		add(parquet.InstanceRow{What: parquet.InstanceMPI, Phase: XSolve, Function: "MPI_Wait"}, i, threads, func(r int64) int64 { return 300_000 + late - 1_000*min(r, 9) })
		add(parquet.InstanceRow{What: parquet.InstanceComputation, Phase: XSolve, Cluster: 1}, i, threads, func(r int64) int64 { return 600_000 + jitter + 1_000*r })
	}
	for i := range int64(5) {
		add(parquet.InstanceRow{What: parquet.InstanceWhole, Phase: ""}, i, ranks, func(r int64) int64 { return 2_000_000 + 10*r + i })
		for k := range p.Instances[len(p.Instances)-1:] {
			x := &p.Instances[len(p.Instances)-1+k]
			x.InPhase, x.Iterations = false, 0
		}
		for k := len(single) - ranks; k < len(single); k++ {
			single[k].InPhase, single[k].Iterations = false, 0
		}
	}
	p.Instances = append(p.Instances, single...)
}

// Seal adds the rows of phases that the others make up, and puts those of a thread together.
func (p *Profiled) Seal() {
	type thread struct{ world, rank, thread int32 }
	type of struct {
		thread
		phase string
	}
	exclusive, inclusive := make(map[of]int64), make(map[of]int64)
	var order []of
	p.Profile.Rows = slices.DeleteFunc(p.Profile.Rows, func(r parquet.ProfileRow) bool { return r.Kind == parquet.ProfilePhase })
	for i := range p.Profile.Rows {
		r := &p.Profile.Rows[i]
		switch r.Kind {
		case parquet.ProfileComputation, parquet.ProfileMPI, parquet.ProfilePaused, parquet.ProfileUnrecorded:
		default:
			continue
		}
		t := thread{r.World, r.Rank, r.Thread}
		exclusive[of{t, r.Phase}] += r.TimeNS
		var names []string
		if r.InPhase {
			names = trace.PhaseNames(r.Phase)
		}
		for n := range len(names) + 1 {
			phase := ""
			if n > 0 {
				phase = trace.PhasePath(names[:n]...)
			}
			at := of{t, phase}
			if _, known := inclusive[at]; !known {
				order = append(order, at)
			}
			inclusive[at] += r.TimeNS
		}
	}
	for _, at := range order {
		instances := int64(1)
		if len(trace.PhaseNames(at.phase)) > 0 && at.phase != "" {
			instances = 3
		}
		p.Profile.Rows = append(p.Profile.Rows, parquet.ProfileRow{
			Kind: parquet.ProfilePhase, World: at.world, Rank: at.rank, Thread: at.thread.thread, Context: -1, Iterations: -1, Phase: at.phase, InPhase: at.phase != "",
			Count: instances, Records: instances, TimeNS: inclusive[at], ExclusiveNS: exclusive[at], MinNS: inclusive[at] / instances, MaxNS: inclusive[at],
		})
	}
	slices.SortStableFunc(p.Profile.Rows, func(a, b parquet.ProfileRow) int {
		own := func(r *parquet.ProfileRow) int {
			if r.Kind == parquet.ProfileTraffic || r.Kind == parquet.ProfileDurations || r.Kind == parquet.ProfileIterations {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(own(&a), own(&b)), cmp.Compare(a.World, b.World), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Thread, b.Thread))
	})
}

// Manifest is a manifest of the planted profile, in short.
func (p *Profiled) Manifest() map[string]any {
	ranks := make(map[[2]int32]bool)
	for i := range p.Profile.Rows {
		r := &p.Profile.Rows[i]
		ranks[[2]int32{r.World, r.Rank}] = true
	}
	var hosts []any
	for _, h := range p.Hosts {
		n, _ := rundir.CountRanks(h.Ranks)
		hosts = append(hosts, map[string]any{"name": h.Name, "ranks": n})
	}
	return map[string]any{
		"format": rundir.ManifestFormat, "ranks": len(ranks), "complete": true, "command": []string{"mpirun", "bt"}, "worlds": []any{map[string]any{"executable": "/opt/bt"}}, "hosts": hosts,
		"phases": []any{map[string]any{"name": "adi"}, map[string]any{"name": "x_solve"}},
		"kept":   map[string]any{"phases": []any{map[string]any{"iterations": 5, "median_ns": 2_000_000, "threads": len(ranks)}}},
	}
}

// WriteProfile puts the files of a profile into a directory; with a manifest, where it has none.
func WriteProfile(dir string, p *Profiled, manifest map[string]any) error {
	errs := []error{
		write(filepath.Join(dir, rundir.ProfileFile), func(f io.Writer) error { return parquet.WriteProfile(f, &p.Profile) }),
		write(filepath.Join(dir, rundir.InstancesFile), func(f io.Writer) error { return parquet.WriteInstances(f, p.Instances) }),
		writeText(filepath.Join(dir, rundir.CallPathsFile), rundir.CallPathsOf(p.Paths)),
		write(filepath.Join(dir, rundir.PairsFile), (&rundir.Pairs{Format: rundir.PairsFormat, Within: rundir.WithinRun, Hosts: p.Hosts, Why: []string{"planted"}}).Write),
	}
	if manifest != nil {
		errs = append(errs, writeText(filepath.Join(dir, rundir.ManifestFile), manifest))
	}
	return errors.Join(errs...)
}

func writeText(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o666)
}
