package otf2

import (
	"strings"

	"moriens/internal/mpicall"
)

// A collectiveKind is what OTF2 says of a collective function.
type collectiveKind struct {
	op   uint64
	role uint32
}

// collectiveKinds are by the function's name without MPI_, lower case, without the I of those that do not block, and
// without _c.
var collectiveKinds = map[string]collectiveKind{
	"barrier":              {opBarrier, roleBarrier},
	"bcast":                {opBcast, roleOneToAll},
	"gather":               {opGather, roleAllToOne},
	"gatherv":              {opGatherv, roleAllToOne},
	"scatter":              {opScatter, roleOneToAll},
	"scatterv":             {opScatterv, roleOneToAll},
	"allgather":            {opAllgather, roleAllToAll},
	"allgatherv":           {opAllgatherv, roleAllToAll},
	"alltoall":             {opAlltoall, roleAllToAll},
	"alltoallv":            {opAlltoallv, roleAllToAll},
	"alltoallw":            {opAlltoallw, roleAllToAll},
	"allreduce":            {opAllreduce, roleAllToAll},
	"reduce":               {opReduce, roleAllToOne},
	"reduce_scatter":       {opReduceScatter, roleAllToAll},
	"reduce_scatter_block": {opReduceScatterBlock, roleAllToAll},
	"scan":                 {opScan, roleCollective},
	"exscan":               {opExscan, roleCollective},

	"comm_create":                {opCreateHandle, roleCollective},
	"comm_create_group":          {opCreateHandle, roleCollective},
	"comm_dup":                   {opCreateHandle, roleCollective},
	"comm_dup_with_info":         {opCreateHandle, roleCollective},
	"comm_split":                 {opCreateHandle, roleCollective},
	"comm_split_type":            {opCreateHandle, roleCollective},
	"cart_create":                {opCreateHandle, roleCollective},
	"cart_sub":                   {opCreateHandle, roleCollective},
	"graph_create":               {opCreateHandle, roleCollective},
	"dist_graph_create":          {opCreateHandle, roleCollective},
	"intercomm_create":           {opCreateHandle, roleCollective},
	"intercomm_merge":            {opCreateHandle, roleCollective},
	"win_create":                 {opCreateHandle, roleCollective},
	"win_allocate":               {opCreateHandle, roleCollective},
	"win_create_dynamic":         {opCreateHandle, roleCollective},
	"win_allocate_shared":        {opCreateHandle, roleCollective},
	"file_open":                  {opCreateHandle, roleFile},
	"comm_free":                  {opDestroyHandle, roleCollective},
	"comm_disconnect":            {opDestroyHandle, roleCollective},
	"win_free":                   {opDestroyHandle, roleCollective},
	"file_close":                 {opDestroyHandle, roleFile},
	"dist_graph_create_adjacent": {opCreateHandle, roleCollective},
}

// A function is what is written about an MPI function.
type function struct {
	role       uint32
	collective bool // op is one of OTF2's
	op         uint64
	immediate  bool // it returns before its collective is done
	sends      bool // it is known to send before it returns
}

// sendingCalls are those that return when the message is on its way or in a buffer: no request is left.
var sendingCalls = map[string]bool{
	"MPI_Send": true, "MPI_Bsend": true, "MPI_Ssend": true, "MPI_Rsend": true, "MPI_Sendrecv": true, "MPI_Sendrecv_replace": true,
}

func functionOf(name string) function {
	bare := strings.TrimSuffix(name, "_c")
	f := function{role: roleFunction, sends: sendingCalls[bare]}
	key := strings.ToLower(strings.TrimPrefix(bare, "MPI_"))
	kind, ok := collectiveKinds[key]
	if !ok && strings.HasPrefix(key, "i") {
		if kind, ok = collectiveKinds[key[1:]]; ok {
			f.immediate = true
		}
	}
	if ok {
		f.collective, f.op, f.role = true, kind.op, kind.role
		return f
	}
	id, _ := mpicall.ByName(name)
	switch id.Class() {
	case mpicall.PointToPoint, mpicall.Completion, mpicall.Partitioned:
		f.role = rolePointToPoint
	case mpicall.Persistent:
		f.role = rolePointToPoint
		if of, _ := id.Paraver(); of == mpicall.ParaverCollective {
			f.role = roleCollective
		}
	case mpicall.Collective, mpicall.Neighbourhood:
		f.role = roleCollective
	case mpicall.OneSided:
		f.role = roleOneSided
	case mpicall.IO:
		f.role = roleFile
	}
	return f
}
