package sequence_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/sequence"
	"moriens/internal/mpix"
	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
)

// alignShared is Align by a team, whose members have the threads that of says: their scores, by rank.
func alignShared(in sequence.Threads, of []int32, members int) ([]*sequence.Score, []error) {
	return shared(in, of, members, sequence.Align)
}

// shared has the members of a team work on the threads that of gives them, and returns the results by rank.
func shared[R any](in sequence.Threads, of []int32, members int, do func(sequence.Threads, int) (R, error)) ([]R, []error) {
	results, errs := make([]R, members), make([]error, members)
	var wg sync.WaitGroup
	for rank, member := range mpix.Local(members) {
		wg.Go(func() {
			here := sequence.Threads{Count: in.Count, Counting: in.Counting, Team: team.Threads{Team: member, Of: of}}
			if in.Anchors != nil {
				here.Anchors = make([][]sequence.Anchor, len(in.Anchors))
			}
			begin := 0
			for thread, end := range in.Ends {
				if int(of[thread]) == rank {
					here.Labels = append(here.Labels, in.Labels[begin:end]...)
					here.DurationNS = append(here.DurationNS, in.DurationNS[begin:end]...)
					if in.Anchors != nil {
						here.Anchors[thread] = in.Anchors[thread]
					}
				}
				here.Ends = append(here.Ends, len(here.Labels))
				begin = end
			}
			results[rank], errs[rank] = do(here, 1+rank%2)
		})
	}
	wg.Wait()
	return results, errs
}

func requireSameScore(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, in sequence.Threads, of []int32, members int) {
	want, err := sequence.Align(in, 1)
	if err != nil {
		t.Fatal(err)
	}
	scores, errs := alignShared(in, of, members)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for rank, got := range scores {
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) { // NaN is as NaN here
			t.Fatalf("member %d of %d:\n%+v, one process:\n%+v", rank, members, got, want)
		}
	}
}

// However many members share the threads, each comes to the score that one process comes to, bit by bit.
func TestMembersDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawThreads(t)
		if in.Anchors != nil && rapid.Bool().Draw(t, "some lack anchors") {
			for i, anchors := range in.Anchors {
				lacking := rapid.IntRange(0, 3).Draw(t, "lacking")
				in.Anchors[i] = slices.DeleteFunc(slices.Clone(anchors), func(a sequence.Anchor) bool { return a.Event/7%5 == uint64(lacking) })
			}
		}
		if rapid.Bool().Draw(t, "a thread without bursts") {
			in.Ends = append(in.Ends, len(in.Labels))
			if in.Anchors != nil {
				in.Anchors = append(in.Anchors, nil)
			}
		}
		members := rapid.IntRange(1, 6).Draw(t, "members")
		of := rapid.SliceOfN(rapid.Int32Range(0, int32(members-1)), len(in.Ends), len(in.Ends)).Draw(t, "owners")
		requireSameScore(t, in, of, members)
	})
}

// Labels that could trade places in one segment settle those in later ones, wherever these are aligned.
func TestMembersSettleAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawSymmetric(t)
		members := rapid.IntRange(2, 4).Draw(t, "members")
		of := rapid.SliceOfN(rapid.Int32Range(0, int32(members-1)), len(in.Ends), len(in.Ends)).Draw(t, "owners")
		requireSameScore(t, in, of, members)
	})
}

func TestBadInputOfMembers(t *testing.T) {
	good := func() sequence.Threads { return threads(3, []int32{1, 2}, []int32{1, 0, 2}) }
	for _, c := range []struct {
		want  string
		spoil func(*sequence.Threads)
	}{
		{"has label 2", func(x *sequence.Threads) { x.Count = 2 }},
		{"lasts -3 ns", func(x *sequence.Threads) { x.DurationNS[0] = -3 }},
		{"anchor 0 of thread 1 is at burst 4 of 3", func(x *sequence.Threads) { x.Anchors = [][]sequence.Anchor{nil, {{At: 4}}} }},
		{"twice", func(x *sequence.Threads) { x.Anchors = [][]sequence.Anchor{{{At: 1}}, {{At: 1}, {At: 2}}} }},
		{"different orders", func(x *sequence.Threads) {
			x.Anchors = [][]sequence.Anchor{{{At: 1, Event: 1}, {At: 1, Event: 2}}, {{At: 1, Event: 2}, {At: 2, Event: 1}}}
		}},
	} {
		in := good()
		c.spoil(&in)
		_, errs := alignShared(in, []int32{1, 0}, 3)
		if slices.Contains(errs, nil) || !strings.Contains(errors.Join(errs...).Error(), c.want) {
			t.Errorf("%v, want all to fail and one to say %q", errs, c.want)
		}
	}
	if _, errs := alignShared(good(), []int32{1, 3}, 3); slices.Contains(errs, nil) {
		t.Errorf("an owner that is no member: %v", errs)
	}
}

// A member that knows no anchors where others do would wait for calls that they do not make.
func TestAnchorsOfSomeMembers(t *testing.T) {
	_, err := mpixtest.Run(3, func(m team.Team) (bool, error) {
		in := threads(3, []int32{1, 2}, nil)
		in.Team = team.Threads{Team: m, Of: []int32{0, 1}}
		if m.Rank() > 0 {
			in = sequence.Threads{Count: 3, Ends: []int{0, 0}, Team: in.Team, Anchors: make([][]sequence.Anchor, 2)}
		}
		if _, err := sequence.Align(in, 1); err == nil || !strings.Contains(err.Error(), "2 of 3 members know anchors") {
			return false, fmt.Errorf("aligned, or stopped for another reason: %w", err)
		}
		return true, nil
	})
	if err != nil {
		t.Error(err)
	}
}
