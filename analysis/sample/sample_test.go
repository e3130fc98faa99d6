package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func random(t *rapid.T) []Thread {
	threads := make([]Thread, rapid.IntRange(0, 5).Draw(t, "threads"))
	for i := range threads {
		th := &threads[i]
		th.Key = uint64(i) * 7
		th.Class = rapid.Int32Range(0, 1).Draw(t, "class")
		n := rapid.IntRange(0, 60).Draw(t, "bursts")
		for range n {
			th.Cluster = append(th.Cluster, rapid.Int32Range(-2, 3).Draw(t, "cluster"))
			th.DurationNS = append(th.DurationNS, rapid.Int64Range(0, 1000).Draw(t, "ns"))
		}
		for from := int32(0); rapid.Bool().Draw(t, "keep"); {
			r := Range{From: rapid.Int32Range(from, int32(n)).Draw(t, "from")}
			r.To = rapid.Int32Range(r.From, int32(n)).Draw(t, "to")
			th.Kept = append(th.Kept, r)
			from = r.To
		}
	}
	return threads
}

// stratumOf is what the weights of a burst are exact of.
func stratumOf(by Stratum, thread int, th *Thread, burst int) [2]int32 {
	switch by {
	case ByThread:
		return [2]int32{int32(thread), th.Cluster[burst]}
	case ByClass:
		return [2]int32{th.Class, th.Cluster[burst]}
	}
	return [2]int32{0, th.Cluster[burst]}
}

// With what is kept anyway, each burst with weight 1, the weights of every stratum, and so of every cluster, add up to
// its bursts. No burst is drawn twice or beside being kept, and there are no more than asked for.
func TestWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threads := random(t)
		o := Options{Rows: rapid.IntRange(0, 80).Draw(t, "rows")}
		s, err := Draw(threads, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Workers = 3
		if again, err := Draw(threads, o); err != nil || !reflect.DeepEqual(s, again) {
			t.Fatal("with 3 workers the answer is another")
		}
		exact, weights := make(map[[2]int32]int64), make(map[[2]int32]int64)
		clusters := make(map[int32]int64)
		rows, outside := 0, int64(0)
		for i := range threads {
			th := &threads[i]
			kept := make([]bool, len(th.Cluster))
			for _, r := range th.Kept {
				for k := r.From; k < r.To; k++ {
					kept[k] = true
				}
			}
			for k := range th.Cluster {
				at := stratumOf(s.By, i, th, k)
				exact[at]++
				clusters[th.Cluster[k]]++
				if kept[k] {
					weights[at]++
					clusters[th.Cluster[k]]--
				} else {
					outside++
				}
			}
			d := s.Threads[i]
			if len(d.Bursts) != len(d.Weight) || !slices.IsSorted(d.Bursts) || len(slices.Compact(slices.Clone(d.Bursts))) != len(d.Bursts) {
				t.Fatalf("thread %d: bursts %v, weights %v", i, d.Bursts, d.Weight)
			}
			for n, k := range d.Bursts {
				if kept[k] || d.Weight[n] < 1 {
					t.Fatalf("thread %d: burst %d, kept %v, has weight %d", i, k, kept[k], d.Weight[n])
				}
				weights[stratumOf(s.By, i, th, int(k))] += d.Weight[n]
				clusters[th.Cluster[k]] -= d.Weight[n]
			}
			rows += len(d.Bursts)
		}
		if rows != s.Rows || rows > o.Rows {
			t.Fatalf("%d rows, %d reported, %d wanted", rows, s.Rows, o.Rows)
		}
		if s.By == Nothing {
			different := 0
			for _, n := range clusters {
				different += int(min(n, 1))
			}
			if rows > 0 || s.Of != 0 || different <= o.Rows {
				t.Fatalf("%d rows of %d bursts in %d clusters, %d wanted", rows, s.Of, different, o.Rows)
			}
			return
		}
		if s.Of != outside || !reflect.DeepEqual(weights, exact) {
			t.Fatalf("%+v: weights %v, want %v", s, weights, exact)
		}
		if s.Rows < min(o.Rows, int(outside)) && s.Error > 0 {
			t.Fatalf("%d rows of %d are used, and the error is %v", s.Rows, o.Rows, s.Error)
		}
		for cluster, left := range clusters {
			if left != 0 {
				t.Fatalf("cluster %d: %d bursts too few", cluster, left)
			}
		}
	})
}

// Whether a burst is drawn depends on its thread's key and nothing that others do.
func TestOrderOfThreads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threads := random(t)
		rows := rapid.IntRange(0, 80).Draw(t, "rows")
		want, err := Draw(threads, Options{Rows: rows})
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(threads)
		got, err := Draw(threads, Options{Rows: rows})
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(got.Threads)
		// What is left of rows after all shares goes to the first of equal remainders: compare only where there are none.
		if got.By != want.By || got.Rows != want.Rows {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if want.By == ByCluster && !reflect.DeepEqual(got.Threads, want.Threads) {
			t.Fatalf("%+v, want %+v", got.Threads, want.Threads)
		}
	})
}

