package conclude

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector/store"
	"moriens/conclude/agenttest"
	"moriens/conclude/retention"
	"moriens/internal/section/sectiontest"
	"moriens/internal/stage"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// fatal is what a plain test and one of a property have in common.
type fatal interface{ Fatal(...any) }

// concludeAll ends a run and keeps all of it, however long it takes.
func concludeAll(t testing.TB, f store.Frozen, j Job, o grouping.Options) (*Result, error) {
	return Conclude(t.Context(), End{Frozen: f, Job: j, Options: o, Keep: retention.Options{All: true}, Stages: stage.New(0)})
}

// Two ranks that do not count the same, runs of polls, bursts without counts, an event that is nowhere and one that
// is on one rank only.
func TestRecountPollsAndCounts(t *testing.T) {
	const n = trace.NoCount
	s := store.New()
	f := agenttest.New(t, s, 1, "n1")
	f.Clock(1000, 1000)
	test, recv := agenttest.Call(t, "MPI_Test"), agenttest.Call(t, "MPI_Recv")
	for rank, p := range []*moriensv1.Process{
		{Events: []string{"PAPI_TOT_INS", "sde:::a::b"}, Unavailable: []string{"hw::X: no: PMU"}},
		{Events: []string{"sw:cpu-time", "PAPI_TOT_INS"}, Unavailable: []string{"hw::X: no: PMU", "sde:::a::b: not registered"}},
	} {
		p.Process, p.Rank, p.Size, p.World, p.Clock = uint64(rank+1), int32(rank), 2, "w", moriensv1.Clock_CLOCK_TSC
		f.Process(p)
		f.Ring(&moriensv1.Ring{Ring: uint64(rank + 11), Process: p.Process})
	}
	f.Rows(&sectiontest.Rows{
		Ring: 11, Origin: 1000, Burst: []uint64{0, 10, 0, 20}, Call: []uint64{1, 2, 3, 4},
		Function: []uint32{recv, test, recv, test}, Path: []uint32{0, 0, 0, 0}, NoBurst: []uint32{0, 2},
		PollsRow: []uint32{1, 3}, Polls: []uint64{1000, 2},
		Counts: [][]int64{{100}, {-7}}, NoCounts: []uint32{0, 1, 2},
	})
	f.Rows(&sectiontest.Rows{
		Ring: 11, First: 4, Origin: 1040, Burst: []uint64{5}, Call: []uint64{1}, Function: []uint32{recv}, Path: []uint32{0},
		Counts: [][]int64{{200}, {9}},
	})
	f.Rows(&sectiontest.Rows{
		Ring: 12, Origin: 1000, Burst: []uint64{0, 10}, Call: []uint64{1, 2}, Function: []uint32{recv, recv}, Path: []uint32{0, 0},
		NoBurst: []uint32{0}, Counts: [][]int64{{11}, {300}}, NoCounts: []uint32{0},
	})
	f.Clock(1_001_000, 1_001_000)
	f.End(1, moriensv1.ProcessEnd_HOW_FINALIZED)
	f.End(2, moriensv1.ProcessEnd_HOW_FINALIZED)

	r, err := concludeAll(t, s.Freeze(), Job{}, grouping.Options{By: grouping.ByAuto})
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Counter{{Name: "PAPI_TOT_INS", Unit: "instructions"}, {Name: "sde:::a::b"}, {Name: "sw:cpu-time", Unit: "ns"}}
	if d := cmp.Diff(want, r.Run.Counters); d != "" {
		t.Error(d)
	}
	first, second := &r.Run.Threads[0], &r.Run.Threads[1]
	if d := cmp.Diff([]int64{1, 1000, 1, 2, 1}, first.Calls.Count); d != "" || second.Calls.Count != nil {
		t.Errorf("counts %v and %v", first.Calls.Count, second.Calls.Count)
	}
	if d := cmp.Diff([][]int64{{n, 100, 200}, {n, -7, 9}, {n, n, n}}, first.Bursts.Counters); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]int64{{300}, {n}, {11}}, second.Bursts.Counters); d != "" {
		t.Error(d)
	}
	r.Manifest.Describe(r.Run)
	if d := cmp.Diff(map[string]int64{"MPI_Recv": 5, "MPI_Test": 1002}, r.Manifest.MPICalls); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"hw::X", "sde:::a::b"}, r.Manifest.Losses.CountersUnavailable); d != "" {
		t.Error(d)
	}
	notes := strings.Join(r.Manifest.Notes, "\n")
	for _, note := range []string{"not counted: hw::X: no: PMU", "not counted on 1 of 2 ranks: sde:::a::b: not registered"} {
		if !strings.Contains(notes, note) {
			t.Errorf("no %q in\n%s", note, notes)
		}
	}
}

func options(t *testing.T) grouping.Options {
	dims, err := space.Parse("duration:log")
	if err != nil {
		t.Fatal(err)
	}
	return grouping.Options{Dims: dims, By: grouping.ByCalls, Workers: 1}
}

