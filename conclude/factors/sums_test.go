package factors

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// written is the profile of four threads of a run of 2 s, in no order: rank 0 computes 1.5 s, rank 1 .5 s in two
// clusters, its second thread 1 s, and rank 2 of another world nothing.
func written() *parquet.Profile {
	p := &parquet.Profile{Counters: []trace.Counter{{Name: "PAPI_L1_DCM"}, {Name: "PAPI_TOT_CYC"}, {Name: "PAPI_TOT_INS"}}}
	add := func(kind string, world, rank, thread, cluster int32, count, ns int64) {
		r := parquet.ProfileRow{Kind: kind, World: world, Rank: rank, Thread: thread, Cluster: cluster, Iterations: -1, Count: count, Records: count, TimeNS: ns, CallPath: "MPI_Send"}
		if kind == parquet.ProfileComputation {
			r.Counters = []parquet.ProfileCounter{{Sum: 1}, {Sum: 2 * ns}, {Sum: 3 * ns}}
		}
		p.Rows = append(p.Rows, r)
	}
	add(parquet.ProfileMPI, 1, 2, 0, 0, 4, 2e9)
	add(parquet.ProfileComputation, 0, 1, 0, 1, 10, 3e8)
	add(parquet.ProfileComputation, 0, 0, 0, 1, 20, 1e9)
	add(parquet.ProfileComputation, 0, 1, 1, 2, 5, 1e9)
	add(parquet.ProfileIterations, 0, 0, 0, 0, 99, 9e9)
	add(parquet.ProfileComputation, 0, 0, 0, 1, 10, 5e8)
	add(parquet.ProfileMPI, 0, 0, 0, 0, 30, 4e8)
	add(parquet.ProfileDurations, 0, 0, 0, 1, 99, 9e9)
	add(parquet.ProfileComputation, 0, 1, 0, 2, 2, 2e8)
	return p
}

// What a directory without efficiency.json has is made of the sums of its profile, as bounds.
func TestOfProfile(t *testing.T) {
	clusters := []trace.Cluster{{ID: 1}, {ID: 2}}
	manifest := &rundir.Manifest{Seconds: 2, Hosts: []rundir.Host{{Name: "a"}, {Name: "b"}}}
	tally := new(Tally)
	tally.Add(written())
	e := OfProfile(tally, manifest, clusters)
	r := &e.Runs[0]
	if e.Within != Run || !r.Bound || len(r.Why) != 2 || r.Ranks != 3 || r.Locations != 4 || r.Most == nil || *r.Most != (rundir.ThreadName{}) {
		t.Errorf("%+v", r)
	}
	for what, x := range map[string][2]rundir.Number{
		"PE": {r.Parallel, 3. / 8}, "LB": {r.Balance, .5}, "CE": {r.Communication, .75}, "T": {r.Seconds, 2}, "IPC": {r.IPC, 1.5}, "instructions": {r.Instructions, 9e9},
		"in MPI": {r.Budget.MPI, 2.4}, "outside": {r.Budget.Outside, 2.6},
	} {
		if math.Abs(float64(x[0]-x[1])) > 1e-9 {
			t.Errorf("%s is %v, want %v", what, x[0], x[1])
		}
	}
	if !math.IsNaN(float64(r.InNodes)) || r.Nodes != nil {
		t.Errorf("nodes are known: %v, %+v", r.InNodes, r.Nodes)
	}
	var threads []rundir.ThreadName
	for i := range r.Threads {
		threads = append(threads, r.Threads[i].ThreadName)
	}
	if want := []rundir.ThreadName{{}, {Rank: 1}, {Rank: 1, Thread: 1}, {World: 1, Rank: 2}}; !slices.Equal(threads, want) {
		t.Errorf("threads %+v", threads)
	}
	one := slices.IndexFunc(r.Clusters, func(c rundir.EfficiencyCluster) bool { return c.ID == 1 })
	if c := &r.Clusters[one]; c.Bursts != 40 || c.Ranks != 2 || c.Seconds != 1.8 || c.Most == nil || c.Most.Rank != 0 {
		t.Errorf("cluster 1: %+v", c)
	}
}

// The columns that are read of a file are all that it takes.
func TestProfileColumns(t *testing.T) {
	p := written()
	var file bytes.Buffer
	if err := parquet.WriteProfile(&file, p); err != nil {
		t.Fatal(err)
	}
	manifest := &rundir.Manifest{Seconds: 2}
	all, some := new(Tally), new(Tally)
	all.Add(p)
	if err := parquet.ScanProfile(bytes.NewReader(file.Bytes()), int64(file.Len()), ProfileColumns, some.Add); err != nil {
		t.Fatal(err)
	}
	var want, got bytes.Buffer
	if err := errors.Join(OfProfile(all, manifest, nil).Write(&want), OfProfile(some, manifest, nil).Write(&got)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.String(), got.String()); d != "" {
		t.Errorf("by these columns (+) differs from by all (-):\n%s", d)
	}
}
