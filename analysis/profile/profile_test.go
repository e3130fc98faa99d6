package profile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/moment"
)

// random draws threads with two counters; phases has the number of iterations of each phase.
func random(t *rapid.T, phases []int) []Thread {
	threads := make([]Thread, rapid.IntRange(0, 4).Draw(t, "threads"))
	kinds := rapid.Bool().Draw(t, "kinds")
	for i := range threads {
		th := &threads[i]
		th.Counters = make([][]int64, 2)
		regions := rapid.Bool().Draw(t, "regions")
		now := int64(0)
		for range rapid.IntRange(0, 40).Draw(t, "bursts") {
			d := rapid.SampledFrom([]int64{0, 1, 2, 900, 1000, 1e12}).Draw(t, "ns")
			th.StartNS, th.DurationNS = append(th.StartNS, now), append(th.DurationNS, d)
			th.After = append(th.After, rapid.Uint32Range(0, 2).Draw(t, "path"))
			th.Cluster = append(th.Cluster, rapid.Int32Range(-2, 2).Draw(t, "cluster"))
			if kinds {
				th.OfKind = append(th.OfKind, rapid.Int32Range(-2, 2).Draw(t, "kind"))
			}
			if regions {
				th.Region = append(th.Region, rapid.Int32Range(0, 1).Draw(t, "region"))
			}
			for c := range th.Counters {
				th.Counters[c] = append(th.Counters[c], rapid.SampledFrom([]int64{NotRead, 0, -5, 7, 1 << 50}).Draw(t, "count"))
			}
			now += d + 5
		}
		n := int32(len(th.DurationNS))
		at := int32(0)
		for _, iterations := range phases {
			p := Phase{From: rapid.Int32Range(at, n).Draw(t, "from")}
			p.To = rapid.Int32Range(p.From, n).Draw(t, "to")
			if iterations > 0 && rapid.Bool().Draw(t, "has") {
				for range iterations + 1 {
					p.Begins = append(p.Begins, rapid.Int32Range(p.From, p.To).Draw(t, "begin"))
				}
				slices.Sort(p.Begins)
			}
			th.Phases = append(th.Phases, p)
			at = p.To
		}
		c := &th.Calls
		for range rapid.IntRange(0, 10).Draw(t, "calls") {
			c.Path = append(c.Path, rapid.Uint32Range(0, 2).Draw(t, "path"))
			c.EnterNS = append(c.EnterNS, rapid.Int64Range(0, 100).Draw(t, "enter"))
			c.ExitNS = append(c.ExitNS, rapid.Int64Range(100, 200).Draw(t, "exit"))
			c.Count = append(c.Count, rapid.Int64Range(1, 3).Draw(t, "polls"))
			c.Phase = append(c.Phase, rapid.Int32Range(-1, 1).Draw(t, "phase"))
			c.Sent = append(c.Sent, rapid.Int64Range(0, 100).Draw(t, "sent"))
			c.Received = append(c.Received, rapid.Int64Range(0, 100).Draw(t, "received"))
		}
	}
	return threads
}

