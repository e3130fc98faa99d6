package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/overview"
	"moriens/trace/palette"
	"moriens/trace/tracetest"
)

var keep = flag.String("keep", "", "directory to leave the tests' pictures in, to be looked at")

const maxBytes = 3_000_000

// loop makes a run whose ranks go through kinds of bursts, each ten times as long as the last down to 1 us, clusters
// beyond.
func loop(ranks, threads, perThread, clusters int) *trace.Run {
	random := rand.New(rand.NewPCG(3, 4))
	run := &trace.Run{
		CallPaths: []trace.CallPath{{}},
		Counters:  []trace.Counter{{Name: "PAPI_TOT_INS"}, {Name: "PAPI_TOT_CYC"}},
		Worlds:    []trace.World{{Executable: "/usr/bin/lmp", Size: ranks}},
		Nodes:     []trace.Node{{Name: "alpha"}},
	}
	for i := range 20 {
		f := []string{"MPI_Send", "MPI_Waitall", "MPI_Allreduce", "MPI_Sendrecv_replace"}[i%4]
		run.CallPaths = append(run.CallPaths, trace.CallPath{Function: f, Frames: []trace.Frame{{Module: "lmp", Offset: uint64(0x1000 + 8*i)}}})
	}
	for r := range ranks {
		for th := range threads {
			t := trace.Thread{Rank: r, Thread: th, Bursts: trace.Bursts{Counters: make([][]int64, 2)}}
			b := &t.Bursts
			now := int64(0)
			for range perThread {
				kind := random.IntN(clusters)
				path := uint32(1 + kind%20)
				t.Calls.EnterNS = append(t.Calls.EnterNS, now)
				now += 50_000 + random.Int64N(10_000)
				t.Calls.ExitNS = append(t.Calls.ExitNS, now)
				t.Calls.Path = append(t.Calls.Path, path)
				d := int64(math.Pow(10, 6.5-3*float64(kind)/float64(clusters)) * math.Exp(.04*random.NormFloat64()))
				label := int32(1 + kind)
				if random.IntN(50) == 0 {
					label = trace.LabelNoise
					d = d * int64(50+random.IntN(100)) / 100
				}
				b.StartNS = append(b.StartNS, now)
				b.DurationNS = append(b.DurationNS, d)
				b.Before = append(b.Before, path)
				b.After = append(b.After, path%20+1)
				b.Cluster = append(b.Cluster, label)
				b.Counters[1] = append(b.Counters[1], 2*d)
				b.Counters[0] = append(b.Counters[0], int64(float64(2*d)*(.5+float64(kind%5)/3+.02*random.NormFloat64())))
				now += d
			}
			t.EndNS = now
			run.DurationNS = max(run.DurationNS, now)
			run.Threads = append(run.Threads, t)
		}
	}
	run.SummariseClusters()
	return run
}

// alone has all threads.
var alone team.Threads

