package conclude

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/collector/store"
	"moriens/conclude/agenttest"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// The manifest has a reason for each rank without a record: it could not record, its agent did not finish, its clock is
// not known, or no reason was reported.
func TestConcludeUnrecorded(t *testing.T) {
	s := store.New()
	f := agenttest.New(t, s, 1, "n1")
	f.Clock(0, 0)
	f.Process(&moriensv1.Process{Process: 1, Size: 6, World: "w", Host: "n1", Clock: moriensv1.Clock_CLOCK_TSC})
	f.Ring(&moriensv1.Ring{Ring: 11, Process: 1})
	f.Rows(&sectiontest.Rows{Ring: 11, Burst: []uint64{0, 50}, Call: []uint64{1, 1}, Function: []uint32{1, 1}, Path: []uint32{0, 0}, NoBurst: []uint32{0}})
	f.Process(&moriensv1.Process{Process: 2, Rank: 1, Size: 6, World: "w", Host: "n1", Clock: moriensv1.Clock_CLOCK_TSC}) // and not a call
	f.Fault(&moriensv1.Fault{Rank: 2, Errno: 28, Who: &moriensv1.Process{Rank: 2, Size: 6, Pid: 7}})
	f.Fault(&moriensv1.Fault{Rank: 2, Errno: 28, Who: &moriensv1.Process{Rank: 2, Size: 6, Pid: 7}}) // by an agent that was started again
	f.Clock(100, 100)
	g := agenttest.New(t, s, 2, "n2")
	g.Fault(&moriensv1.Fault{Rank: 3, Reason: "the agent died 8 times in a row", Who: &moriensv1.Process{Process: 4, Rank: 3, Size: 6, World: "w", Host: "n2", Pid: 9}})
	g.Process(&moriensv1.Process{Process: 3, Rank: 4, Size: 6, World: "w", Host: "n2", Clock: moriensv1.Clock_CLOCK_TSC}) // whose clock was never read
	g.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}})
	r, err := concludeAll(t, s.Freeze(), Job{}, options(t))
	if err != nil {
		t.Fatal(err)
	}
	m := r.Manifest
	r.Describe()
	want := []rundir.Unrecorded{
		{Ranks: 1, List: []int{5}, Reason: "no data from them: no library or no agent where they run"},
		{Ranks: 1, List: []int{2}, Host: "n1", Reason: "its shared memory says: no space left on device"},
		{Ranks: 1, List: []int{1}, Host: "n1", Reason: "the agent there did not finish"},
		{Ranks: 1, List: []int{3}, Host: "n2", Reason: "the agent died 8 times in a row"},
		{Ranks: 1, List: []int{4}, Host: "n2", Reason: "the rate of its clock is not known"},
	}
	if len(m.Worlds) != 1 {
		t.Fatalf("worlds %+v", m.Worlds)
	}
	if d := cmp.Diff(want, m.Worlds[0].Unrecorded); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if m.Losses.RanksUnrecorded != 3 || m.Losses.RanksMissing != 5 || m.Complete || !m.Unmeasured() {
		t.Errorf("losses %+v; complete %v", m.Losses, m.Complete)
	}
	if !slices.Equal(m.Losses.AgentsUnfinished, []string{"n1"}) || !strings.Contains(strings.Join(m.Incomplete, "\n"), "1 agent did not finish, on n1") {
		t.Errorf("agents %q: %q", m.Losses.AgentsUnfinished, m.Incomplete)
	}
}

