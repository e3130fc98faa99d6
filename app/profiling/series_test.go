package profiling

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"moriens/trace/rundir/rundirtest"
)

// A wrotePoint is an instance, or a group of them, in the JSON of an answer.
type wrotePoint struct {
	Instance        int64       `json:"instance"`
	Instances       int64       `json:"instances"`
	Threads         int64       `json:"threads"`
	Calls           int64       `json:"calls"`
	Sum             int64       `json:"sum_ns"`
	Direct          int64       `json:"direct_ns"`
	Mean            float64     `json:"mean_ns"`
	Least           int64       `json:"least_ns"`
	Most            int64       `json:"most_ns"`
	MostOf          wroteThread `json:"most_thread"`
	Std             float64     `json:"std_ns"`
	Longest         *int64      `json:"longest_ns"`
	LongestInstance *int64      `json:"longest_instance"`
	Slow            bool        `json:"slow"`
	Begin           int64       `json:"begin_ns"`
	End             int64       `json:"end_ns"`
}

// points are what the test sums up of a series, over some ranks.
func points(s rundirtest.Series, waiting bool, ranks []int32) (list []wrotePoint) {
	for first := int64(0); first < s.Instances; first += s.Group {
		p := wrotePoint{Instance: first, Instances: min(s.Group, s.Instances-first), Least: math.MaxInt64, Most: -1}
		p.Begin, p.End = s.Times(first, p.Instances)
		longest, number := int64(-1), int64(0)
		var sums []float64
		for _, rank := range ranks {
			sum := int64(0)
			n := max(min(first+p.Instances, s.On(rank))-first, 0)
			for i := first; i < first+n; i++ {
				whole, wait := s.NS(rank, i)
				if waiting {
					whole = wait
				}
				sum, p.Direct = sum+whole, p.Direct+whole
				if !waiting {
					p.Direct -= wait / 2
				}
				if whole > longest {
					longest, number = whole, i
				}
			}
			if n == 0 {
				continue
			}
			p.Threads++
			if !waiting || rank != 0 {
				p.Calls += n
			}
			if sum > p.Most {
				p.Most, p.MostOf.Rank = sum, rank
			}
			p.Sum, p.Least = p.Sum+sum, min(p.Least, sum)
			sums = append(sums, float64(sum))
		}
		for _, x := range sums {
			p.Mean += x / float64(len(sums))
		}
		for _, x := range sums {
			p.Std += (x - p.Mean) * (x - p.Mean) / float64(len(sums))
		}
		p.Std = math.Sqrt(p.Std)
		if !waiting {
			p.Longest, p.LongestInstance = &longest, &number
		}
		if p.Threads > 0 {
			list = append(list, p)
		}
	}
	return list
}

// Of 10⁵ instances in groups, and of 4,096, each figure of each row of JSON and CSV is what the instances add up to;
// the slow one is found with its number. With single ranks, one without the function has 0.
func TestWrittenSeries(t *testing.T) {
	for _, series := range []rundirtest.Series{{Instances: 100_000, Group: 25, Slow: 77_777}, {Instances: 4096, Group: 1, Slow: 3333}} {
		p := rundirtest.Profile(3)
		p.Instances = series.Rows()
		s := plant(t, p)
		for _, of := range []struct {
			metric string
			ranks  string
			of     []int32
			stat   Stat
		}{
			{metricTime, "", []int32{0, 1, 2}, Sum}, {"time:MPI_Waitall", "", []int32{0, 1, 2}, Most}, {metricTime, "1-2", []int32{1, 2}, Mean}, {"time:mpi_waitall", "0-1", []int32{0, 1}, Sum},
			{"time:MPI_Waitall", "0", []int32{0}, Sum}, {metricTime, "0,2", []int32{0, 2}, Least},
		} {
			what := fmt.Sprintf("%d instances, %s, ranks %q, %s", series.Instances, of.metric, of.ranks, of.stat)
			q := Question{By: ByInstance, Metric: of.metric, Stat: of.stat}
			if of.ranks != "" {
				q.Ranks = mustRanks(t, of.ranks)
			}
			want := points(series, of.metric != metricTime, of.of)
			if of.ranks == "0" && of.metric != metricTime { // it has no row
				if _, err := Ask(Question{Dir: s.Dir, By: ByInstance, Metric: of.metric, Ranks: q.Ranks, Found: -1}); err == nil {
					t.Errorf("%s: an answer", what)
				}
				continue
			}
			checkSeries(t, what, ask(t, s, q), want, len(of.of), series.Slow)
		}
	}
}

