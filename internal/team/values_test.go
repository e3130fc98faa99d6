package team_test

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"moriens/internal/mpix"
	"moriens/internal/team"
)

// on does work at each member of a team of so many, and returns what each has returned.
func on[T any](t *testing.T, members int, work func(m team.Team) (T, error)) ([]T, []error) {
	t.Helper()
	made, errs := make([]T, members), make([]error, members)
	var wg sync.WaitGroup
	for rank, m := range mpix.Local(members) {
		wg.Go(func() {
			defer m.Close()
			made[rank], errs[rank] = work(m)
		})
	}
	wg.Wait()
	return made, errs
}

// A thing has a map, a list and a list without elements.
type thing struct {
	Of    map[string]int
	List  []float64
	Empty []int
}

func thingOf(rank int) thing {
	return thing{map[string]int{fmt.Sprint("rank ", rank): rank}, []float64{.5, float64(rank)}, nil}
}

func TestValues(t *testing.T) {
	for _, members := range []int{1, 2, 5} {
		var want []thing
		for rank := range members {
			want = append(want, thingOf(rank))
		}
		all, errs := on(t, members, func(m team.Team) ([]thing, error) { return team.Values(m, thingOf(m.Rank())) })
		for rank := range members {
			if errs[rank] != nil || !reflect.DeepEqual(all[rank], want) {
				t.Errorf("member %d of %d: %v, %v", rank, members, all[rank], errs[rank])
			}
		}
	}
}

// What the first member has made, or that it could not, is known to all; the others do not try.
func TestFirst(t *testing.T) {
	for _, members := range []int{1, 3} {
		for _, wrong := range []error{nil, errors.New("no room")} {
			made, errs := on(t, members, func(m team.Team) (*thing, error) {
				return team.First(m, func() (*thing, error) {
					if m.Rank() != 0 {
						t.Errorf("member %d works", m.Rank())
					}
					one := thingOf(7)
					return &one, wrong
				})
			})
			for rank, err := range errs {
				switch {
				case wrong == nil && (err != nil || !reflect.DeepEqual(*made[rank], thingOf(7))):
					t.Errorf("member %d of %d: %v, %v", rank, members, made[rank], err)
				case wrong != nil && (err == nil || err.Error() != "no room"):
					t.Errorf("member %d of %d: error %v", rank, members, err)
				}
			}
		}
	}
}

func TestAnyAndExplain(t *testing.T) {
	own := errors.New("disk full")
	so, errs := on(t, 3, func(m team.Team) (bool, error) {
		if none, err := team.Any(m, false); none || err != nil {
			t.Errorf("member %d: %v, %v", m.Rank(), none, err)
		}
		if err := team.Explain(m, nil); err != nil {
			t.Errorf("member %d: %v", m.Rank(), err)
		}
		is, err := team.Any(m, m.Rank() == 2)
		if m.Rank() == 1 {
			return is, errors.Join(err, team.Explain(m, own))
		}
		return is, errors.Join(err, team.Explain(m, nil))
	})
	for rank := range so {
		want := "member 1 of the team: disk full"
		if rank == 1 {
			want = "disk full"
		}
		if !so[rank] || errs[rank] == nil || errs[rank].Error() != want {
			t.Errorf("member %d: %v, %v", rank, so[rank], errs[rank])
		}
	}
	if !errors.Is(errs[1], own) {
		t.Errorf("not its own error: %v", errs[1])
	}
}

func TestFirstByThread(t *testing.T) {
	of := []int32{1, 0, 2, 1, 2}
	got, errs := on(t, 3, func(m team.Team) ([][]int16, error) {
		lists := make([][]int16, len(of))
		for i, owner := range of {
			if int(owner) == m.Rank() {
				lists[i] = make([]int16, i)
				for k := range lists[i] {
					lists[i][k] = int16(10*i + k)
				}
			}
		}
		return team.FirstByThread(team.Threads{Team: m, Of: of}, lists)
	})
	for rank, err := range errs {
		if err != nil {
			t.Fatalf("member %d: %v", rank, err)
		}
	}
	if want := "[[] [10] [20 21] [30 31 32] [40 41 42 43]]"; fmt.Sprint(got[0]) != want {
		t.Errorf("%v, want %s", got[0], want)
	}
}
