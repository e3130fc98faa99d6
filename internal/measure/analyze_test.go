package measure

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/partition"
	"moriens/analysis/space"
	"moriens/internal/hint"
	"moriens/internal/testenv"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/prv"
	"moriens/trace/rundir"
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

// analyzeFile analyses as the command does unless told otherwise.
func analyzeFile(t *testing.T, path string, change func(*AnalyzeConfig)) analysis {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := AnalyzeConfig{
		Trace: path, Out: filepath.Join(t.TempDir(), "run"), JSON: true, Stdout: &stdout, Stderr: &stderr,
		Options: partition.Options{By: partition.ByNone, AsGiven: true, Normalise: true, Workers: 2},
	}
	if change != nil {
		change(&c)
	}
	err := Analyze(c)
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
	return func(c *AnalyzeConfig) { c.Options.Fixed = &partition.Density{Eps: eps, MinPts: minPts} }
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

// ClusteringSuite's own refinement: its ten Eps, and about as many clusters as it and two other re-implementations find.
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
	if m.Bursts != f.Bursts || m.Trace == "" || len(m.StageSeconds) != 2 {
		t.Errorf("manifest: %d bursts of trace %q, stages %v", m.Bursts, m.Trace, m.StageSeconds)
	}
	for _, file := range m.Files {
		if info, err := os.Stat(filepath.Join(dir, file.Name)); err != nil || info.Size() != file.Bytes {
			t.Errorf("%s: %v", file.Name, err)
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
	// Application 1: 10, 10, 100 and 2 us with 1000, 1010, 50000 and 7 instructions in 500, 505, 1000 and 0 cycles; application 2: 20 us without counters.
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

// A dimension that is the same in all bursts counts for nothing, and the user is told.
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
	if err != nil || !strings.Contains(strings.Join(m.Notes, "\n"), "duration:log tells no bursts apart") {
		t.Errorf("%v, notes %q", err, m.Notes)
	}
}

func itoa(n int) string { text, _ := json.Marshal(n); return string(text) }

func TestAnalyzeNoBursts(t *testing.T) {
	a := analyzeText(t, smallHeader+"2:1:1:1:1:10:50000001:1\n2:1:1:1:1:15:50000001:0\n", nil)
	f := a.figures(t)
	if f.Bursts != 0 || f.Clusters != 0 || f.ClusteredShare != 0 {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(a.stderr, "no bursts: no thread of the trace is ever running") || !strings.Contains(a.stderr, "hint: ") {
		t.Errorf("stderr: %s", a.stderr)
	}
	if m, err := rundir.ReadManifest(a.dir); err != nil || m.Empty == "" || m.Losses.RanksMissing != 1 {
		t.Errorf("%v: %+v", err, m)
	}
}

func TestAnalyzeLenient(t *testing.T) {
	text := smallHeader + smallBody + "nonsense\n1:1:1:1:1:200:210:1\n1:1:1:1:1:220:2"
	a := analyzeText(t, text, nil)
	if a.err == nil || !strings.Contains(a.err.Error(), "line 15: ") || !strings.Contains(hint.Of(a.err), "--lenient") {
		t.Errorf("strict: %v, hint %q", a.err, hint.Of(a.err))
	}
	a = analyzeText(t, text, func(c *AnalyzeConfig) { c.Lenient = true })
	if f := a.figures(t); f.LinesSkipped != 2 || !strings.Contains(strings.Join(f.Notes, "\n"), "the first of them: line 15: ") {
		t.Errorf("%+v", f)
	}
	a = analyzeText(t, text, func(c *AnalyzeConfig) { c.Lenient, c.JSON = true, false })
	if a.err != nil {
		t.Fatal(a.err)
	}
	m, err := rundir.ReadManifest(a.dir)
	if err != nil || m.Losses.LinesSkipped != 2 || m.Bursts != 6 {
		t.Errorf("%v: %+v", err, m)
	}
	for _, want := range []string{"2 malformed lines of the trace skipped", "the first of them: line 15: ", "small.prv · 2 ranks", "cluster"} {
		if !strings.Contains(a.stdout, want) {
			t.Errorf("no %q in\n%s", want, a.stdout)
		}
	}
}

// Mistakes are told in words, with a hint, and leave no run directory behind.
func TestAnalyzeMistakes(t *testing.T) {
	dir := t.TempDir()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(smallHeader + strings.Repeat("# a comment\n", 1000)))
	w.Close()
	at := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	damaged := bytes.Clone(z.Bytes())
	damaged[len(damaged)-8]++ // of the checksum
	const longTrace = "#Paraver (x):9000000000000000000_ns:1(1):1:2(1:1,1:1)\n" +
		"1:1:1:1:1:0:9000000000000000000:1\n1:1:1:2:1:0:9000000000000000000:1\n"
	good := at("good.prv", []byte(smallHeader+smallBody))
	withDims := func(spec string) func(*AnalyzeConfig) {
		return func(c *AnalyzeConfig) { c.Options.Dims = dimensions(t, spec) }
	}
	for _, c := range []struct {
		name, path string
		change     func(*AnalyzeConfig)
		want, hint string
	}{
		{"no file", filepath.Join(dir, "none.prv"), nil, "none.prv: no such file", "TRACE.prv"},
		{"a directory", dir, nil, "is a directory", "TRACE.prv"},
		{"empty", at("empty.prv", nil), nil, "line 1: not a Paraver trace", "TRACE.prv"},
		{"no trace", at("other.prv", []byte("hello\n")), nil, "line 1: not a Paraver trace", "TRACE.prv"},
		{"cut short", at("cut.prv.gz", z.Bytes()[:z.Len()-10]), nil, "the compressed file is cut short", "again"},
		{"cut short in the first bytes", at("stub.prv.gz", z.Bytes()[:5]), nil, "line 1: the compressed file is cut short", "again"},
		{"cut short and lenient", at("cut2.prv.gz", z.Bytes()[:z.Len()-10]), func(c *AnalyzeConfig) { c.Lenient = true }, "the compressed file is cut short", "again"},
		{"damaged", at("damaged.prv.gz", damaged), nil, "the compressed file is damaged", "again"},
		{"longer than time is", at("long.prv", []byte(longTrace)), nil, "burst 1: with this one all bursts together last over 292 years", "unit"},
		{"absent counter", good, withDims("PAPI_L1_DCM"), "no counter PAPI_L1_DCM: the bursts have PAPI_TOT_INS, PAPI_TOT_CYC", "--dims"},
		{"absent counter in a range", good, func(c *AnalyzeConfig) {
			c.Options.Filter.Ranges = []space.Range{{Num: "PAPI_FP_OPS", Min: 1, Max: 2}}
		}, "no counter PAPI_FP_OPS", "--range"},
		{"Eps no number", good, fixed(math.NaN(), 4), "Eps NaN", ""},
		{"MinPts 0", good, fixed(.1, 0), "MinPts 0", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := analyzeFile(t, c.path, c.change)
			if a.err == nil || !strings.Contains(a.err.Error(), c.want) || !strings.Contains(hint.Of(a.err), c.hint) {
				t.Errorf("error %v, hint %q, want %q, %q", a.err, hint.Of(a.err), c.want, c.hint)
			}
			if a.stdout != "" {
				t.Errorf("stdout: %s", a.stdout)
			}
			if _, err := os.Stat(a.dir); !errors.Is(err, fs.ErrNotExist) {
				t.Error("a run directory was left behind")
			}
		})
	}
	// A tree that cannot be written costs nothing else.
	a := analyzeFile(t, good, func(c *AnalyzeConfig) { c.Tree = filepath.Join(dir, "nowhere", "tree.dot") })
	if a.err == nil || !strings.Contains(a.err.Error(), "--tree: ") || !strings.Contains(hint.Of(a.err), a.dir) {
		t.Errorf("tree: %v, hint %q", a.err, hint.Of(a.err))
	}
	if _, err := rundir.ReadManifest(a.dir); err != nil {
		t.Error(err)
	}
	if a = analyzeFile(t, good, func(c *AnalyzeConfig) { c.Tree = good }); a.err == nil || !strings.Contains(a.err.Error(), "is the trace") {
		t.Errorf("the trace as the tree: %v", a.err)
	}
	if text, err := os.ReadFile(good); err != nil || string(text) != smallHeader+smallBody {
		t.Errorf("the trace is overwritten: %v", err)
	}
	full := filepath.Join(dir, "full")
	os.Mkdir(full, 0o777)
	at("full/precious", nil)
	if a = analyzeFile(t, good, func(c *AnalyzeConfig) { c.Out = full }); a.err == nil || !strings.Contains(a.err.Error(), "is not empty") {
		t.Errorf("a directory that is not empty: %v", a.err)
	}
	if entries, _ := os.ReadDir(full); len(entries) != 1 {
		t.Errorf("%d files in the user's directory", len(entries))
	}
}

// Eps 0 puts equal bursts together; MinPts above the number of bursts makes all of them one rare cluster.
func TestAnalyzeLimits(t *testing.T) {
	text := strings.Replace(smallHeader+smallBody, "42000050:1010:42000059:505", "42000050:1000:42000059:500", 1)
	if f := analyzeText(t, text, fixed(0, 2)).figures(t); f.Clusters != 1 || f.Noise != 1 || f.Eps[0] != 0 {
		t.Errorf("Eps 0: %+v", f)
	}
	if f := analyzeText(t, text, fixed(.1, 100)).figures(t); f.Clusters != 1 || f.Noise != 0 {
		t.Errorf("MinPts 100: %+v", f)
	}
}

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
					Trace: path, Out: filepath.Join(root, itoa(n)), JSON: true, Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer),
					Options: partition.Options{By: partition.ByNone, AsGiven: true, Normalise: true, Workers: 2},
				}
				mode.change(&c)
				if err := Analyze(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