// median of a list that it may sort.
func medianOf(list []float64) float64 {
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

func checkSeries(t *testing.T, what string, a *Answer, want []wrotePoint, threads int, slow int64) {
	t.Helper()
	var text, cells bytes.Buffer
	if err := a.JSON(&text); err != nil {
		t.Fatal(err)
	}
	if err := a.CSV(&cells); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Phase, What string
		Threads     int
		Total       map[string]int64
		Slow        struct {
			Rule      string
			Median    float64 `json:"median_ns"`
			MAD       float64 `json:"mad_ns"`
			Threshold float64 `json:"threshold_ns"`
		}
		Instances []wrotePoint
	}
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&cells).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Instances) != len(want) || len(lines) != 1+len(want) {
		t.Fatalf("%s: %d rows, %d lines, want %d", what, len(got.Instances), len(lines), len(want))
	}
	kind := map[bool]string{true: "whole", false: "MPI_Waitall"}[a.Metric == metricTime]
	if got.Phase != rundirtest.Steps || got.What != kind || got.Threads != threads || got.Slow.Rule != SlowRule {
		t.Errorf("%s: phase %q, %q, %d threads", what, got.Phase, got.What, got.Threads)
	}
	figures := make([]float64, len(want))
	for i, p := range want {
		figures[i] = map[Stat]float64{Sum: p.Mean, Mean: p.Mean, Most: float64(p.Most), Least: float64(p.Least)}[a.Stat] / float64(p.Instances)
	}
	median := medianOf(slices.Clone(figures))
	off := make([]float64, len(want))
	for i, x := range figures {
		off[i] = math.Abs(x - median)
	}
	mad := medianOf(off)
	threshold := max(median+5*1.4826*mad, 1.1*median)
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y), 1) }
	if !near(got.Slow.Median, median) || !near(got.Slow.MAD, mad) || !near(got.Slow.Threshold, threshold) {
		t.Errorf("%s: %+v, want %v, %v, %v", what, got.Slow, median, mad, threshold)
	}
	sum, least, most, marked, wrong := int64(0), want[0].Least, int64(0), 0, 0
	for i := range want {
		w, g := want[i], got.Instances[i]
		w.Slow = figures[i] > threshold
		sum, least, most = sum+w.Sum, min(least, w.Least), max(most, w.Most)
		// Squares are doubles: where threads take nearly the same, what they differ by has few digits.
		same := math.Abs(w.Std-g.Std) <= 1e-6*w.Mean
		if g.Slow {
			marked++
			if w.Instance > slow || slow >= w.Instance+w.Instances || g.LongestInstance != nil && *g.LongestInstance != slow {
				t.Errorf("%s: instance %d is slow, not %d: %+v", what, slow, w.Instance, g)
			}
		}
		text := fmt.Sprint(w.cells(), g.cells(), w.Slow, g.Slow)
		if wrong < 5 && (!same || !near(w.Mean, g.Mean) || !slices.Equal(w.cells(), g.cells()) || w.Slow != g.Slow || !slices.Equal(lines[i+1], g.all())) {
			wrong++
			t.Errorf("%s: row %d: %s; CSV %q", what, i, text, lines[i+1])
		}
	}
	// The least of ranks 0 and 2 is not that of rank 1, which is slow.
	if want := map[bool]int{true: 1, false: 0}[figures[slices.IndexFunc(want, func(p wrotePoint) bool { return slow < p.Instance+p.Instances })] > threshold]; marked != want {
		t.Errorf("%s: %d rows are slow, want %d", what, marked, want)
	}
	if got.Total["sum_ns"] != sum || got.Total["least_ns"] != least || got.Total["most_ns"] != most || got.Total["instances"] != want[len(want)-1].Instance+want[len(want)-1].Instances {
		t.Errorf("%s: total %v, want %d, %d, %d", what, got.Total, sum, least, most)
	}
}

// cells are the whole numbers of a point.
func (p *wrotePoint) cells() []int64 {
	list := []int64{p.Instance, p.Instances, p.Threads, p.Calls, p.Sum, p.Direct, p.Least, p.Most, int64(p.MostOf.World), int64(p.MostOf.Rank), int64(p.MostOf.Thread), p.Begin, p.End}
	if p.Longest != nil {
		list = append(list, *p.Longest, *p.LongestInstance)
	}
	return list
}

// all are the cells of CSV.
func (p *wrotePoint) all() []string {
	n := p.cells()
	list := make([]string, 0, 16)
	for i, x := range n[:11] {
		if i == 6 {
			list = append(list, number(p.Mean))
		}
		list = append(list, fmt.Sprint(x))
	}
	list = append(list, number(p.Std), "", "", fmt.Sprint(p.Slow), fmt.Sprint(p.Begin), fmt.Sprint(p.End))
	if p.Longest != nil {
		list[13], list[14] = fmt.Sprint(*p.Longest), fmt.Sprint(*p.LongestInstance)
	}
	return list
}