// threeKinds is a rank with two kinds of bursts between the same two calls, and one between others.
func threeKinds(t *testing.T) store.Frozen {
	s := store.New()
	f := agenttest.New(t, s, 1, "n1")
	f.Clock(0, 0)
	f.Process(&moriensv1.Process{Process: 1, Size: 1, World: "w", Clock: moriensv1.Clock_CLOCK_TSC})
	f.Ring(&moriensv1.Ring{Ring: 11, Process: 1})
	c := &sectiontest.Rows{Ring: 11, Origin: 0, NoBurst: []uint32{0}}
	add := func(name string, burst uint64) { c.Add(agenttest.Call(t, name), 0, burst, 100) }
	add("MPI_Init", 0)
	for i := range 40 {
		add("MPI_Barrier", 1_000_000+uint64(i)*100)
		add("MPI_Barrier", 50_000_000+uint64(i)*5000)
		add("MPI_Allreduce", 4_000_000+uint64(i)*100)
	}
	f.Rows(c)
	f.Clock(1<<40, 1<<40)
	f.End(1, moriensv1.ProcessEnd_HOW_FINALIZED)
	return s.Freeze()
}

func TestConclude(t *testing.T) {
	f := threeKinds(t)
	r, err := concludeAll(t, f, Job{Run: "r"}, options(t))
	if err != nil {
		t.Fatal(err)
	}
	if f.Processes[0].Rings[0].Chunks != nil {
		t.Error("the store still holds what the run was made of")
	}
	// The pair (Allreduce, Barrier) holds the short kind, (Barrier, Barrier) the long, (Barrier, Allreduce)
	// the middle one; (Init, Barrier) one burst, which is rare.
	if len(r.Run.Clusters) != 4 {
		t.Fatalf("%d clusters: %+v", len(r.Run.Clusters), r.Run.Clusters)
	}
	for i, want := range []int{40, 40, 39, 1} {
		if got := r.Run.Clusters[i].Bursts; got != want {
			t.Errorf("cluster %d has %d bursts, want %d", i+1, got, want)
		}
	}
	b := r.Run.Threads[0].Bursts
	for i, want := range []int32{4, 1, 2, 3, 1, 2, 3} {
		if b.Cluster[i] != want {
			t.Errorf("burst %d is in cluster %d, want %d", i, b.Cluster[i], want)
		}
	}
	if !r.Run.Clusters[3].Rare {
		t.Error("a single burst between its calls is not marked rare")
	}
}

// Calls of MPI_Pcontrol that give no name are one note, however many ranks have how many of them.
func TestNamelessPcontrol(t *testing.T) {
	const text = "MPI_Pcontrol: calls that gave no readable name and marked no phase: "
	f := store.Frozen{Processes: []*store.Process{
		{Notes: []string{text + "3"}}, {Notes: []string{"other", text + "5"}}, {Notes: []string{text + "10"}}, {Notes: []string{"other"}},
		{Notes: []string{text + "many"}}, {},
	}}
	var all []string
	for range 2 { // the notes of the processes stay as they are
		sum, rest := namelessPcontrol(f)
		all = append(sum, notes(f, rest)...)
	}
	want := []string{
		"MPI_Pcontrol: 18 calls on 3 ranks gave no readable name and marked no phase",
		text + "many (1 of 6 ranks)", "other (2 of 6 ranks)",
	}
	if d := cmp.Diff(want, all); d != "" {
		t.Error(d)
	}
	f.Processes = []*store.Process{{Notes: []string{text + "1"}}}
	if sum, _ := namelessPcontrol(f); len(sum) != 1 || sum[0] != "MPI_Pcontrol: 1 call on 1 rank gave no readable name and marked no phase" {
		t.Error(sum)
	}
	f.Processes = []*store.Process{{Notes: []string{"other"}}}
	if sum, _ := namelessPcontrol(f); sum != nil {
		t.Error(sum)
	}
}

// Without time for any stage there is a result all the same, which says what it lacks and why.
func TestConcludeWithoutTime(t *testing.T) {
	stages := stage.New(time.Nanosecond)
	r, err := Conclude(t.Context(), End{Frozen: threeKinds(t), Job: Job{Run: "r"}, Options: options(t), Keep: retention.Options{Budget: retention.DefaultBudget}, Stages: stages})
	if err == nil || len(r.Run.Clusters) > 0 {
		t.Errorf("in a nanosecond: %v, %d clusters", err, len(r.Run.Clusters))
	}
	said := strings.Join(append(r.Manifest.Notes, r.Manifest.Reduction.Missing...), "\n")
	for _, want := range []string{
		"sends and receives are not matched: rebuild: ", "the bursts are in no clusters: ", "profile.parquet is missing", "the reconstruction error is not known: structure: ",
		"the size of rows in files is not known",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("in a nanosecond: %q lacks %q", said, want)
		}
	}
}

