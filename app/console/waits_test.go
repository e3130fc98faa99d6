package console

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"moriens/internal/golden"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// What moriens waits prints, to the letter.
func TestGoldenWaits(t *testing.T) {
	w, _ := rundirtest.Waits()
	for _, by := range []string{"", "cluster", "callpath", "rank", "kind"} {
		for name, form := range map[string]WaitsForm{
			"whole": {Dir: "/run/a b", By: by, Within: "run", Others: true}, "main": {Dir: "/run/a b", By: by, Within: "main", Others: true}, "windows": {Dir: "/run/a", By: by},
		} {
			table, why := w.Within(form.Within), w.Why
			if form.Within == "" {
				table, why = w.Windows, nil
			}
			var b bytes.Buffer
			if err := Waits(&b, table, why, form); err != nil {
				t.Fatal(err)
			}
			if by != "" {
				name += "-" + by
			}
			golden.Check(t, filepath.Join("waits", name+".txt"), b.Bytes())
		}
	}
}

// The directory of a version that knew neither main nor what costs something beside clusters is of the whole run, and
// says so; its clusters do not add up to a total.
func TestGoldenOlderWaits(t *testing.T) {
	r := unpacked(t, filepath.Join("testdata", "summaries", "heat-waits"))
	table := r.Waits.Within(rundir.WithinMain)
	if r.Waits.Main != nil || table != r.Waits.WholeRun {
		t.Fatalf("it has main: %+v", r.Waits)
	}
	table.Begin, table.End, table.Others = 0, 0, nil
	for i := range table.Clusters {
		table.Clusters[i].Kind, table.Clusters[i].Locations = 0, 0
	}
	for _, by := range []string{"", "cluster", "kind"} { // the others need waits.parquet
		var b bytes.Buffer
		if err := Waits(&b, table, r.Waits.Why, WaitsForm{Dir: r.Dir, By: by, Within: rundir.WithinRun}); err != nil {
			t.Fatal(err)
		}
		name := "older"
		if by != "" {
			name += "-" + by
		}
		golden.Check(t, filepath.Join("waits", name+".txt"), b.Bytes())
	}
}

