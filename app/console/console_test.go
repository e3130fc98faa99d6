package console

import (
	"math"
	"slices"
	"strings"
	"testing"

	"moriens/trace"
	"moriens/trace/rundir"
)

func TestDuration(t *testing.T) {
	for _, tt := range []struct {
		ns   float64
		want string
	}{
		{0, "0 s"}, {7, "7.00 ns"}, {999, "999 ns"}, {999.6, "1.00 us"}, {1000, "1.00 us"}, {1234, "1.23 us"},
		{56_780, "56.8 us"}, {3_841_000, "3.84 ms"}, {9_996_000, "10.0 ms"}, {99_960_000, "100 ms"}, {999_700_000, "1.00 s"}, {12_345_000_000, "12.3 s"}, {4e12, "4,000 s"},
	} {
		if got := Duration(tt.ns); got != tt.want {
			t.Errorf("Duration(%g) = %q, want %q", tt.ns, got, tt.want)
		}
	}
}

func TestSummary(t *testing.T) {
	run := &trace.Run{
		CallPaths: []trace.CallPath{{}, {Function: "MPI_Send", Frames: []trace.Frame{{Module: "app", Offset: 0x10}}}, {Function: "MPI_Recv"},
			{Function: "MPI_Wait", Frames: []trace.Frame{{Module: "app", Offset: 0x20}}}},
		Clusters: []trace.Cluster{
			{ID: 1, Bursts: 1200, Share: .75, MeanNS: 2e6, StdNS: 1e5, Score: .9976, Before: []trace.PathCount{{Path: 1, Bursts: 1200}},
				After: []trace.PathCount{{Path: 2, Bursts: 900}, {Path: 1, Bursts: 300}}},
			{ID: 2, Bursts: 2, Share: .2, MeanNS: 3e3, Rare: true, Before: []trace.PathCount{{Path: 3, Bursts: 2}}, After: []trace.PathCount{{Path: 1, Bursts: 2}}},
			{ID: 3, Bursts: 40, Share: .0009}, {ID: 4, Bursts: 1, Share: .0001},
		},
	}
	openMPI := rundir.MPI{Library: "Open MPI", Version: "4.1.4"}
	m := &rundir.Manifest{
		Ranks: 2, Bursts: 1300, Seconds: 3.25, MPICalls: map[string]int64{"MPI_Send": 1000, "MPI_Recv": 302},
		Worlds:   []rundir.World{{Executable: "/opt/app", MPI: openMPI}, {Executable: "/opt/app", MPI: openMPI}},
		Losses:   rundir.Losses{RecordsDropped: 12, RanksDied: []rundir.RankDied{{World: 1, Rank: 3, How: "MPI_Abort"}}},
		Filtered: rundir.Filtered{LongestNS: 1500},
		Messages: rundir.Messages{Sends: 1201, Receives: 1200, Matched: 1195, Bytes: 3_400_000, LateSenderSeconds: 1.5,
			Unmatched: []rundir.Unmatched{{Why: "records are missing", Sends: 6, Receives: 1}},
			Requests:  rundir.Requests{EndsUnknown: 3, StartsUnknown: 1, Unfollowed: 7, Lost: 140_000, Late: 2, Open: 1, HandlesShared: 9, Cancelled: 9}},
		Notes: []string{"a note"},
	}
	files := []rundir.File{{Name: "manifest.json", Bytes: 2048, Content: "what was measured"}}
	c := &rundir.Clusters{
		Total: rundir.Shares{NoiseBursts: 8, Noise: .04, FilteredBursts: 90, Filtered: .01}, Score: .95, NoiseScore: .25,
		Refinement: rundir.Refinement{Why: "the only one", Levels: make([]rundir.Level, 2)},
	}
	var b strings.Builder
	if err := Long(&b, &Results{Run: run, Manifest: m, Clusters: c, Dir: "/tmp/r", Written: files}); err != nil {
		t.Fatal(err)
	}
	want := `
moriens: app · 2 ranks · 2 MPI worlds · Open MPI 4.1.4 · 3.25 s · 1,302 MPI calls · 1,300 bursts

 cluster  bursts   share     mean   spread  score  between the MPI calls
       1   1,200  75.0 %  2.00 ms  ± 5.0 %  0.998  MPI_Send@app+0x10 → MPI_Recv and 1 more
       2       2  20.0 %  3.00 us  ± 0.0 %         MPI_Wait+0x20 → MPI_Send+0x10 in app (rare)
  2 more      41   0.1 %                           in clusters.json
   noise       8   4.0 %                    0.250  in no dense region
filtered      90   1.0 %                           up to 1.50 us

score: 0.950 of 1 (1: all ranks compute the same clusters in the same order)
refinement: the only one
messages: 1,195, 3.24 MiB in total; receivers waited 1.50 s for late senders; 6 sends and 1 receive not matched: records are missing
losses: 12 MPI calls dropped: ring buffer full; 3 completions of unknown requests; 1 start of an unknown request; 7 requests not tracked: too many were pending at once; 140,000 requests given up: the completion may not have been recorded; 2 events of requests read too late for ordering; 1 request never completed; rank 3 of world 1 died (MPI_Abort)
note: a note
results: /tmp/r
  manifest.json  2 KiB  what was measured
`
	if b.String() != want {
		t.Errorf("summary:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestSummaryOfNothing(t *testing.T) {
	var b strings.Builder
	m := &rundir.Manifest{Command: []string{"sleep", "1"}, Empty: "no process called MPI"}
	if err := Long(&b, &Results{Run: &trace.Run{}, Manifest: m, Clusters: &rundir.Clusters{}, Dir: "/tmp/r"}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "moriens: sleep 1 · 0 ranks\n") || strings.Contains(got, "losses: ") {
		t.Errorf("summary:\n%s", got)
	}
}

func TestTroubles(t *testing.T) {
	m := &rundir.Manifest{Empty: "no process called MPI", Ranks: 8, Losses: rundir.Losses{
		RanksMissing: 2, RecordsDropped: 12_000, MessagesRefused: 102, RanksDied: []rundir.RankDied{{Rank: 3, How: "MPI_Abort"}, {Rank: 5, How: "ended without MPI_Finalize"}},
	}}
	m.Clocks = []rundir.Clock{{Host: "a"}, {Host: "b", UncertaintyNS: 2_500_000}, {Host: "c", UncertaintyNS: 900_000}, {Host: "d", UncertaintyNS: rundir.Number(math.NaN())}}
	m.Order = rundir.Order{CallsMoved: 7, LargestNS: 3_000_000}
	var got []string
	for _, trouble := range Troubles(m, "try this") {
		if trouble.Hint == "" {
			t.Errorf("%q has no hint", trouble.Text)
		}
		got = append(got, trouble.Text)
	}
	want := []string{
		"no bursts: no process called MPI",
		"2 of 8 ranks sent nothing",
		"2 ranks did not call MPI_Finalize (rank 3: MPI_Abort, and 1 more); the results contain everything recorded up to that point",
		"the clock offset of 1 host is not known",
		"times on b are uncertain by 2.50 ms relative to other hosts",
		"7 MPI calls returned, by the hosts' clocks, up to 3.00 ms before the message was sent: moved after the send",
		"12,000 MPI calls were not recorded: the ring buffer in shared memory was full",
		"102 messages of agents refused as inconsistent with earlier ones; calls are missing",
	}
	if !slices.Equal(got, want) {
		t.Errorf("troubles:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	single := &rundir.Manifest{Losses: rundir.Losses{RecordsDropped: 1, MessagesRefused: 1}}
	if got := Troubles(single, ""); len(got) != 2 || !strings.HasPrefix(got[0].Text, "1 MPI call was not recorded") || !strings.HasSuffix(got[1].Text, "1 message of agents refused as inconsistent with earlier ones; calls are missing") {
		t.Errorf("of one call and one message: %v", got)
	}
	quiet := &rundir.Manifest{Clocks: []rundir.Clock{{UncertaintyNS: 1_000_000}}, Order: rundir.Order{CallsMoved: 1, LargestNS: 1_000_000}}
	if n := len(Troubles(quiet, "")); n > 0 {
		t.Errorf("%d troubles out of nothing", n)
	}
}

// Ranks with a reported reason for their missing record are not listed as merely silent, and the hint is for that
// reason.
func TestTroublesOfKnownReasons(t *testing.T) {
	const direct = "MPI was initialized without libmoriens.so; its calls were not recorded: /a calls PMPI_Init itself"
	unknown := "no data from them: no library or no agent where they run"
	for _, tt := range []struct {
		reason     string
		unrecorded int
		text, hint string
	}{
		{unknown, 0, "1 of 2 ranks sent nothing", "docs/nodes.md"},
		{"it began to record, but none of its calls arrived", 0, "", ""},
		{direct, 0, "", ""},
		{direct, 1, "1 of 2 ranks could not record", direct + ": see docs/limits.md"},
		{"its shared memory says: no space left on device", 1, "1 of 2 ranks could not record", "/dev/shm"},
	} {
		m := &rundir.Manifest{Ranks: 2, Losses: rundir.Losses{RanksMissing: 1, RanksUnrecorded: tt.unrecorded}, Worlds: []rundir.World{
			{Size: 2, MissingRanks: []int{1}, Unrecorded: []rundir.Unrecorded{{Ranks: 1, List: []int{1}, Reason: tt.reason}}},
		}}
		list := Troubles(m, "")
		if tt.text == "" {
			if len(list) != 0 {
				t.Errorf("%s: %v", tt.reason, list)
			}
			continue
		}
		if len(list) != 1 || list[0].Text != tt.text || !strings.Contains(list[0].Hint, tt.hint) {
			t.Errorf("%s: %v", tt.reason, list)
		}
	}
}

// The line sits in the last row, outside of the region that scrolls, and the cursor is put back.
func TestStatus(t *testing.T) {
	var out strings.Builder
	s := &Status{out: &out, size: func() (int, int, error) { return 20, 10, nil }, resized: nil, stopped: make(chan struct{})}
	s.take()
	s.Show("moriens\x1b[2J 1,234 bursts, and more")
	got := out.String()
	for _, want := range []string{"\033[1;9r", "\0337\033[10;1H\033[7mmoriens\\x1b[2J 1,234\033[K\033[0m\0338"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	out.Reset()
	s.Close()
	if got := out.String(); !strings.HasPrefix(got, "\0337\033[r") || !strings.HasSuffix(got, "\0338") {
		t.Errorf("Close wrote %q", got)
	}
	s.Show("late")
	if strings.Contains(out.String(), "late") {
		t.Error("Show wrote after Close")
	}

	small := &Status{out: &out, size: func() (int, int, error) { return 20, 4, nil }, stopped: make(chan struct{})}
	out.Reset()
	small.take()
	small.Show("x")
	if out.Len() > 0 {
		t.Errorf("a terminal of 4 rows got %q", out.String())
	}
	(&Status{}).Show("nothing")
	(&Status{}).Close()
}

// The table names functions briefly, and distinguishes places in one function.
func TestSites(t *testing.T) {
	at := func(function string, offset uint64, more ...trace.Frame) trace.CallPath {
		return trace.CallPath{Function: function, Frames: append([]trace.Frame{{Module: "app", Offset: offset, Function: "NS::Comm::send"}}, more...)}
	}
	main := trace.Frame{Module: "app", Offset: 0x90, Function: "main"}
	run := &trace.Run{CallPaths: []trace.CallPath{
		{}, at("MPI_Send", 0x10), at("MPI_Send", 0x20), at("MPI_Recv", 0x10), at("MPI_Recv", 0x10, main), {Function: "MPI_Init"},
		{Function: "MPI_Init", Frames: []trace.Frame{{Offset: 0x7f00}}},
	}}
	run.CallPaths[2].Frames[0].File, run.CallPaths[2].Frames[0].Line = "/src/comm.cc", 7
	for _, tt := range []struct {
		paths []uint32
		want  []string
	}{
		{[]uint32{1, 2}, []string{"MPI_Send@Comm::send", "MPI_Send@comm.cc:7"}},
		{[]uint32{3, 4}, []string{"MPI_Recv@Comm::send", "MPI_Recv@Comm::send"}}, // one place: clusters.json has the callers
		{[]uint32{0, 5}, []string{"?", "MPI_Init"}},
		{[]uint32{5, 6}, []string{"MPI_Init", "MPI_Init(+0x7f00)"}}, // no call path, and one into code that no file holds
	} {
		x := trace.Cluster{Before: []trace.PathCount{{Path: tt.paths[0]}}, After: []trace.PathCount{{Path: tt.paths[1]}}}
		if got, want := callsRound(run, &x, sites(run, []trace.Cluster{x})), tt.want[0]+" → "+tt.want[1]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	run.CallPaths[2].Frames[0].File = ""
	x := trace.Cluster{Before: []trace.PathCount{{Path: 1}}, After: []trace.PathCount{{Path: 2}}}
	if got, want := callsRound(run, &x, sites(run, []trace.Cluster{x})), "MPI_Send@Comm::send(+0x10) → MPI_Send@Comm::send(+0x20)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