func TestWhyEmpty(t *testing.T) {
	tests := []struct {
		name string
		feed func(*agenttest.Feeder)
		want string
	}{
		{"no agent", nil, "no agent reached"},
		{"no MPI", func(f *agenttest.Feeder) {}, "no process of the job called MPI"},
		{"could not record", func(f *agenttest.Feeder) {
			f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: &moriensv1.Fault{Rank: 0, Errno: 28}}})
		}, "no rank could record"},
		{"past", func(f *agenttest.Feeder) {
			f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: &moriensv1.Fault{Rank: 0, Past: "/lib/libmpi.so"}}})
		}, "no rank could record: an MPI library was loaded by dlopen, bypassing libmoriens.so; its calls were not recorded: /lib/libmpi.so"},
		{"direct", func(f *agenttest.Feeder) {
			f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: &moriensv1.Fault{
				Rank: 0, Past: "/lib/libmpi.so", Reason: "MPI was initialized without libmoriens.so; its calls were not recorded: /a calls PMPI_Init itself",
			}}})
		}, "no rank could record: MPI was initialized without libmoriens.so; its calls were not recorded: /a calls PMPI_Init itself"},
		{"one call", func(f *agenttest.Feeder) {
			f.Clock(0, 0)
			f.Process(&moriensv1.Process{Process: 1, Size: 1, Clock: moriensv1.Clock_CLOCK_TSC})
			f.Ring(&moriensv1.Ring{Ring: 11, Process: 1})
			f.Rows(&sectiontest.Rows{Ring: 11, Burst: []uint64{0}, Call: []uint64{1}, Function: []uint32{1}, Path: []uint32{0}, NoBurst: []uint32{0}})
			f.Clock(100, 100)
		}, "two MPI calls"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := store.New()
			if tt.feed != nil {
				tt.feed(agenttest.New(t, s, 1, "n1"))
			}
			r, err := concludeAll(t, s.Freeze(), Job{}, options(t))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(r.Manifest.Empty, tt.want) {
				t.Errorf("empty because %q, want %q", r.Manifest.Empty, tt.want)
			}
			if past := strings.Contains(r.Advice, "docs/limits.md"); past != (tt.name == "past" || tt.name == "direct") {
				t.Errorf("advice %q", r.Advice)
			}
			if direct := strings.HasPrefix(r.Advice, "let the program call MPI_Init"); direct != (tt.name == "direct") {
				t.Errorf("advice %q", r.Advice)
			}
		})
	}
}

// Every way in which something is lost has its place in the manifest.
func TestConcludeCountsLosses(t *testing.T) {
	s := store.New()
	f := agenttest.New(t, s, 1, "n1")
	f.Clock(0, 0)
	f.Process(&moriensv1.Process{Process: 1, Rank: 3, Size: 4, World: "w", Host: "n1", Clock: moriensv1.Clock_CLOCK_TSC})
	f.Ring(&moriensv1.Ring{Ring: 11, Process: 1})
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: 11, Dropped: 6, Corrupt: "bad slot"}}})
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: &moriensv1.Fault{Rank: 1, Errno: 28}}})
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: &moriensv1.Fault{Rank: -1, Corrupt: "bad magic"}}})
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{
		Process: 1, How: moriensv1.ProcessEnd_HOW_ABORTED, ThreadsFailed: 2, Fault: 24, Unrecorded: 50, PathsLost: 9,
	}}})
	f.Clock(100, 100)
	r, err := concludeAll(t, s.Freeze(), Job{}, options(t))
	if err != nil {
		t.Fatal(err)
	}
	l := r.Manifest.Losses
	if l.RecordsDropped != 6 || l.ThreadsUnrecorded != 2 || l.CallsUnrecorded != 50 || l.CallPathsLost != 9 ||
		len(l.RanksDied) != 1 || l.RanksDied[0].Rank != 3 || l.RanksDied[0].How != "MPI_Abort" {
		t.Errorf("losses %+v", l)
	}
	notes := strings.Join(r.Manifest.Notes, "\n")
	for _, want := range []string{"bad slot", "bad magic", "no space left", "too many open files", "did not finish"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note has %q:\n%s", want, notes)
		}
	}
}

// What cannot be clustered is described and kept all the same.
func TestConcludeWithoutClusters(t *testing.T) {
	s := store.New()
	f := agenttest.New(t, s, 1, "n1")
	f.Clock(0, 0)
	f.Process(&moriensv1.Process{Process: 1, Size: 1, World: "w", Clock: moriensv1.Clock_CLOCK_TSC})
	f.Ring(&moriensv1.Ring{Ring: 11, Process: 1})
	f.Rows(&sectiontest.Rows{Ring: 11, Burst: []uint64{0, 50}, Call: []uint64{1, 1}, Function: []uint32{1, 1}, Path: []uint32{0, 0}, NoBurst: []uint32{0}})
	f.Clock(1<<40, 1<<40)
	o := options(t)
	o.Filter = space.Filter{MinNS: -1}
	r, err := concludeAll(t, s.Freeze(), Job{}, o)
	if err == nil || !strings.Contains(err.Error(), "minimal duration") {
		t.Errorf("error %v", err)
	}
	if b := r.Run.Threads[0].Bursts; b.Len() != 1 || b.Cluster[0] != 0 {
		t.Errorf("bursts %+v", b)
	}
	if !strings.Contains(strings.Join(r.Manifest.Notes, ";"), "minimal duration") {
		t.Errorf("notes %q", r.Manifest.Notes)
	}
}