// A table without any wait has no cause and says so.
func TestWaitsOfNone(t *testing.T) {
	table := &rundir.WaitsTable{Basis: rundir.WaitsFull, Ranks: 1, Locations: 2, Seconds: 1, Path: rundir.WaitsPath{Seconds: 1}}
	var b bytes.Buffer
	if err := Waits(&b, table, nil, WaitsForm{Dir: "d", Within: "run"}); err != nil {
		t.Fatal(err)
	}
	const want = `d: within run (all of it) · 1 rank (2 threads that called MPI) · 1.00 s · collectives and messages
waits, all threads: 0 s, - of 0 s in MPI, 0.0 % of the threads' time

waits by kind                  calls that waited  time  longest  of MPI
residual: in MPI, not waiting                      0 s                -

critical path: 1.00 s, with 0 changes of thread

note: a thread that waits for threads of its rank (pthread_join) counts as computing, and the critical path remains on it

next: moriens waits --within run --by rank d (or callpath, cluster, kind); docs/waits.md
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestCauseSentences(t *testing.T) {
	three, unknown := int32(3), rundir.Number(math.NaN())
	one := rundir.ThreadName{Rank: 1}
	for want, c := range map[string]rundir.WaitsCause{
		"rank 1 makes others wait 2.00 s (50.0 % of all waits) in cluster 3 before MPI_Send: 1,234 waits, on average 500 us longer than on the waiting rank":        {What: "computing", Cluster: &three, CallPath: "MPI_Send", Waits: 1234, More: .0005},
		"rank 1 makes others wait 2.00 s (50.0 % of all waits) in cluster 3 before MPI_Send":                                                                        {What: "computing", Cluster: &three, CallPath: "MPI_Send", More: unknown},
		"rank 1 makes others wait 2.00 s (50.0 % of all waits) in bursts in no cluster before MPI_Send: 1 wait, on average 1.00 ms longer than on the waiting rank": {What: "computing", CallPath: "MPI_Send", Waits: 1, More: .001},
		"rank 1 makes others wait 2.00 s (50.0 % of all waits) in MPI_Wait@halo.c:3: 2 waits, on average 20.0 us longer than on the waiting rank":                   {What: "MPI", CallPath: "MPI_Wait@halo.c:3", Waits: 2, More: .00002},
		"rank 1 makes others wait 2.00 s (50.0 % of all waits) in time not recorded: 2 waits, on average 50.0 ms longer than on the waiting rank":                   {What: "outside", Waits: 2, More: .05},
		"world 2 rank 1 thread 4 makes others wait 2.00 s (50.0 % of all waits) in MPI: 2 waits, on average 50.0 ms longer than on the waiting rank":                {ThreadName: rundir.ThreadName{World: 2, Rank: 1, Thread: 4}, What: "MPI", Waits: 2, More: .05},
		"world 2 rank 1 makes others wait 2.00 s (50.0 % of all waits) in time not recorded":                                                                        {ThreadName: rundir.ThreadName{World: 2, Rank: 1}, What: "outside"},
		"world 1 rank 1 makes others wait 2.00 s (50.0 % of all waits) in time not recorded: 2 waits, on average 1.00 s longer than on the waiting rank":            {ThreadName: rundir.ThreadName{World: 1, Rank: 1}, What: "outside", Waits: 2, More: 1},
	} {
		if c.ThreadName == (rundir.ThreadName{}) {
			c.ThreadName = one
		}
		c.Seconds, c.Share = 2, .5
		w := waitWordsOf(&rundir.WaitsTable{Ranks: 2, Locations: 2, Causes: []rundir.WaitsCause{c}})
		if got := w.cause(&c); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	for direct, want := range map[rundir.Number]string{
		2: "", 1.999: "", 1.5: "500 ms of it indirectly, through ranks that wait for it", 0: "all of it indirectly, through ranks that wait for it",
	} {
		if got := (waitWords{WaitsTable: &rundir.WaitsTable{Ranks: 2, Locations: 2}}).indirect(&rundir.WaitsCause{Seconds: 2, Direct: direct}); got != want {
			t.Errorf("%v direct: %q, want %q", direct, got, want)
		}
	}
}

// waiting is a run with waits that its summary speaks of.
func waiting() *Results {
	r := unequal()
	r.Waits, _ = rundirtest.Waits()
	return r
}

func TestSummaryOfAWaitingRun(t *testing.T) {
	r := waiting()
	var b strings.Builder
	if err := Summary(&b, r); err != nil {
		t.Fatal(err)
	}
	const want = `MPI_Init to MPI_Finalize
waits, all ranks: 9.50 s (80.5 % of MPI; collectives only): rank 2 causes 9.00 s in cluster 3
critical path: cluster 1 63.4 %, cluster 3 22.9 %, MPI with waits for messages 9.4 %

cluster   share`
	if !strings.Contains(b.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := Long(&b, r); err != nil {
		t.Fatal(err)
	}
	const long = "\nwaits, all ranks: 9.50 s (80.5 % of the time in MPI; collectives only): rank 2 makes others wait 9.00 s: 500 us longer in cluster 3 before MPI_Allreduce@main.c:42; messages: moriens waits --windows\ncritical path: cluster 1 "
	if !strings.Contains(b.String(), long) {
		t.Errorf("got\n%s\nwant\n%s", b.String(), long)
	}
}

// Waits below a hundredth of the ranks' time, and those that are not known, have no line.
func TestSummaryWithoutWaits(t *testing.T) {
	for what, change := range map[string]func(*Results){
		"below the floor":  func(r *Results) { r.Waits.Main.Waiting = .0099 * 4 * 7.5 },
		"of windows alone": func(r *Results) { r.Waits.WholeRun, r.Waits.Main = nil, nil },
		"not known":        func(r *Results) { r.Waits = nil },
	} {
		r, same := waiting(), unequal()
		change(r)
		var got, want strings.Builder
		if err := Summary(&got, r); err != nil {
			t.Fatal(err)
		}
		if err := Summary(&want, same); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%s:\n%s", what, got.String())
		}
	}
	r := waiting()
	r.Waits.Main.Waiting = .0101 * 4 * 7.5
	var b strings.Builder
	if err := Summary(&b, r); err != nil || !strings.Contains(b.String(), "\nwaits, all ranks: 303 ms ") {
		t.Errorf("above the floor: %v\n%s", err, b.String())
	}
	r.Waits.Main = nil // where it is the whole run
	b.Reset()
	if err := Summary(&b, r); err != nil || !strings.Contains(b.String(), "\nwaits, all ranks: 9.70 s ") {
		t.Errorf("of the whole run: %v\n%s", err, b.String())
	}
}

// The line names the rank that causes most in sum, which need not be that of the largest cause, and its largest cause,
// in a form for each width.
func TestRankInLine(t *testing.T) {
	one, two := int32(1), int32(2)
	table := &rundir.WaitsTable{
		Basis: rundir.WaitsFull, Ranks: 4, Locations: 4, Seconds: 1, MPI: 2, Waiting: 1,
		Causes: []rundir.WaitsCause{
			{ThreadName: rundir.ThreadName{Rank: 0}, What: rundir.CauseComputing, Cluster: &one, CallPath: "MPI_Send", Seconds: .4, More: .01},
			{ThreadName: rundir.ThreadName{Rank: 1}, What: rundir.CauseComputing, Cluster: &two, CallPath: "MPI_Send", Seconds: .3, More: .05},
		},
		ByRank: []rundir.WaitsRank{
			{ThreadName: rundir.ThreadName{Rank: 3}, Waiting: 1, Caused: .01}, {ThreadName: rundir.ThreadName{Rank: 0}, Caused: .4}, {ThreadName: rundir.ThreadName{Rank: 1}, Caused: .5},
			{ThreadName: rundir.ThreadName{Rank: 2}, Caused: .09},
		},
	}
	w := waitWordsOf(table)
	for _, want := range []string{
		"waits, all ranks: 1.00 s (50.0 % of the time in MPI): rank 1 makes others wait 500 ms, 300 ms of it 50.0 ms longer in cluster 2 before MPI_Send",
		"waits, all ranks: 1.00 s (50.0 % of MPI): rank 1 causes 500 ms, 300 ms of it 50.0 ms longer in cluster 2 before MPI_Send",
		"waits, all ranks: 1.00 s (50.0 % of MPI): rank 1 causes 500 ms, 300 ms of it 50.0 ms longer in cluster 2",
		"waits, all ranks: 1.00 s (50.0 % of MPI): rank 1 causes 500 ms, 300 ms of it in cluster 2",
		"waits, all ranks: 1.00 s (50.0 % of MPI): rank 1 causes 500 ms, 300 ms in cluster 2",
		"waits, all ranks: 1.00 s (50.0 % of MPI): rank 1 causes 500 ms",
	} {
		n := utf8.RuneCountInString(want)
		if got := w.line(n); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
		if got := w.line(n + 1); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
	}
	const ranks = "rank 1 makes others wait 500 ms (50.0 % of all waits), rank 0 400 ms (40.0 %), rank 2 90.0 ms (9.0 %), 1 more rank"
	if got := w.causingLine(); got != ranks {
		t.Errorf("%s, want\n%s", got, ranks)
	}
	table.ByRank = table.ByRank[:2] // the others' sums are those of their causes, and there may be more
	const fewer = "rank 0 makes others wait 400 ms (40.0 % of all waits), rank 1 300 ms (30.0 %), other ranks less"
	if got := w.causingLine(); got != fewer {
		t.Errorf("%s, want\n%s", got, fewer)
	}
}

// Of windows it is not said what is not known of the whole run, but how much of it they are; and that ranks share cores
// is said of all.
func TestWaitsOfSharedCores(t *testing.T) {
	w, _ := rundirtest.Waits()
	m := &rundir.Manifest{Scheduling: &rundir.Scheduling{Warning: "4 ranks share 2 cores: 49 % of runnable time off the core (12 involuntary switches); medians, spreads, waiting times are unreliable"}}
	const note = "\nnote: " + rundir.WaitsOfCollectives
	w.Windows.Kinds = append(w.Windows.Kinds, rundir.WaitsKind{Kind: "end"}, rundir.WaitsKind{Kind: "start"})
	for within, table := range map[string]*rundir.WaitsTable{"": w.Windows, rundir.WithinRun: w.WholeRun} {
		var b strings.Builder
		if err := Waits(&b, table, []string{rundir.WaitsOfCollectives}, WaitsForm{Dir: "d", Within: within, Manifest: m}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), note) != (within != "") || strings.Contains(b.String(), "\nwindows: 200 ms in all, from 1.00 s to 6.00 s of the run, MPI_Init and MPI_Finalize included\n") != (within == "") {
			t.Errorf("%q:\n%s", within, b.String())
		}
		const warning = "\nwarning: 4 ranks share 2 cores: 49 % of runnable time off the core; residual and causes include waiting for a core\n"
		if !strings.Contains(b.String(), warning) {
			t.Errorf("%q:\n%s", within, b.String())
		}
	}
}

// Where waits for messages are not known, the time in calls that may have them says so on the path, and no other.
func TestMessagesOnPath(t *testing.T) {
	for want, p := range map[string]rundir.WaitsPathPart{
		"MPI with waits for messages: MPI_Recv@x.c:1":    {What: rundir.CauseMPI, CallPath: "MPI_Recv@x.c:1"},
		"MPI with waits for messages: MPI_Waitall@x.c:1": {What: rundir.CauseMPI, CallPath: "MPI_Waitall@x.c:1"},
		"MPI with waits for messages":                    {What: rundir.CauseMPI},
		"MPI_Allreduce@x.c:1":                            {What: rundir.CauseMPI, CallPath: "MPI_Allreduce@x.c:1"},
		"bursts in no cluster before MPI_Recv@x.c:1":     {What: rundir.CauseComputing, CallPath: "MPI_Recv@x.c:1"},
	} {
		if got := waitWordsOf(&rundir.WaitsTable{Basis: rundir.WaitsCollectives}).pathPart(&p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		p.What = rundir.CauseMPI
		if got := waitWordsOf(&rundir.WaitsTable{Basis: rundir.WaitsFull}).pathPart(&p); strings.Contains(got, "with waits") {
			t.Error(got)
		}
	}
}

// Where to see messages is said of runs whose windows have them, in what is left of the line.
func TestWindowsInLine(t *testing.T) {
	w, _ := rundirtest.Waits()
	words := waitWordsOf(w.Main)
	const where = "; messages: moriens waits --windows"
	for _, windows := range []bool{false, true} {
		words.windows = windows
		whole := words.line(0)
		n := utf8.RuneCountInString(whole)
		if strings.HasSuffix(whole, where) != windows || words.line(n) != whole || strings.HasSuffix(words.line(n-1), where) {
			t.Errorf("%t: %s\n%s", windows, whole, words.line(n-1))
		}
	}
	words.Basis = rundir.WaitsFull
	if text := words.line(0); strings.Contains(text, where) {
		t.Error(text)
	}
}

// A cause names the clusters of its kind, and says where few have it.
func TestClustersOfCause(t *testing.T) {
	three := int32(3)
	for want, c := range map[string]struct {
		variants []int32
		having   int64
		long     bool
	}{
		"in cluster 3":                          {nil, 4, true},
		"in cluster 3 (variant 7)":              {[]int32{7}, 0, true},
		"in cluster 3 (variants 3, 7, 9)":       {[]int32{3, 7, 9}, 4, true},
		"in cluster 3 (variants 3, 4, 5, 6, 7)": {[]int32{3, 4, 5, 6, 7}, 4, true},
		"in cluster 3 (variants 3, 4, 5, 6 and 2 more; no other rank has it)": {[]int32{3, 4, 5, 6, 7, 8}, 1, true},
		"in cluster 3 (no other rank has it)":                                 {[]int32{3, 7}, 1, false},
		"in cluster 3 (only 2 of 4 ranks have it)":                            {nil, 2, true},
		"in cluster 3 ": {nil, 2, false},
	} {
		w := waitWordsOf(&rundir.WaitsTable{Ranks: 4, Locations: 4, Clusters: []rundir.WaitsCluster{{Cluster: 3, Kind: 3, Locations: c.having}}})
		if got := w.did(&rundir.WaitsCause{What: rundir.CauseComputing, Cluster: &three, Variants: c.variants}, c.long); got != strings.TrimSpace(want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Whatever there is to say, a summary with waits and pairs is at most 20 lines of 100 characters, and the clusters that
// its lines name have rows.
func TestSummaryWithWaitsFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := waiting()
		m, w := r.Manifest, r.Waits.Main
		word := rapid.StringMatching(`[a-z]{1,12}( [a-z]{1,12}){0,30}`)
		m.Notes = rapid.SliceOfN(word, 0, 9).Draw(t, "notes")
		if rapid.Bool().Draw(t, "crowded") {
			m.Scheduling = &rundir.Scheduling{Warning: word.Draw(t, "warning")}
		}
		first := r.Run.Clusters[0]
		r.Run.Clusters = nil
		n := int32(rapid.IntRange(4, 40).Draw(t, "clusters"))
		for id := range n {
			first.ID, first.Share = id+1, 1/float64(id+2)
			r.Run.Clusters = append(r.Run.Clusters, first)
		}
		least, most := rapid.Int32Range(1, n).Draw(t, "waited for"), rapid.Int32Range(1, n).Draw(t, "computing most")
		w.Causes[0].Cluster, r.Efficiency.Runs[0].Clusters[0].ID = &least, most
		w.Causes[0].Rank, w.Causes[0].Thread = rapid.IntRange(0, 1<<20).Draw(t, "rank"), rapid.IntRange(0, 9).Draw(t, "thread")
		w.ByRank[0].ThreadName = w.Causes[0].ThreadName
		w.Causes[0].What = rapid.SampledFrom([]string{rundir.CauseComputing, rundir.CauseMPI, rundir.CauseOutside}).Draw(t, "what")
		w.Causes[0].CallPath = strings.Repeat("x", rapid.IntRange(0, 90).Draw(t, "call"))
		w.Marked = rapid.Bool().Draw(t, "marked")
		w.Waiting = rundir.Number(rapid.Float64Range(1, 1e9).Draw(t, "waits"))
		for id := range int32(30) {
			w.Clusters = append(w.Clusters, rundir.WaitsCluster{Cluster: 100 + id, PathShare: .02})
		}
		if kind := rapid.SampledFrom(append(rundirtest.Exchanges, "")).Draw(t, "pairs"); kind != "" {
			r.Pairs, _ = rundirtest.Pairs(kind)
			for range rapid.IntRange(0, 3).Draw(t, "findings") {
				r.Pairs.Findings = append(r.Pairs.Findings, rundir.PairsFinding{Kind: rundir.PairsSlowNode, Text: word.Draw(t, "finding")})
			}
			if x := r.Pairs.Totals; x != nil {
				x.Messages, x.Bytes = rapid.Int64Range(1, 1<<60).Draw(t, "messages"), rapid.Int64Range(0, 1<<60).Draw(t, "bytes")
			}
		}
		var b strings.Builder
		if err := Summary(&b, r); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.Trim(b.String(), "\n"), "\n")
		if len(lines) > 20 {
			t.Fatalf("%d lines:\n%s", len(lines), b.String())
		}
		rows := make(map[string]bool)
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > lineWidth {
				t.Fatalf("%d characters:\n%s", n, line)
			}
			if fields := strings.Fields(line); len(fields) > 0 {
				rows[fields[0]] = true
			}
		}
		for _, id := range []int32{waitedFor(r), namedCluster(r)} {
			if !rows[fmt.Sprint(id)] {
				t.Fatalf("cluster %d is named, and has no row:\n%s", id, b.String())
			}
		}
	})
}

// Names that a program has chosen do nothing to a terminal.
func TestHostileWaits(t *testing.T) {
	for _, by := range []string{"", "cluster", "callpath", "rank", "kind"} {
		var lines [2]int
		for i, text := range []string{"tame", hostile} {
			table := new(rundir.WaitsTable)
			poison(reflect.ValueOf(table).Elem(), text, 0)
			var b strings.Builder
			if err := Waits(&b, table, []string{text}, WaitsForm{Dir: text, By: by}); err != nil {
				t.Fatal(err)
			}
			lines[i] = strings.Count(b.String(), "\n")
			if k := strings.IndexFunc(b.String(), func(r rune) bool { return r != '\n' && unicode.IsControl(r) || r == '\u202e' }); k >= 0 {
				t.Errorf("%q: something that a terminal obeys at byte %d of %q", by, k, b.String())
			}
		}
		if lines[0] != lines[1] {
			t.Errorf("%q: %d lines where there should be %d", by, lines[1], lines[0])
		}
	}
}
