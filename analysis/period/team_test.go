package period_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"moriens/analysis/period"
	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
)

// checkTeam checks that all members of a team find what one process finds.
func checkTeam(t interface{ Fatalf(string, ...any) }, list []period.Thread, o period.Options, of []int32, members int, want *period.Result) {
	all, err := mpixtest.Run(members, func(m team.Team) (*period.Result, error) {
		own := make([]period.Thread, len(list))
		for i := range own {
			if int(of[i]) == m.Rank() {
				own[i] = list[i]
			}
		}
		o := o
		o.Team = team.Threads{Team: m, Of: of}
		return period.Find(own, o)
	})
	if err != nil {
		t.Fatalf("threads at %v: %v", of, err)
	}
	for rank, got := range all {
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("member %d of %d, threads at %v:\n%s", rank, members, of, diff)
		}
	}
}

// inTurns has threads at members one after the other, the last member first.
func inTurns(threads, members int) []int32 {
	of := make([]int32, threads)
	for i := range of {
		of[i] = int32(members - 1 - i%members)
	}
	return of
}

// However the threads are distributed, all members of a team find the same as one process: by symbols, by calls, with
// and without anchors, and threads that do alike.
func TestTeam(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := someRun(t)
		for range rapid.IntRange(0, 3).Draw(t, "alike") {
			like := list[rapid.IntRange(0, len(list)-1).Draw(t, "as")]
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "times"), 0))
			like.BeginNS, like.DurationNS = slices.Clone(like.BeginNS), slices.Clone(like.DurationNS)
			for k := range like.BeginNS {
				like.BeginNS[k] += int64(k) * 17
				like.DurationNS[k] += random.Int64N(17)
			}
			list = append(list, like)
		}
		o := period.Options{Workers: 2}
		if rapid.Bool().Draw(t, "calls") {
			for range 300 {
				o.Calls = append(o.Calls, uint32(len(o.Calls)%5))
			}
		}
		want, err := period.Find(list, o)
		if err != nil {
			t.Fatal(err)
		}
		members := rapid.Int32Range(2, 4).Draw(t, "members")
		of := rapid.SliceOfN(rapid.Int32Range(0, members-1), len(list), len(list)).Draw(t, "owners")
		checkTeam(t, list, o, of, int(members), want)
	})
}
