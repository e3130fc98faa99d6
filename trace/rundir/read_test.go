package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/internal/hint"
	"moriens/trace"
	"moriens/trace/tracetest"
)

// What is written and read back is the same run, as far as the files hold it.
func TestRunReadsBack(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		transfers(t, run)
		if rapid.Bool().Draw(t, "refined") {
			tracetest.Refine(t, run)
		}
		if rapid.Bool().Draw(t, "windows") {
			tracetest.Keep(t, run)
		}
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		if _, err := Write(&Content{Run: run, Manifest: &Manifest{}, Clusters: &Clusters{}}, dir); err != nil {
			t.Fatal(err)
		}
		back, _, _, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		sameRun(t, run, back)
		sameNumbers(t, run, back)
		if rapid.IntRange(0, 3).Draw(t, "completed") == 0 {
			sameFiles(t, tracetest.Completed(t, run), dir)
		}
		older(t, dir)
		if back, _, _, err = Read(dir); err != nil {
			t.Fatal(err)
		}
		sameRun(t, run, back)
	})
}

// sameFiles checks that a run makes the files of a directory.
func sameFiles(t fatal, run *trace.Run, dir string) {
	t.Helper()
	other := dir + "-again"
	if err := os.Mkdir(other, 0o777); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(other)
	files, err := Write(&Content{Run: run, Manifest: &Manifest{}, Clusters: &Clusters{}}, other)
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(other, f.Name))
		if err != nil || !bytes.Equal(want, got) {
			t.Fatalf("%s is not the same, %v", f.Name, err)
		}
	}
}

// older makes of a directory what an earlier version has written, without numbers of call paths.
func older(t fatal, dir string) {
	t.Helper()
	edit := func(name string, change func(text []byte) []byte) int64 {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		text = change(text)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
		return int64(len(text))
	}
	bytes := edit(TraceFile, func(text []byte) []byte { return numbers.ReplaceAll(text, nil) })
	edit(ManifestFile, func(text []byte) []byte {
		m := new(Manifest)
		if err := json.Unmarshal(text, m); err != nil {
			t.Fatal(err)
		}
		m.Files = slices.DeleteFunc(m.Files, func(f File) bool { return f.Name == CallPathsFile })
		for i := range m.Files {
			if m.Files[i].Name == TraceFile {
				m.Files[i].Bytes = bytes
			}
		}
		text, err := encode(m)
		if err != nil {
			t.Fatal(err)
		}
		return text
	})
	if err := os.Remove(filepath.Join(dir, CallPathsFile)); err != nil {
		t.Fatal(err)
	}
}

var numbers = regexp.MustCompile(`:90000103:[0-9]+`)

// transfers draws what the calls of a run move, and how many polls they are. A run that has none of it is one that was
// read from a trace.
func transfers(t *rapid.T, run *trace.Run) {
	for i := range run.Threads {
		th := &run.Threads[i]
		x := &th.Transfers
		calls, worlds := th.Calls.Len(), false
		for call := range calls {
			for range rapid.IntRange(0, 2).Draw(t, "transfers") {
				x.Call, x.Kind = append(x.Call, uint32(call)), append(x.Kind, trace.TransferKind(rapid.IntRange(1, 6).Draw(t, "kind")))
				world := rapid.IntRange(0, len(run.Worlds)-1).Draw(t, "peer's world")
				worlds = worlds || world != th.World
				x.Peer, x.PeerWorld = append(x.Peer, int32(rapid.IntRange(-1, 2).Draw(t, "peer"))), append(x.PeerWorld, int32(world))
				x.Tag, x.Bytes = append(x.Tag, rapid.Int32Min(-1).Draw(t, "tag")), append(x.Bytes, rapid.Int64Min(0).Draw(t, "bytes"))
				x.Comm = append(x.Comm, int32(rapid.IntRange(-1, len(run.Communicators)-1).Draw(t, "communicator")))
				x.Done = append(x.Done, int32(rapid.IntRange(-1, calls-1).Draw(t, "done")))
			}
		}
		if !worlds {
			x.PeerWorld = nil
		}
		if rapid.Bool().Draw(t, "polls") {
			for range calls {
				th.Calls.Count = append(th.Calls.Count, max(1, rapid.Int64Min(-1<<62).Draw(t, "polls")))
			}
		}
	}
}

