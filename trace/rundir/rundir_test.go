package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/golden"
	"moriens/internal/testenv"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/prv"
	"moriens/trace/tracetest"
)

// filled is a manifest and clusters with something in every field that Write does not fill itself.
func filled() (*Manifest, *Clusters) {
	at, budget := time.Date(2026, 3, 4, 15, 6, 0, 0, time.UTC), int64(64<<20)
	m := &Manifest{
		Moriens: Program{"0.1.0", "abc1234"}, Run: "f00d", Command: []string{"mpirun", "-n", "2", "/opt/app", "<&>"}, ExitStatus: 137,
		Started: at, Ended: at.Add(21 * time.Millisecond), Notes: []string{"no PMU"}, Dropped: 3,
		Agents:   []Agent{{Host: "alpha", Restarts: 1, CPUSeconds: .25, PeakBytes: 30 << 20, Shared: true, SpoolPeakBytes: 1 << 20, SpoolFullSeconds: .5, SpoolCutBytes: 17}},
		Overhead: &Overhead{AgentSeconds: .5, CollectorSeconds: 1.5, Shared: true},
		Clocks:   []Clock{{Host: "alpha", Source: "tsc", Clock: 1, How: ClockExchange, OffsetNS: -1_500_000, DriftPPM: 12.5, UncertaintyNS: Number(math.Inf(1)), Bends: 2, Exchanges: 16, Bounds: 300, ReadingNS: 850}},
		Kept: Kept{
			Phases:   []Iterations{{BeginNS: 1, EndNS: 900, Iterations: 4, Threads: 2, PeriodBursts: 3, MedianNS: 200, Agreement: .5, Autocorrelation: Number(math.NaN()), Inner: []Inner{{1, 1, 2, 5, 4, 6, .75}}, Reason: "they repeat"}},
			Classes:  []Class{{Size: 3, Threads: [][2]int{{0, 1}, {3, 3}}, Exemplar: ThreadName{Rank: 1}, Reason: "the nearest", Profile: "all in cluster 1"}},
			Outliers: []Outlier{{ThreadName: ThreadName{World: 1, Rank: 2, Thread: 1}, Distance: .25, Reason: "is slow", Cause: "computing", Cluster: 1}},
			Windows:  []Window{{BeginNS: 100, EndNS: 300, Threads: []ThreadName{{Rank: 1}}, Why: "representative", Reason: "iterations 1-2 of phase 0", Bytes: 900}},
			Dropped:  []Dropped{{Why: "anomaly", Threads: 2, Bytes: 5000, Reason: "would need 5000 B"}},
			Grouped:  "by density", SampledOf: 12, MoreDropped: 4, MoreAnomalies: 1,
		},
		Reduction:   Reduction{BudgetBytes: &budget, Missing: []string{"no agent on beta"}},
		Order:       Order{CallsMoved: 3, LargestNS: 900, TotalNS: 1200, OffNS: 950, Unordered: 1, Contradicted: 2, Refused: 4},
		Unclustered: "out of time", Absent: []Absence{{World: 1, Rank: 0, Host: "beta", Reason: "no space left on device"}},
		Losses:       Losses{RecordsDropped: 3, RanksLeft: 1, AgentsUnfinished: []string{"beta"}, FilesUnreadable: 2, BatchesResent: 2, RanksDied: []RankDied{{0, 1, "killed by signal 9", false}}, CountersUnavailable: []string{"PAPI_FP_OPS"}},
		Filtered:     Filtered{MinDurationNS: 12_000, How: "auto: the shortest bursts that make up less than 1 % of computing time"},
		StageSeconds: map[string]Number{"freeze": .001, "cluster": .25},
	}
	c := &Clusters{
		Algorithm: "dbscan", Dimensions: []Dimension{{"duration", "log", "ns"}}, By: "calls", How: "knee of the k-distance, floor 0.1",
		Eps: []Number{.1, Number(math.Inf(1))}, MinPts: "max(4, threads/4, n/200)", Normalisation: "none: ln of nanoseconds",
		Score: .9975, NoiseScore: Number(math.NaN()),
		Refinement: Refinement{
			Rules: "default", Freeze: .99, Chosen: []int{2}, Why: "step 2 of 2 has the best score", Alternatives: [][]int32{{1, 2}},
			Levels: []Level{
				{Eps: []Number{.1}, Score: .5, Nodes: []Node{{ID: 1, Eps: .1, MinPts: 4, Bursts: 2, Seconds: .01, Score: .5}}},
				{Eps: []Number{.2}, Score: .9975, Nodes: []Node{
					{Group: -1, Bursts: 1, Seconds: .002, Score: .5, Parents: []Parent{{1, 1}}},
					{ID: 1, Cluster: 1, Eps: .2, MinPts: 4, Bursts: 1, Seconds: .008, Score: 1, Frozen: true, Parents: []Parent{{1, 1}}},
				}},
			},
		},
	}
	paths := c.PathsOf(tracetest.Small())
	c.Groups = []Group{{Before: paths(1), After: paths(2), Bursts: 1, Seconds: .0015, MinPts: 4, Noise: 1}}
	return m, c
}

