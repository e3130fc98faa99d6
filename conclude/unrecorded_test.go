package conclude

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
)

// A rank that goes unrecorded is counted in the world that it belongs to, once, with its host and reason; where nobody of its world has a record the world is
// there all the same.
func TestMuster(t *testing.T) {
	const why = "no space left on device"
	in := func(name string, size int, ranks ...int32) *world {
		w := &world{size: size, members: make(map[int32]*store.Process)}
		for _, rank := range ranks {
			w.members[rank] = &store.Process{Info: &moriensv1.Process{Process: uint64(100 + rank), Rank: rank, Size: int32(size), World: name}}
		}
		return w
	}
	who := func(world string, rank, size int32) absentee {
		return absentee{&moriensv1.Process{World: world, Rank: rank, Size: size}, "n1", why}
	}
	absent := func(world, rank int) rundir.Absence {
		return rundir.Absence{World: world, Rank: rank, Host: "n1", Reason: why}
	}
	for _, tt := range []struct {
		name       string
		worlds     []*world
		list       []absentee
		want       []rundir.Absence
		ghosts     []int // their sizes
		unrecorded int
	}{
		{"nobody", []*world{in("w", 2, 0, 1)}, nil, nil, nil, 0},
		{"of the one world", []*world{in("w", 3, 1)}, []absentee{who("", 2, 3), who("", 0, 3)}, []rundir.Absence{absent(0, 2), absent(0, 0)}, nil, 2},
		{"told with the rank alone", []*world{in("w", 2, 0)}, []absentee{who("", 1, 0)}, []rundir.Absence{absent(0, 1)}, nil, 1},
		{"by the launcher's name", []*world{in("v", 2, 0), in("w", 2, 0)}, []absentee{who("w", 1, 2)}, []rundir.Absence{absent(1, 1)}, nil, 1},
		{"by the size", []*world{in("v", 2, 0), in("w", 4, 0)}, []absentee{who("", 1, 4)}, []rundir.Absence{absent(1, 1)}, nil, 1},
		{"where the rank is missing", []*world{in("v", 2, 0, 1), in("w", 2, 0)}, []absentee{who("", 1, 2)}, []rundir.Absence{absent(1, 1)}, nil, 1},
		{"of two alike, one each", []*world{in("v", 2, 0), in("w", 2, 0)}, []absentee{who("", 1, 2), who("", 1, 2)}, []rundir.Absence{absent(0, 1), absent(1, 1)}, nil, 2},
		{"told twice by name", []*world{in("w", 2, 0)}, []absentee{who("w", 1, 2), who("w", 1, 2)}, []rundir.Absence{absent(0, 1)}, nil, 1},
		{"nobody of its world came", []*world{in("v", 2, 0, 1)}, []absentee{who("w", 1, 4), who("w", 3, 4)}, []rundir.Absence{absent(1, 1), absent(1, 3)}, []int{4}, 2},
		{"no world came", nil, []absentee{who("", 0, 2), who("", 1, 2)}, []rundir.Absence{absent(0, 0), absent(0, 1)}, []int{2}, 2},
		{"one of them without its name", nil, []absentee{who("", 0, 2), who("w", 1, 2)}, []rundir.Absence{absent(0, 1), absent(0, 0)}, []int{2}, 2},
		{"two, one after the other", nil, []absentee{who("", 0, 1), who("", 0, 1)}, []rundir.Absence{absent(0, 0), absent(1, 0)}, []int{1, 1}, 2},
		{"no world came, no size", nil, []absentee{who("", 3, 0)}, []rundir.Absence{absent(0, 3)}, []int{4}, 1},
		{"no number", []*world{in("w", 3, 0)}, []absentee{who("", -1, 0), who("", 1, 3)}, []rundir.Absence{absent(0, 1), absent(0, -1)}, nil, 2},
		{"no number, no place", []*world{in("w", 1, 0)}, []absentee{who("", -1, 0), who("", -1, 0)}, []rundir.Absence{absent(1, -1), absent(1, -1)}, []int{2}, 2},
		{"no number, behind others", nil, []absentee{who("", 0, 2), who("", -1, 0), who("", -1, 0)}, []rundir.Absence{absent(0, 0), absent(0, -1), absent(0, -1)}, []int{3}, 3},
		{"it has come", []*world{in("w", 2, 0, 1)}, []absentee{{&moriensv1.Process{Process: 101, World: "w", Rank: 1, Size: 2}, "n1", why}}, []rundir.Absence{absent(0, 1)}, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := muster(tt.worlds, tt.list)
			var sizes []int
			for _, g := range r.ghosts {
				sizes = append(sizes, g.world().Size)
			}
			if d := cmp.Diff(tt.want, r.absent); d != "" || !slices.Equal(sizes, tt.ghosts) || r.unrecorded != tt.unrecorded {
				t.Errorf("%d unrecorded, worlds of %v besides; -want +got:\n%s", r.unrecorded, sizes, d)
			}
		})
	}
}

