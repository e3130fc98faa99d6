package refine_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/refine"
	"moriens/analysis/sequence"
	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
)

// after is true from the n-th time on that it is asked, from 0.
func after(n int) func() bool {
	asked := 0
	return func() bool {
		asked++
		return asked > n
	}
}

// Wherever a refinement is halted: what comes out are the steps that were done, as if it had been stopped behind them,
// or clusters of the first one without a score.
func TestHalt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, o := drawBursts(t), drawOptions(t)
		o.Workers = 1
		whole := run(t, b, o)
		last := -1 // levels of the answer before
		for asks := 0; ; asks += 1 + asks/8 {
			o.Halt, o.Stop = after(asks), nil
			got, err := refine.Run(b, o)
			if errors.Is(err, refine.ErrHalted) {
				if last >= 0 {
					t.Fatalf("after %d asks there is nothing, after fewer there was", asks)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if !got.Stopped {
				if g, w := tell(got), tell(whole); g != w {
					t.Fatalf("it was not halted, and is\n%s\nwant\n%s", g, w)
				}
				return
			}
			levels := len(got.Tree.Levels)
			if levels < last {
				t.Fatalf("%d levels after %d asks, after fewer there were %d", levels, asks, last)
			}
			last = levels
			if !got.Unscored {
				o.Halt, o.Stop = nil, after(levels-1)
				if g, w := tell(got), tell(run(t, b, o)); g != w {
					t.Fatalf("after %d asks\n%s\nstopped there\n%s", asks, g, w)
				}
				continue
			}
			checkUnscored(t, got, whole)
		}
	})
}

func tell(r *refine.Result) string {
	return fmt.Sprintf("%v %v %+v %+v %+v", r.Labels, r.Lineage, r.Nodes, *r.Score, r.Tree)
}

// checkUnscored compares clusters without a score with those of the first step of the whole refinement, and with
// labels.
func checkUnscored(t *rapid.T, got, whole *refine.Result) {
	if got.Score.Defined() {
		t.Fatalf("a score of %v", got.Score.Global)
	}
	if !math.IsNaN(got.Tree.Levels[0].Score) {
		return // the steps have their scores, and there is none of what groups have chosen, or of what was merged
	}
	count := make(map[int32]int)
	for _, label := range got.Labels {
		count[label]++
	}
	first := whole.Tree.Levels[0]
	for _, n := range got.Nodes {
		same := func(x refine.Node) bool { return x.ID == n.ID && x.Bursts == n.Bursts && x.TimeNS == n.TimeNS }
		if !math.IsNaN(n.Score) || n.Frozen || count[n.ID] != n.Bursts || !slices.ContainsFunc(first.Nodes, same) {
			t.Fatalf("node %+v of %d bursts, the whole refinement begins with %+v", n, count[n.ID], first.Nodes)
		}
	}
}

// All members have the answer of the one that was halted.
func TestMembersAreHaltedAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, o := drawBursts(t), drawOptions(t)
		o.Workers = 1
		asks := rapid.IntRange(0, 40).Draw(t, "asks")
		members := rapid.IntRange(2, 4).Draw(t, "members")
		late := rapid.IntRange(0, members-1).Draw(t, "late")
		of := rapid.SliceOfN(rapid.Int32Range(0, int32(members-1)), len(b.Ends), len(b.Ends)).Draw(t, "owners")
		type outcome struct{ halted, text string }
		results, err := mpixtest.Run(members, func(m team.Team) (outcome, error) {
			share, err := shareOf(m, b, of)
			if err != nil {
				return outcome{}, err
			}
			own := o
			if m.Rank() == late {
				own.Halt = after(asks)
			}
			r, err := refine.Run(share, own)
			if errors.Is(err, refine.ErrHalted) {
				return outcome{halted: "halted"}, nil
			}
			if err != nil {
				return outcome{}, err
			}
			return outcome{text: fmt.Sprintf("%+v %+v %+v", r.Nodes, *r.Score, r.Tree)}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r != results[0] {
				t.Fatalf("%+v\n%+v", r, results[0])
			}
		}
	})
}

// Where there is no time for the score of what groups have chosen their clusters keep those of their steps.
func TestHaltedRescore(t *testing.T) {
	places := func(first float64) []float64 {
		var list []float64
		for i := range 8 {
			list = append(list, first+.01*float64(i), 10+.01*float64(i))
		}
		return list
	}
	b := line(t, 4, []float64{.1, .6, 20}, 100, places(0), places(.5))
	halted := false
	for asks := range 100 {
		r, err := refine.Run(b, refine.Options{Workers: 1, Halt: after(asks)})
		if errors.Is(err, sequence.ErrHalted) {
			halted = true
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Nodes) == 0 || r.Stopped == (len(r.Tree.Levels) == 2 && !r.Unscored) {
			t.Errorf("%d asks: %s", asks, tell(r))
		}
	}
	if !halted {
		t.Error("it was never halted")
	}
}
