package measure

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/conclude/retention"
	"moriens/internal/testenv"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/prv"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// analysis is what Analyze has left.
type analysis struct {
	dir            string
	stdout, stderr string
	err            error
}

func (a analysis) figures(t *testing.T) Figures {
	t.Helper()
	var f Figures
	if a.err != nil {
		t.Fatalf("%v\n%s", a.err, a.stderr)
	}
	if err := json.Unmarshal([]byte(a.stdout), &f); err != nil {
		t.Fatalf("%v in %s", err, a.stdout)
	}
	return f
}

func dimensions(t *testing.T, spec string) []space.Dim {
	t.Helper()
	dims, err := space.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return dims
}

// analyzeFile analyses as the command does unless specified otherwise.
func analyzeFile(t *testing.T, path string, change func(*AnalyzeConfig)) analysis {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := AnalyzeConfig{
		Trace: path, Out: filepath.Join(t.TempDir(), "run"), Show: ShowJSON, Stdout: &stdout, Stderr: &stderr,
		Options: grouping.Options{By: grouping.ByNone, AsGiven: true, Normalise: true, Workers: 2}, Keep: retention.Options{All: true},
	}
	if change != nil {
		change(&c)
	}
	err := Analyze(c)
	if err == nil {
		rundirtest.CheckWaits(t, c.Out)
		rundirtest.CheckPairs(t, c.Out)
		rundirtest.CheckPhasesIfKnown(t, c.Out)
	}
	return analysis{c.Out, stdout.String(), stderr.String(), err}
}

func analyzeText(t *testing.T, text string, change func(*AnalyzeConfig)) analysis {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.prv")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return analyzeFile(t, path, change)
}

func fixed(eps float64, minPts int) func(*AnalyzeConfig) {
	return func(c *AnalyzeConfig) { c.Options.Fixed = &grouping.Density{Eps: eps, MinPts: minPts} }
}

// What ClusteringSuite answers on a real trace (the README beside it).
func TestAnalyzeKnownAnswers(t *testing.T) {
	path := testenv.RealTrace(t, "epoch_4proc.prv.gz")
	for _, want := range []struct {
		eps           float64
		clusters      int
		noisePercent  float64
		score, within float64 // that of .01 is our own: there is no sound reference
	}{{.05, 14, .20, .997, .001}, {.02, 30, 11.56, .937, .002}, {.01, 50, 12.92, .840, .001}} {
		a := analyzeFile(t, path, func(c *AnalyzeConfig) {
			fixed(want.eps, 4)(c)
			c.Options.Dims = dimensions(t, "PAPI_TOT_INS:log,IPC")
		})
		f := a.figures(t)
		if f.Clusters != want.clusters || math.Abs(100*float64(f.NoiseShare)-want.noisePercent) > .005 {
			t.Errorf("Eps %v: %d clusters, noise %.3f %%, want %d, %.2f %%", want.eps, f.Clusters, 100*f.NoiseShare, want.clusters, want.noisePercent)
		}
		if math.Abs(float64(f.Score)-want.score) > want.within {
			t.Errorf("Eps %v: score %v, want %v", want.eps, f.Score, want.score)
		}
		if f.Bursts != 7508 || f.Missing != 4 || f.Filtered != 0 || len(f.Eps) != 1 || float64(f.Eps[0]) != want.eps || f.PeakBytes < 1<<20 {
			t.Errorf("Eps %v: %+v", want.eps, f)
		}
		for _, stage := range []string{"read", "cluster", "write"} {
			if !(f.Seconds[stage] > 0) {
				t.Errorf("%s took %v s", stage, f.Seconds[stage])
			}
		}
		checkRunDirectory(t, a.dir, f)
	}
}

// ClusteringSuite's own refinement: its ten Eps, and about as many clusters as it and two other re-implementations
// find.
func TestAnalyzeStrict(t *testing.T) {
	path := testenv.RealTrace(t, "epoch_4proc.prv.gz")
	tree := filepath.Join(t.TempDir(), "tree.dot")
	a := analyzeFile(t, path, func(c *AnalyzeConfig) { c.Options.Strict, c.Tree = true, tree })
	f := a.figures(t)
	eps := []float64{.00413, .00465, .00514, .00567, .00648, .00727, .00864, .01015, .01234, .01615}
	if !slices.EqualFunc(f.Eps, eps, func(a rundir.Number, b float64) bool { return math.Abs(float64(a)-b) < .000005 }) {
		t.Errorf("Eps %.6f, want %.5f", f.Eps, eps)
	}
	if f.Clusters < 58 || f.Clusters > 64 {
		t.Errorf("%d clusters, want 58 to 64", f.Clusters)
	}
	checkRunDirectory(t, a.dir, f)
	text, err := os.ReadFile(tree)
	if err != nil || strings.Count(string(text), "rank=same") != len(eps) || !strings.Contains(string(text), "cluster 1\\n") {
		t.Errorf("%v: a tree of %d steps, want %d", err, strings.Count(string(text), "rank=same"), len(eps))
	}
}