// Every row is the sum of what has its key, and nothing else is in the rows.
func TestRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threads := random(t, []int{3, 0})
		p, err := Sum(threads, Options{Counters: 2})
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[Key]*Row)
		at := func(k Key, counters int) *Row {
			if want[k] == nil {
				want[k] = &Row{Key: k, Counters: make([]Counter, counters)}
			}
			return want[k]
		}
		for i, th := range threads {
			for k, d := range th.DurationNS {
				key := Key{int32(i), Computation, th.After[k], th.Cluster[k], th.kinds()[k], -1, 0, -1}
				if th.Region != nil {
					key.Region = th.Region[k]
				}
				for n, p := range th.Phases {
					if int(p.From) <= k && k < int(p.To) {
						key.Phase = int32(n)
					}
				}
				r := at(key, 2)
				r.Count++
				r.Time.Add(d)
				for c, column := range th.Counters {
					if column[k] == NotRead {
						r.Counters[c].Missing++
					} else {
						r.Counters[c].Add(column[k])
					}
				}
			}
			c := th.Calls
			for k, enter := range c.EnterNS {
				r := at(Key{int32(i), MPI, c.Path[k], 0, 0, -1, 0, c.Phase[k]}, 0)
				r.Count += c.Count[k]
				r.Time.Add(c.ExitNS[k] - enter)
				r.Sent += c.Sent[k]
				r.Received += c.Received[k]
			}
		}
		for i, r := range p.Rows {
			if i > 0 && p.Rows[i-1].compare(r.Key) >= 0 {
				t.Fatalf("row %d is not in its place", i)
			}
			if w := want[r.Key]; w == nil || !reflect.DeepEqual(*w, r) {
				t.Fatalf("row\n%+v, want\n%+v", r, w)
			}
			delete(want, r.Key)
		}
		if len(want) > 0 {
			t.Fatalf("missing: %v", want)
		}
	})
}

// The profile of a run is that of its threads, put together: rows one after the other, histograms and curves added up.
// With more workers it is the same.
func TestSumOfThreads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threads := random(t, []int{5, 0, 2})
		o := Options{Counters: 2, Points: 3, Buckets: 5}
		whole, err := Sum(threads, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Workers = 3
		if again, err := Sum(threads, o); err != nil || !reflect.DeepEqual(again, whole) {
			t.Fatalf("with 3 workers: %v\n%+v, want\n%+v", err, again, whole)
		}
		var rows []Row
		counts := make(map[int32]moment.Sum)
		curves := make([]Curve, len(whole.Curves))
		for i := range threads {
			one, err := Sum(threads[i:i+1], o)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range one.Rows {
				r.Thread = int32(i)
				rows = append(rows, r)
			}
			for _, h := range one.Histograms {
				s := counts[h.Cluster]
				for b, n := range h.Count {
					s.N += n
					s.Total += h.TimeNS[b]
				}
				counts[h.Cluster] = s
			}
			for k, c := range one.Curves {
				curves[k].Threads += c.Threads
				for b := range c.Computing {
					if curves[k].Computing == nil {
						curves[k].Computing, curves[k].Elapsed = make([]int64, len(c.Computing)), make([]int64, len(c.Computing))
					}
					curves[k].Computing[b] += c.Computing[b]
					curves[k].Elapsed[b] += c.Elapsed[b]
				}
			}
		}
		if !reflect.DeepEqual(rows, slices.Clone(whole.Rows)) && len(rows)+len(whole.Rows) > 0 {
			t.Fatalf("rows\n%+v, want\n%+v", whole.Rows, rows)
		}
		for _, h := range whole.Histograms {
			var got moment.Sum
			for b, n := range h.Count {
				got.N += n
				got.Total += h.TimeNS[b]
			}
			if got != counts[h.Cluster] {
				t.Fatalf("cluster %d: %+v in the histogram, want %+v", h.Cluster, got, counts[h.Cluster])
			}
		}
		for k, c := range whole.Curves {
			if c.Threads != curves[k].Threads || c.Threads > 0 && (!slices.Equal(c.Computing, curves[k].Computing) || !slices.Equal(c.Elapsed, curves[k].Elapsed)) {
				t.Fatalf("phase %d: %+v, want %+v", k, c, curves[k])
			}
		}
	})
}

func TestHistogram(t *testing.T) {
	th := Thread{StartNS: make([]int64, 6), DurationNS: []int64{0, 10, 100, 1000, 99, 50}, After: make([]uint32, 6), Cluster: []int32{1, 1, 1, 1, 1, 2}}
	p, err := Sum([]Thread{th}, Options{Buckets: 3})
	if err != nil {
		t.Fatal(err)
	}
	want := []Histogram{
		{Cluster: 1, MinNS: 0, MaxNS: 1000, Count: []int64{1, 2, 2}, TimeNS: []int64{0, 109, 1100}},
		{Cluster: 2, MinNS: 50, MaxNS: 50, Count: []int64{1}, TimeNS: []int64{50}},
	}
	if !reflect.DeepEqual(p.Histograms, want) {
		t.Errorf("%+v, want %+v", p.Histograms, want)
	}
	h := &p.Histograms[0]
	for b, edge := range []float64{0, 10, 100, 1000} {
		if got := h.Edge(b); math.Abs(got-edge) > 1e-9*edge {
			t.Errorf("edge %d is %v, want %v", b, got, edge)
		}
	}
}

