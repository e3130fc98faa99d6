package measure

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moriens/analysis/space"
	"moriens/internal/hint"
	"moriens/trace/rundir"
)

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
	// 2 lines of 16 are more than 1 %.
	var incomplete *IncompleteError
	if !errors.As(a.err, &incomplete) || incomplete.Err == nil || !strings.Contains(a.err.Error(), "12.5 % of the records left out, 21.7 % of the time missing: 2 malformed lines of the trace skipped") {
		t.Errorf("error %v", a.err)
	}
	a.err = nil // there are figures all the same
	if f := a.figures(t); f.LinesSkipped != 2 || !strings.Contains(strings.Join(f.Notes, "\n"), "the first: line 15: ") {
		t.Errorf("%+v", f)
	}
	a = analyzeText(t, text, func(c *AnalyzeConfig) { c.Lenient, c.Show = true, ShowLong })
	if !errors.As(a.err, &incomplete) || incomplete.Err != nil { // the summary says it
		t.Fatal(a.err)
	}
	m, err := rundir.ReadManifest(a.dir)
	if err != nil || m.Losses.LinesSkipped != 2 || m.Bursts != 6 {
		t.Errorf("%v: %+v", err, m)
	}
	for _, want := range []string{"2 malformed lines of the trace skipped", "the first: line 15: ", "\nmoriens: 12.5 % of the records left out, 21.7 % of the time missing · small.prv · 2 ranks", "cluster"} {
		if !strings.Contains(a.stdout, want) {
			t.Errorf("no %q in\n%s", want, a.stdout)
		}
	}
}

// Mistakes are reported in words, with a hint, and leave no run directory behind.
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
