package slurm_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"moriens/internal/mpitest"
	"moriens/internal/slurmtest"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// A planted imbalance of four ranks on two nodes, three on one and one on the other: the load balance in nodes and
// between them is that of the times which the ranks have measured themselves, and the summary names the rank that
// computes most, with the cluster.
func TestUnequalNodes(t *testing.T) {
	c := slurmtest.Start(t, 2, 4)
	for _, nodes := range [][]string{{"n1", "n1", "n1", "n2"}, {"n1", "n2", "n2", "n2"}} {
		t.Run(strings.Join(nodes, " "), func(t *testing.T) { unequalNodes(t, c, nodes) })
	}
}

func unequalNodes(t *testing.T, c *slurmtest.Cluster, nodes []string) {
	b := preload(t, c, "pmix")
	b.env = append(b.env, "MORIENS_OPTIONS=--keep-bursts all")
	hosts, placed := filepath.Join(b.dir, "hosts"), filepath.Join(b.dir, "placed.sbatch")
	text, err := os.ReadFile("preload.sbatch")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), "\nsrun ") != 1 {
		t.Fatal("preload.sbatch does not start the program by srun")
	}
	start := fmt.Sprintf("\nunset SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE SLURM_NTASKS SLURM_NPROCS\nSLURM_HOSTFILE=%s srun --ntasks=%d --distribution=arbitrary ", hosts, len(nodes))
	for path, content := range map[string]string{hosts: strings.Join(nodes, "\n") + "\n", placed: strings.Replace(string(text), "\nsrun ", start, 1)} {
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const unitUS = 20_000
	job := b.submit(t, []string{"--nodes=2", "--ntasks-per-node=3"}, placed, mpitest.OpenMPI.App(t, "unequal", "-pthread"), "20", strconv.Itoa(unitUS))
	b.end(t, job, "COMPLETED")

	work := mpitest.ReadWork(t, filepath.Join(b.dir, "counts"))
	run, err := parquet.ReadFile(filepath.Join(b.run(job), "bursts.parquet"))
	if err != nil {
		t.Fatalf("%v\n%s", err, b.output(job))
	}
	if len(work) != len(nodes) || len(run.Threads) != len(nodes) {
		t.Fatalf("%d ranks, recorded %d\n%s", len(work), len(run.Threads), b.output(job))
	}
	for i := range run.Threads {
		x := &run.Threads[i]
		work.Compare(t, mpitest.Worker{Rank: x.Rank, Thread: x.Thread}, x.Bursts.StartNS, x.Bursts.DurationNS, unitUS*1000/50)
	}
	want := work.Factors(func(rank int) string { return nodes[rank] })
	e, err := rundir.ReadEfficiency(b.run(job))
	if err != nil {
		t.Fatal(err)
	}
	r := &e.Runs[0]
	for _, x := range []struct {
		name string
		got  rundir.Number
		want float64
	}{
		{"load balance", r.Balance, want.Balance}, {"in nodes", r.InNodes, want.InNodes}, {"between nodes", r.BetweenNodes, want.BetweenNodes},
	} {
		if got := float64(x.got); math.Abs(got-x.want) > .02 || got > 1 {
			t.Errorf("%s is %v, the program has measured %v", x.name, got, x.want)
		}
	}
	if d := float64(r.InNodes*r.BetweenNodes - r.Balance); math.Abs(d) > 1e-12 {
		t.Errorf("in · between − load balance is %v", d)
	}
	of := make(map[string]int)
	for _, n := range r.Nodes {
		of[n.Name] = n.Locations
	}
	for _, name := range nodes {
		of[name]--
	}
	if len(of) != 2 || of["n1"] != 0 || of["n2"] != 0 {
		t.Errorf("nodes %+v", r.Nodes)
	}
	summary, err := os.ReadFile(filepath.Join(b.run(job), "summary.txt"))
	if err != nil {
		t.Fatal(err)
	}
	checkMost(t, run, want, string(summary))
	if t.Failed() {
		t.Logf("%s\n%+v", summary, want)
	}
}

var most = regexp.MustCompile(`\nmost computing: rank (\d+), .*; mainly in cluster (\d+), `)

// checkMost checks the rank that the summary names, and that it computes longest in the cluster that is named with it.
// Rank 3 is planned to work a third more than the next.
func checkMost(t *testing.T, run *trace.Run, want *mpitest.WorkFactors, summary string) {
	t.Helper()
	if want.Most.Rank != 3 || float64(want.ComputingNS[mpitest.Worker{Rank: 2}]) > .9*float64(want.ComputingNS[want.Most]) {
		t.Logf("the ranks have worked for %v ns: the machine had no time for them", want.ComputingNS)
		return
	}
	found := most.FindStringSubmatch(summary)
	if found == nil || found[1] != "3" {
		t.Error("rank 3 is not named with a cluster")
		return
	}
	took := make(map[int]int64)
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		for k, kind := range b.Kinds() {
			if strconv.Itoa(int(kind)) == found[2] {
				took[run.Threads[i].Rank] += b.DurationNS[k]
			}
		}
	}
	if took[3] == 0 || took[3] < max(took[0], took[1], took[2]) {
		t.Errorf("the ranks compute for %v ns in cluster %s", took, found[2])
	}
}
