// Package mpixtest runs the code of a team's members in tests, each member in its own goroutine.
package mpixtest

import (
	"fmt"
	"sync"

	"moriens/internal/mpix"
	"moriens/internal/team"
)

// Run does work at each member of a team of so many in this process, and returns by rank what each has made, and the
// first error with its rank.
func Run[T any](members int, work func(m team.Team) (T, error)) ([]T, error) {
	made, errs := make([]T, members), make([]error, members)
	var wg sync.WaitGroup
	for rank, m := range mpix.Local(members) {
		wg.Go(func() {
			defer m.Close()
			made[rank], errs[rank] = work(m)
		})
	}
	wg.Wait()
	for rank, err := range errs {
		if err != nil {
			return made, fmt.Errorf("member %d of %d: %w", rank, members, err)
		}
	}
	return made, nil
}
