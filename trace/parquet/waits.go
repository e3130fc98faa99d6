package parquet

// Kinds of rows of waits.parquet: docs/format/waits.md.
const (
	WaitsWait  = "wait"  // calls of a thread and call path that waited, by kind
	WaitsCause = "cause" // what a thread did for longer than those that had to wait for it
	WaitsPath  = "path"  // what the critical path has of a thread
	WaitsLink  = "link"  // waits of a thread for another in messages
)

// A WaitsRow is one row. Which fields mean anything depends on its kind; the others are null in the file.
type WaitsRow struct {
	Kind                string
	World, Rank, Thread int32
	CallPath            string // of wait the call's; of cause and path that of the call, or the one that ends the burst
	Iterations          int32  // index of a phase of iterations, -1 = none; of wait
	Wait                string // trace.WaitKind; of wait

	What    string // of cause and path: computing, MPI or outside
	Cluster int32  // of cause and path, of computing: a label of bursts

	ForWorld, ForRank, ForThread int32 // of link: who was waited for

	Count                 int64 // of wait and link calls that waited, of cause direct waits
	WaitNS, ResidualNS    int64 // of wait; WaitNS of link too
	ChargedNS, DirectNS   int64 // of cause
	MoreNS                int64 // of cause: by how much it took longer than on the ranks that waited, sum of direct waits
	PathNS                int64 // of path
	ComputingNS, MPINS    int64 // of link: what of the waits is charged to what the other did,
	OutsideNS, HandedOnNS int64 // and to those for whom it waited itself
}
