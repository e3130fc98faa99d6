// Package rundirtest has contents of run directories with closed figures, for tests.
package rundirtest

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// Call paths of Waits.
const (
	Solve   = "MPI_Allreduce@main.c:42"
	Norm    = "MPI_Allreduce@norm.c:9"
	Barrier = "MPI_Barrier@main.c:50"
	Input   = "MPI_Bcast@input.c:7"
	Halo    = "MPI_Wait@halo.c:31"
)

// Waits are those of 4 ranks over 7.8 s: rank 2 takes half a millisecond longer than the others in cluster 3, 900
// times. Collectives are known of the whole run, messages of windows. The rows are those of the whole run.
func Waits() (*rundir.Waits, []parquet.WaitsRow) {
	n := func(rank int) rundir.ThreadName { return rundir.ThreadName{Rank: rank} }
	of := func(id int32) *int32 { return &id }
	nToN, barrier, broadcast := trace.AtNToN.String(), trace.AtBarrier.String(), trace.LateBroadcast.String()
	unknown := rundir.Number(math.NaN())
	whole := &rundir.WaitsTable{
		Basis: rundir.WaitsCollectives, Ranks: 4, Locations: 4,
		End: 7.8, Seconds: 7.8, MPI: 12, Waiting: 9.7, Residual: 2.25, Uncertain: .1, Unexplained: .02,
		Kinds: []rundir.WaitsKind{
			{Kind: nToN, Count: 2990, Seconds: 9, Longest: .012}, {Kind: barrier, Count: 40, Seconds: .5, Longest: .02}, {Kind: broadcast, Count: 2, Seconds: .2, Longest: .1},
		},
		CallPaths: []rundir.WaitsCallPath{
			{CallPath: Solve, Kind: nToN, Count: 2700, Seconds: 8.5, Residual: 1.2}, {CallPath: Norm, Kind: nToN, Count: 290, Seconds: .5, Residual: .3},
			{CallPath: Barrier, Kind: barrier, Count: 40, Seconds: .5, Residual: .5}, {CallPath: Input, Kind: broadcast, Count: 2, Seconds: .2, Residual: .2},
		},
		Causes: []rundir.WaitsCause{
			{ThreadName: n(2), What: rundir.CauseComputing, Cluster: of(3), CallPath: Solve, Seconds: 9, Direct: 5.9, Share: 9 / 9.7, Waits: 2700, More: .0005},
			{ThreadName: n(0), What: rundir.CauseMPI, CallPath: Barrier, Seconds: .4, Direct: .4, Share: .4 / 9.7, Waits: 40, More: .001},
			{ThreadName: n(1), What: rundir.CauseOutside, Seconds: .1, Direct: .1, Share: .1 / 9.7, Waits: 2, More: .05},
			{ThreadName: n(3), What: rundir.CauseComputing, CallPath: Norm, Seconds: .1, Share: .1 / 9.7, More: unknown},
		},
		CausesTotal: 6,
		Clusters: []rundir.WaitsCluster{
			{Cluster: 3, Kind: 3, Locations: 4, Caused: 9, Path: 1.716, PathShare: .22, Imbalance: 1.2}, {Cluster: 1, Kind: 1, Locations: 4, Caused: .1, Path: 4, PathShare: .513, Imbalance: .02},
			{Cluster: 2, Kind: 1, Locations: 4, Path: .758, PathShare: .097, Imbalance: -.3},
		},
		Others: []rundir.WaitsOther{
			{What: rundir.CauseComputing, Caused: .1, Path: .234, PathShare: .03}, {What: rundir.CauseMPI, Caused: .4, Path: .702, PathShare: .09}, {What: rundir.CauseOutside, Caused: .08, Path: .39, PathShare: .05},
		},
		ByRank: []rundir.WaitsRank{{ThreadName: n(2), Waiting: .1, Caused: 9, Direct: 5.9, Path: 6}, {ThreadName: n(0), Waiting: 3.3, Caused: .4, Direct: .4, Path: 1.8}},
		Path: rundir.WaitsPath{
			Seconds: 7.8, Changes: 12,
			Parts: []rundir.WaitsPathPart{
				{What: rundir.CauseComputing, Cluster: of(1), Variants: []int32{1, 2}, CallPath: Barrier, Seconds: 3, Share: 3 / 7.8},
				{What: rundir.CauseComputing, Cluster: of(1), CallPath: Norm, Seconds: 1.758, Share: 1.758 / 7.8},
				{What: rundir.CauseComputing, Cluster: of(3), CallPath: Solve, Seconds: 1.716, Share: .22},
				{What: rundir.CauseMPI, CallPath: Solve, Seconds: .702, Share: .09},
				{What: rundir.CauseOutside, Seconds: .39, Share: .05},
				{What: rundir.CauseComputing, CallPath: Norm, Seconds: .233, Share: .03},
			},
			PartsTotal: 8, Rest: .001,
			Ranks: []rundir.WaitsPathRank{{ThreadName: n(2), Seconds: 6, Share: 6 / 7.8}, {ThreadName: n(0), Seconds: 1.8, Share: 1.8 / 7.8}},
		},
		NotExplained:   []rundir.WaitsNotExplained{{What: "one-sided synchronisation", Calls: 12, Seconds: .05}},
		Contradictions: 1, Incomplete: 2, NotSynchronising: 3,
	}
	w := &rundir.Waits{Format: rundir.WaitsFormat, WholeRun: whole, Main: within(whole, n), Windows: windows(n, of), Why: []string{"messages are known in windows alone"}}
	return w, rows()
}

