package plant_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"moriens/analysis/kinds/plant"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestCompareByHand(t *testing.T) {
	for _, c := range []struct {
		name         string
		truth, found []int32
		weight       []int64
		purity, ari  float64
	}{
		{"equal", []int32{0, 0, 1, 1}, []int32{0, 0, 1, 1}, nil, 1, 1},
		{"other numbers", []int32{0, 0, 1, 1}, []int32{9, 9, 4, 4}, nil, 1, 1},
		{"one class for two kinds", []int32{0, 0, 1, 1}, []int32{1, 1, 1, 1}, nil, .5, 0},
		{"one kind in one class", []int32{0, 0, 0}, []int32{5, 5, 5}, nil, 1, 1},
		{"one kind in two classes", []int32{0, 0, 0}, []int32{5, 5, 6}, nil, 1, 0},
		{"each burst by itself", []int32{0, 1, 2}, []int32{7, 8, 9}, nil, 1, 1},
		{"crosswise", []int32{0, 0, 1, 1}, []int32{0, 1, 0, 1}, nil, .5, -.5},
		// Of 6 pairs 1 is together, 2 are of rows and 3 of columns: (1 - 1) / (2.5 - 1).
		{"one wrong", []int32{0, 0, 1, 1}, []int32{0, 0, 0, 1}, nil, .75, 0},
		// Cells 2, 1, 1 and 2 of 6 bursts: 2 pairs together, 6 of rows, 6 of columns, of 15.
		{"a third wrong", []int32{0, 0, 0, 1, 1, 1}, []int32{0, 0, 1, 1, 1, 0}, nil, 2. / 3, (2 - 36./15) / (6 - 36./15)},
		// The example of scikit-learn's documentation.
		{"two classes for one kind", []int32{0, 0, 1, 1}, []int32{0, 0, 1, 2}, nil, 1, 4. / 7},
		{"noise is a class for each, and wrong", []int32{0, 0, 1, 1}, []int32{0, 0, -1, -1}, nil, .5, 4. / 7},
		{"any noise", []int32{0, 0, 1, 1}, []int32{0, 0, -3, -2}, nil, .5, 4. / 7},
		{"all noise", []int32{0, 0, 1, 1}, []int32{-1, -1, -1, -1}, nil, 0, 0},
		// The pair of 1 and 1 weighs 1, that of 3 and 3 weighs 9, the four of 1 and 3 weigh 12: 1 is together, 10 are of
		// rows, 1 is of columns, of 22.
		{"weights", []int32{0, 0, 1, 1}, []int32{0, 0, 1, 2}, []int64{1, 1, 3, 3}, 1, (1 - 10./22) / (5.5 - 10./22)},
		{"a weight of nothing", []int32{0, 0, 1, 1, 1}, []int32{0, 0, 1, 1, 0}, []int64{2, 2, 2, 2, 0}, 1, 1},
		{"nothing", nil, nil, nil, 1, 1},
	} {
		if a := plant.Compare(c.truth, c.found, c.weight); !near(a.Purity, c.purity) || !near(a.ARI, c.ari) {
			t.Errorf("%s: %+v, want %v, %v", c.name, a, c.purity, c.ari)
		}
	}
}

// Weights of one are a count, the order of the bursts does not matter, nor do the numbers of the classes, and the index
// is the same both ways.
func TestCompareIsOfPartitions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		n := 2 + random.IntN(60)
		truth, found, weight, ones := make([]int32, n), make([]int32, n), make([]int64, n), make([]int64, n)
		for i := range n {
			truth[i], found[i], weight[i], ones[i] = random.Int32N(4), random.Int32N(5), 1+random.Int64N(1e9), 1
		}
		if count, weighted := plant.Compare(truth, found, nil), plant.Compare(truth, found, ones); count != weighted {
			t.Fatalf("%+v by count, %+v by weights of 1", count, weighted)
		}
		want := plant.Compare(truth, found, weight)
		if a := plant.Compare(found, truth, weight); !near(a.ARI, want.ARI) {
			t.Fatalf("%+v one way, %+v the other", want, a)
		}
		numbers := random.Perm(5)
		var t2, f2 []int32
		var w2 []int64
		for _, i := range random.Perm(n) {
			t2, f2, w2 = append(t2, truth[i]), append(f2, 10*int32(numbers[found[i]])), append(w2, weight[i])
		}
		if a := plant.Compare(t2, f2, w2); !near(a.Purity, want.Purity) || !near(a.ARI, want.ARI) {
			t.Fatalf("%+v, in another order %+v", want, a)
		}
		if a := plant.Compare(truth, truth, weight); a.Purity != 1 || !near(a.ARI, 1) {
			t.Fatalf("equal: %+v", a)
		}
	}
}

// The index of labels that have nothing to do with each other is 0 in the mean: over all permutations of one of them,
// exactly.
func TestIndependentLabelsScoreZero(t *testing.T) {
	truth, found := []int32{0, 0, 0, 1, 1, 2}, []int32{0, 0, 1, 1, 1, 1}
	sum, n := 0., 0
	var permute func(k int)
	permute = func(k int) {
		if k == len(found) {
			sum, n = sum+plant.Compare(truth, found, nil).ARI, n+1
			return
		}
		for i := k; i < len(found); i++ {
			found[k], found[i] = found[i], found[k]
			permute(k + 1)
			found[k], found[i] = found[i], found[k]
		}
	}
	permute(0)
	if n != 720 || math.Abs(sum/float64(n)) > 1e-12 {
		t.Errorf("mean of %d: %g", n, sum/float64(n))
	}
	random := rand.New(rand.NewPCG(2, 2))
	for _, kinds := range []int32{2, 5, 40} {
		truth, found, weight := make([]int32, 1e5), make([]int32, 1e5), make([]int64, 1e5)
		for i := range truth {
			truth[i], found[i], weight[i] = random.Int32N(kinds), random.Int32N(3), int64(1e6*random.ExpFloat64())
		}
		for _, w := range [][]int64{nil, weight} {
			if a := plant.Compare(truth, found, w); math.Abs(a.ARI) > .002 {
				t.Errorf("%d kinds: %+v", kinds, a)
			}
		}
	}
}

func BenchmarkCompare10M(b *testing.B) {
	for _, classes := range []int32{4, 300} {
		b.Run(fmt.Sprintf("classes=%d", classes), func(b *testing.B) {
			r := plant.Large(1, 10_000_000, 100, .12).Run()
			found := make([]int32, len(r.Truth))
			for i := range found {
				found[i] = int32(i) % classes
			}
			for b.Loop() {
				plant.Compare(r.Truth, found, r.DurationNS)
			}
		})
	}
}
