package grouping_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds/plant"
	"moriens/internal/testenv"
)

// Of 287 pairs of calls no kind by counters holds more than 50.
func TestPairsOfCallsAreNotOneKind(t *testing.T) {
	r := plant.ManyPairs(testenv.Seed(t)).Run()
	pairs := map[int32]map[[2]uint32]bool{}
	for i, kind := range kindsOf(t, r, grouping.ByNone) {
		if kind < 1 {
			continue
		}
		if pairs[kind] == nil {
			pairs[kind] = map[[2]uint32]bool{}
		}
		pairs[kind][[2]uint32{r.Before[i], r.After[i]}] = true
	}
	for kind, of := range pairs {
		if len(of) > 50 {
			t.Errorf("kind %d holds %d pairs of calls", kind, len(of))
		}
	}
}

// A kind that a tenth of the bursts is of, between the same calls, is found by its place alone: where it comes by
// chance nothing confirms it.
func TestChanceConfirmsNothing(t *testing.T) {
	seed := testenv.Seed(t)
	const sets = 20
	confirmed := 0
	random := testenv.Drawer(seed, t.Name())
	for range sets {
		p := plant.Ratios(random.Uint64(), 2, 1.3+random.Float64()/2, .02, 60, plant.Quiet)
		often, rare := p.Phases[0].Steps[0], p.Phases[0].Steps[1]
		p.Phases[0].Steps = append(slices.Repeat([]plant.Step{often}, 9), rare)
		r := p.Run()
		found := kindsOf(t, r, grouping.ByCalls)
		if a := plant.Compare(r.Truth, found, nil); a.ARI < .95 {
			t.Errorf("in order: ARI %.3f, kinds of %v bursts: the case shows nothing", a.ARI, sizesOf(found))
		}
		if sizes := sizesOf(kindsOf(t, r.Shuffle(random.Uint64()), grouping.ByCalls)); len(sizes) > 1 {
			confirmed++
			t.Logf("in any order: kinds of %v bursts", sizes)
		}
	}
	if confirmed*20 > sets {
		t.Errorf("in %d of %d sets random order distinguished kinds", confirmed, sets)
	}
}

// changed draws runs for what must change no kind.
func changed(t *testing.T, test func(t *testing.T, p plant.Params, r *plant.Run, random *rand.Rand)) {
	seed := testenv.Seed(t)
	for _, c := range []struct {
		name string
		p    func(seed uint64) plant.Params
	}{
		{"four kinds, load 4", func(seed uint64) plant.Params { return plant.FourKinds(seed, 120, plant.Load4) }},
		{"rank classes", func(seed uint64) plant.Params { return plant.Classes(seed, 120, plant.Load4) }},
		{"two kinds", func(seed uint64) plant.Params { return plant.Ratios(seed, 2, 1.3, .02, 200, disturbed(.1)) }},
		{"random tasks", func(seed uint64) plant.Params { return plant.RandomTasks(seed, 200, plant.Quiet) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			random := testenv.Drawer(seed, t.Name())
			p := c.p(random.Uint64())
			test(t, p, p.Run(), random)
		})
	}
}

// requireAgreement sees that two clusterings of the same bursts agree: exactly, where least is 1.
func requireAgreement(t *testing.T, what string, before, after []int32, least float64) {
	t.Helper()
	if a := plant.Compare(before, after, nil); a.ARI < least-1e-12 {
		t.Errorf("%s: ARI %.4f with the kinds before, want %v; kinds of %v bursts were of %v", what, a.ARI, least, sizesOf(after), sizesOf(before))
	}
}

// nearly is the agreement of kinds where cells lie elsewhere, or threads have other neighbours: a mode of disturbed
// bursts may then be just confirmed that was not before, of few runs two. A kind that is lost makes it lost and less.
const nearly, lost = .92, .8