func writeSmall(t *testing.T, dir string) (*trace.Run, []File) {
	t.Helper()
	run := tracetest.Small()
	m, c := filled()
	files, err := Write(&Content{Run: run, Manifest: m, Clusters: c, Levels: filledLevels()}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return run, files
}

// filledLevels are a profile and instances with a phase of 0 ns, and one whose name has what paths escape.
func filledLevels() *Levels {
	named := trace.PhasePath("a/b", `\c "d" => e`)
	return &Levels{
		Profile: &parquet.Profile{Format: parquet.ProfileFormat, Counters: []trace.Counter{{Name: "PAPI_TOT_INS", Unit: "instructions"}}, Rows: []parquet.ProfileRow{
			{Kind: parquet.ProfileMPI, Rank: 1, CallPath: "MPI_Send@a.c:3", Phase: named, InPhase: true, Iterations: -1, Count: 3, Records: 2, TimeNS: 70, WholeNS: 90, MinNS: 30, MaxNS: 40, SquaresNS2: 2500, SentBytes: 8, ReceivedBytes: 9},
			{Kind: parquet.ProfileComputation, Rank: 1, CallPath: "MPI_Send@a.c:3", Cluster: 1, OfKind: 1, Context: 2, Iterations: -1, Count: 1, Records: 1, TimeNS: 50, WholeNS: 50, MinNS: 50, MaxNS: 50, SquaresNS2: 2500, Counters: []parquet.ProfileCounter{{Sum: 5, Min: 5, Max: 5, Squares: 25}}},
			{Kind: parquet.ProfilePhase, Rank: 1, Iterations: -1, Count: 1, Records: 1, TimeNS: 120, ExclusiveNS: 50, MinNS: 120, MaxNS: 120, SquaresNS2: 14400},
			{Kind: parquet.ProfilePhase, Rank: 1, Phase: named, InPhase: true, Iterations: -1, Count: 1, Records: 1, TimeNS: 70, ExclusiveNS: 70, MinNS: 70, MaxNS: 70, SquaresNS2: 4900},
			{Kind: parquet.ProfilePhase, Rank: 1, Phase: "empty", InPhase: true, Iterations: -1, Count: 2, Records: 2},
		}},
		Instances: []parquet.InstanceRow{
			{What: parquet.InstanceWhole, Phase: named, InPhase: true, Iterations: -1, Instances: 1, Count: 1, Calls: 1, SumNS: 70, LeastNS: 70, MostNS: 70, SquaresNS2: 4900, DirectNS: 70, MostRank: 1, LongestNS: 70},
			{What: parquet.InstanceMPI, Phase: named, InPhase: true, Iterations: -1, Instances: 1, Function: "MPI_Send", Count: 1, Calls: 3, SumNS: 70, LeastNS: 70, MostNS: 70, SquaresNS2: 4900, DirectNS: 70, MostRank: 1},
			{What: parquet.InstanceWhole, Phase: "empty", InPhase: true, Iterations: -1, Instance: 1, Instances: 1, Count: 1, Calls: 1, MostRank: 1, LongestInstance: 1},
		},
	}
}

// What is written of phases and their instances is read back.
func TestLevelsOfPhases(t *testing.T) {
	dir := t.TempDir()
	_, files := writeSmall(t, dir)
	want := filledLevels()
	profile, err := parquet.ReadProfileFile(filepath.Join(dir, ProfileFile))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Profile, profile); d != "" {
		t.Errorf("profile (-written +read):\n%s", d)
	}
	instances, err := parquet.ReadInstancesFile(filepath.Join(dir, InstancesFile))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Instances, instances.Rows); d != "" {
		t.Errorf("instances (-written +read):\n%s", d)
	}
	for _, name := range []string{ProfileFile, InstancesFile} {
		if !slices.ContainsFunc(files, func(f File) bool { return f.Name == name }) {
			t.Errorf("%s is not listed", name)
		}
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "run")
	if err := Create(dir); err != nil {
		t.Fatal(err)
	}
	run, files := writeSmall(t, dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(files) || len(files) != 15 {
		t.Errorf("%d files reported, %d there, want 15", len(files), len(entries))
	}
	for _, f := range files {
		info, err := os.Stat(filepath.Join(dir, f.Name))
		if err != nil || info.Size() != f.Bytes || f.Bytes == 0 || f.Content == "" {
			t.Errorf("%s: %v, reported %d bytes", f.Name, err, f.Bytes)
		}
	}
	if last := files[len(files)-1].Name; last != ManifestFile {
		t.Errorf("last comes %s, not the manifest", last)
	}
	sameBursts(t, run, dir)
}

