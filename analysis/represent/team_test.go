package represent_test

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"moriens/analysis/represent"
	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
)

// checkTeam checks that all members of teams find what one process finds, however the threads are distributed.
func checkTeam(t interface{ Fatal(...any) }, run represent.Run, o represent.FindOptions, want *represent.Selection) {
	const members = 3
	for _, owner := range []func(thread int) int{
		func(thread int) int { return members - 1 - thread%members },
		func(thread int) int { return min(1, thread/2) }, // the last member has none
	} {
		of := make([]int32, len(run.Threads))
		for i := range of {
			of[i] = int32(owner(i))
		}
		all, err := mpixtest.Run(members, func(m team.Team) (*represent.Selection, error) {
			own := run
			own.Threads = slices.Clone(run.Threads)
			for i := range own.Threads {
				if int(of[i]) != m.Rank() {
					own.Threads[i] = represent.Thread{}
				}
			}
			o := o
			o.Team = team.Threads{Team: m, Of: of}
			return represent.Find(own, o)
		})
		if err != nil {
			t.Fatal(fmt.Errorf("threads at %v: %w", of, err))
		}
		for rank, got := range all {
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatal(fmt.Sprintf("member %d, threads at %v:\n%s", rank, of, diff))
			}
		}
	}
}
