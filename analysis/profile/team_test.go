package profile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
)

// sumOn sums up at all members of a team, each with the threads of its own.
func sumOn(members int, of []int32, threads []Thread, o Options) ([]*Profile, error) {
	return mpixtest.Run(members, func(m team.Team) (*Profile, error) {
		own := make([]Thread, len(threads))
		for i := range own {
			if own[i].Phases = threads[i].Phases; int(of[i]) == m.Rank() {
				own[i] = threads[i]
			}
		}
		o := o
		o.Team = team.Threads{Team: m, Of: of}
		return Sum(own, o)
	})
}

// However the threads are distributed, all members of a team get the profile that one process gets.
func TestTeam(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threads := random(t, []int{3, 0})
		o := Options{Counters: 2, Buckets: 5, Points: 2}
		want, err := Sum(threads, o)
		if err != nil {
			t.Fatal(err)
		}
		members := rapid.Int32Range(2, 5).Draw(t, "members")
		of := rapid.SliceOfN(rapid.Int32Range(0, members-1), len(threads), len(threads)).Draw(t, "owners")
		all, err := sumOn(int(members), of, threads, o)
		if err != nil {
			t.Fatal(err)
		}
		for rank, got := range all {
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("member %d of %d, threads at %v:\n%s", rank, members, of, diff)
			}
		}
	})
}

// What is wrong with the threads of one member all members say.
func TestTeamRefuses(t *testing.T) {
	threads := []Thread{{}, {StartNS: []int64{0}, DurationNS: []int64{-1}, After: []uint32{0}, Cluster: []int32{1}}}
	all, err := sumOn(3, []int32{0, 2}, threads, Options{})
	if err == nil || !strings.Contains(err.Error(), "thread 1: burst 0: lasts -1 ns") {
		t.Errorf("error %v", err)
	}
	for rank, p := range all {
		if p != nil {
			t.Errorf("member %d has a profile", rank)
		}
	}
}