// within is main of a run: in it nobody waits for a broadcast, and less is not recorded.
func within(whole *rundir.WaitsTable, n func(int) rundir.ThreadName) *rundir.WaitsTable {
	t := *whole
	t.Begin, t.End, t.Seconds, t.Path.Seconds = .2, 7.7, 7.5, 7.5
	t.MPI, t.Waiting, t.Unexplained, t.Kinds, t.CallPaths = 11.8, 9.5, 0, whole.Kinds[:2], whole.CallPaths[:3]
	t.Causes, t.CausesTotal = nil, 4
	for _, c := range whole.Causes[:2] {
		c.Share = rundir.WaitsShare(float64(c.Seconds / 9.5))
		t.Causes = append(t.Causes, c)
	}
	t.Clusters = slices.Clone(whole.Clusters)
	for k := range t.Clusters {
		t.Clusters[k].PathShare = rundir.WaitsShare(float64(t.Clusters[k].Path / 7.5))
	}
	t.Clusters[1].Imbalance = .03
	t.Others = []rundir.WaitsOther{{What: rundir.CauseComputing, Path: .234, PathShare: .0312}, {What: rundir.CauseMPI, Caused: .4, Path: .702, PathShare: .0936}, {What: rundir.CauseOutside, Path: .09, PathShare: .012}}
	t.ByRank = []rundir.WaitsRank{{ThreadName: n(2), Waiting: .1, Caused: 9, Direct: 5.9, Path: 5.742}, {ThreadName: n(0), Waiting: 3.2, Caused: .4, Direct: .4, Path: 1.758}}
	t.Path.Changes, t.Path.Parts = 11, slices.Clone(whole.Path.Parts)
	t.Path.Parts[4].Seconds = .09
	t.Path.Parts[4], t.Path.Parts[5] = t.Path.Parts[5], t.Path.Parts[4]
	for k := range t.Path.Parts {
		t.Path.Parts[k].Share = rundir.WaitsShare(float64(t.Path.Parts[k].Seconds / 7.5))
	}
	t.Path.Ranks = []rundir.WaitsPathRank{{ThreadName: n(2), Seconds: 5.742, Share: .7656}, {ThreadName: n(0), Seconds: 1.758, Share: .2344}}
	return &t
}

// windows are 0.2 s in which rank 1 waits for messages of rank 2, which is late because rank 3 was. The path in them is
// not known.
func windows(n func(int) rundir.ThreadName, of func(int32) *int32) *rundir.WaitsTable {
	late, order, unknown := trace.LateSender.String(), trace.WrongOrder.String(), rundir.Number(math.NaN())
	return &rundir.WaitsTable{
		Basis: rundir.WaitsFull, Ranks: 4, Locations: 4, Begin: 1, End: 6, Seconds: .2, MPI: .1, Waiting: .06, Residual: .04,
		Kinds:     []rundir.WaitsKind{{Kind: late, Count: 20, Seconds: .05, Longest: .004}, {Kind: order, Count: 1, Seconds: .01, Longest: .01}},
		CallPaths: []rundir.WaitsCallPath{{CallPath: Halo, Kind: late, Count: 20, Seconds: .05, Residual: .03}, {CallPath: Halo, Kind: order, Count: 1, Seconds: .01}},
		Causes: []rundir.WaitsCause{
			{ThreadName: n(3), What: rundir.CauseComputing, Cluster: of(3), CallPath: Halo, Seconds: .04, Direct: .02, Share: .04 / .06, Waits: 10, More: .002},
			{ThreadName: n(2), What: rundir.CauseMPI, CallPath: Halo, Seconds: .02, Direct: .02, Share: .02 / .06, Waits: 11, More: .001},
		},
		CausesTotal: 2,
		Clusters:    []rundir.WaitsCluster{{Cluster: 3, Kind: 3, Locations: 1, Caused: .04, Path: unknown, PathShare: unknown, Imbalance: unknown}},
		Others: []rundir.WaitsOther{
			{What: rundir.CauseComputing, Path: unknown, PathShare: unknown}, {What: rundir.CauseMPI, Caused: .02, Path: unknown, PathShare: unknown},
			{What: rundir.CauseOutside, Path: unknown, PathShare: unknown},
		},
		ByRank: []rundir.WaitsRank{{ThreadName: n(1), Waiting: .04, Path: unknown}, {ThreadName: n(2), Waiting: .02, Caused: .02, Direct: .02, Path: unknown}},
		Links: []rundir.WaitsLink{
			{Waiting: n(1), For: n(2), Count: 11, Seconds: .04, MPI: .02, HandedOn: .02}, {Waiting: n(2), For: n(3), Count: 10, Seconds: .02, Computing: .02},
		},
		LinksTotal: 3,
		Path:       rundir.WaitsPath{Seconds: unknown},
		OneSided:   4,
		Eager:      []rundir.WaitsEager{{SameNode: true, Bytes: eager()}, {}},
	}
}