// sameBursts checks that trace.prv and bursts.parquet hold the same bursts, counts and times.
func sameBursts(t *testing.T, run *trace.Run, dir string) {
	t.Helper()
	r, err := prv.ReadFile(filepath.Join(dir, TraceFile), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := parquet.ReadFile(filepath.Join(dir, BurstsFile))
	if err != nil {
		t.Fatal(err)
	}
	type burst struct {
		world, rank, thread  int
		startNS, durationNS  int64
		cluster              int32
		instructions, misses int64
	}
	list := func(run *trace.Run) (all []burst) {
		for _, t := range run.Threads {
			for k, start := range t.Bursts.StartNS {
				b := burst{t.World, t.Rank, t.Thread, start, t.Bursts.DurationNS[k], t.Bursts.Cluster[k], 0, 0}
				for c, counter := range run.Counters {
					if counter.Name == "PAPI_TOT_INS" {
						b.instructions = t.Bursts.Counters[c][k]
					} else {
						b.misses = t.Bursts.Counters[c][k]
					}
				}
				all = append(all, b)
			}
		}
		return all
	}
	if d := cmp.Diff(list(run), list(p), cmp.AllowUnexported(burst{})); d != "" {
		t.Errorf("bursts.parquet (+) differs from the run (-):\n%s", d)
	}
	if d := cmp.Diff(list(run), list(r.Run), cmp.AllowUnexported(burst{})); d != "" {
		t.Errorf("trace.prv (+) differs from the run (-):\n%s", d)
	}
}

func TestGolden(t *testing.T) {
	dir := t.TempDir()
	writeSmall(t, dir)
	for _, name := range []string{ManifestFile, ClustersFile, CallPathsFile} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(got) {
			t.Errorf("%s is no JSON", name)
		}
		if name == ManifestFile {
			got = sizes(t, got)
		}
		golden.Check(t, name, got)
	}
}

