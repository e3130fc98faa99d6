package rebuild

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
)

// A rank that goes unrecorded is counted in the world that it belongs to, once, with its host and reason; where no rank
// of its world has a record the world is listed all the same.
func TestAssign(t *testing.T) {
	const why = "no space left on device"
	in := func(name string, size int, ranks ...int32) *World {
		w := &World{size: size, members: make(map[int32]*store.Process)}
		for _, rank := range ranks {
			w.members[rank] = &store.Process{Info: &moriensv1.Process{Process: uint64(100 + rank), Rank: rank, Size: int32(size), World: name}}
		}
		return w
	}
	who := func(world string, rank, size int32) Absentee {
		return Absentee{&moriensv1.Process{World: world, Rank: rank, Size: size}, "n1", why}
	}
	absent := func(world, rank int) rundir.Absence {
		return rundir.Absence{World: world, Rank: rank, Host: "n1", Reason: why}
	}
	for _, tt := range []struct {
		name       string
		worlds     []*World
		list       []Absentee
		want       []rundir.Absence
		ghosts     []int // their sizes
		unrecorded int
	}{
		{"nobody", []*World{in("w", 2, 0, 1)}, nil, nil, nil, 0},
		{"of the one world", []*World{in("w", 3, 1)}, []Absentee{who("", 2, 3), who("", 0, 3)}, []rundir.Absence{absent(0, 2), absent(0, 0)}, nil, 2},
		{"reported with the rank alone", []*World{in("w", 2, 0)}, []Absentee{who("", 1, 0)}, []rundir.Absence{absent(0, 1)}, nil, 1},
		{"by the launcher's name", []*World{in("v", 2, 0), in("w", 2, 0)}, []Absentee{who("w", 1, 2)}, []rundir.Absence{absent(1, 1)}, nil, 1},
		{"by the size", []*World{in("v", 2, 0), in("w", 4, 0)}, []Absentee{who("", 1, 4)}, []rundir.Absence{absent(1, 1)}, nil, 1},
		{"where the rank is missing", []*World{in("v", 2, 0, 1), in("w", 2, 0)}, []Absentee{who("", 1, 2)}, []rundir.Absence{absent(1, 1)}, nil, 1},
		{"of two alike, one each", []*World{in("v", 2, 0), in("w", 2, 0)}, []Absentee{who("", 1, 2), who("", 1, 2)}, []rundir.Absence{absent(0, 1), absent(1, 1)}, nil, 2},
		{"reported twice by name", []*World{in("w", 2, 0)}, []Absentee{who("w", 1, 2), who("w", 1, 2)}, []rundir.Absence{absent(0, 1)}, nil, 1},
		{"no process of its world connected", []*World{in("v", 2, 0, 1)}, []Absentee{who("w", 1, 4), who("w", 3, 4)}, []rundir.Absence{absent(1, 1), absent(1, 3)}, []int{4}, 2},
		{"no world", nil, []Absentee{who("", 0, 2), who("", 1, 2)}, []rundir.Absence{absent(0, 0), absent(0, 1)}, []int{2}, 2},
		{"one of them without its name", nil, []Absentee{who("", 0, 2), who("w", 1, 2)}, []rundir.Absence{absent(0, 1), absent(0, 0)}, []int{2}, 2},
		{"two, one after the other", nil, []Absentee{who("", 0, 1), who("", 0, 1)}, []rundir.Absence{absent(0, 0), absent(1, 0)}, []int{1, 1}, 2},
		{"no world, no size", nil, []Absentee{who("", 3, 0)}, []rundir.Absence{absent(0, 3)}, []int{4}, 1},
		{"no number", []*World{in("w", 3, 0)}, []Absentee{who("", -1, 0), who("", 1, 3)}, []rundir.Absence{absent(0, 1), absent(0, -1)}, nil, 2},
		{"no number, no place", []*World{in("w", 1, 0)}, []Absentee{who("", -1, 0), who("", -1, 0)}, []rundir.Absence{absent(1, -1), absent(1, -1)}, []int{2}, 2},
		{"no number, behind others", nil, []Absentee{who("", 0, 2), who("", -1, 0), who("", -1, 0)}, []rundir.Absence{absent(0, 0), absent(0, -1), absent(0, -1)}, []int{3}, 3},
		{"it has come", []*World{in("w", 2, 0, 1)}, []Absentee{{&moriensv1.Process{Process: 101, World: "w", Rank: 1, Size: 2}, "n1", why}}, []rundir.Absence{absent(0, 1)}, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := assign(tt.worlds, tt.list)
			var sizes []int
			for _, w := range r.unseen() {
				sizes = append(sizes, w.Size)
			}
			if d := cmp.Diff(tt.want, r.absent); d != "" || !slices.Equal(sizes, tt.ghosts) || r.unrecorded != tt.unrecorded {
				t.Errorf("%d unrecorded, worlds of %v besides; -want +got:\n%s", r.unrecorded, sizes, d)
			}
		})
	}
}

// Two witnesses of a node, one after the other, report the same ranks: their launcher has named no world, so that only
// the numbers of the processes show that they are the same.
func TestAbsenteesOfTwoWitnesses(t *testing.T) {
	witness := func(number uint64) *store.Agent {
		a := &store.Agent{Hello: &moriensv1.Hello{Agent: number, Host: "n1"}}
		for rank := range int32(2) {
			a.Faults = append(a.Faults, &moriensv1.Fault{Rank: rank, Reason: "no spool", Who: &moriensv1.Process{Process: uint64(100 + rank), Rank: rank, Size: 2, Pid: uint32(7 + rank)}})
		}
		return a
	}
	r := assign(nil, Unrecorded(store.Frozen{Agents: []*store.Agent{witness(1), witness(2)}}))
	if len(r.absent) != 2 || len(r.ghosts) != 1 || r.unrecorded != 2 {
		t.Errorf("%d worlds, %d unrecorded: %v", len(r.ghosts), r.unrecorded, r.absent)
	}
}