func eager() *int64 {
	bytes := int64(4096)
	return &bytes
}

// rows are those of the whole run.
func rows() (list []parquet.WaitsRow) {
	const ms = 1_000_000
	wait := func(kind trace.WaitKind, path string, residualMS int64, counts, waitMS [4]int64) {
		for rank := range counts {
			if counts[rank] > 0 {
				list = append(list, parquet.WaitsRow{
					Kind: parquet.WaitsWait, Rank: int32(rank), CallPath: path, Iterations: -1, Wait: kind.String(), Count: counts[rank], WaitNS: waitMS[rank] * ms, ResidualNS: residualMS * ms,
				})
				if r := &list[len(list)-1]; path != Input {
					r.MainWaitNS = r.WaitNS
				}
			}
		}
	}
	wait(trace.AtNToN, Solve, 400, [4]int64{900, 900, 0, 900}, [4]int64{2900, 2800, 0, 2800})
	wait(trace.AtNToN, Norm, 100, [4]int64{100, 100, 0, 90}, [4]int64{200, 200, 0, 100})
	wait(trace.AtBarrier, Barrier, 125, [4]int64{10, 10, 10, 10}, [4]int64{100, 100, 100, 200})
	wait(trace.LateBroadcast, Input, 100, [4]int64{1, 1, 0, 0}, [4]int64{100, 100, 0, 0})
	type row = parquet.WaitsRow
	for _, r := range []row{
		{Rank: 2, What: parquet.WaitsComputing, Cluster: 3, CallPath: Solve, Count: 2700, ChargedNS: 9000 * ms, DirectNS: 5900 * ms, MoreNS: 1350 * ms},
		{Rank: 0, What: parquet.WaitsMPI, CallPath: Barrier, Count: 40, ChargedNS: 400 * ms, DirectNS: 400 * ms, MoreNS: 40 * ms},
		{Rank: 1, What: parquet.WaitsOutside, Count: 2, ChargedNS: 100 * ms, DirectNS: 100 * ms, MoreNS: 100 * ms},
		{Rank: 3, What: parquet.WaitsComputing, CallPath: Norm, ChargedNS: 100 * ms},
		{Rank: 3, What: parquet.WaitsComputing, Cluster: 1, CallPath: Norm, Count: 90, ChargedNS: 60 * ms, DirectNS: 60 * ms, MoreNS: 60 * ms},
		{Rank: 1, What: parquet.WaitsComputing, Cluster: 1, CallPath: Norm, Count: 90, ChargedNS: 40 * ms, DirectNS: 40 * ms, MoreNS: 40 * ms},
	} {
		r.Kind, r.Iterations = parquet.WaitsCause, -1
		if r.What != parquet.WaitsOutside && (r.Cluster > 0 || r.What == parquet.WaitsMPI) {
			r.MainChargedNS, r.MainDirectNS = r.ChargedNS, r.DirectNS
		}
		list = append(list, r)
	}
	path := func(rank int32, what string, cluster int32, call string, pathMS, mainMS int64) {
		list = append(list, parquet.WaitsRow{Kind: parquet.WaitsPath, Rank: rank, CallPath: call, Iterations: -1, What: what, Cluster: cluster, PathNS: pathMS * ms, MainPathNS: mainMS * ms})
	}
	path(2, parquet.WaitsComputing, 1, Barrier, 2242, 2242)
	path(2, parquet.WaitsComputing, 2, Barrier, 758, 758)
	path(2, parquet.WaitsComputing, 3, Solve, 1716, 1716)
	path(2, parquet.WaitsMPI, 0, Solve, 702, 702)
	path(2, parquet.WaitsOutside, 0, "", 348, 90)
	path(2, parquet.WaitsComputing, 0, Norm, 234, 234)
	path(0, parquet.WaitsComputing, 1, Norm, 1758, 1758)
	path(0, parquet.WaitsOutside, 0, "", 42, 0)
	return list
}

// WriteWaits puts the files of waits into a run directory that has none.
func WriteWaits(dir string, w *rundir.Waits, rows []parquet.WaitsRow) error {
	if err := write(filepath.Join(dir, rundir.WaitsFile), w.Write); err != nil {
		return err
	}
	return write(filepath.Join(dir, rundir.WaitsTableFile), func(f io.Writer) error { return parquet.WriteWaits(f, rows) })
}

func write(path string, content func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := content(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
