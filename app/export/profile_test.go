package export

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gprof "github.com/google/pprof/profile"

	"moriens/app/pairing"
	"moriens/app/profiling"
	"moriens/app/question"
	"moriens/conclude/levels"
	"moriens/internal/hint"
	"moriens/trace/calltree"
	"moriens/trace/rundir/rundirtest"
)

// profiled writes the run directory of a planted profile.
func profiled(t testing.TB, ranks int) string {
	t.Helper()
	dir := t.TempDir()
	p := rundirtest.Profile(ranks)
	if err := rundirtest.WriteProfile(dir, p, p.Manifest()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// earlier is one of format 1.
func earlier(t testing.TB, ranks int) string {
	t.Helper()
	dir := t.TempDir()
	p := rundirtest.Profile(ranks)
	p.Earlier()
	if err := rundirtest.WriteEarlier(dir, p, p.Manifest()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func profileTree(t testing.TB, dir string, shape profiling.Shape) *calltree.Tree {
	t.Helper()
	s, err := profiling.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := s.Tree(shape, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func exportProfile(t testing.TB, c ProfileConfig) string {
	t.Helper()
	var said bytes.Buffer
	c.Stdout = &said
	if err := c.Run(t.Context()); err != nil {
		t.Fatalf("%s: %v\nhint: %s", c.Format, err, hint.Of(err))
	}
	return said.String()
}

// sumOf is the time of all nodes and threads.
func sumOf(t testing.TB, tree *calltree.Tree) (ns int64) {
	t.Helper()
	v, err := tree.Total()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range v.NS {
		ns += x
	}
	return ns
}

// The exports of a run directory have the time of its profile, in a file and on stdout.
func TestProfileOfADirectory(t *testing.T) {
	for _, dir := range []string{profiled(t, 3), earlier(t, 3)} {
		checkProfileOf(t, dir)
	}
}

func checkProfileOf(t *testing.T, dir string) {
	t.Helper()
	want := sumOf(t, profileTree(t, dir, profiling.Exported))
	if want == 0 {
		t.Fatal("nothing is planted")
	}
	out := filepath.Join(t.TempDir(), "run.pb.gz")
	if said := exportProfile(t, ProfileConfig{Dir: dir, Format: Pprof, Out: out}); !strings.Contains(said, "of 3 threads") {
		t.Errorf("%q", said)
	}
	file, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	p, err := gprof.ParseData(file)
	if err != nil {
		t.Fatal(err)
	}
	got := int64(0)
	for _, s := range p.Sample {
		got += s.Value[1]
	}
	if got != want {
		t.Errorf("pprof: %d, want %d", got, want)
	}
	got = 0
	for line := range strings.Lines(exportProfile(t, ProfileConfig{Dir: dir, Format: Folded, Unit: time.Nanosecond})) {
		n, err := strconv.ParseInt(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got += n
	}
	if got != want {
		t.Errorf("folded: %d, want %d", got, want)
	}
}

// What exists is refused and remains, but an empty directory, into whose place TAU's comes.
func TestProfileWhereSomethingIs(t *testing.T) {
	dir := profiled(t, 2)
	for _, format := range []string{Pprof, Folded, Hatchet, TAU} {
		out := filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(out, []byte("precious"), 0o666); err != nil {
			t.Fatal(err)
		}
		c := ProfileConfig{Dir: dir, Format: format, Unit: time.Microsecond, Out: out, Stdout: new(bytes.Buffer)}
		if err := c.Run(t.Context()); !errors.As(err, new(question.UsageError)) {
			t.Errorf("%s: %v", format, err)
		}
		if text, _ := os.ReadFile(out); string(text) != "precious" {
			t.Errorf("%s: %q", format, text)
		}
	}
	empty := t.TempDir()
	exportProfile(t, ProfileConfig{Dir: dir, Format: TAU, Out: empty})
	for _, name := range []string{"MULTI__TIME/profile.0.0.0", "MULTI__TIME/profile.1.0.0", "MULTI__PAPI_TOT_INS/profile.1.0.0", "MULTI__sent_bytes/profile.1.0.0"} {
		if _, err := os.Stat(filepath.Join(empty, name)); err != nil {
			t.Error(err)
		}
	}
	c := ProfileConfig{Dir: dir, Format: TAU, Out: empty, Stdout: new(bytes.Buffer)}
	if err := c.Run(t.Context()); !errors.As(err, new(question.UsageError)) {
		t.Error(err)
	}
	// Between looking and writing another may have come: that is refused too.
	if err := Directory(empty, noFiles); err == nil {
		t.Error("a directory with files was replaced")
	}
	if _, err := os.Stat(filepath.Join(empty, "MULTI__TIME")); err != nil {
		t.Error(err)
	}
}

func noFiles(func(string) (io.WriteCloser, error)) error { return nil }

// What is stopped leaves nothing behind.
func TestStoppedProfile(t *testing.T) {
	dir := profiled(t, 2)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, format := range []string{Pprof, Folded, Hatchet, TAU} {
		folder := t.TempDir()
		c := ProfileConfig{Dir: dir, Format: format, Unit: time.Microsecond, Out: filepath.Join(folder, "out"), Stdout: new(bytes.Buffer)}
		if err := c.Run(stopped); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", format, err)
		}
		if list, _ := os.ReadDir(folder); len(list) > 0 {
			t.Errorf("%s: %v is left", format, list)
		}
	}
}

// More files of TAU than a file system likes are written only if ranks are chosen.
func TestManyFiles(t *testing.T) {
	dir := profiled(t, 900) // with 5 metrics
	out := filepath.Join(t.TempDir(), "tau")
	c := ProfileConfig{Dir: dir, Format: TAU, Out: out, Stdout: new(bytes.Buffer)}
	err := c.Run(t.Context())
	if !errors.As(err, new(question.UsageError)) || !strings.Contains(hint.Of(err), "--rank 0-899") {
		t.Errorf("%v; hint: %s", err, hint.Of(err))
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something was written")
	}
	if err := c.Ranks.UnmarshalText([]byte("0-1,899")); err != nil {
		t.Fatal(err)
	}
	if said := exportProfile(t, c); !strings.Contains(said, "15 files") {
		t.Errorf("%q", said)
	}
	if _, err := os.Stat(filepath.Join(out, "MULTI__TIME/profile.899.0.0")); err != nil {
		t.Error(err)
	}
}

func TestAllRanks(t *testing.T) {
	for _, tt := range []struct {
		threads []calltree.Thread
		want    string
	}{
		{[]calltree.Thread{{Rank: 0}, {Rank: 0, Thread: 1}, {Rank: 1}, {Rank: 3}}, "0-1,3"},
		{[]calltree.Thread{{Rank: 0}, {Rank: 1}, {World: 1, Rank: 2}}, "0:0-1,1:2"},
	} {
		got := allRanks(&calltree.Tree{Threads: tt.threads})
		if got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
		if err := new(pairing.RankList).UnmarshalText([]byte(got)); err != nil {
			t.Error(err)
		}
	}
}

// What has no tree, and what needs a directory, is refused.
func TestProfileMistakes(t *testing.T) {
	dir := profiled(t, 1)
	for _, c := range []ProfileConfig{{By: profiling.ByRank, Format: Pprof}, {By: profiling.ByInstance, Format: Folded}, {Format: TAU}} {
		c.Dir, c.Stdout, c.Unit = dir, new(bytes.Buffer), time.Microsecond
		if err := c.Run(t.Context()); !errors.As(err, new(question.UsageError)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Of a directory of format 1 there are no phases to choose.
func TestProfileOfEarlierPhases(t *testing.T) {
	dir := earlier(t, 1)
	in, err := profiling.PatternOf("adi")
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{Pprof, Folded, Hatchet, TAU} {
		out := filepath.Join(t.TempDir(), "out")
		c := ProfileConfig{Dir: dir, In: in, Format: format, Unit: time.Microsecond, Out: out, Stdout: new(bytes.Buffer)}
		if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "profile.parquet has no paths of phases") || hint.Of(err) == "" {
			t.Errorf("%s: %v", format, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: something was written", format)
		}
	}
}

// Where call paths are known of classes of ranks, exports have the same sums, and say whose they are.
func TestExportsByClass(t *testing.T) {
	p := rundirtest.Deep(6)
	byRank, byClass := t.TempDir(), t.TempDir()
	if err := rundirtest.WriteProfile(byRank, p, p.Manifest()); err != nil {
		t.Fatal(err)
	}
	summed, done := levels.ByClass(&p.Profile, p.Paths, []int32{0, 1, 0, 1, 0, 1})
	if done == nil {
		t.Fatal("nothing is by class")
	}
	p.Profile = *summed
	if err := rundirtest.WriteProfile(byClass, p, p.Manifest()); err != nil {
		t.Fatal(err)
	}
	run := func(dir, format string, by profiling.By, out string) (text, notes string, err error) {
		var stdout, stderr bytes.Buffer
		c := ProfileConfig{Dir: dir, Format: format, By: by, Unit: time.Nanosecond, Out: out, Stdout: &stdout, Stderr: &stderr}
		err = c.Run(context.Background())
		return stdout.String(), stderr.String(), err
	}
	sorted := func(text string) []string { return slices.Sorted(strings.SplitSeq(text, "\n")) }
	for _, by := range []profiling.By{"", profiling.ByCallPath, profiling.ByPhase} {
		want, _, err := run(byRank, Folded, by, "")
		got, notes, err2 := run(byClass, Folded, by, "")
		if err := errors.Join(err, err2); err != nil || !slices.Equal(sorted(want), sorted(got)) {
			t.Errorf("by %q: %v\n%s\nwant\n%s", by, err, got, want)
		}
		if noted := strings.Contains(notes, "2 classes"); noted != (by != profiling.ByPhase) {
			t.Errorf("by %q: %q", by, notes)
		}
	}
	text, _, err := run(byClass, Pprof, "", "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := gprof.ParseData([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	text, _, err = run(byRank, Pprof, "", "")
	if err != nil {
		t.Fatal(err)
	}
	want, err := gprof.ParseData([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	sums := func(p *gprof.Profile) map[string]int64 {
		of := make(map[string]int64)
		for _, x := range p.Sample {
			class := strings.Join(x.Label["class"], "")
			if r := x.Label["rank"]; r != nil {
				n, _ := strconv.Atoi(r[0])
				class = strconv.Itoa(n % 2)
			} else if x.Label["threads"][0] != "3" {
				t.Errorf("labels %v", x.Label)
			}
			for i, v := range x.Value {
				of[class+p.SampleType[i].Type] += v
			}
		}
		return of
	}
	if diff := cmp.Diff(sums(want), sums(got)); diff != "" {
		t.Errorf("pprof: -by rank +by class\n%s", diff)
	}
	for _, dir := range []string{byRank, byClass} {
		text, _, err := run(dir, Hatchet, "", "")
		if err != nil || strings.Contains(text, "time_max") != (dir == byRank) || !strings.Contains(text, "time_mean") {
			t.Errorf("Hatchet of %s: %v", dir, err)
		}
	}
	text, notes, err := run(byClass, TAU, "", filepath.Join(t.TempDir(), "tau"))
	if err != nil || !strings.Contains(text, "6 threads") || !strings.Contains(notes, "functions of the program are left out") {
		t.Errorf("TAU: %v, %s, %s", err, text, notes)
	}
	var mistake question.UsageError
	if _, _, err := run(byClass, TAU, profiling.ByCallPath, filepath.Join(t.TempDir(), "tau")); !errors.As(err, &mistake) || !strings.Contains(hint.Of(err), "--by phase") {
		t.Errorf("TAU by call path: %v", err)
	}
}