// moving is the small run with transfers of every kind of peer.
func moving() *trace.Run {
	run := tracetest.Small()
	run.Threads[0].Transfers = trace.Transfers{
		Call: []uint32{1, 3, 3, 4}, Kind: []trace.TransferKind{trace.Sent, trace.Received, trace.Put, trace.Written}, Peer: []int32{1, 1, 2, -1},
		PeerWorld: []int32{0, 0, 1, 0}, Tag: []int32{7, 8, -1, -1}, Comm: []int32{0, 0, 1, -1}, Bytes: []int64{4096, 10, 1 << 40, 5}, Done: []int32{1, 3, -1, 4},
	}
	return run
}

// directory is a written run as files in memory.
func directory(t testing.TB, run *trace.Run, m *Manifest, c *Clusters) fstest.MapFS {
	t.Helper()
	dir := t.TempDir()
	if _, err := Write(&Content{Run: run, Manifest: m, Clusters: c}, dir); err != nil {
		t.Fatal(err)
	}
	files := make(fstest.MapFS)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		data, err := os.ReadFile(path)
		files[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestReadBadDirectories(t *testing.T) {
	m, c := filled()
	good := directory(t, moving(), m, c)
	if _, _, _, err := read(good); err != nil {
		t.Fatal(err)
	}
	other := tracetest.Small()
	other.Threads[0].Bursts.Cluster[1] = 2
	moved := tracetest.Small()
	moved.Threads[0].Bursts.DurationNS[1]--
	fewer := tracetest.Small()
	fewer.CallPaths, fewer.Threads, fewer.Messages, fewer.Clusters = fewer.CallPaths[:5], nil, nil, nil
	without := func(names ...string) func(fstest.MapFS) {
		return func(d fstest.MapFS) {
			for _, name := range names {
				delete(d, name)
			}
		}
	}
	edit := func(name, old, new string) func(fstest.MapFS) {
		return func(d fstest.MapFS) {
			text := strings.Replace(string(d[name].Data), old, new, 1)
			if text == string(d[name].Data) {
				t.Fatalf("%s has no %q", name, old)
			}
			d[name] = &fstest.MapFile{Data: []byte(text)}
			fixSizes(t, d)
		}
	}
	from := func(run *trace.Run, names ...string) func(fstest.MapFS) {
		return func(d fstest.MapFS) {
			m, c := filled()
			files := directory(t, run, m, c)
			for _, name := range names {
				d[name] = files[name]
			}
			fixSizes(t, d)
		}
	}
	changed := func(change func(*trace.Transfers)) *trace.Run {
		run := moving()
		change(&run.Threads[0].Transfers)
		return run
	}
	deep := func(phase int, depth int32) *trace.Run {
		run := tracetest.Small()
		run.Threads[0].Phases[phase].Depth = depth
		return run
	}
	for _, tt := range []struct {
		name       string
		spoil      func(fstest.MapFS)
		want, hint string
	}{
		{"empty", func(d fstest.MapFS) { clear(d) }, "not a run directory", "moriens run, collect or analyze"},
		{"in progress", func(d fstest.MapFS) { clear(d); d["journal/000001"] = &fstest.MapFile{} }, "no results yet", "moriens status"},
		{"the results are incomplete", without(ManifestFile, TraceFile), "the results are incomplete", "one by one"},
		{"a file is gone", without(NamesFile), "trace.row", "damaged"},
		{"no clusters", without(ClustersFile), "clusters.json", "damaged"},
		{"cut off", func(d fstest.MapFS) { d[TraceFile] = &fstest.MapFile{Data: d[TraceFile].Data[:500]} }, "trace.prv has 500 bytes, not ", "damaged"},
		{"no JSON", func(d fstest.MapFS) { d[ManifestFile] = &fstest.MapFile{Data: []byte("{")} }, "manifest.json: it is cut short", "damaged"},
		{"not ours", func(d fstest.MapFS) { d[ManifestFile] = &fstest.MapFile{Data: []byte(`{"name":"app"}`)} }, "it was not written by moriens", "moriens run, collect"},
		{"later version", edit(ManifestFile, `"format": 1`, `"format": 9`), "manifest.json has format 9, this moriens reads 1", "moriens version"},
		{"later version of the clusters", edit(ClustersFile, `"format": 2`, `"format": 3`), "clusters.json has format 3, this moriens reads 2", "moriens version"},
		{"another type", edit(ManifestFile, `"ranks": 5`, `"ranks": "five"`), "manifest.json: json:", "damaged"},
		{"malformed trace", edit(TraceFile, "\n1:", "\n9:"), "trace.prv: line ", "damaged"},
		{"malformed bursts", edit(BurstsFile, "PAR1", "RAP1"), "bursts.parquet: ", "damaged"},
		{"fewer worlds", edit(ManifestFile, `"worlds": [`, `"worlds": [{},`), "2 worlds, manifest.json 3", "one run"},
		{"larger world", edit(ManifestFile, `"size": 3`, `"size": 4`), "3 ranks in world 1, manifest.json 4", "one run"},
		{"other hosts", edit(ManifestFile, `"hosts": [`, `"hosts": [{},`), "2 nodes, manifest.json 3 hosts", "one run"},
		{"other counters", edit(ManifestFile, `"name": "PAPI_TOT_INS"`, `"name": "PAPI_TOT_CYC"`), "bursts.parquet has the counters", "one run"},
		{"other communicators", edit(ManifestFile, `"kind": "intercommunicator"`, `"kind": "window"`), "2 communicators, manifest.json 1", "one run"},
		{"other numbers of communicators", edit(ManifestFile, `"id": 2`, `"id": 7`), "lacks communicator 7 of world 1", "one run"},
		{"no number", edit(CallPathsFile, `"0x1f3c"`, `"x1f3c"`), `callpaths.json: frame 0: "x1f3c" is no offset`, "damaged"},
		{"no call paths", without(CallPathsFile), "callpaths.json", "damaged"},
		{"call paths of another run", edit(CallPathsFile, `"name": "MPI_Send@halo.cc:42"`, `"name": "MPI_Send@halo.cc:43"`), "bursts.parquet: call path 2 is MPI_Send@halo.cc:43, not MPI_Send@halo.cc:42 as it says", "damaged"},
		{"too few call paths", from(fewer, CallPathsFile), "trace.prv: line ", "damaged"},
		{"calls of other functions", edit(TraceFile, ":90000103:1\n", ":90000103:5\n"), `a call of "MPI_Init" has the call path 5, which is one of "MPI_Finalize"`, "damaged"},
		{"calls of no call path", edit(TraceFile, ":90000103:1\n", ":90000103:-1\n"), "there is no call path -1", "damaged"},
		{"frames of two call paths swapped", func(d fstest.MapFS) {
			edit(CallPathsFile, `"frames": [0, 1]`, `"frames": [9, 1]`)(d)
			edit(CallPathsFile, `"frames": [2, 1]`, `"frames": [0, 1]`)(d)
			edit(CallPathsFile, `"frames": [9, 1]`, `"frames": [2, 1]`)(d)
		}, `frame 0 of call path MPI_Send@halo.cc:42 is "app"(+0x1f3c), function "Halo::exchange", file "/src/halo.cc", line 42, build id 8f3c in clusters.json, "app"(+0x1f80)`, "one run"},
		{"a frame of another line", edit(CallPathsFile, `"line": 42, "inlined": []`, `"line": 43, "inlined": []`), "frame 0 of call path MPI_Send@halo.cc:42 is", "one run"},
		{"a frame of another offset", edit(CallPathsFile, `"0x2724a"`, `"0x2724b"`), "frame 1 of call path MPI_Send@halo.cc:42 is", "one run"},
		{"a frame of another file", edit(CallPathsFile, `"file": "/src/halo.cc", "line": 42, "inlined": []`, `"file": "/src/hallo.cc", "line": 42, "inlined": []`), "frame 0 of call path MPI_Send@halo.cc:42 is", "one run"},
		{"a frame of another function", edit(CallPathsFile, `"name": "norm"`, `"name": "form"`), "frame 0 of call path MPI_Allreduce@norm is", "one run"},
		{"a frame of another module", edit(CallPathsFile, `"libc.so.6"`, `"libc.so.7"`), "frame 1 of call path MPI_Send@halo.cc:42 is", "one run"},
		{"a module of another build", edit(CallPathsFile, `"01ab"`, `"01ac"`), "frame 1 of call path MPI_Send@halo.cc:42 is", "one run"},
		{"inlined elsewhere", edit(CallPathsFile, `"call_line": 90`, `"call_line": 91`), "frame 0 of call path MPI_Recv@halo.cc:42 is", "one run"},
		{"a frame more", edit(CallPathsFile, `"frames": [0, 1]`, `"frames": [0, 1, 1]`), "call path MPI_Send@halo.cc:42 has 2 frames in clusters.json, 3 in callpaths.json", "one run"},
		{"an offset in clusters.json", edit(ClustersFile, `"0x1f3c"`, `"0b1"`), `clusters.json: call path "MPI_Send@halo.cc:42": the offset "0b1" is no number`, "one run"},
		{"another function in clusters.json", edit(ClustersFile, `"function": "MPI_Send"`, `"function": "MPI_Recv"`), `call path MPI_Send@halo.cc:42 is one of "MPI_Recv" in clusters.json, of "MPI_Send" in callpaths.json`, "one run"},
		{"clusters of other call paths", edit(ClustersFile, `"name": "MPI_Recv@halo.cc:42"`, `"name": "MPI_Recv@halo.cc:1"`), "clusters.json names the call path MPI_Recv@halo.cc:1, of which callpaths.json says nothing", "one run"},
		{"unknown call path", edit(ClustersFile, `"after": [{"path": 3,`, `"after": [{"path": 99,`), "clusters.json: cluster 1: call path 99: there are ", "one run"},
		{"negative call path", edit(ClustersFile, `"after": [{"path": 3,`, `"after": [{"path": -1,`), "clusters.json: cluster 1: call path -1: there are ", "one run"},
		{"clusters out of order", edit(ClustersFile, "\"id\": 1,\n      \"colour\"", "\"id\": 3,\n      \"colour\""), "cluster 3 is in the place of cluster 1", "one run"},
		{"bursts of another analysis", from(other, BurstsFile), "world 0 rank 0 thread 0: the burst at 2100000 ns is in cluster 2 in bursts.parquet, in 1 in trace.prv", "one run"},
		{"bursts of another run", from(moved, BurstsFile), "world 0 rank 0 thread 0: bursts.parquet lacks the burst at 2100000 ns, of 2900000 ns", "one run"},
		{"transfers of other calls", from(changed(func(x *trace.Transfers) { x.Call[3] = 5 }), TransfersFile), "transfers.parquet: world 0 rank 0 thread 0: no call 5", "one run"},
		{"transfers done by no call", from(changed(func(x *trace.Transfers) { x.Done[3] = 5 }), TransfersFile), "no call 4 or 5", "one run"},
		{"transfers out of order", from(changed(func(x *trace.Transfers) { x.Call[0] = 4 }), TransfersFile), "transfers are not in order", "one run"},
		{"transfers of other communicators", from(changed(func(x *trace.Transfers) { x.Comm[2] = 2 }), TransfersFile), "no communicator 2", "one run"},
		{"transfers to other worlds", from(changed(func(x *trace.Transfers) { x.PeerWorld[2] = 2 }), TransfersFile), "no world 2", "one run"},
		{"transfers of no kind", from(changed(func(x *trace.Transfers) { x.Kind[2] = 0 }), TransfersFile), `transfers.parquet: a transfer of kind ""`, "damaged"},
		{"transfers of other threads", func(d fstest.MapFS) {
			run := moving()
			run.Threads[0].Thread, run.Messages = 5, nil
			run.Threads = run.Threads[:1]
			from(run, TransfersFile)(d)
		}, "transfers.parquet: world 0 rank 0 thread 5, which trace.prv lacks", "one run"},
		{"phases in others that are not there", from(deep(2, 3), PhasesFile), "world 0 rank 0 thread 0: phases do not nest: one is at depth 3 where it can be 2 at most", "damaged"},
		{"phases in none", from(deep(0, 1), PhasesFile), "world 0 rank 0 thread 0: phases do not nest: one is at depth 1 where it can be 0 at most", "damaged"},
		{"phases of other threads", func(d fstest.MapFS) {
			run := tracetest.Small()
			run.Threads[0].Thread = 5
			run.Threads = append(run.Threads[1:3:3], run.Threads[0], run.Threads[3])
			for i := range run.Threads {
				run.Threads[i].Rank = max(run.Threads[i].Rank, 1)
			}
			run.Messages = nil
			from(run, PhasesFile)(d)
		}, "phases.parquet: a phase of world 0 rank 1 thread 5, which trace.prv lacks", "damaged"},
	} {
		d := make(fstest.MapFS)
		for name, f := range good {
			d[name] = f
		}
		tt.spoil(d)
		_, _, _, err := read(d)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(hint.Of(err), tt.hint) {
			t.Errorf("%s: %v\nhint: %s\nwant %q, %q", tt.name, err, hint.Of(err), tt.want, tt.hint)
		}
	}
	for path, want := range map[string]string{filepath.Join(t.TempDir(), "absent"): "no such file", "read_test.go": "not a directory"} {
		if _, _, _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%s: %v, hint %q", path, err, hint.Of(err))
		}
	}
}

// fixSizes writes the sizes of the files that are there into the manifest, so that what is wrong with their content
// comes to light.
func fixSizes(t testing.TB, d fstest.MapFS) {
	t.Helper()
	var m map[string]any
	if json.Unmarshal(d[ManifestFile].Data, &m) != nil {
		return
	}
	files, _ := m["files"].([]any)
	for _, f := range files {
		if f, ok := f.(map[string]any); ok {
			if name, _ := f["name"].(string); d[name] != nil {
				f["bytes"] = len(d[name].Data)
			}
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	d[ManifestFile] = &fstest.MapFile{Data: text}
}

// Of a run in which no process called MPI_Init there is the manifest alone, which says why.
func TestEmptyRunReadsBack(t *testing.T) {
	d := directory(t, &trace.Run{CallPaths: []trace.CallPath{{}}}, &Manifest{Empty: "no process called MPI_Init"}, &Clusters{})
	run, m, _, err := read(d)
	if !errors.Is(err, ErrNobody) || run != nil || m.Empty == "" {
		t.Errorf("%+v, %v", run, err)
	}
}

// Sends and receives come back from the messages, with how late the sender was.
func TestTransfersComeBack(t *testing.T) {
	run := tracetest.Small()
	run.Messages[0].LateNS = 100_000
	m, c := filled()
	back, _, _, err := read(directory(t, run, m, c))
	if err != nil {
		t.Fatal(err)
	}
	sent := trace.Transfers{
		Call: []uint32{1}, Kind: []trace.TransferKind{trace.Sent}, Peer: []int32{1}, Tag: []int32{-7}, Comm: []int32{-1}, Bytes: []int64{4096}, Done: []int32{-1},
	}
	received := trace.Transfers{
		Call: []uint32{1}, Kind: []trace.TransferKind{trace.Received}, Peer: []int32{0}, Tag: []int32{-7}, Comm: []int32{-1}, Bytes: []int64{4096}, Done: []int32{1},
	}
	for i, want := range []trace.Transfers{sent, received} {
		if d := cmp.Diff(want, back.Threads[i].Transfers); d != "" {
			t.Errorf("thread %d:\n%s", i, d)
		}
	}
	if d := cmp.Diff(run.Messages, back.Messages); d != "" {
		t.Error(d)
	}
}

// Rows of other bursts between those of the trace, and weights, are as a kept trace has them.
func TestSampleBesideKept(t *testing.T) {
	run := tracetest.Small()
	m, c := filled()
	d := directory(t, run, m, c)
	more := tracetest.Small()
	b := &more.Threads[0].Bursts
	b.StartNS, b.DurationNS = slices.Insert(b.StartNS, 1, 2_000_001), slices.Insert(b.DurationNS, 1, 5)
	b.Before, b.After, b.Cluster = slices.Insert(b.Before, 1, 1), slices.Insert(b.After, 1, 1), slices.Insert(b.Cluster, 1, 2)
	for k := range b.Counters {
		b.Counters[k] = slices.Insert(b.Counters[k], 1, 77)
	}
	b.Phase, b.Weight = nil, []float64{1, 40, 2, 1, 1}
	m, c = filled()
	d[BurstsFile] = directory(t, more, m, c)[BurstsFile]
	fixSizes(t, d)
	back, _, _, err := read(d)
	if err != nil {
		t.Fatal(err)
	}
	got := &back.Threads[0].Bursts
	if d := cmp.Diff([]float64{1, 2, 1, 1}, got.Weight); d != "" || back.Threads[1].Bursts.Weight != nil {
		t.Errorf("weights:\n%s%v", d, back.Threads[1].Bursts.Weight)
	}
	if d := cmp.Diff(run.Threads[0].Bursts.Counters, got.Counters); d != "" {
		t.Error(d)
	}
}

func FuzzReadRun(f *testing.F) {
	m, c := filled()
	good := directory(f, moving(), m, c)
	names := []string{ManifestFile, ClustersFile, CallPathsFile, TraceFile, LabelsFile, BurstsFile, PhasesFile, EventsFile, TransfersFile}
	for i, name := range names {
		f.Add(uint8(i), good[name].Data)
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		d := make(fstest.MapFS)
		for name, file := range good {
			d[name] = file
		}
		d[names[int(which)%len(names)]] = &fstest.MapFile{Data: data}
		fixSizes(t, d)
		run, _, _, err := read(d)
		if err != nil {
			return
		}
		for i := range run.Threads {
			th := &run.Threads[i]
			for _, p := range slices.Concat(th.Calls.Path, th.Bursts.Before, th.Bursts.After) {
				if int(p) >= len(run.CallPaths) {
					t.Fatalf("thread %d: no call path %d", i, p)
				}
			}
			for _, label := range th.Bursts.Cluster {
				if int(label) > len(run.Clusters) {
					t.Fatalf("thread %d: no cluster %d", i, label)
				}
			}
		}
	})
}