// Over many keys, which are as many lots, the estimated time is right on average, and its error is as large as it is
// said to be.
func TestUnbiased(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	threads := make([]Thread, 3)
	exact := 0.
	for i := range threads {
		for range 400 {
			cluster := r.Int32N(3)
			ns := int64(1000*(cluster+1)) + r.Int64N(800)
			if r.IntN(50) == 0 {
				ns *= 20
			}
			threads[i].Cluster, threads[i].DurationNS = append(threads[i].Cluster, cluster), append(threads[i].DurationNS, ns)
			exact += float64(ns)
		}
	}
	const draws = 2000
	mean, square, expected := 0., 0., 0.
	for n := range draws {
		for i := range threads {
			threads[i].Key = uint64(3*n + i)
		}
		s, err := Draw(threads, Options{Rows: 100})
		if err != nil {
			t.Fatal(err)
		}
		estimate := 0.
		for i, d := range s.Threads {
			for k, b := range d.Bursts {
				estimate += float64(d.Weight[k]) * float64(threads[i].DurationNS[b])
			}
		}
		off := estimate/exact - 1
		mean += off / draws
		square += off * off / draws
		expected = s.Error
	}
	if math.Abs(mean) > 4*expected/math.Sqrt(draws) {
		t.Errorf("the estimate is off by %v on average", mean)
	}
	if got := math.Sqrt(square); math.Abs(got/expected-1) > .1 {
		t.Errorf("the error is %v, expected %v", got, expected)
	}
}

// Strata with more time and more spread get more rows: by Neyman's rule cluster 2, which durations divide, some 56
// times as many as cluster 1.
func TestAllocation(t *testing.T) {
	var th Thread
	for k := range 3000 {
		cluster, ns := int32(k%3), int64(1000)
		switch cluster {
		case 1:
			ns = 1000 + int64(k%50)*20
		case 2:
			ns = 100_000 + int64(k%50)*2000
		}
		th.Cluster, th.DurationNS = append(th.Cluster, cluster), append(th.DurationNS, ns)
	}
	s, err := Draw([]Thread{th}, Options{Rows: 300})
	if err != nil {
		t.Fatal(err)
	}
	var rows [3]int
	for _, b := range s.Threads[0].Bursts {
		rows[th.Cluster[b]]++
	}
	if rows[0] < 1 || rows[1] < 2*rows[0] || rows[2] < 40*rows[1] || s.Rows != 300 {
		t.Errorf("rows %v", rows)
	}
}

// One long burst among many short ones that are in no cluster either is drawn for certain, and stands for itself.
func TestLongBursts(t *testing.T) {
	var th Thread
	for k := range 1000 {
		ns := int64(1000 + k%500)
		if k == 500 {
			ns = 5_000_000_000
		}
		th.Cluster, th.DurationNS = append(th.Cluster, -1), append(th.DurationNS, ns)
	}
	for key := range uint64(20) {
		th.Key = key
		s, err := Draw([]Thread{th}, Options{Rows: 20})
		if err != nil {
			t.Fatal(err)
		}
		at, ok := slices.BinarySearch(s.Threads[0].Bursts, 500)
		if !ok || s.Threads[0].Weight[at] != 1 || !s.BySize || s.Error > 1e-3 {
			t.Fatalf("key %d: %+v", key, s)
		}
	}
}

func TestRefuses(t *testing.T) {
	for name, th := range map[string]Thread{
		"lengths": {Cluster: []int32{1}, DurationNS: []int64{1, 2}},
		"time":    {Cluster: []int32{1}, DurationNS: []int64{-1}},
		"overlap": {Cluster: make([]int32, 5), DurationNS: make([]int64, 5), Kept: []Range{{0, 3}, {2, 4}}},
		"outside": {Cluster: make([]int32, 5), DurationNS: make([]int64, 5), Kept: []Range{{0, 6}}},
	} {
		if _, err := Draw([]Thread{{}, th}, Options{Rows: 10}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000} {
		for _, threads := range []int{100, 10_000} {
			r := rand.New(rand.NewPCG(1, 2))
			list := make([]Thread, threads)
			for i := range list {
				list[i].Key = uint64(i)
				for range n / threads {
					c := r.Int32N(20)
					list[i].Cluster, list[i].DurationNS = append(list[i].Cluster, c), append(list[i].DurationNS, int64(1000*c)+r.Int64N(100))
				}
			}
			b.Run(fmt.Sprintf("bursts=%d/threads=%d", n, threads), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s, err := Draw(list, Options{Rows: 100_000, Workers: 2})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(s.By), "stratum")
				}
			})
		}
	}
}