// Two witnesses of a node, one after the other, tell of the same ranks: their launcher has named no world, so that only the numbers of the processes say that they are the same.
func TestAbsenteesOfTwoWitnesses(t *testing.T) {
	tell := func(number uint64) *store.Agent {
		a := &store.Agent{Hello: &moriensv1.Hello{Agent: number, Host: "n1"}}
		for rank := range int32(2) {
			a.Faults = append(a.Faults, &moriensv1.Fault{Rank: rank, Reason: "no spool", Who: &moriensv1.Process{Process: uint64(100 + rank), Rank: rank, Size: 2, Pid: uint32(7 + rank)}})
		}
		return a
	}
	r := muster(nil, absentees(store.Frozen{Agents: []*store.Agent{tell(1), tell(2)}}))
	if len(r.absent) != 2 || len(r.ghosts) != 1 || r.unrecorded != 2 {
		t.Errorf("%d worlds, %d unrecorded: %v", len(r.ghosts), r.unrecorded, r.absent)
	}
}

// The manifest says of each rank without a record why: could it not record, did its agent not finish, is its clock not known, or has nobody told.
func TestConcludeUnrecorded(t *testing.T) {
	s := store.New()
	f := newFeeder(t, s, 1, "n1")
	f.clock(0, 0)
	f.process(&moriensv1.Process{Process: 1, Size: 6, World: "w", Host: "n1", Clock: moriensv1.Clock_CLOCK_TSC})
	f.ring(&moriensv1.Ring{Ring: 11, Process: 1})
	f.calls(&moriensv1.Calls{Ring: 11, BurstTicks: []uint64{0, 50}, CallTicks: []uint64{1, 1}, Function: []uint32{1, 1}, Path: []uint32{0, 0}, NoBurst: []uint32{0}})
	f.process(&moriensv1.Process{Process: 2, Rank: 1, Size: 6, World: "w", Host: "n1", Clock: moriensv1.Clock_CLOCK_TSC}) // and not a call
	f.fault(&moriensv1.Fault{Rank: 2, Errno: 28, Who: &moriensv1.Process{Rank: 2, Size: 6, Pid: 7}})
	f.fault(&moriensv1.Fault{Rank: 2, Errno: 28, Who: &moriensv1.Process{Rank: 2, Size: 6, Pid: 7}}) // by an agent that was started again
	f.clock(100, 100)
	g := newFeeder(t, s, 2, "n2")
	g.fault(&moriensv1.Fault{Rank: 3, Reason: "the agent died 8 times in a row", Who: &moriensv1.Process{Process: 4, Rank: 3, Size: 6, World: "w", Host: "n2", Pid: 9}})
	g.process(&moriensv1.Process{Process: 3, Rank: 4, Size: 6, World: "w", Host: "n2", Clock: moriensv1.Clock_CLOCK_TSC}) // whose clock nobody has read
	g.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}})
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
		{Ranks: 1, List: []int{4}, Host: "n2", Reason: clockless},
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

// Where no rank has a record, the results have the world that was there, its ranks and why, can be written, and are read again.
func TestConcludeNobodyRecorded(t *testing.T) {
	s := store.New()
	f := newFeeder(t, s, 1, "n1")
	for rank := range int32(3) {
		f.fault(&moriensv1.Fault{Rank: rank, Reason: "spool: read-only file system", Who: &moriensv1.Process{
			Process: uint64(rank + 1), Rank: rank, Size: 3, World: "w", Host: "n1", Executable: "/opt/app", MpiLibrary: "Open MPI v4.1.4", Pid: uint32(100 + rank),
		}})
	}
	f.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}})
	r, err := concludeAll(t, s.Freeze(), Job{}, options(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := rundir.Write(&r.Content, dir); err != nil {
		t.Fatal(err)
	}
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

// A rank that died before there was anything to record has left nothing out, which is not the same as a rank of which calls are gone.
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
			f := newFeeder(t, s, 1, "n1")
			f.clock(0, 0)
			f.process(&moriensv1.Process{Process: 1, Size: 2, World: "w", Host: "n1", Clock: moriensv1.Clock_CLOCK_TSC})
			f.ring(&moriensv1.Ring{Ring: 11, Process: 1})
			f.calls(&moriensv1.Calls{Ring: 11, BurstTicks: []uint64{0, 50}, CallTicks: []uint64{1, 1}, Function: []uint32{1, 1}, Path: []uint32{0, 0}, NoBurst: []uint32{0}})
			f.process(&moriensv1.Process{Process: 2, Rank: 1, Size: 2, World: "w", Host: "n1", Clock: moriensv1.Clock_CLOCK_TSC})
			if tt.end != nil {
				f.ring(&moriensv1.Ring{Ring: 21, Process: 2})
				f.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: tt.end}})
			}
			f.end(2, tt.how)
			f.clock(100, 100)
			f.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}})
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
