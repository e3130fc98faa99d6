package timing

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestInterval(t *testing.T) {
	for _, test := range []struct {
		list           []float64
		low, mid, high float64
	}{
		{[]float64{3}, 3, 3, 3},
		{[]float64{5, 1, 3, 2, 4}, 1, 3, 5},
		{[]float64{6, 5, 4, 3, 2, 1}, 1, 3.5, 6}, // 1 - 2/2^6 = 97 %
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 2, 6, 10},
	} {
		if low, mid, high := Interval(test.list); low != test.low || mid != test.mid || high != test.high {
			t.Errorf("%v: %v, %v, %v", test.list, low, mid, high)
		}
	}
}

// The interval holds the true median about as often as it says.
func TestIntervalHoldsTheMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const rounds = 4000
	for _, n := range []int{6, 11, 30} {
		held := 0
		list := make([]float64, n)
		for range rounds {
			for i := range list {
				list[i] = r.ExpFloat64() // its median is ln 2
			}
			if low, _, high := Interval(list); low <= 0.6931472 && 0.6931472 <= high {
				held++
			}
		}
		if held < rounds*94/100 || held == rounds {
			t.Errorf("%d values: %d of %d intervals hold the median", n, held, rounds)
		}
	}
}

func TestQuartiles(t *testing.T) {
	if low, mid, high := Quartiles([]float64{5, 4, 3, 2, 1}); low != 2 || mid != 3 || high != 4 {
		t.Errorf("%v, %v, %v", low, mid, high)
	}
}

func TestOutput(t *testing.T) {
	if text, err := Output([]string{"A=b"}, "sh", "-c", "echo $A"); err != nil || text != "b\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Output(nil, "sh", "-c", "echo oh >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "oh") {
		t.Errorf("%v", err)
	}
}

func TestNumbers(t *testing.T) {
	if list, err := Numbers("-ranks", "1,20,300"); err != nil || !slices.Equal(list, []int{1, 20, 300}) {
		t.Errorf("%v, %v", list, err)
	}
	for _, bad := range []string{"", "0", "1,-2", "1,,2", "1, 2", "x"} {
		if list, err := Numbers("-ranks", bad); err == nil || !strings.Contains(err.Error(), "-ranks "+bad+": want") {
			t.Errorf("%q: %v, %v", bad, list, err)
		}
	}
}
