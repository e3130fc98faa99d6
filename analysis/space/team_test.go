package space_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/space"
	"moriens/internal/mpix"
)

// However many members share the bursts, each selects what one process selects, and gives it the same coordinates.
func TestMembersSelectAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "bursts")
		members := rapid.IntRange(1, 5).Draw(t, "members")
		most := rapid.SampledFrom([]int64{3, 1000, 1 << 40, 1 << 54}).Draw(t, "most")
		all := space.Columns{CounterNames: []string{"A"}, Counters: [][]int64{nil}}
		parts := make([]space.Columns, members)
		rows := make([][]int, members) // which of all
		for i := range parts {
			parts[i] = space.Columns{CounterNames: all.CounterNames, Counters: [][]int64{nil}}
		}
		for row := range n {
			duration, count := rapid.Int64Range(0, most).Draw(t, "duration"), rapid.Int64Range(-1, 9).Draw(t, "count")
			rank := rapid.IntRange(0, members-1).Draw(t, "member")
			for _, c := range []*space.Columns{&all, &parts[rank]} {
				c.DurationNS, c.Counters[0] = append(c.DurationNS, duration), append(c.Counters[0], count)
			}
			rows[rank] = append(rows[rank], row)
		}
		dims, err := space.Parse("A,duration/A:lin")
		if err != nil {
			t.Fatal(err)
		}
		filter := space.Filter{Auto: rapid.Bool().Draw(t, "auto"), Ranges: []space.Range{{Num: "A", Max: 7}}}
		want, coords := selectAndScale(func(c space.Columns) (*space.Space, error) { return space.New(c, dims) }, all, filter)
		err = mpix.Each(members, func(m mpix.Transport) error {
			got, here := selectAndScale(func(c space.Columns) (*space.Space, error) { return space.NewShared(m, c, dims) }, parts[m.Rank()], filter)
			if got.MinNS != want.MinNS || got.Bursts != want.Bursts || got.TimeNS != want.TimeNS {
				return errors.New("the sums differ")
			}
			for i, row := range rows[m.Rank()] {
				if got.Status[i] != want.Status[row] || !slices.Equal(here[i], coords[row]) {
					return errors.New("a burst differs")
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%d members: %v", members, err)
		}
	})
}

// selectAndScale returns the coordinates of the bursts that are complete, by row, after those that are short and last
// an even time were readmitted.
func selectAndScale(start func(space.Columns) (*space.Space, error), c space.Columns, filter space.Filter) (*space.Selection, [][]float64) {
	s, err := start(c)
	if err != nil {
		panic(err)
	}
	sel, err := s.Select(filter)
	if err != nil {
		panic(err)
	}
	var again, complete []int32
	for row, status := range sel.Status {
		if status == space.Short && c.DurationNS[row]%2 == 0 {
			again = append(again, int32(row))
		}
	}
	if err := s.Readmit(sel, again); err != nil {
		panic(err)
	}
	for row, status := range sel.Status {
		if status == space.Complete {
			complete = append(complete, int32(row))
		}
	}
	if err := s.Normalise(complete); err != nil {
		panic(err)
	}
	coords := make([][]float64, c.Len())
	for i, row := range complete {
		coords[row] = s.Coordinates(nil, complete[i:i+1])
	}
	return sel, coords
}

func TestTooLongTogether(t *testing.T) {
	dims := []space.Dim{{Num: space.Duration}}
	var errs [3]error
	_ = mpix.Each(len(errs), func(m mpix.Transport) error {
		s, err := space.NewShared(m, space.Columns{DurationNS: []int64{math.MaxInt64 / 2}}, dims)
		if err == nil {
			_, err = s.Select(space.Filter{})
		}
		errs[m.Rank()] = err
		return err
	})
	for rank, err := range errs {
		if !errors.Is(err, space.ErrTooLong) {
			t.Errorf("member %d: %v", rank, err)
		}
	}
}