func drawBoth(t testing.TB, name string, run *trace.Run, dimensions []Dimension) (scatter, timeline string) {
	t.Helper()
	var s, l bytes.Buffer
	if err := Scatter(&s, run, alone, dimensions, DefaultBytes); err != nil {
		t.Fatal(err)
	}
	if err := Timeline(&l, run, alone, DefaultBytes); err != nil {
		t.Fatal(err)
	}
	for kind, b := range map[string]*bytes.Buffer{"scatter": &s, "timeline": &l} {
		if *keep != "" {
			if err := os.WriteFile(filepath.Join(*keep, name+"-"+kind+".svg"), b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if b.Len() > maxBytes {
			t.Errorf("%s: %s of %d bytes, budget %d", name, kind, b.Len(), maxBytes)
		}
		wellFormed(t, b.Bytes())
	}
	return s.String(), l.String()
}

// wellFormed checks the XML and that no coordinate is NaN or infinite.
func wellFormed(t testing.TB, svg []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		_, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	svg = regexp.MustCompile(`base64,[^"]+`).ReplaceAll(svg, nil)
	for _, bad := range []string{"NaN", "Inf"} {
		if i := bytes.Index(svg, []byte(bad)); i >= 0 {
			t.Fatalf("%s at byte %d", bad, i)
		}
	}
}

func TestPictures(t *testing.T) {
	two := []Dimension{{"PAPI_TOT_INS", true}, {"IPC", false}}
	empty := &trace.Run{CallPaths: []trace.CallPath{{}}}
	one := tracetest.Small()
	one.Threads = one.Threads[3:]
	one.SummariseClusters()
	for _, c := range []struct {
		name       string
		run        *trace.Run
		dimensions []Dimension
		scatter    []string
		timeline   []string
	}{
		{"small", tracetest.Small(), nil, []string{">app + post, 5 ranks, 20 ms: burst space<", ">Init → Send<", ">cluster 2<", ">missing data<", "being zero: 1."}, []string{">world:rank.thread<", ">0:1.1<", ">in MPI<"}},
		{"empty", empty, nil, []string{">no bursts<"}, []string{">no thread called MPI<"}},
		{"one", one, nil, []string{">100.0 %<", "1 burst."}, []string{">1:2<"}},
		{"counters", loop(4, 1, 2000, 9), two, []string{">IPC<", ">PAPI_TOT_INS (logarithmic)<", "8,000 bursts."}, []string{">3<"}},
		{"per time", loop(4, 1, 2000, 9), []Dimension{{"PAPI_TOT_INS/duration", false}, {"duration/PAPI_TOT_INS", true}},
			[]string{">PAPI_TOT_INS/duration<", ">duration/PAPI_TOT_INS (logarithmic)<", "8,000 bursts."}, nil},
		{"clusters", loop(64, 1, 1500, 70), nil, []string{">8 other pairs<", " more<", ">cluster 22<", " of 96,000 bursts drawn"}, []string{">62<"}},
		{"ranks", loop(300, 2, 500, 6), nil, []string{" of 300,000 bursts drawn"}, []string{"128 of 600 rows drawn"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			scatter, timeline := drawBoth(t, c.name, c.run, c.dimensions)
			for _, want := range c.scatter {
				if !strings.Contains(scatter, want) {
					t.Errorf("scatter lacks %q", want)
				}
			}
			for _, want := range c.timeline {
				if !strings.Contains(timeline, want) {
					t.Errorf("timeline lacks %q", want)
				}
			}
			again, _ := drawBoth(t, c.name, c.run, c.dimensions)
			if again != scatter {
				t.Error("two drawings of one run differ")
			}
		})
	}
}

func TestUnknownDimension(t *testing.T) {
	for _, name := range []string{"PAPI_FP_OPS", "IPC", "PAPI_TOT_INS/none", "none/duration", ""} {
		if err := Scatter(io.Discard, tracetest.Small(), alone, []Dimension{{name, true}}, DefaultBytes); err == nil || !strings.Contains(err.Error(), "no such counter") {
			t.Errorf("dimension %q: %v", name, err)
		}
	}
}

// Whatever the run, the pictures come out well-formed.
func TestAnyRun(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		run := tracetest.Run(r)
		var b bytes.Buffer
		if err := Scatter(&b, run, alone, nil, DefaultBytes); err != nil {
			r.Fatal(err)
		}
		wellFormed(t, b.Bytes())
		b.Reset()
		if err := Timeline(&b, run, alone, DefaultBytes); err != nil {
			r.Fatal(err)
		}
		wellFormed(t, b.Bytes())
	})
}

// By hand, bins of 10 ns: the third has most of cluster 2, but cluster 1 was owed the part of the first two.
// The timeline says why there are holes in it, where the program made them.
func TestPaused(t *testing.T) {
	run := loop(2, 1, 20, 2)
	for _, paused := range []bool{false, true} {
		if paused {
			run.Threads[1].Pauses = []trace.Pause{{BeginNS: 5, EndNS: 10}}
		}
		_, timeline := drawBoth(t, "paused", run, nil)
		if strings.Contains(timeline, "paused recording") != paused {
			t.Errorf("paused %v, and the timeline says %q", paused, timeline)
		}
	}
}

