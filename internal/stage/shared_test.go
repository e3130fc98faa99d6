package stage

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"moriens/internal/mpix"
)

// If one member is late all give a stage up, and none begins it; what one cannot do, all have not done.
func TestShared(t *testing.T) {
	const members = 3
	var wg sync.WaitGroup
	for rank, m := range mpix.Local(members) {
		wg.Go(func() {
			defer m.Close()
			s := Shared(time.Hour, m)
			if rank == 1 {
				s.gone = func() time.Duration { return 30 * time.Minute }
			}
			var late *LateError
			_, err := Try(context.Background(), s, Step{Name: "late", Until: .4}, func(context.Context) (int, error) {
				t.Errorf("member %d has begun what is given up", rank)
				return 0, nil
			})
			if !errors.As(err, &late) || late.After != 24*time.Minute {
				t.Errorf("member %d: %v", rank, err)
			}
			made, err := Try(context.Background(), s, Step{Name: "failed", Until: .6}, func(context.Context) (int, error) {
				if rank == 2 {
					return 5, errors.New("no such counter")
				}
				return 5, nil
			})
			if err == nil || !strings.Contains(err.Error(), "no such counter") || made != 0 {
				t.Errorf("member %d: %d, %v", rank, made, err)
			}
			made, err = Try(context.Background(), s, Step{Name: "made", Until: .6}, func(context.Context) (int, error) { return 10 + rank, nil })
			if err != nil || made != 10+rank {
				t.Errorf("member %d: %d, %v", rank, made, err)
			}
			for i, x := range s.State() {
				if !x.Ended || x.GivenUp != (i == 0) {
					t.Errorf("member %d: stage %+v", rank, x)
				}
			}
		})
	}
	wg.Wait()
}
