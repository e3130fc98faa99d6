package waits

import (
	"slices"
	"strings"
	"testing"

	"moriens/internal/mpicall"
)

// A class of functions, by their names without MPI_ and without the _c of large counts.
type class struct {
	is    func(c call) bool
	names string
}

func explained(kind Kind, flow flow) func(c call) bool {
	return func(c call) bool { return c.kind == kind && c.flow == flow && !c.begins && c.starts == nil }
}

func begins(kind Kind, flow flow) func(c call) bool {
	return func(c call) bool { return c.kind == kind && c.flow == flow && c.begins && c.starts == nil }
}

func makes(kind Kind, flow flow) func(c call) bool {
	return func(c call) bool {
		return c.kind == NToN && c.flow == allToAll && c.loose && !c.begins && c.starts != nil && c.starts.kind == kind && c.starts.flow == flow && c.starts.begins
	}
}

func counted(reason int) func(c call) bool {
	return func(c call) bool { why, is := c.unexplained(); return is && why == reason && c.kind == None }
}

func polls(how polling) func(c call) bool {
	return func(c call) bool { return c.flow == noFlow && c.polls == how }
}

func plain(how sending, begins bool) func(c call) bool {
	return func(c call) bool { return c == call{sends: how, begins: begins} }
}

// classes say of each function that is recorded whether its waits are explained, and by what; whether it is counted as
// not explained, and why; or whether it waits for no other rank.
var classes = map[string]class{
	"start": {explained(Start, start), "Init Init_thread"},
	"end":   {explained(End, end), "Finalize"},

	"blocking sends":            {plain(standard, false), "Send"},
	"synchronous sends":         {plain(synchronous, false), "Ssend"},
	"nonblocking sends":         {plain(standard, true), "Isend"},
	"nonblocking synchronous":   {plain(synchronous, true), "Issend"},
	"sends that do not wait":    {plain(buffered, false), "Bsend Ibsend Rsend Irsend Sendrecv Sendrecv_replace Isendrecv Isendrecv_replace"},
	"receives and completions":  {plain(noSend, false), "Recv Irecv Mrecv Imrecv Wait Waitall Waitany Waitsome"},
	"probes":                    {polls(probe), "Probe Iprobe Mprobe Improbe"},
	"tests":                     {polls(test), "Test Testall Testany Testsome Request_get_status Request_get_status_all Request_get_status_any Request_get_status_some Parrived"},
	"starts, which do not wait": {plain(noSend, true), "Start Startall"},
	"calls that wait for nobody": {plain(noSend, false), `Abort Pcontrol Cancel Request_free Grequest_start Grequest_complete
		Send_init Bsend_init Ssend_init Rsend_init Recv_init Psend_init Precv_init Pready Pready_range Pready_list
		Open_port Close_port Publish_name Unpublish_name Lookup_name
		Win_attach Win_detach Win_sync Put Get Accumulate Get_accumulate Fetch_and_op Compare_and_swap Rput Rget Raccumulate Rget_accumulate`},

	"barrier": {explained(Barrier, allToAll), "Barrier"},
	"N-to-N": {explained(NToN, allToAll), `Allreduce Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce_scatter Reduce_scatter_block
		Comm_create Comm_dup Comm_dup_with_info Comm_split Comm_split_type Comm_free Comm_disconnect Comm_set_info Intercomm_merge
		Cart_create Cart_sub Graph_create Dist_graph_create Dist_graph_create_adjacent`},
	"broadcast": {explained(LateBroadcast, fromRoot), "Bcast Scatter Scatterv"},
	"reduce":    {explained(EarlyReduce, toRoot), "Reduce Gather Gatherv"},
	"scan":      {explained(Scan, prefix), "Scan Exscan"},
	"window":    {explained(Window, allToAll), "Win_create Win_create_dynamic Win_allocate Win_allocate_shared Win_free Win_fence Win_set_info"},

	"nonblocking barrier": {begins(Barrier, allToAll), "Ibarrier"},
	"nonblocking N-to-N": {begins(NToN, allToAll), `Iallreduce Iallgather Iallgatherv Ialltoall Ialltoallv Ialltoallw Ireduce_scatter Ireduce_scatter_block
		Comm_idup Comm_idup_with_info`},
	"nonblocking broadcast": {begins(LateBroadcast, fromRoot), "Ibcast Iscatter Iscatterv"},
	"nonblocking reduce":    {begins(EarlyReduce, toRoot), "Ireduce Igather Igatherv"},
	"nonblocking scan":      {begins(Scan, prefix), "Iscan Iexscan"},

	"persistent barrier": {makes(Barrier, allToAll), "Barrier_init"},
	"persistent N-to-N": {makes(NToN, allToAll), `Allreduce_init Allgather_init Allgatherv_init Alltoall_init Alltoallv_init Alltoallw_init
		Reduce_scatter_init Reduce_scatter_block_init`},
	"persistent broadcast":  {makes(LateBroadcast, fromRoot), "Bcast_init Scatter_init Scatterv_init"},
	"persistent reduce":     {makes(EarlyReduce, toRoot), "Reduce_init Gather_init Gatherv_init"},
	"persistent scan":       {makes(Scan, prefix), "Scan_init Exscan_init"},
	"persistent neighbours": {makes(None, hidden), "Neighbor_allgather_init Neighbor_allgatherv_init Neighbor_alltoall_init Neighbor_alltoallv_init Neighbor_alltoallw_init"},

	reasons[ofNeighbours]: {counted(ofNeighbours), `Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw
		Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoall Ineighbor_alltoallv Ineighbor_alltoallw`},
	reasons[ofOneSided]: {counted(ofOneSided), `Win_lock Win_lock_all Win_unlock Win_unlock_all Win_flush Win_flush_all Win_flush_local Win_flush_local_all
		Win_post Win_start Win_complete Win_wait Win_test`},
	reasons[ofInOut]: {counted(ofInOut), `File_open File_close File_delete File_seek File_seek_shared File_sync File_preallocate
		File_get_size File_get_position_shared File_set_size File_set_view File_set_info File_set_atomicity
		File_read File_read_at File_read_shared File_read_all File_read_at_all File_read_ordered File_iread File_iread_at File_iread_shared File_iread_all
		File_iread_at_all File_read_all_begin File_read_all_end File_read_at_all_begin File_read_at_all_end File_read_ordered_begin File_read_ordered_end
		File_write File_write_at File_write_shared File_write_all File_write_at_all File_write_ordered File_iwrite File_iwrite_at File_iwrite_shared
		File_iwrite_all File_iwrite_at_all File_write_all_begin File_write_all_end File_write_at_all_begin File_write_at_all_end
		File_write_ordered_begin File_write_ordered_end`},
	reasons[ofGroups]:    {counted(ofGroups), "Intercomm_create"},
	reasons[ofSubset]:    {counted(ofSubset), "Comm_create_group Comm_create_from_group Intercomm_create_from_groups"},
	reasons[ofProcesses]: {counted(ofProcesses), "Comm_spawn Comm_spawn_multiple Comm_accept Comm_connect Comm_join"},
	reasons[ofSessions]:  {counted(ofSessions), "Session_init Session_finalize"},
	reasons[ofBuffers]: {counted(ofBuffers), `Buffer_detach Buffer_flush Buffer_iflush Comm_detach_buffer Comm_flush_buffer Comm_iflush_buffer
		Session_detach_buffer Session_flush_buffer Session_iflush_buffer`},
}

// Each function that is recorded is in one class, and is taken for what that says; so is its form for large counts.
func TestEveryFunctionHasAClass(t *testing.T) {
	of := make(map[string]string)
	for name, c := range classes {
		for _, function := range strings.Fields(c.names) {
			if of[function] != "" {
				t.Errorf("MPI_%s is in %q and %q", function, of[function], name)
			}
			of[function] = name
			if _, known := mpicall.ByName("MPI_" + function); !known {
				t.Errorf("MPI_%s is not recorded", function)
			}
		}
	}
	for _, id := range mpicall.All() {
		function := strings.TrimSuffix(strings.TrimPrefix(id.String(), "MPI_"), "_c")
		name, has := of[function]
		if !has {
			t.Errorf("%v is in no class", id)
		} else if c := callOf(id.String()); !classes[name].is(c) {
			t.Errorf("%v, of %q, is taken for %+v", id, name, c)
		}
	}
	same(t, "a function of another library", callOf("shmem_put"), call{})
	if slices.Contains(reasons[:], "") {
		t.Errorf("a reason has no words: %q", reasons)
	}
}