// requireNearly sees that kinds before and after a change agree nearly in most of some runs, and that no kind is lost
// in any.
func requireNearly(t *testing.T, p plant.Params, r *plant.Run, random *rand.Rand, kinds func(*plant.Run) (before, after []int32)) {
	t.Helper()
	var agreements []float64
	for range 5 {
		before, after := kinds(r)
		a := plant.Compare(before, after, nil)
		if agreements = append(agreements, a.ARI); a.ARI <= lost {
			t.Errorf("ARI %.4f with the kinds before: kinds of %v bursts were of %v", a.ARI, sizesOf(after), sizesOf(before))
		}
		p.Seed = random.Uint64()
		r = p.Run()
	}
	if slices.Sort(agreements); agreements[2] < nearly {
		t.Errorf("ARI %.4f with the kinds before, want %v in most", agreements, nearly)
	}
}

// The threads are a circle: it does not matter where it begins.
func TestOrderOfThreadsChangesNoKind(t *testing.T) {
	changed(t, func(t *testing.T, p plant.Params, r *plant.Run, random *rand.Rand) {
		found := kindsOf(t, r, grouping.ByCalls)
		threads := len(r.ThreadEnds)
		order := make([]int, threads)
		for i := range order {
			order[i] = (i + 3) % threads
		}
		reorder := func(r *plant.Run, found []int32, order []int) (before, after []int32) {
			turned, rows := r.Reorder(order)
			for _, row := range rows {
				before = append(before, found[row])
			}
			return before, kindsOf(t, turned, grouping.ByCalls)
		}
		before, after := reorder(r, found, order)
		requireAgreement(t, "turned by three", before, after, 1)
		requireNearly(t, p, r, random, func(r *plant.Run) ([]int32, []int32) {
			return reorder(r, kindsOf(t, r, grouping.ByCalls), random.Perm(threads))
		})
	})
}

// Which of two bursts of a kind comes first does not matter where they are in one cell.
func TestOrderInACellChangesNoKind(t *testing.T) {
	changed(t, func(t *testing.T, _ plant.Params, r *plant.Run, random *rand.Rand) {
		requireAgreement(t, "swapped", kindsOf(t, r, grouping.ByCalls), kindsOf(t, r.SwapInCells(random.Uint64(), .005), grouping.ByCalls), 1)
	})
}

func TestScaleChangesNoKind(t *testing.T) {
	changed(t, func(t *testing.T, p plant.Params, r *plant.Run, random *rand.Rand) {
		requireNearly(t, p, r, random, func(r *plant.Run) ([]int32, []int32) {
			factor := float64(int(1) << (1 + random.IntN(6)))
			return kindsOf(t, r, grouping.ByCalls), kindsOf(t, r.Scale(-1, factor), grouping.ByCalls)
		})
	})
}

func TestSlowRankChangesNoKind(t *testing.T) {
	changed(t, func(t *testing.T, p plant.Params, r *plant.Run, random *rand.Rand) {
		requireNearly(t, p, r, random, func(r *plant.Run) ([]int32, []int32) {
			thread := random.IntN(len(r.ThreadEnds))
			return kindsOf(t, r, grouping.ByCalls), kindsOf(t, r.Scale(thread, 1.3), grouping.ByCalls)
		})
	})
}

// What comes between other calls afterwards leaves the kinds of a group as they are.
func TestAnotherGroupChangesNoKind(t *testing.T) {
	changed(t, func(t *testing.T, p plant.Params, r *plant.Run, random *rand.Rand) {
		found := kindsOf(t, r, grouping.ByCalls)
		other := plant.One(random.Uint64(), len(r.ThreadEnds), 200, plant.LogNormal(.05))
		other.Slow = p.Slow
		more, rows := r.Then(other.Run())
		all := kindsOf(t, more, grouping.ByCalls)
		after := make([]int32, len(rows))
		for i, row := range rows {
			after[i] = all[row]
		}
		requireAgreement(t, "another group", found, after, .995)
	})
}

