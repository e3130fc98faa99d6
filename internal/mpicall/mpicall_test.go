package mpicall

import "testing"

func TestFacts(t *testing.T) {
	for _, c := range []struct {
		id        ID
		name      string
		class     Class
		eventType uint32
		value     int64
		state     int
	}{
		{Send, "MPI_Send", PointToPoint, ParaverPointToPoint, 1, 4},
		{Waitall, "MPI_Waitall", Completion, ParaverPointToPoint, 6, 8},
		{IreduceScatterBlock, "MPI_Ireduce_scatter_block", Collective, ParaverCollective, 169, 13},
		{Barrier, "MPI_Barrier", Collective, ParaverCollective, 8, 5},
		{Init, "MPI_Init", Environment, ParaverOther, 31, 15},
		{Exscan, "MPI_Exscan", Collective, ParaverCollective, 1076, 13}, // none of Extrae's
		{0, "MPI call 0", Unknown, ParaverOther, 1000, 15},
		{9, "MPI call 9", Unknown, ParaverOther, 1009, 15}, // a gap in the table
		{WinFence, "MPI_Win_fence", OneSided, ParaverOneSided, 68, 5},
		{FileWriteAtC, "MPI_File_write_at_c", IO, ParaverIO, 1814, 12},
		{65535, "MPI call 65535", Unknown, ParaverOther, 66535, 15},
	} {
		eventType, value := c.id.Paraver()
		if c.id.String() != c.name || c.id.Class() != c.class || eventType != c.eventType ||
			value != c.value || c.id.ParaverState() != c.state {
			t.Errorf("%d: got %s, %s, %d:%d, state %d; want %+v",
				c.id, c.id, c.id.Class(), eventType, value, c.id.ParaverState(), c)
		}
	}
}

// Collective calls with a request are those that do not block, and those that make a persistent one.
func TestHasRequest(t *testing.T) {
	for id, want := range map[ID]bool{
		Barrier: false, Ibarrier: true, BarrierInit: true, IallreduceC: true, Allreduce: false, IneighborAllgather: true, CommIdup: true, CommDup: false,
		FileIreadAll: true, FileReadAll: false, WinFence: false, 0: false, 65535: false,
	} {
		if id.HasRequest() != want {
			t.Errorf("%v: %v", id, !want)
		}
	}
}

func TestAll(t *testing.T) {
	events := map[[2]int64]ID{}
	for i, id := range All() {
		if i > 0 && id <= All()[i-1] {
			t.Errorf("%v comes after %v", id, All()[i-1])
		}
		if back, ok := ByName(id.String()); !ok || back != id || !id.Known() {
			t.Errorf("%v by its name is %v, %v", id, back, ok)
		}
		eventType, value := id.Paraver()
		key := [2]int64{int64(eventType), value}
		if other, taken := events[key]; taken {
			t.Errorf("%v and %v are the same event", id, other)
		}
		events[key] = id
	}
	if _, ok := ByName("MPI_Nothing"); ok {
		t.Error("found MPI_Nothing")
	}
}
