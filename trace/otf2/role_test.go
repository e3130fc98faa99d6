package otf2

import (
	"strings"
	"testing"

	"moriens/internal/mpicall"
)

func TestRoles(t *testing.T) {
	for name, want := range map[string]function{
		"MPI_Send":                        {role: rolePointToPoint, sends: true},
		"MPI_Rsend_c":                     {role: rolePointToPoint, sends: true},
		"MPI_Isend":                       {role: rolePointToPoint},
		"MPI_Waitall":                     {role: rolePointToPoint},
		"MPI_Send_init":                   {role: rolePointToPoint},
		"MPI_Startall":                    {role: rolePointToPoint},
		"MPI_Pready":                      {role: rolePointToPoint},
		"MPI_Barrier":                     {role: roleBarrier, collective: true, op: opBarrier},
		"MPI_Ibarrier":                    {role: roleBarrier, collective: true, op: opBarrier, immediate: true},
		"MPI_Iallreduce_c":                {role: roleAllToAll, collective: true, op: opAllreduce, immediate: true},
		"MPI_Intercomm_create":            {role: roleCollective, collective: true, op: opCreateHandle},
		"MPI_File_close":                  {role: roleFile, collective: true, op: opDestroyHandle},
		"MPI_Barrier_init":                {role: roleCollective},
		"MPI_Allreduce_init_c":            {role: roleCollective},
		"MPI_Neighbor_alltoallv_init":     {role: roleCollective},
		"MPI_Neighbor_allgather":          {role: roleCollective},
		"MPI_Put":                         {role: roleOneSided},
		"MPI_File_write_all":              {role: roleFile},
		"MPI_Init":                        {role: roleFunction},
		"MPI_Comm_rank":                   {role: roleFunction},
		"MPIX_Comm_revoke":                {role: roleFunction},
		"":                                {role: roleFunction},
		"MPI_Reduce_scatter_block_init_c": {role: roleCollective},
	} {
		if got := functionOf(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// What is said of collectives is said of functions that there are.
func TestCollectiveKindsAreCalls(t *testing.T) {
	known := make(map[string]bool)
	for _, id := range mpicall.All() {
		known[strings.ToLower(strings.TrimPrefix(id.String(), "MPI_"))] = true
	}
	for key := range collectiveKinds {
		if !known[key] {
			t.Errorf("there is no MPI function %s", key)
		}
	}
	for name := range sendingCalls {
		if _, there := mpicall.ByName(name); !there {
			t.Errorf("there is no MPI function %s", name)
		}
	}
}
