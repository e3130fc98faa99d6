package measure

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"moriens/agent/ring"
	"moriens/analysis/program"
	"moriens/collector"
	"moriens/conclude/retention"
	"moriens/cshim/ringwriter"
	"moriens/internal/shmabi"
	"moriens/internal/sums"
	"moriens/trace/rundir"
)

// Of messages that no window has it is known all the same to whom each call sends: the one of 300 that rank 0 sends
// elsewhere and that is larger, and the first of more peers than a place has rows for.
func TestPartnersOutsideWindows(t *testing.T) {
	const ranks, iterations, seldom = sums.PlacePartners + 4, 300, 151
	const stepNS = 1_000_000
	c, err := collector.Start(collector.Config{Journal: t.TempDir() + "/journal", Run: "run1", Listen: "127.0.0.1:0", Log: quiet, Options: byDefault, Linger: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	r := newNode(t, c, nil)
	for rank := range ranks {
		p := r.process(ringwriter.Identity{Rank: rank, Size: ranks, World: "w", Events: haloEvents})
		p.Comm(worldOf(rank, ranks))
		w := &writer{t: t, ring: r.thread(p, 1<<13), ns: 1_000_000_000, paths: make(map[string]uint32), random: rand.New(rand.NewPCG(uint64(rank), 5))}
		module := p.Module("/opt/partners", []byte{1, 3})
		for i, name := range []string{"MPI_Init", "MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce", "MPI_Finalize"} {
			w.paths[name] = p.Path(ringwriter.Frame{Module: module, Offset: uint64(0x1000 + 16*i)})
		}
		w.call("MPI_Init", 1000, ringwriter.Meaning{})
		for i := range iterations {
			begin := uint64(1_001_000_000 + i*stepNS)
			w.compute(float64(begin-w.ns), 1)
			w.ns = begin
			w.call("MPI_Send", 1000, transfer(uint32(ring.Sent), 0, int32((rank+1)%ranks), 1, 1, 800))
			if i == seldom && rank == 0 {
				w.call("MPI_Send", 1000, transfer(uint32(ring.Sent), 0, 5, 2, 1, 4000))
			}
			w.ns = begin + 10_000
			w.call("MPI_Recv", 1000, transfer(uint32(ring.Received), 0, int32((rank+ranks-1)%ranks), 1, 1, 800))
			if i == seldom && rank == 5 {
				w.call("MPI_Recv", 1000, transfer(uint32(ring.Received), 0, 0, 2, 1, 4000))
			}
			w.ns = begin + 20_000
			w.call("MPI_Allreduce", 1000, collective(uint32(i), 1, 8, 8)) // where windows begin
		}
		w.ns = 1_001_000_000 + iterations*stepNS
		var done []shmabi.Request
		for k := 1; k < ranks; k++ {
			from, to := int32((rank+ranks-k)%ranks), int32((rank+k)%ranks)
			w.call("MPI_Irecv", 100, transfer(uint32(ring.Received), uint64(2*k), from, 3, 1, 64))
			w.call("MPI_Isend", 100, transfer(uint32(ring.Sent), uint64(2*k+1), to, 3, 1, 64))
			done = append(done, shmabi.Request{Request: uint64(2 * k), Bytes: 64, Source: from, Tag: 3}, shmabi.Request{Request: uint64(2*k + 1)})
		}
		w.call("MPI_Waitall", 100_000, completed(done...))
		w.call("MPI_Finalize", 1000, ringwriter.Meaning{})
		p.Finalize()
	}
	r.node.JobOver()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.WaitAgents(ctx); err != nil {
		t.Fatal(err)
	}
	frozen := hold(c.Freeze(""))
	t.Cleanup(func() {
		c.Release()
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		c.Close(collector.Outcome{})
	})
	keep := keepByDefault
	keep.Budget = 1 << 10
	dir, m := writeRun(t, c, frozen, keep)
	if len(m.Kept.Windows) > 0 {
		t.Fatalf("%d windows are kept", len(m.Kept.Windows))
	}
	programs := map[string]string{dir: ", and others"}
	full, _ := writeRun(t, c, frozen, retention.Options{All: true, Workers: 2})
	programs[full] = ""
	for dir, others := range programs {
		text, err := rundir.ReadProgram(dir)
		if err != nil {
			t.Fatal(err)
		}
		p, err := program.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		if why := strings.Join(p.Why, "\n"); strings.Contains(why, program.WhySampled) {
			t.Error(why)
		}
		found := make(map[string]string)
		program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
			if n.Kind == program.KindMPI && len(n.Peers) == 1 {
				found[n.Function] += fmt.Sprintf("%d %s %s %d..%d %.2f", n.Count, n.Peers[0].Way, n.Peers[0].Text, n.Bytes.Least, n.Bytes.Most, n.Bytes.Mean)
			}
		})
		want := map[string]string{
			"MPI_Send": "20401 to 0→1 5; 1→2; 2→3; 3→4; … 68 ranks in all 800..4000 800.16",
			"MPI_Recv": "20401 from 0←67; 1←0; 2←1; 3←2; … 68 ranks in all 800..4000 800.16",
		}
		if others == "" {
			want["MPI_Isend"], want["MPI_Irecv"] = "4556 to each other rank 64..64 64.00", "4556 from each other rank 64..64 64.00"
		} else {
			want["MPI_Isend"] = "4556 to 0→1 2 3 4 … 64 in all; 1→2 3 4 5 … 64 in all; 2→3 4 5 6 … 64 in all; 3→4 5 6 7 … 64 in all; … 68 ranks in all, and others 64..64 64.00"
			want["MPI_Irecv"] = "4556 from 0←4 5 6 7 … 64 in all; 1←0 5 6 7 … 64 in all; 2←0 1 6 7 … 64 in all; 3←0 1 2 7 … 64 in all; … 68 ranks in all, and others 64..64 64.00"
		}
		for function, line := range want {
			if found[function] != line {
				t.Errorf("%s: %s, want %s", function, found[function], line)
			}
		}
	}
}