func TestCurve(t *testing.T) {
	th := Thread{
		StartNS: []int64{0, 10, 20, 30, 40, 50}, DurationNS: []int64{1, 2, 3, 4, 5, 6}, After: make([]uint32, 6), Cluster: make([]int32, 6),
		Phases: []Phase{{From: 1, To: 6, Begins: []int32{1, 3, 3, 4, 6}}},
	}
	p, err := Sum([]Thread{th}, Options{Points: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := []Curve{{Iterations: 4, Group: 2, Threads: 1, Computing: []int64{5, 15}, Elapsed: []int64{20, 10 + 16}}}
	if !reflect.DeepEqual(p.Curves, want) {
		t.Errorf("%+v, want %+v", p.Curves, want)
	}
}

func TestRefuses(t *testing.T) {
	good := func() []Thread {
		th := Thread{
			StartNS: []int64{0, 5}, DurationNS: []int64{1, 1}, After: make([]uint32, 2), Cluster: make([]int32, 2), Counters: [][]int64{{1, 2}},
			Calls: Calls{Path: []uint32{1}, EnterNS: []int64{3}, ExitNS: []int64{4}}, Phases: []Phase{{From: 0, To: 2, Begins: []int32{0, 2}}},
		}
		other := th
		other.Phases = slices.Clone(th.Phases)
		return []Thread{th, other}
	}
	if _, err := Sum(good(), Options{Counters: 1}); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Thread){
		"burst columns": func(t *Thread) { t.After = t.After[:1] },
		"regions":       func(t *Thread) { t.Region = []int32{1} },
		"counters":      func(t *Thread) { t.Counters = nil },
		"counter":       func(t *Thread) { t.Counters = [][]int64{{1}} },
		"duration":      func(t *Thread) { t.DurationNS = []int64{1, -1} },
		"call columns":  func(t *Thread) { t.Calls.Sent = []int64{} },
		"call time":     func(t *Thread) { t.Calls.ExitNS = []int64{2} },
		"phase":         func(t *Thread) { t.Phases[0].To = 3 },
		"iteration":     func(t *Thread) { t.Phases[0].Begins = []int32{1, 0} },
		"iterations":    func(t *Thread) { t.Phases[0].Begins = []int32{0, 1, 2} },
	} {
		threads := good()
		spoil(&threads[1])
		if _, err := Sum(threads, Options{Counters: 1}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkSum(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000} {
		const threads = 100
		list := make([]Thread, threads)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range list {
			th := &list[i]
			th.Counters = make([][]int64, 2)
			for k := range n / threads {
				d := int64(1000*(1+k%20)) + r.Int64N(100)
				th.StartNS, th.DurationNS = append(th.StartNS, int64(k)*30_000), append(th.DurationNS, d)
				th.After, th.Cluster = append(th.After, uint32(k%20)), append(th.Cluster, int32(k%20))
				for c := range th.Counters {
					th.Counters[c] = append(th.Counters[c], d*int64(2+c))
				}
				th.Calls.Path = append(th.Calls.Path, uint32(k%20))
				th.Calls.EnterNS, th.Calls.ExitNS = append(th.Calls.EnterNS, int64(k)*30_000+d), append(th.Calls.ExitNS, int64(k+1)*30_000)
			}
		}
		b.Run(fmt.Sprintf("bursts=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Sum(list, Options{Counters: 2, Workers: 2}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
