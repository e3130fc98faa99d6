package rundir_test

import (
	"fmt"
	"os"

	"moriens/trace"
	"moriens/trace/rundir"
)

// A run directory is written and read back: what is kept of the trace, the manifest, and the clusters.
func ExampleRead() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	written := &trace.Run{
		DurationNS: 9000,
		Nodes:      []trace.Node{{Name: "node1", CPUs: 2}},
		Worlds:     []trace.World{{Executable: "solver", Size: 1}},
		CallPaths:  []trace.CallPath{{}, {Function: "MPI_Barrier"}},
		Threads: []trace.Thread{{
			EndNS: 9000,
			Calls: trace.Calls{EnterNS: []int64{0, 8000}, ExitNS: []int64{1000, 9000}, Path: []uint32{1, 1}},
			Bursts: trace.Bursts{
				StartNS: []int64{1000}, DurationNS: []int64{7000}, Before: []uint32{1}, After: []uint32{1}, Cluster: []int32{1},
			},
		}},
		Clusters: []trace.Cluster{{ID: 1}},
	}
	written.SummariseClusters()
	content := &rundir.Content{Run: written, Manifest: &rundir.Manifest{Command: []string{"mpirun", "solver"}}, Clusters: &rundir.Clusters{}}
	if _, err := rundir.Write(content, dir); err != nil {
		panic(err)
	}

	run, manifest, clusters, err := rundir.Read(dir)
	if err != nil {
		panic(err)
	}
	fmt.Println(manifest.Command, "on", run.Nodes[0].Name, "for", run.DurationNS, "ns")
	for _, c := range clusters.Clusters {
		fmt.Printf("cluster %d: %d burst, %.0f %% of the computing time\n", c.ID, c.Bursts, 100*c.Share)
	}
	t := &run.Threads[0]
	fmt.Println("rank", t.Rank, "computes from", t.Bursts.StartNS[0], "for", t.Bursts.DurationNS[0], "ns")
	// Output:
	// [mpirun solver] on node1 for 9000 ns
	// cluster 1: 1 burst, 100 % of the computing time
	// rank 0 computes from 1000 for 7000 ns
}