// Where no rank has a record, the results have the world that was there, its ranks and why, can be written, and are
// read again.
func TestConcludeNoRankRecorded(t *testing.T) {
	s := store.New()
	f := agenttest.New(t, s, 1, "n1")
	for rank := range int32(3) {
		f.Fault(&moriensv1.Fault{Rank: rank, Reason: "spool: read-only file system", Who: &moriensv1.Process{
			Process: uint64(rank + 1), Rank: rank, Size: 3, World: "w", Host: "n1", Executable: "/opt/app", MpiLibrary: "Open MPI v4.1.4", Pid: uint32(100 + rank),
		}})
	}
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}})
	r, err := concludeAll(t, s.Freeze(), Job{}, options(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := rundir.Write(&r.Content, dir); err != nil {
		t.Fatal(err)
	}
	rundirtest.CheckPhasesIfKnown(t, dir)
	_, m, _, err := rundir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []rundir.World{{
		Executable: "/opt/app", MPI: rundir.MPI{Library: "Open MPI", Version: "4.1.4"}, Size: 3, MissingRanks: []int{0, 1, 2}, Unseen: true,
		Unrecorded: []rundir.Unrecorded{{Ranks: 3, List: []int{0, 1, 2}, Host: "n1", Reason: "spool: read-only file system"}},
	}}
	if d := cmp.Diff(want, m.Worlds); d != "" || m.Ranks != 3 || m.Complete {
		t.Errorf("%d ranks, complete %v, -want +got:\n%s", m.Ranks, m.Complete, d)
	}
	if m.Empty != "no rank could record: spool: read-only file system" || !slices.Equal(m.Incomplete, []string{"3 of 3 ranks not recorded on n1: spool: read-only file system"}) {
		t.Errorf("empty because %q; %q", m.Empty, m.Incomplete)
	}
}

// A rank that died before there was anything to record has left nothing out, which is not the same as a rank of which
// calls are gone.
func TestConcludeDiedFirst(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  *moriensv1.RingEnd // nil: it had no ring
		how  moriensv1.ProcessEnd_How
		died bool
	}{
		{"without a ring", nil, moriensv1.ProcessEnd_HOW_DIED, true},
		{"with an empty ring", &moriensv1.RingEnd{Ring: 21}, moriensv1.ProcessEnd_HOW_DIED, true},
		{"with calls that were dropped", &moriensv1.RingEnd{Ring: 21, Dropped: 3}, moriensv1.ProcessEnd_HOW_DIED, false},
		{"with a damaged ring", &moriensv1.RingEnd{Ring: 21, Corrupt: "slot 3"}, moriensv1.ProcessEnd_HOW_DIED, false},
		{"it has ended MPI", nil, moriensv1.ProcessEnd_HOW_FINALIZED, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := store.New()
			f := agenttest.New(t, s, 1, "n1")
			f.Clock(0, 0)
			f.Process(&moriensv1.Process{Process: 1, Size: 2, World: "w", Host: "n1", Clock: moriensv1.Clock_CLOCK_TSC})
			f.Ring(&moriensv1.Ring{Ring: 11, Process: 1})
			f.Rows(&sectiontest.Rows{Ring: 11, Burst: []uint64{0, 50}, Call: []uint64{1, 1}, Function: []uint32{1, 1}, Path: []uint32{0, 0}, NoBurst: []uint32{0}})
			f.Process(&moriensv1.Process{Process: 2, Rank: 1, Size: 2, World: "w", Host: "n1", Clock: moriensv1.Clock_CLOCK_TSC})
			if tt.end != nil {
				f.Ring(&moriensv1.Ring{Ring: 21, Process: 2})
				f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: tt.end}})
			}
			f.End(2, tt.how)
			f.Clock(100, 100)
			f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}})
			r, err := concludeAll(t, s.Freeze(), Job{}, options(t))
			if err != nil {
				t.Fatal(err)
			}
			r.Describe()
			m := r.Manifest
			if len(m.Worlds) != 1 || len(m.Worlds[0].Unrecorded) != 1 {
				t.Fatalf("worlds %+v", m.Worlds)
			}
			if u := m.Worlds[0].Unrecorded[0]; u.Died != tt.died || u.Ranks != 1 || m.Unmeasured() == tt.died || m.Complete {
				t.Errorf("unrecorded %+v, unmeasured %v, complete %v: %q", u, m.Unmeasured(), m.Complete, m.Incomplete)
			}
		})
	}
}