// Kinds and labels do not depend on the members of a team that share the threads, nor on the workers.
func TestMembersAndWorkersChangeNoKind(t *testing.T) {
	changed(t, func(t *testing.T, _ plant.Params, r *plant.Run, random *rand.Rand) {
		b, o := r.Bursts(), plantOptions(r, grouping.ByCalls)
		o.Workers = 1
		want := compute(t, b, o)
		requireKinds(t, want)
		for _, workers := range []int{2, 3, 8} {
			o.Workers = workers
			if got := compute(t, b, o); !slices.Equal(got.Kinds, want.Kinds) || !slices.Equal(got.Labels, want.Labels) {
				t.Errorf("%d workers: other kinds or labels", workers)
			}
		}
		o.Workers = 2
		for members := 1; members <= 5; members++ {
			for _, whole := range []int{1 << 16, 100} { // groups that one member has for the time, and groups that remain where they are
				undo := grouping.SetWholeBursts(whole)
				of := make([]int32, len(r.ThreadEnds))
				for i := range of {
					of[i] = random.Int32N(int32(members))
				}
				got, errs := computeShared(b, o, of, members, nil)
				undo()
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
				next := make([]int, members)
				for row, thread := 0, 0; row < b.Len(); row++ {
					for row == b.ThreadEnds[thread] {
						thread++
					}
					m := of[thread]
					i := next[m]
					next[m]++
					if got[m].Kinds[i] != want.Kinds[row] || got[m].Labels[i] != want.Labels[row] {
						t.Fatalf("%d members, groups of up to %d bursts at one: burst %d has label %d and kind %d, want %d and %d", members, whole, row, got[m].Labels[i], got[m].Kinds[i], want.Labels[row], want.Kinds[row])
					}
				}
			}
		}
	})
}

// Calls whose numbers lie far apart split bursts as such that lie close together do.
func TestNumbersOfCallsChangeNoKind(t *testing.T) {
	changed(t, func(t *testing.T, _ plant.Params, r *plant.Run, _ *rand.Rand) {
		b, o := r.Bursts(), plantOptions(r, grouping.ByCalls)
		want := compute(t, b, o)
		requireKinds(t, want)
		factor := math.MaxUint32 / (1 + max(slices.Max(b.Before), slices.Max(b.After)))
		apart := func(paths []uint32) []uint32 {
			list := make([]uint32, len(paths))
			for i, path := range paths {
				list[i] = factor * path
			}
			return list
		}
		b.Before, b.After = apart(b.Before), apart(b.After)
		if got := compute(t, b, o); !slices.Equal(got.Kinds, want.Kinds) || !slices.Equal(got.Labels, want.Labels) {
			t.Errorf("calls with numbers %d times as large: other kinds or labels", factor)
		}
	})
}

// Bursts between several call paths of one place are as if they were between the places.
func TestPathsOfAPlaceAreOne(t *testing.T) {
	changed(t, func(t *testing.T, _ plant.Params, r *plant.Run, draw *rand.Rand) {
		for _, by := range []grouping.By{grouping.ByCalls, grouping.ByNone} {
			b, o := r.Bursts(), plantOptions(r, by)
			want := compute(t, b, o)
			const paths = 3 // of each place
			b.Places = make([]uint32, paths*(1+max(slices.Max(b.Before), slices.Max(b.After))))
			for path := range b.Places {
				b.Places[path] = uint32(path / paths)
			}
			some := func(places []uint32) []uint32 {
				list := make([]uint32, len(places))
				for i, place := range places {
					list[i] = paths*place + uint32(draw.IntN(paths))
				}
				return list
			}
			b.Before, b.After = some(b.Before), some(b.After)
			got := compute(t, b, o)
			around := func(x, y grouping.Cluster) bool {
				return slices.Equal(x.Before, y.Before) && slices.Equal(x.After, y.After)
			}
			if !slices.Equal(got.Kinds, want.Kinds) || !slices.Equal(got.Labels, want.Labels) || !slices.EqualFunc(got.Clusters, want.Clusters, around) {
				t.Errorf("by %s: other kinds, labels or calls round clusters", by)
			}
		}
	})
}

// BenchmarkKinds10M is the clustering of 10 M bursts in 6 groups.
func BenchmarkKinds10M(b *testing.B) {
	for _, ranks := range []int{2, 100, 10_000} {
		for _, share := range []float64{0, .12} {
			b.Run(fmt.Sprintf("ranks=%d/disturbed=%.0f%%", ranks, 100*share), func(b *testing.B) {
				r := plant.Large(1, 10_000_000, ranks, share).Run()
				for b.Loop() {
					result, err := grouping.Compute(r.Bursts(), plantOptions(r, grouping.ByCalls))
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(plant.Compare(r.Truth, result.Kinds, nil).Purity, "purity")
				}
			})
		}
	}
}
