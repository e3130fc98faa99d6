package grouping_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/grouping"
)

// after is true from the n-th time on that it is asked, from 0.
func after(n int) func() bool {
	asked := 0
	return func() bool {
		asked++
		return asked > n
	}
}

// However many members share the threads of a run, they draw one sample and come to what one process comes to; every
// burst has a label, and figures are those of all bursts.
func TestMembersDrawOneSample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawRun(t)
		o := drawTeamOptions(t, b)
		o.Sample = rapid.SampledFrom([]int{1, 10, 100, 10_000}).Draw(t, "sample")
		want, err := grouping.Compute(b, o)
		if err != nil {
			t.Fatal(err)
		}
		if o.Filter.Ranges == nil {
			checkSums(t, b, want)
		}
		clustered := 0
		for row, label := range want.Labels {
			if label == 0 || label < grouping.LabelMissing || int(label) > len(want.Clusters) {
				t.Fatalf("burst %d has the label %d", row, label)
			}
			if label > 0 || label == grouping.LabelNoise {
				clustered++
			}
		}
		if s := want.Sample; s == nil || s.Of != clustered && clustered > 0 || s.Bursts > s.Of || s.Assigned < 0 || s.Assigned > 1 {
			t.Fatalf("%+v, of %d bursts", s, clustered)
		}
		for _, l := range want.Tree.Levels {
			bursts := 0
			for _, n := range l.Nodes {
				bursts += n.Bursts
			}
			if bursts != clustered {
				t.Fatalf("nodes of %d bursts, want %d", bursts, clustered)
			}
		}
		members := rapid.IntRange(1, 5).Draw(t, "members")
		of := rapid.SliceOfN(rapid.Int32Range(0, int32(members-1)), len(b.ThreadEnds), len(b.ThreadEnds)).Draw(t, "owners")
		got, errs := computeShared(b, o, of, members, nil)
		requireSame(t, b, of, want, got, errs)
		for _, r := range got {
			if *r.Sample != *want.Sample {
				t.Fatalf("%+v, want %+v", r.Sample, want.Sample)
			}
		}
	})
}

// A sample of a thirtieth finds the kinds of bursts that all bursts show, a rare long one among them, and gives nearly
// all bursts the same cluster.
func TestSampleFindsTheKinds(t *testing.T) {
	for _, counters := range []bool{false, true} {
		b := planted(60_000, 2, 7)
		for i := range 60 {
			b.DurationNS[1000*i] = 400e6 // a thousandth of the bursts, with a seventh of the time
		}
		o := grouping.Options{Dims: logDuration, By: grouping.ByCalls, Workers: 2}
		if counters {
			b = withCounters(b)
			o.Dims, o.By = countersDims, grouping.ByNone
		}
		whole := compute(t, b, o)
		o.Sample = 2000
		got := compute(t, b, o)
		if got.Sample.Bursts > 3000 || got.Sample.Of != 60_000 || got.Sample.Assigned < .98 {
			t.Errorf("%+v", got.Sample)
		}
		if len(got.Clusters) != len(whole.Clusters) {
			t.Fatalf("counters %v: %d clusters, of all bursts %d\n%+v\n%+v", counters, len(got.Clusters), len(whole.Clusters), got.Clusters, whole.Clusters)
		}
		differ := 0
		for row, label := range whole.Labels {
			if got.Labels[row] != label {
				differ++
			}
		}
		if differ > len(whole.Labels)/100 {
			t.Errorf("counters %v: %d of %d bursts are in another cluster", counters, differ, len(whole.Labels))
		}
		if !strings.Contains(strings.Join(got.Warnings, ";"), fmt.Sprintf("those of a sample of %d of 60000 bursts", got.Sample.Bursts)) {
			t.Errorf("%q", got.Warnings)
		}
		o.Workers = 1
		if one := compute(t, b, o); resultText(one) != resultText(got) || !slices.Equal(one.Labels, got.Labels) {
			t.Error("the number of workers matters")
		}
	}
}

// Wherever a clustering is halted: there is nothing, or clusters of the first step without a score, or the steps that
// were done; at all members alike, whichever has no time.
func TestHalted(t *testing.T) {
	defer grouping.SetWholeBursts(40)()
	b, _ := manyKinds(30, 20)
	for i := range b.Counters[0] {
		if i%7 == 0 {
			b.Counters[0][i] += b.Counters[0][i] / 9
		}
	}
	o := grouping.Options{Dims: countersDims, By: grouping.ByNone, Freeze: 1, Resolution: -1}
	of := []int32{0, 2, 2, 0}
	seen := make(map[string]bool)
	for asks := 0; ; asks += 1 + asks/3 {
		solo := o
		solo.Halt = after(asks)
		want, err := grouping.Compute(b, solo)
		kind := "nothing"
		switch {
		case errors.Is(err, grouping.ErrHalted):
		case err != nil:
			t.Fatal(err)
		case !want.Stopped:
			kind = "all"
		case want.Unscored:
			kind = "no score"
		default:
			kind = "steps"
		}
		seen[kind] = true
		if kind == "nothing" {
			solo.Halt, solo.Fallback = after(asks), 500
			fallen := compute(t, b, solo)
			solo.Halt, solo.Fallback, solo.Sample = nil, 0, 500
			if want := compute(t, b, solo); fallen.Sample == nil || resultText(fallen) != resultText(want) || !slices.Equal(fallen.Labels, want.Labels) {
				t.Fatalf("after %d asks a sample gives\n%s\nfrom the begin on\n%s", asks, resultText(fallen), resultText(want))
			}
		}
		if err == nil {
			for row, label := range want.Labels {
				if label == 0 {
					t.Fatalf("after %d asks burst %d has no label", asks, row)
				}
			}
		}
		rank := asks % 3
		results, errs := haltShared(b, o, of, 3, nil, func(member int) func() bool {
			if member == rank {
				return after(asks)
			}
			return func() bool { return false }
		})
		for member := range results {
			if (errs[member] == nil) != (errs[0] == nil) || errs[member] != nil && !errors.Is(errs[member], grouping.ErrHalted) {
				t.Fatalf("%d asks of member %d: %v", asks, rank, errs)
			}
			if errs[0] == nil && resultText(results[member]) != resultText(results[0]) {
				t.Fatalf("%d asks of member %d: members differ", asks, rank)
			}
		}
		if kind == "all" {
			break
		}
	}
	if !seen["nothing"] || !seen["no score"] {
		t.Errorf("%v", seen)
	}
}