func TestShown(t *testing.T) {
	l := &lanes{bins: 5, endNS: 50}
	th := &trace.Thread{
		Calls:  trace.Calls{EnterNS: []int64{0, 11, 25}, ExitNS: []int64{6, 13, 29}, Path: []uint32{0, 0, 0}},
		Bursts: trace.Bursts{StartNS: []int64{6, 13, 29}, DurationNS: []int64{5, 12, 3}, Cluster: []int32{1, 2, 1}},
	}
	got := fmt.Sprint(l.shown(th))
	if want := fmt.Sprint([]int32{overview.InMPI, 2, 1, 1, nothing}); got != want {
		t.Errorf("bins hold %s, want %s", got, want)
	}
}

// Bursts much shorter than a bin, between longer calls, have their share of the row.
func TestShownIsInProportion(t *testing.T) {
	l := &lanes{bins: 1000, endNS: 4_000_000}
	th := &trace.Thread{}
	for at := int64(0); at < 4_000_000; at += 40 {
		th.Bursts.StartNS = append(th.Bursts.StartNS, at)
		th.Bursts.DurationNS = append(th.Bursts.DurationNS, 10)
		th.Bursts.Cluster = append(th.Bursts.Cluster, 3)
		th.Calls.EnterNS = append(th.Calls.EnterNS, at+10)
		th.Calls.ExitNS = append(th.Calls.ExitNS, at+40)
		th.Calls.Path = append(th.Calls.Path, 0)
	}
	shown := map[int32]int{}
	for _, label := range l.shown(th) {
		shown[label]++
	}
	if shown[3] < 249 || shown[3] > 251 || shown[3]+shown[overview.InMPI] != 1000 {
		t.Errorf("shown %v, want 250 bins of cluster 3", shown)
	}
}

// The rows are there pixel by pixel: a bin has the colour of what it shows.
func TestTimelineImage(t *testing.T) {
	run := loop(3, 1, 200, 4)
	var b bytes.Buffer
	if err := Timeline(&b, run, alone, DefaultBytes); err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`<image preserveAspectRatio="none" [^>]*"data:image/png;base64,([^"]+)"`).FindSubmatch(b.Bytes())
	if found == nil {
		t.Fatal("there is no image")
	}
	text, err := base64.StdEncoding.DecodeString(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size != image.Pt(maxBins, 3*rowPixels) {
		t.Fatalf("the image has %v pixels", size)
	}
	l := &lanes{bins: maxBins, endNS: run.DurationNS}
	for rank := range run.Threads {
		for bin, label := range l.shown(&run.Threads[rank]) {
			want := color.Color(color.Transparent)
			switch label {
			case nothing:
			case overview.InMPI:
				want = palette.MPI
			default:
				want = colourOf(label)
			}
			for line := range rowPixels {
				same(t, img.At(bin, rank*rowPixels+line), want)
			}
		}
	}
}

func same(t *testing.T, got, want color.Color) {
	t.Helper()
	r, g, b, a := got.RGBA()
	wr, wg, wb, wa := want.RGBA()
	if r != wr || g != wg || b != wb || a != wa {
		t.Fatalf("colour %v, want %v", got, want)
	}
}

// Whatever the clusters and greys, there are no more colours than a palette holds.
func TestColoursFitAPalette(t *testing.T) {
	if n := palette.Len + 5; n > 256 {
		t.Errorf("%d colours", n)
	}
}

// Small pieces of one label in a bin add up.
func TestShownAddsUp(t *testing.T) {
	l := &lanes{bins: 1, endNS: 100}
	th := &trace.Thread{Bursts: trace.Bursts{
		StartNS: []int64{0, 30, 60}, DurationNS: []int64{25, 35, 15}, Cluster: []int32{1, 2, 1},
	}}
	if got := l.shown(th)[0]; got != 1 {
		t.Errorf("the bin holds %d, want 1 with 40 ns of 100 against 35", got)
	}
}