// sizes takes the files' sizes out of a manifest: those of the pictures and of bursts.parquet are their libraries'
// affair.
func sizes(t *testing.T, text []byte) []byte {
	t.Helper()
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	if r := &m.Reduction; math.Abs(float64(r.Ratio)-float64(r.FullBytes)/float64(r.Bytes)) > 1e-4 {
		t.Errorf("ratio %v of %d to %d bytes", r.Ratio, r.FullBytes, r.Bytes)
	}
	for i := range m.Files {
		m.Files[i].Bytes = 1
		m.Reduction.Bytes, m.Reduction.FullBytes, m.Reduction.Ratio = 1, 1, 1
	}
	text, err := encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestReadsBack(t *testing.T) {
	dir := t.TempDir()
	writeSmall(t, dir)
	m, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	for what, ok := range map[string]bool{
		"ranks":     m.Ranks == 5,
		"missing":   m.Losses.RanksMissing == 2 && len(m.Worlds[1].MissingRanks) == 2 && m.Worlds[1].RanksRecorded == 1,
		"mpi":       m.MPI == MPI{"Open MPI", "4.1.4"} && m.Worlds[1].MPI == MPI{"MPICH", "4.0.2"},
		"calls":     m.MPICalls["MPI_Allreduce"] == 2 && m.MPICalls["MPI_Init"] == 3 && m.Kept.Calls == 11,
		"bursts":    m.Bursts == 7 && m.Filtered.Bursts == 1 && m.Filtered.Share == 0,
		"seconds":   m.Seconds == .009098,
		"computing": m.ComputingSeconds == .01834,
		"hosts":     len(m.Hosts) == 2 && m.Hosts[0] == Host{"alpha", 2, 2},
		"died":      m.Losses.RanksDied[0].How == "killed by signal 9",
		"files":     len(m.Files) == 14,
		"phases":    len(m.Phases) == 2 && m.Phases[0] == Phase{"solve", 2, 2, .0163, .0132, .01505, 1},
		"events":    len(m.Events) == 2 && m.Events[1] == Event{"residual", 2, -12, 1 << 40, (1<<40 - 12) / 2},
		"paused":    m.Paused == Paused{Pauses: 1, Seconds: .0009},
		"started":   m.Started.Year() == 2026,
		"not empty": m.Empty == "",
	} {
		if !ok {
			t.Errorf("%s: wrong in %+v", what, m)
		}
	}
	c, err := ReadClusters(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Clusters) != 2 || c.Clusters[0].Bursts != 3 || c.Clusters[0].Eps != .1 || !c.Clusters[1].Rare {
		t.Errorf("clusters: %+v", c.Clusters)
	}
	if !math.IsNaN(float64(c.Eps[1])) {
		t.Errorf("an infinite Eps came back as %v, want NaN from null", c.Eps[1])
	}
	if s := c.Total; math.Abs(float64(s.Clustered+s.Noise+s.Filtered+s.Missing)-1) > 1e-12 || s.ClusteredBursts != 4 {
		t.Errorf("shares: %+v", s)
	}
}

func TestReadErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadManifest(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), ManifestFile) {
		t.Errorf("absent: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ClustersFile), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadClusters(dir); err == nil || !strings.Contains(err.Error(), ClustersFile) {
		t.Errorf("cut off: %v", err)
	}
}

func TestEmptyRun(t *testing.T) {
	dir := t.TempDir()
	m := &Manifest{Empty: "no process called MPI_Init"}
	files, err := Write(&Content{Run: &trace.Run{CallPaths: []trace.CallPath{{}}}, Manifest: m, Clusters: &Clusters{}}, dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("null")) || !bytes.Contains(text, []byte(`"empty": "no process called MPI_Init"`)) {
		t.Errorf("%s", text)
	}
}

