package clustering

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
	"moriens/internal/testenv"
	"moriens/trace"
	"moriens/trace/prv"
	"moriens/trace/tracetest"
)

// partOf is what a member has of a run: the columns of its own threads.
func partOf(run *trace.Run, owners []int32, rank int) *trace.Run {
	part := *run
	part.Threads = slices.Clone(run.Threads)
	for i := range part.Threads {
		if t := &part.Threads[i]; int(owners[i]) != rank {
			*t = trace.Thread{World: t.World, Rank: t.Rank, Thread: t.Thread, Node: t.Node, BeginNS: t.BeginNS, EndNS: t.EndNS}
		}
	}
	return &part
}

// said is what all members say of a clustering.
func said(t interface{ Fatal(...any) }, run *trace.Run, r *Result) string {
	clusters, err := json.Marshal(r.Clusters)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s\n%+v %+v %+v\n%q\n%+v %q", clusters, *r.Tree.Tree, r.Tree.Clusters, r.Filtered, r.Notes, run.Clusters, run.Lineages)
}

// requireSame has teams of members with these threads cluster a run, and compares with what one process finds.
func requireSame(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, run *trace.Run, o grouping.Options, owners ...[]int32) {
	whole := partOf(run, make([]int32, len(run.Threads)), 0)
	alone, err := Cluster(whole, o)
	if err != nil {
		t.Fatal(err)
	}
	want := said(t, whole, alone)
	for _, of := range owners {
		members := 1
		if len(of) > 0 {
			members += int(slices.Max(of))
		}
		runs := make([]*trace.Run, members)
		results, err := mpixtest.Run(members, func(m team.Team) (*Result, error) {
			o := o
			o.Team = team.Threads{Team: m, Of: of}
			runs[m.Rank()] = partOf(run, of, m.Rank())
			return Cluster(runs[m.Rank()], o)
		})
		if err != nil {
			t.Fatal(err)
		}
		for rank, r := range results {
			if got := said(t, runs[rank], r); got != want {
				t.Fatalf("member %d of %d:\n%s\none process:\n%s", rank, members, got, want)
			}
		}
		for i := range run.Threads {
			got, want := &runs[of[i]].Threads[i].Bursts, &whole.Threads[i].Bursts
			if !slices.Equal(got.Cluster, want.Cluster) || !slices.Equal(got.Lineage, want.Lineage) {
				t.Fatalf("thread %d, of member %d: labels %v, want %v", i, of[i], got.Cluster, want.Cluster)
			}
		}
	}
}

// However the threads of a run are distributed, all members find the clustering that one process finds.
func TestMembersDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		o := grouping.Options{By: rapid.SampledFrom([]grouping.By{grouping.ByAuto, grouping.ByCalls, grouping.ByNone}).Draw(t, "by")}
		o.Filter.Auto = rapid.Bool().Draw(t, "auto")
		members := rapid.Int32Range(1, 4).Draw(t, "members")
		of := rapid.SliceOfN(rapid.Int32Range(0, members-1), len(run.Threads), len(run.Threads)).Draw(t, "owners")
		requireSame(t, run, o, of)
	})
}

func TestMembersAnchorAlike(t *testing.T) {
	options := grouping.Options{
		Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}, By: grouping.ByNone, Fixed: &grouping.Density{Eps: .1, MinPts: 1},
	}
	for _, of := range [][]int32{{0, 1}, {2, 1}, {1, 1}} {
		requireSame(t, twoRanks(), options, of)
		run := twoRanks()
		run.Threads[1].Collectives.Ordinal = []int64{3, 4, 5}
		run.Threads[0].Collectives.Ordinal = []int64{0, 1, 3}
		requireSame(t, run, options, of)
		clear(run.Threads[1].Collectives.Ordinal) // of one member they are not known
		requireSame(t, run, options, of)
	}
}

// An error at one member is reported by all, and the bursts of none are in a cluster.
func TestMembersFailAlike(t *testing.T) {
	bad := twoRanks()
	bad.Threads[1].Bursts.DurationNS = []int64{-7}
	of := []int32{0, 2}
	runs := make([]*trace.Run, 3)
	results, err := mpixtest.Run(3, func(m team.Team) (*Result, error) {
		run := partOf(bad, of, m.Rank())
		runs[m.Rank()] = run
		r, err := Cluster(run, grouping.Options{Team: team.Threads{Team: m, Of: of}})
		if err == nil || !strings.Contains(err.Error(), "lasts -7 ns") {
			return nil, fmt.Errorf("a negative duration is %w", err)
		}
		return r, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for rank, r := range results {
		if r == nil || len(runs[rank].Clusters) > 0 || runs[2].Threads[1].Bursts.Cluster[0] != 0 {
			t.Errorf("member %d: %+v, clusters %+v", rank, r, runs[rank].Clusters)
		}
	}
}

// The real trace, by all that the command line offers.
func TestEpochOnATeam(t *testing.T) {
	read, err := prv.ReadFile(testenv.RealTrace(t, "epoch_4proc.prv.gz"), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []grouping.Options{
		{By: grouping.ByAuto, Workers: 2},
		{By: grouping.ByCalls, Filter: space.Filter{Auto: true}},
		{By: grouping.ByAuto, Strict: true},
		{By: grouping.ByNone, Normalise: true, Filter: space.Filter{MinNS: 100_000}},
	} {
		requireSame(t, read.Run, o, []int32{0, 0, 0, 0}, []int32{1, 0, 0, 1}, []int32{0, 2, 2, 1}, []int32{2, 2, 2, 2})
	}
}
