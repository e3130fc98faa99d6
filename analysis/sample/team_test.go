package sample

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
)

// However the threads are distributed, all members of a team draw the bursts that one process draws, with the same
// weights.
func TestTeam(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threads := random(t)
		o := Options{Rows: rapid.IntRange(0, 80).Draw(t, "rows"), Workers: 2}
		want, err := Draw(threads, o)
		if err != nil {
			t.Fatal(err)
		}
		members := rapid.Int32Range(2, 5).Draw(t, "members")
		of := rapid.SliceOfN(rapid.Int32Range(0, members-1), len(threads), len(threads)).Draw(t, "owners")
		all, err := mpixtest.Run(int(members), func(m team.Team) (*Sample, error) {
			own := make([]Thread, len(threads))
			for i, th := range threads {
				if own[i] = (Thread{Key: th.Key, Class: th.Class}); int(of[i]) == m.Rank() {
					own[i] = th
				}
			}
			o := o
			o.Team = team.Threads{Team: m, Of: of}
			return Draw(own, o)
		})
		if err != nil {
			t.Fatal(err)
		}
		for rank, got := range all {
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("member %d of %d, threads at %v: %+v, want %+v", rank, members, of, got, want)
			}
		}
	})
}