func TestCreate(t *testing.T) {
	root := t.TempDir()
	full := filepath.Join(root, "full")
	if err := os.MkdirAll(filepath.Join(full, "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, want, hint string }{
		{full, "exists", "--out"},
		{file, "not a directory", "--out"},
		{filepath.Join(file, "below"), "not a directory", "--out"},
	} {
		err := Create(c.dir)
		var e *CreateError
		if !errors.As(err, &e) || !strings.Contains(e.Error(), c.want) || !strings.Contains(e.Hint(), c.hint) {
			t.Errorf("%s: %v", c.dir, err)
		}
	}
	if err := Create(full); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a directory that is not empty: %v", err)
	}
	empty := filepath.Join(root, "a", "b")
	for range 2 {
		if err := Create(empty); err != nil {
			t.Errorf("new, then empty: %v", err)
		}
	}
	if entries, _ := os.ReadDir(empty); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	if err := os.Mkdir(filepath.Join(empty, JournalDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Create(empty); err != nil {
		t.Errorf("an empty journal alone: %v", err)
	}
	if err := os.WriteFile(filepath.Join(empty, JournalDir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Create(empty); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a journal with something in it: %v", err)
	}
}

func TestCreateReadOnly(t *testing.T) {
	if os.Getuid() == 0 {
		// Root passes permission bits; /proc refuses everyone.
		var e *CreateError
		if err := Create("/proc/moriens-run"); !errors.As(err, &e) {
			t.Errorf("in /proc: %v", err)
		}
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Join(dir, "x")} {
		if err := Create(d); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// A file that cannot be written costs the manifest, not the other files, and leaves no part of itself.
func TestOneFileFails(t *testing.T) {
	dir := t.TempDir()
	run := tracetest.Small()
	run.Messages[0].To = 99
	m, c := filled()
	files, err := Write(&Content{Run: run, Manifest: m, Clusters: c}, dir)
	if err == nil || !strings.HasPrefix(err.Error(), TraceFile+": message 0") {
		t.Errorf("error %v", err)
	}
	if len(files) != 11 {
		t.Errorf("%d files, want 11", len(files))
	}
	for _, name := range []string{TraceFile, TraceFile + ".partial", ManifestFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there", name)
		}
	}
}

func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		testenv.Lacking(t, "no /dev/full here")
	}
	dir := t.TempDir()
	t.Cleanup(func() { create = createNew })
	create = func(path string) (*os.File, error) {
		if path == filepath.Join(dir, BurstsFile+".partial") {
			return os.OpenFile("/dev/full", os.O_WRONLY, 0)
		}
		return createNew(path)
	}
	m, c := filled()
	_, err := Write(&Content{Run: tracetest.Small(), Manifest: m, Clusters: c}, dir)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), BurstsFile) {
		t.Errorf("error %v, want one of a full disk that names %s", err, BurstsFile)
	}
}

// The IPC view is there where its counters are.
func TestIPCView(t *testing.T) {
	dir := t.TempDir()
	run := tracetest.Small()
	run.Counters = []trace.Counter{{Name: "PAPI_TOT_INS"}, {Name: "PAPI_TOT_CYC"}}
	m, c := filled()
	if _, err := Write(&Content{Run: run, Manifest: m, Clusters: c}, dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, ViewsDir, "ipc.cfg")); err != nil || info.Size() == 0 {
		t.Error(err)
	}
}