func TestQuotas(t *testing.T) {
	const points = 20_000
	limits := quotas([]int{10_000_000, 100_000, 50, 0}, points)
	part := func(i int) float64 { return float64(limits[i]) / math.MaxUint64 }
	if limits[2] != math.MaxUint64 {
		t.Error("of a cluster of 50 bursts not all are drawn")
	}
	if sum := 1e7*part(0) + 1e5*part(1) + 50; sum > points || sum < .9*points {
		t.Errorf("%.0f points drawn, budget %d", sum, points)
	}
	if part(0) >= part(1) {
		t.Error("the large cluster is not thinned more than the small one")
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		log    bool
		unit   string
		want   string
	}{
		{-6, -3, true, "s", "1 µs|10 µs|100 µs|1 ms"},
		{-4, -2.9, true, "s", "100 µs|200 µs|500 µs|1 ms"},
		{math.Log10(3.1e-3), math.Log10(3.3e-3), true, "s", "3.10 ms|3.15 ms|3.20 ms|3.25 ms|3.30 ms"},
		{6, 9, true, "", "1 M|10 M|100 M|1 G"},
		{0, 6.08, false, "s", "0 s|1 s|2 s|3 s|4 s|5 s|6 s"},
		{0, .02, false, "s", "0 ms|5 ms|10 ms|15 ms|20 ms"},
		{.4, 2.1, false, "", "0.5|1.0|1.5|2.0"},
	} {
		var labels []string
		ticks := linTicks{c.unit}.Ticks(c.lo, c.hi)
		if c.log {
			ticks = logTicks{c.unit}.Ticks(c.lo, c.hi)
		}
		for _, k := range ticks {
			if k.Label != "" {
				labels = append(labels, k.Label)
			}
		}
		if got := strings.Join(labels, "|"); got != c.want {
			t.Errorf("%g to %g: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
}

func TestColours(t *testing.T) {
	if colourOf(trace.LabelNoise) != palette.Noise || colourOf(trace.LabelMissing) != palette.Missing || colourOf(1) != palette.Cluster(1) {
		t.Error("labels have wrong colours")
	}
}

func BenchmarkScatter(b *testing.B) {
	run := loop(100, 1, 10_000, 20)
	for b.Loop() {
		if err := Scatter(io.Discard, run, alone, nil, DefaultBytes); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTimeline(b *testing.B) {
	run := loop(100, 1, 10_000, 20)
	for b.Loop() {
		if err := Timeline(io.Discard, run, alone, DefaultBytes); err != nil {
			b.Fatal(err)
		}
	}
}

// Time between two calls, with others between them that were lost, is shown as such, and the sheet says what that is.
func TestLostIsHatched(t *testing.T) {
	l := &lanes{bins: 4, endNS: 40}
	th := &trace.Thread{
		Calls:  trace.Calls{EnterNS: []int64{0, 35}, ExitNS: []int64{10, 40}, Path: []uint32{0, 0}},
		Bursts: trace.Bursts{StartNS: []int64{30}, DurationNS: []int64{5}, Cluster: []int32{1}},
		Lost:   []trace.Span{{BeginNS: 10, EndNS: 30}},
	}
	if got, want := fmt.Sprint(l.shown(th)[:3]), fmt.Sprint([]int32{overview.InMPI, overview.InLost, overview.InLost}); got != want {
		t.Errorf("bins hold %s, want %s", got, want)
	}
	run := loop(2, 1, 20, 2)
	for _, lost := range []bool{false, true} {
		if lost {
			run.Threads[1].Lost = []trace.Span{{BeginNS: 5, EndNS: 10}}
		}
		_, timeline := drawBoth(t, "lost", run, nil)
		if strings.Contains(timeline, "lost: MPI calls for") != lost || strings.Contains(timeline, "Hatched") != lost {
			t.Errorf("lost %v, and the timeline says %q", lost, timeline)
		}
	}
}
