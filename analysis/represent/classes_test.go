package represent_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/represent"
)

const (
	us = 1_000
	ms = 1_000_000
	s  = 1_000_000_000
)

// two clusters, collective calls, waits and bytes.
var quantities = []represent.Quantity{
	{Kind: represent.ComputeNS, Cluster: 1}, {Kind: represent.ComputeNS, Cluster: 2}, {Kind: represent.CallNS, Class: represent.Collective},
	{Kind: represent.SentBytes}, {Kind: represent.CausedNS}, {Kind: represent.SufferedNS},
}

func classify(t interface {
	Helper()
	Fatal(...any)
}, rows [][]float64, o represent.ClassOptions) *represent.Classes {
	t.Helper()
	c, err := represent.Classify(represent.Ranks{Quantities: quantities, Values: slices.Concat(rows...)}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// alike are n ranks with so much noise.
func alike(n int, noise float64, seed uint64) [][]float64 {
	random := rand.New(rand.NewPCG(seed, 1))
	var rows [][]float64
	for range n {
		f := func() float64 { return 1 + noise*random.Float64() }
		rows = append(rows, []float64{6 * s * f(), 3.21 * s * f(), 1 * s * f(), 4e9, .01 * s * f(), .01 * s * f()})
	}
	return rows
}

// Two kinds of two ranks each are two classes, on a noisy machine too.
func TestTwoKindsOfTwo(t *testing.T) {
	for _, noise := range []float64{.004, .05, .1, .2} {
		for seed := range uint64(8) {
			rows := alike(4, noise, seed)
			for _, i := range []int{1, 3} {
				rows[i][0] *= 1.6
				rows[i][2] /= 10
			}
			if c := classify(t, rows, represent.ClassOptions{Outliers: -1}); !slices.Equal(c.Of, []int32{0, 1, 0, 1}) || noise < .2 && len(c.Outliers) != 0 {
				t.Errorf("noise of %v: %+v", noise, c)
			}
		}
	}
}

func TestSlowRank(t *testing.T) {
	rows := alike(8, .004, 1)
	rows[5] = []float64{6 * s, 4.21 * s, .1 * s, 4e9, 7 * s, 0}
	c := classify(t, rows, represent.ClassOptions{Outliers: -1})
	if len(c.Classes) != 1 || len(c.Outliers) != 1 || c.Classes[0].Exemplar == 5 {
		t.Fatalf("%+v", c)
	}
	u := c.Outliers[0]
	if u.Thread != 5 || u.Class != 0 || u.Quantity != quantities[1] {
		t.Errorf("%+v", u)
	}
	for _, part := range []string{"spends 31 % more time in cluster 2 than its class's median (4.21 s, median 3.2", "; is waited for 7.00 s in total at collective calls (median of all ranks: 10"} {
		if !strings.Contains(u.Reason, part) {
			t.Errorf("%q lacks %q", u.Reason, part)
		}
	}
	if !strings.HasPrefix(c.Classes[0].Profile, "59 % in cluster 1, 3") || !strings.Contains(c.Classes[0].Reason, "closest to the mean of its class of 8") {
		t.Errorf("%+v", c.Classes[0])
	}
}

// A job that mostly waits, for as long as chance has it, does not hide what it computes: boundary ranks that send half,
// and a slow one.
func TestBusyMachine(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	chance := func(spread float64) float64 { return 1 + spread*(2*random.Float64()-1) }
	var rows [][]float64
	for i := range 16 {
		row := []float64{.05 * s * chance(.03), .03 * s * chance(.03), 6 * s * chance(.2), 12e6, 3 * s * chance(.8), 3 * s * chance(.2)}
		if i == 0 || i == 15 {
			row[3] /= 2
		}
		if i == 9 {
			row[0] *= 1.5
		}
		rows = append(rows, row)
	}
	c := classify(t, rows, represent.ClassOptions{Outliers: -1})
	if len(c.Classes) != 2 || !slices.Equal(c.Classes[1].Threads, []int32{0, 15}) {
		t.Errorf("%s: %+v", c.Method, c.Classes)
	}
	if len(c.Outliers) != 1 || c.Outliers[0].Thread != 9 || c.Outliers[0].Quantity != quantities[0] {
		t.Errorf("%+v", c.Outliers)
	}
}

func TestFewRanks(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rows    [][]float64
		classes int
		reason  string // of the first
	}{
		{"none", nil, 0, ""},
		{"one", alike(1, 0, 1), 1, "rank 0 is the only one"},
		{"two alike", alike(2, .01, 1), 1, "rank 0 is closest to the mean of its class of 2"},
		{"two", [][]float64{alike(1, 0, 1)[0], {9 * s, 0, 0, 0, 0, 0}}, 2, "rank 0 is unlike all others"},
		{"two of chance", [][]float64{{6 * s, 3 * s, 1 * s, 4e9, 0, 0}, {6.4 * s, 3.2 * s, .4 * s, 4e9, 0, 0}}, 1, "rank 0 is closest to the mean of its class of 2"},
		{"identical", alike(64, 0, 1), 1, "rank 0 is the first of 64 with identical values"},
		{"noise", alike(100, .02, 1), 1, "is closest to the mean of its class of 100"},
		{"nothing done", [][]float64{make([]float64, 6), make([]float64, 6), make([]float64, 6), make([]float64, 6), make([]float64, 6)}, 1, "rank 0 is the first of 5"},
	} {
		c := classify(t, tt.rows, represent.ClassOptions{Outliers: -1})
		if len(c.Classes) != tt.classes || len(c.Outliers) != 0 || len(c.Of) != len(tt.rows) {
			t.Errorf("%s: %+v", tt.name, c)
		}
		if tt.classes > 0 && !strings.Contains(c.Classes[0].Reason, tt.reason) {
			t.Errorf("%s: %q, want %q", tt.name, c.Classes[0].Reason, tt.reason)
		}
	}
}

// Boundary ranks, interior ranks and a master that gets everything from all.
func TestKinds(t *testing.T) {
	rows := alike(64, .01, 2)
	for i := range rows {
		if i%8 == 0 {
			rows[i][1] /= 2
			rows[i][3] /= 2
		}
	}
	rows[17] = []float64{0, .5 * s, 9 * s, 1e13, 0, 0} // nearest to those with less of cluster 2
	c := classify(t, rows, represent.ClassOptions{Outliers: -1})
	if len(c.Classes) != 2 || len(c.Classes[0].Threads) != 55 || len(c.Classes[1].Threads) != 9 {
		t.Fatalf("%+v", c.Classes)
	}
	for i := range rows {
		if want := int32(0); i != 17 && (c.Of[i] != want) != (i%8 == 0) {
			t.Errorf("rank %d is in class %d", i, c.Of[i])
		}
	}
	if len(c.Outliers) != 1 || c.Outliers[0].Thread != 17 {
		t.Errorf("%+v", c.Outliers)
	}
	if !strings.HasPrefix(c.Method, "2 classes by density (Eps 0.0") || !strings.HasSuffix(c.Method, "1 thread in no class") {
		t.Error(c.Method)
	}
	// One in all, or none.
	rows[3][1] *= 1.5
	if c := classify(t, rows, represent.ClassOptions{Outliers: 1}); len(c.Outliers) != 1 || c.Outliers[0].Thread != 17 {
		t.Errorf("%+v", c.Outliers)
	}
	if c := classify(t, rows, represent.ClassOptions{}); len(c.Outliers) != 0 {
		t.Errorf("%+v", c.Outliers)
	}
	if c := classify(t, rows, represent.ClassOptions{Outliers: 10}); len(c.Outliers) != 2 || c.Outliers[1].Thread != 3 {
		t.Errorf("%+v", c.Outliers)
	}
}

// Two crowds with a bridge between them are one by density; k-means divides them. A gradient it leaves whole.
func TestOneCrowd(t *testing.T) {
	place := func(rows [][]float64, share float64) [][]float64 {
		return append(rows, []float64{(2 + 4*share) * s, (6 - 4*share) * s, 0, 0, 0, 0})
	}
	var bridge, gradient [][]float64
	for i := range 600 {
		bridge = place(bridge, float64(i%2)+.00001*float64(i))
	}
	for i := range 100 {
		bridge = place(bridge, float64(i/2)/50)
		gradient = place(gradient, float64(i)/100)
	}
	c := classify(t, gradient, represent.ClassOptions{Outliers: -1})
	if len(c.Classes) != 1 || !strings.HasPrefix(c.Method, "one class: k-means does not split it (silhouette 0.") {
		t.Errorf("gradient: %d classes, %s", len(c.Classes), c.Method)
	}
	if e := c.Classes[0].Exemplar; e < 45 || e > 55 {
		t.Errorf("the exemplar of a gradient is rank %d", e)
	}
	c = classify(t, bridge[:600], represent.ClassOptions{Outliers: -1})
	if len(c.Classes) != 2 {
		t.Errorf("two crowds: %d classes, %s", len(c.Classes), c.Method)
	}
	c = classify(t, bridge, represent.ClassOptions{Outliers: -1})
	if !strings.HasPrefix(c.Method, "2 classes by k-means") || len(c.Classes) != 2 {
		t.Errorf("bridge: %d classes, %s", len(c.Classes), c.Method)
	}
}

// In more dimensions than DBSCAN takes: 30 clusters, kinds of ranks that differ in a few of them, and one rank in one
// alone.
func TestManyQuantities(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	const n, clusters = 300, 30
	r := represent.Ranks{}
	for c := range int32(clusters) {
		r.Quantities = append(r.Quantities, represent.Quantity{Cluster: c + 1})
	}
	for i := range n {
		for c := range clusters {
			v := 1 * s * (1 + .01*random.NormFloat64())
			if c%5 == i%3 {
				v *= 1.3
			}
			if c == 29 && i == 100 {
				v *= 1.5
			}
			r.Values = append(r.Values, v)
		}
	}
	c, err := represent.Classify(r, represent.ClassOptions{Outliers: -1, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Classes) != 3 {
		t.Fatalf("%d classes: %s", len(c.Classes), c.Method)
	}
	for i := range n {
		if c.Of[i] != c.Of[i%3] {
			t.Errorf("rank %d is in class %d, rank %d in %d", i, c.Of[i], i%3, c.Of[i%3])
		}
	}
	if len(c.Outliers) != 1 || c.Outliers[0].Thread != 100 || c.Outliers[0].Quantity.Cluster != 30 {
		t.Errorf("%+v", c.Outliers)
	}
}

// Others wait for a rank that otherwise is like all.
func TestWaitedFor(t *testing.T) {
	rows := alike(32, .01, 5)
	rows[9][4] = 12.3 * s
	c := classify(t, rows, represent.ClassOptions{Outliers: -1})
	if len(c.Outliers) != 1 || c.Outliers[0].Thread != 9 || c.Outliers[0].Quantity.Kind != represent.CausedNS {
		t.Fatalf("%+v", c.Outliers)
	}
	if r := c.Outliers[0].Reason; !strings.HasPrefix(r, "is waited for 12.3 s in total at collective calls (median of all ranks: 10.") {
		t.Error(r)
	}
}

// Of many ranks a sample is clustered; the eight at the corners are a class though it missed them.
func TestManyRanks(t *testing.T) {
	rows := alike(20_000, .01, 7)
	for i := range rows {
		switch {
		case i%2499 == 11:
			rows[i][1] *= 2
		case i%5 == 0:
			rows[i][0] /= 2
		}
	}
	rows[4321][3] *= 3
	for _, workers := range []int{1, 3} {
		c := classify(t, rows, represent.ClassOptions{Outliers: -1, Workers: workers})
		if len(c.Classes) != 3 || len(c.Classes[2].Threads) < 8 || len(c.Classes[2].Threads) > 9 || !slices.Contains(c.Classes[2].Threads, 11) {
			t.Fatalf("%d classes: %s", len(c.Classes), c.Method)
		}
		if len(c.Outliers) != 1 || c.Outliers[0].Thread != 4321 || !strings.HasPrefix(c.Outliers[0].Reason, "sends 3.00 times as many bytes as its class's median (11.2 GiB, median 3.73 GiB)") {
			t.Errorf("%+v", c.Outliers)
		}
		if !strings.HasSuffix(c.Method, "of 4096 threads, with which others were compared, 1 thread in no class") {
			t.Error(c.Method)
		}
	}
}

// Each quantity has its words.
func TestReasons(t *testing.T) {
	for _, tt := range []struct {
		quantity      represent.Quantity
		value, median float64
		reason        string
		cause         string
	}{
		{represent.Quantity{Cluster: 3}, 1.31 * s, 1 * s, "spends 31 % more time in cluster 3 than its class's median (1.31 s, median 1.00 s)", "computing"},
		{represent.Quantity{}, .5 * s, 1 * s, "spends 50 % less time in bursts in no cluster than its class's median (500 ms, median 1.00 s)", "computing"},
		{represent.Quantity{Cluster: 3}, 1 * s, 0, "spends 1.00 s in cluster 3 (its class's median: none)", "computing"},
		{represent.Quantity{Kind: represent.CallNS, Class: represent.Wait}, 25 * s, 1 * s, "spends 25.0 times as much time in wait and test calls as its class's median (25.0 s, median 1.00 s)", "calls"},
		{represent.Quantity{Kind: represent.CallNS, Class: represent.IO}, 0, 120 * us, "spends no time in I/O calls (its class's median: 120 us)", "calls"},
		{represent.Quantity{Kind: represent.ReceivedBytes}, 1126, 1024, "receives 10 % more bytes than its class's median (1.1 KiB, median 1 KiB)", "received_bytes"},
		{represent.Quantity{Kind: represent.SentBytes}, 512, 1024, "sends 50 % fewer bytes than its class's median (512 B, median 1 KiB)", "sent_bytes"},
		{represent.Quantity{Kind: represent.ReceivedBytes}, 4096, 1024, "receives 4.00 times as many bytes as its class's median (4 KiB, median 1 KiB)", "received_bytes"},
		{represent.Quantity{Kind: represent.SentBytes}, 0, 1024, "sends no bytes (its class's median: 1 KiB)", "sent_bytes"},
		{represent.Quantity{Kind: represent.SufferedNS}, 999, 500, "spends 100 % more time waiting for others at collective calls than its class's median (999 ns, median 500 ns)", "waiting"},
	} {
		r := represent.Ranks{Quantities: []represent.Quantity{tt.quantity}, Values: slices.Repeat([]float64{tt.median}, 9), Name: func(i int) string { return fmt.Sprint("world 1 rank ", i) }}
		r.Values[4] = tt.value
		c, err := represent.Classify(r, represent.ClassOptions{Outliers: -1})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Outliers) != 1 || c.Outliers[0].Thread != 4 || c.Outliers[0].Reason != tt.reason {
			t.Errorf("%+v, want %q", c.Outliers, tt.reason)
		} else if q := c.Outliers[0].Quantity; q != tt.quantity || q.Kind.String() != tt.cause {
			t.Errorf("the reason is of %+v (%v), want %+v (%s)", q, q.Kind, tt.quantity, tt.cause)
		}
		if !strings.HasPrefix(c.Classes[0].Reason, "world 1 rank 0 is the first of 8") {
			t.Error(c.Classes[0].Reason)
		}
	}
}

func TestWhy(t *testing.T) {
	var list []string
	for w := represent.Representative; w <= represent.Fallback+1; w++ {
		list = append(list, w.String())
	}
	if got := strings.Join(list, " "); got != "representative outlier critical path anomaly peer fallback Why(6)" {
		t.Error(got)
	}
}

func TestClassifyRefuses(t *testing.T) {
	for _, r := range []represent.Ranks{
		{Values: []float64{1}},
		{Quantities: quantities, Values: make([]float64, 7)},
		{Quantities: quantities[:1], Values: []float64{1, math.NaN()}},
		{Quantities: quantities[:1], Values: []float64{-1}},
		{Quantities: quantities[:1], Values: []float64{math.Inf(1)}},
		{Quantities: []represent.Quantity{{Kind: 17}}, Values: []float64{1}},
		{Quantities: []represent.Quantity{{Class: -1}}, Values: []float64{1}},
	} {
		if _, err := represent.Classify(r, represent.ClassOptions{}); err == nil {
			t.Errorf("%+v is taken", r)
		}
	}
	if _, err := represent.Classify(represent.Ranks{Quantities: quantities[:1], Values: []float64{1}}, represent.ClassOptions{Floor: -1}); err == nil {
		t.Error("a floor of -1 is taken")
	}
}

// Every thread is in one class, the exemplar is in its own, and neither scale nor workers matter.
func TestClassesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		dims := rapid.IntRange(1, len(quantities)).Draw(t, "dims")
		r := represent.Ranks{Quantities: quantities[:dims]}
		kinds := rapid.SliceOfN(rapid.IntRange(1, 5), n, n).Draw(t, "kinds")
		for _, kind := range kinds {
			for range dims {
				r.Values = append(r.Values, float64(kind)*1024*float64(rapid.IntRange(990, 1010).Draw(t, "v")))
			}
		}
		o := represent.ClassOptions{Outliers: rapid.IntRange(-1, 4).Draw(t, "outliers"), Workers: 1}
		a, err := represent.Classify(r, o)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for i, c := range a.Classes {
			if !slices.IsSorted(c.Threads) || !slices.Contains(c.Threads, int32(c.Exemplar)) || c.Reason == "" {
				t.Fatalf("class %d: %+v", i, c)
			}
			for _, thread := range c.Threads {
				if a.Of[thread] != int32(i) {
					t.Fatalf("thread %d is in class %d and in %d", thread, i, a.Of[thread])
				}
				seen++
			}
		}
		if seen != n || o.Outliers >= 0 && len(a.Outliers) > o.Outliers {
			t.Fatalf("%d of %d threads, %d outliers", seen, n, len(a.Outliers))
		}
		for _, u := range a.Outliers {
			if a.Classes[a.Of[u.Thread]].Exemplar == u.Thread || u.Reason == "" {
				t.Fatalf("%+v", u)
			}
		}
		for i := range r.Values {
			r.Values[i] *= 4 // exact in binary: only figures in reasons change
		}
		o.Workers = 3
		b, err := represent.Classify(r, o)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.Of, b.Of) || len(a.Outliers) != len(b.Outliers) {
			t.Fatalf("%v, four times as much %v", a.Of, b.Of)
		}
		for i := range a.Classes {
			if a.Classes[i].Exemplar != b.Classes[i].Exemplar {
				t.Fatalf("exemplar %d, of four times as much %d", a.Classes[i].Exemplar, b.Classes[i].Exemplar)
			}
		}
	})
}

func BenchmarkClassify(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		random := rand.New(rand.NewPCG(4, 1))
		r := represent.Ranks{}
		for c := range int32(50) {
			r.Quantities = append(r.Quantities, represent.Quantity{Cluster: c + 1})
		}
		for i := range n {
			for c := range 50 {
				v := float64(c+1) * s * (1 + .01*random.NormFloat64())
				if c > 40 && i%10 == 0 {
					v /= 2
				}
				r.Values = append(r.Values, v)
			}
		}
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("ranks=%d/workers=%d", n, workers), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c, err := represent.Classify(r, represent.ClassOptions{Outliers: -1, Workers: workers})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(len(c.Classes)), "classes")
				}
			})
		}
	}
}