// Waits and the critical path have their views where they are known, and count in the size of what is kept.
func TestWaitsAreWritten(t *testing.T) {
	views := func(run *trace.Run) (names []string) {
		dir := t.TempDir()
		m, c := filled()
		if _, err := Write(&Content{Run: run, Manifest: m, Clusters: c}, dir); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(filepath.Join(dir, ViewsDir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	bytes := func(run *trace.Run) int64 {
		n, err := DetailBytes(HasOf(run), run, run)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	with, without := tracetest.Waiting(), tracetest.Waiting()
	for i := range without.Threads {
		without.Threads[i].Waits, without.Threads[i].Critical = trace.Waits{}, nil
	}
	if got := views(with); !slices.Equal(got, []string{"cluster.cfg", "path.cfg", "waits.cfg"}) {
		t.Errorf("views %v", got)
	}
	if got := views(without); !slices.Equal(got, []string{"cluster.cfg"}) {
		t.Errorf("views without waits %v", got)
	}
	// Begin and end of a wait take at least ":90000104:1001:90000105:1" and as much with zeros.
	if more, least := bytes(with)-bytes(without), int64(12*(25+22)); more < least {
		t.Errorf("waits take %d bytes, want %d at least", more, least)
	}
}

// What was made to be measured is written as it is, and is what would have been written without.
func TestRenderedIsWritten(t *testing.T) {
	want := t.TempDir()
	writeSmall(t, want)
	for _, threads := range []int{0, 1, 16} {
		m, c := filled()
		content := &Content{Run: tracetest.Small(), Manifest: m, Clusters: c}
		content.Describe()
		sums, err := content.RenderSums(threads)
		if err != nil {
			t.Fatal(err)
		}
		pictures, err := content.RenderPictures(threads)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if _, err := Write(content, dir); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{ClustersFile, CallPathsFile, ScatterFile, TimelineFile, OverviewFile} {
			expected, err := os.ReadFile(filepath.Join(want, name))
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !bytes.Equal(got, expected) {
				t.Errorf("%d threads: %s differs, %v", threads, name, err)
			}
			if name == ClustersFile || name == CallPathsFile {
				sums -= int64(len(got))
			} else {
				pictures -= int64(len(got))
			}
		}
		if sums != 0 || pictures != 0 {
			t.Errorf("%d threads: %d and %d bytes more than there are", threads, sums, pictures)
		}
	}
	content := &Content{Run: tracetest.Small(), Clusters: &Clusters{Dimensions: []Dimension{{Name: "no counter"}}}, Manifest: new(Manifest)}
	if _, err := content.RenderPictures(2); err == nil || !strings.Contains(err.Error(), ScatterFile) {
		t.Errorf("a picture of what is not there: %v", err)
	}
}

func TestPanicIsAnError(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x", "views/x"} {
		_, err := writeFile(dir, name, func(io.Writer) error { panic("drawing") })
		if err == nil || !strings.Contains(err.Error(), "drawing") {
			t.Errorf("error %v", err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestParseMPILibrary(t *testing.T) {
	for text, want := range map[string]MPI{
		"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022": {"Open MPI", "4.1.4"},
		"Open MPI v5.0.0rc12, package: x":                                            {"Open MPI", "5.0.0rc12"},
		"MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n": {"MPICH", "4.0.2"},
		"MPICH Version:      4.1\nMPICH ABI: 15":                                     {"MPICH", "4.1"},
		"Intel(R) MPI Library 2021.5 for Linux* OS\n":                                {"Intel MPI", "2021.5"},
		"MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date : x":                  {"MVAPICH", "2.3.7"},
		"MPI VERSION    : CRAY MPICH version 8.1.23.11 (ANL base 3.4a2)":             {"Cray MPICH", "8.1.23.11"},
		"Fancy MPI 9\nsecond line":                                                   {"Fancy MPI 9", ""},
		"":                                                                           {"", ""},
	} {
		if got := ParseMPILibrary(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// A frame of a trace that others wrote has no offset, in the files and when they are read.
func TestFrameWithoutOffset(t *testing.T) {
	frames := []trace.Frame{{Function: "solve", File: "solve.f90", Line: 7}, {Module: "app", Offset: 0x10}, {}}
	run := &trace.Run{CallPaths: []trace.CallPath{{}, {Function: "MPI_Send", Frames: frames}}}
	c := new(Clusters)
	c.PathsOf(run)(1)
	var offsets []string
	for _, f := range c.Paths[0].Frames {
		offsets = append(offsets, f.Offset)
	}
	if c.Paths[0].Name != "MPI_Send@solve.f90:7" || !slices.Equal(offsets, []string{"", "0x10", ""}) {
		t.Errorf("%+v", c.Paths[0])
	}
	path, err := c.Paths[0].Path()
	if err != nil || !slices.EqualFunc(path.Frames, frames, func(a, b trace.Frame) bool { return a.Same(&b) }) {
		t.Errorf("%v: %+v", err, path)
	}
}