// By itself the analysis gives a partition that the threads agree on, and says which step it is of.
func TestAnalyzeRefines(t *testing.T) {
	a := analyzeFile(t, testenv.RealTrace(t, "epoch_4proc.prv.gz"), nil)
	f := a.figures(t)
	if !(f.Score > .98) || !(f.ClusteredShare > .95) || f.Clusters < 10 {
		t.Errorf("%+v", f)
	}
	checkRunDirectory(t, a.dir, f)
	c, err := rundir.ReadClusters(a.dir)
	if err != nil {
		t.Fatal(err)
	}
	if r := &c.Refinement; len(r.Chosen) != 1 || r.Chosen[0] < 1 || r.Chosen[0] > len(r.Levels) || r.Why == "" || len(f.Eps) != r.Chosen[0] {
		t.Errorf("steps %d of %d, %d Eps: %s", r.Chosen, len(r.Levels), len(f.Eps), r.Why)
	}
}

// checkRunDirectory checks that the files of a run directory hold the same bursts, and as many as the figures say.
func checkRunDirectory(t *testing.T, dir string, f Figures) {
	t.Helper()
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if m.Bursts != f.Bursts || m.Trace == "" || m.StageSeconds["read"] == 0 || m.StageSeconds["cluster"] == 0 {
		t.Errorf("manifest: %d bursts of trace %q, stages %v", m.Bursts, m.Trace, m.StageSeconds)
	}
	for _, file := range m.Files {
		info, err := os.Stat(filepath.Join(dir, file.Name))
		if err != nil {
			t.Error(err)
			continue
		}
		if of := file.Bytes; file.Name != rundir.ReportFile && info.Size() != of || file.Name == rundir.ReportFile && of != 0 { // the page holds the manifest
			t.Errorf("%s has %d bytes, the manifest says %d", file.Name, info.Size(), of)
		}
	}
	clusters, err := rundir.ReadClusters(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(clusters.Clusters) != f.Clusters || clusters.Total.NoiseBursts != f.Noise {
		t.Errorf("clusters.json: %d clusters, %d bursts are noise", len(clusters.Clusters), clusters.Total.NoiseBursts)
	}
	var ofFiles [][]int32
	p, err := parquet.ReadFile(filepath.Join(dir, rundir.BurstsFile))
	if err != nil {
		t.Fatal(err)
	}
	r, err := prv.ReadFile(filepath.Join(dir, rundir.TraceFile), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []*trace.Run{p, r.Run} {
		ofFiles = append(ofFiles, labels(run))
	}
	if !slices.Equal(ofFiles[0], ofFiles[1]) || len(ofFiles[0]) != f.Bursts {
		t.Errorf("bursts.parquet has %d bursts, trace.prv %d, or their clusters differ", len(ofFiles[0]), len(ofFiles[1]))
	}
	count := make(map[int32]int)
	for _, label := range ofFiles[0] {
		count[label]++
	}
	if count[trace.LabelNoise] != f.Noise || count[trace.LabelFiltered] != f.Filtered || count[trace.LabelMissing] != f.Missing || count[0] != 0 {
		t.Errorf("labels %v, figures %+v", count, f)
	}
	for _, c := range clusters.Clusters {
		if count[c.ID] != c.Bursts {
			t.Errorf("cluster %d: %d bursts, want %d", c.ID, count[c.ID], c.Bursts)
		}
	}
}

func labels(run *trace.Run) []int32 {
	var list []int32
	for i := range run.Threads {
		list = append(list, run.Threads[i].Bursts.Cluster...)
	}
	return list
}

// A run directory's own trace, analysed again in the same way, gives the same clusters.
func TestAnalyzeItsOwnTrace(t *testing.T) {
	first := analyzeFile(t, testenv.RealTrace(t, "epoch_2proc.prv.gz"), fixed(.03, 4))
	second := analyzeFile(t, filepath.Join(first.dir, rundir.TraceFile), fixed(.03, 4))
	a, b := first.figures(t), second.figures(t)
	a.Seconds, b.Seconds, a.PeakBytes, b.PeakBytes = nil, nil, 0, 0
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if !bytes.Equal(x, y) {
		t.Errorf("first %s, then %s", x, y)
	}
}

const (
	smallHeader = "#Paraver (04/03/2026 at 15:06):1000:1(2):2:1(1:1):1(1:1)\n" // in microseconds, two applications
	// Application 1: 10, 10, 100 and 2 us with 1000, 1010, 50000 and 7 instructions in 500, 505, 1000 and 0 cycles;
	// application 2: 20 us without counters.
	smallBody = "1:1:1:1:1:0:10:1\n2:1:1:1:1:10:42000050:1000:42000059:500:50000001:1\n2:1:1:1:1:15:50000001:0\n" +
		"1:1:1:1:1:15:25:1\n1:2:2:1:1:20:40:1\n2:1:1:1:1:25:42000050:1010:42000059:505:50000001:1\n2:1:1:1:1:30:50000001:0\n" +
		"1:1:1:1:1:30:130:1\n2:1:1:1:1:130:42000050:50000:42000059:1000:50000001:1\n2:1:1:1:1:140:50000001:0\n" +
		"1:1:1:1:1:140:142:1\n2:1:1:1:1:142:42000050:7:42000059:0:50000003:32\n2:1:1:1:1:150:50000003:0\n"
)

func TestAnalyzeFilters(t *testing.T) {
	for _, c := range []struct {
		name                              string
		change                            func(*AnalyzeConfig)
		clusters, noise, filtered, absent int
	}{
		// The last of application 1 has no IPC.
		{"none", fixed(.1, 1), 2, 0, 0, 2},
		{"noise", fixed(.1, 2), 1, 1, 0, 2},
		{"by duration", func(c *AnalyzeConfig) {
			fixed(.1, 1)(c)
			c.Options.Filter.MinNS = 15_000
		}, 1, 0, 3, 1}, // missing a counter goes before too short, and that before no value
		{"by range", func(c *AnalyzeConfig) {
			fixed(.1, 1)(c)
			r, err := space.ParseRange("PAPI_TOT_INS=1005..40000")
			if err != nil {
				t.Fatal(err)
			}
			c.Options.Filter.Ranges = []space.Range{r}
		}, 1, 0, 2, 2},
		{"by duration, of duration", func(c *AnalyzeConfig) {
			fixed(.01, 1)(c)
			c.Options.Dims = dimensions(t, "duration:log")
			c.Options.Filter.MinNS = 2001
		}, 3, 0, 1, 0},
		{"all", func(c *AnalyzeConfig) {
			fixed(.1, 1)(c)
			c.Options.Filter.MinNS = 1e9
		}, 0, 0, 4, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := analyzeText(t, smallHeader+smallBody, c.change)
			f := a.figures(t)
			if f.Bursts != 5 || f.Clusters != c.clusters || f.Noise != c.noise || f.Filtered != c.filtered || f.Missing != c.absent {
				t.Errorf("%+v, want %d clusters, %d noise, %d filtered, %d missing", f, c.clusters, c.noise, c.filtered, c.absent)
			}
			if sum := f.ClusteredShare + f.NoiseShare + f.FilteredShare + f.MissingShare; math.Abs(float64(sum)-1) > 1e-12 {
				t.Errorf("shares make %v", sum)
			}
			checkRunDirectory(t, a.dir, f)
		})
	}
}

// A dimension that is the same in all bursts counts for nothing, and the user is informed.
func TestAnalyzeConstantDimension(t *testing.T) {
	text := "#Paraver (x):1000_ns:1(1):1:1(1:1)\n"
	for i := range 10 {
		at := 10 * i
		text += strings.NewReplacer("A", itoa(at), "B", itoa(at+5), "V", itoa(100+i%2*900)).Replace("1:1:1:1:1:A:B:1\n2:1:1:1:1:B:42000050:V\n")
	}
	a := analyzeText(t, text, func(c *AnalyzeConfig) {
		fixed(.1, 4)(c)
		c.Options.Dims = dimensions(t, "duration,PAPI_TOT_INS")
	})
	if f := a.figures(t); f.Clusters != 2 || f.Noise != 0 {
		t.Errorf("%+v", f)
	}
	m, err := rundir.ReadManifest(a.dir)
	if err != nil || !strings.Contains(strings.Join(m.Notes, "\n"), "duration:log separates no bursts") {
		t.Errorf("%v, notes %q", err, m.Notes)
	}
}

func itoa(n int) string { text, _ := json.Marshal(n); return string(text) }

// From the file to the run directory.
func BenchmarkAnalyze(b *testing.B) {
	path := testenv.RealTrace(b, "epoch_4proc.prv.gz")
	for _, mode := range []struct {
		name   string
		change func(*AnalyzeConfig)
	}{
		{"dbscan", fixed(.05, 4)},
		{"refined", func(*AnalyzeConfig) {}},
		{"strict", func(c *AnalyzeConfig) { c.Options.Strict = true }},
	} {
		b.Run(mode.name, func(b *testing.B) {
			root := b.TempDir()
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				c := AnalyzeConfig{
					Trace: path, Out: filepath.Join(root, itoa(n)), Show: ShowJSON, Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer),
					Options: grouping.Options{By: grouping.ByNone, AsGiven: true, Normalise: true, Workers: 2}, Keep: retention.Options{All: true},
				}
				mode.change(&c)
				if err := Analyze(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
