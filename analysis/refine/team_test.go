package refine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/dbscan"
	"moriens/analysis/refine"
	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
)

// shareOf is what a member has of bursts whose threads it owns by of; all members cluster all groups together.
func shareOf(m team.Team, b refine.Bursts, of []int32) (refine.Bursts, error) {
	s := refine.Bursts{Ends: []int{}, Team: team.Threads{Team: m, Of: of}, Home: func([]int32) error { return nil }}
	place := make(map[int32]int32) // here, of rows
	begin := 0
	for thread, end := range b.Ends {
		for row := begin; int(of[thread]) == m.Rank() && row < end; row++ {
			place[int32(row)] = int32(len(s.DurationNS))
			s.DurationNS = append(s.DurationNS, b.DurationNS[row])
		}
		s.Ends = append(s.Ends, len(s.DurationNS))
		begin = end
	}
	for _, g := range b.Groups {
		h := refine.Group{Points: dbscan.Points{Dims: g.Points.Dims}, Shared: true, Eps: g.Eps, MinPts: g.MinPts}
		for i, row := range g.Rows {
			if at, here := place[row]; here {
				h.Rows = append(h.Rows, at)
				h.Points.Coords = append(h.Points.Coords, g.Points.Coords[i*g.Points.Dims:(i+1)*g.Points.Dims]...)
			}
		}
		var err error
		if h.Index, err = dbscan.NewShared(m, h.Points, 1); err != nil {
			return s, err
		}
		s.Groups = append(s.Groups, h)
	}
	return s, nil
}

// However the threads are distributed, all members refine alike.
func TestMembersDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, o := drawBursts(t), drawOptions(t)
		want := run(t, b, o)
		members := rapid.IntRange(2, 4).Draw(t, "members")
		of := rapid.SliceOfN(rapid.Int32Range(0, int32(members-1)), len(b.Ends), len(b.Ends)).Draw(t, "owners")
		results, err := mpixtest.Run(members, func(m team.Team) (*refine.Result, error) {
			share, err := shareOf(m, b, of)
			if err != nil {
				return nil, err
			}
			return refine.Run(share, o)
		})
		if err != nil {
			t.Fatal(err)
		}
		next := make([]int, members) // row of each member
		begin := 0
		for thread, end := range b.Ends {
			got, at := results[of[thread]], next[of[thread]]
			next[of[thread]] += end - begin
			if !slices.Equal(got.Labels[at:at+end-begin], want.Labels[begin:end]) || !slices.Equal(got.Lineage[at:at+end-begin], want.Lineage[begin:end]) {
				t.Fatalf("thread %d: %v, want %v", thread, got.Labels[at:at+end-begin], want.Labels[begin:end])
			}
			begin = end
		}
		for rank, got := range results {
			if g, w := fmt.Sprintf("%+v %+v %+v", got.Nodes, *got.Score, got.Tree), fmt.Sprintf("%+v %+v %+v", want.Nodes, *want.Score, want.Tree); g != w {
				t.Fatalf("member %d of %d:\n%s\none process:\n%s", rank, members, g, w)
			}
		}
	})
}

func TestMembersFailAlike(t *testing.T) {
	b := line(t, 1, []float64{.1}, 100, []float64{1, 1, 2}, []float64{1, 2, 2})
	for want, spoil := range map[string]func(*refine.Bursts){
		"out of range or in two groups": func(s *refine.Bursts) { s.Groups[0].Rows = slices.Repeat([]int32{0}, len(s.Groups[0].Rows)) },
		"the way home":                  func(s *refine.Bursts) { s.Home = nil },
		"owners of 1 threads":           func(s *refine.Bursts) { s.Team.Of = s.Team.Of[:1] },
	} {
		_, err := mpixtest.Run(3, func(m team.Team) (bool, error) {
			share, err := shareOf(m, b, []int32{0, 1})
			if err != nil {
				return false, err
			}
			if m.Rank() == 1 {
				spoil(&share)
			}
			if _, err := refine.Run(share, refine.Options{}); err == nil || !strings.Contains(err.Error(), want) {
				return false, fmt.Errorf("%q expected, not %w", want, err)
			}
			return true, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
