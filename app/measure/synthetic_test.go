package measure

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/uplink"
	"moriens/conclude"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
)

// Three kinds of bursts, planted to the nanosecond, are exactly three clusters: each burst in its own
// kind's, with its own time, whether the kinds lie between different calls or between the same.
func TestPlantedKinds(t *testing.T) {
	tests := []struct {
		name   string
		before [3]string // the MPI call before a burst of each kind; that after it is the next burst's
		sites  bool      // every call from a place of its own
	}{
		{"between different functions", [3]string{"MPI_Allreduce", "MPI_Barrier", "MPI_Bcast"}, false},
		{"between the same function in different places", [3]string{"MPI_Barrier", "MPI_Barrier", "MPI_Barrier"}, true},
		{"between the same function in the same place", [3]string{"MPI_Barrier", "MPI_Barrier", "MPI_Barrier"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const ranks, iterations = 4, 150
			kinds := [3]uint64{200_000, 1_000_000, 5_000_000}
			random := rand.New(rand.NewPCG(1, 2))
			r := newRig(t)
			type burst struct {
				kind            int
				start, duration int64
			}
			planted := make([][]burst, ranks)
			for rank := range ranks {
				p := r.process(ringwriter.Identity{Rank: rank, Size: ranks, World: "w"})
				module := p.Module("/opt/app", []byte{1, 2})
				var paths [3]uint32
				for k := range paths {
					offset := uint64(0x100)
					if tt.sites {
						offset += uint64(k)
					}
					paths[k] = p.Path(ringwriter.Frame{Module: module, Offset: offset})
				}
				w := r.thread(p, 1024)
				at := uint64(1_000_000_000 + rank*1000)
				r.call(w, named(t, "MPI_Init"), 0, at, at+5000)
				at += 5000
				r.call(w, named(t, tt.before[0]), paths[0], at, at+300)
				at += 300
				for range iterations {
					for kind, length := range kinds {
						duration := length + random.Uint64N(length/50) // within 2 %
						planted[rank] = append(planted[rank], burst{kind, int64(at), int64(duration)})
						at += duration
						next := (kind + 1) % 3
						r.call(w, named(t, tt.before[next]), paths[next], at, at+300)
						at += 300
					}
				}
				r.call(w, named(t, "MPI_Finalize"), 0, at, at+100)
				p.Finalize()
			}
			result := r.finish(byDuration)

			run := result.Run
			origin := int64(1_000_000_000)
			perCluster := map[int32]int{}
			kindOf := map[int32]int{}
			for i := range run.Threads {
				th := &run.Threads[i]
				if th.Bursts.Len() != len(planted[i])+2 || th.Calls.Len() != len(planted[i])+3 {
					t.Fatalf("rank %d: %d bursts, %d calls, planted %d", i, th.Bursts.Len(), th.Calls.Len(), len(planted[i]))
				}
				// The first burst (Init to the first call) and the last (to Finalize) are zero long.
				for k, want := range planted[i] {
					b := &th.Bursts
					start, duration, cluster := b.StartNS[k+1], b.DurationNS[k+1], b.Cluster[k+1]
					if start != want.start-origin || duration != want.duration {
						t.Fatalf("rank %d burst %d: %d for %d, planted %d for %d", i, k, start, duration, want.start-origin, want.duration)
					}
					if kind, seen := kindOf[cluster]; cluster < 1 || seen && kind != want.kind {
						t.Fatalf("rank %d burst %d of kind %d is in cluster %d of kind %d", i, k, want.kind, cluster, kind)
					}
					kindOf[cluster] = want.kind
					perCluster[cluster]++
				}
			}
			if len(run.Clusters) != 3 || len(perCluster) != 3 {
				t.Fatalf("%d clusters, %d of them planted: %+v", len(run.Clusters), len(perCluster), run.Clusters)
			}
			for cluster, n := range perCluster {
				if n != ranks*iterations || run.Clusters[cluster-1].Bursts != n {
					t.Errorf("cluster %d: %d bursts planted, %d found, want %d", cluster, n, run.Clusters[cluster-1].Bursts, ranks*iterations)
				}
				if wantID := int32(3 - kindOf[cluster]); cluster != wantID { // by time: the longest kind first
					t.Errorf("kind %d is cluster %d, want %d", kindOf[cluster], cluster, wantID)
				}
			}
			if result.Clusters.Score != 1 {
				t.Errorf("score %v of ranks that do the same", result.Clusters.Score)
			}
			if l := result.Manifest.Losses; l.RecordsDropped != 0 || len(l.RanksDied) != 0 {
				t.Errorf("losses %+v", l)
			}
		})
	}
}

// One rank of four lacks the last 30 of 150 bursts of a kind: their score is what is left, by hand, from the ring to
// the run directory.
func TestScoreOfARankThatLacksBursts(t *testing.T) {
	const ranks, iterations, lacking = 4, 150, 30
	r := newRig(t)
	for rank := range ranks {
		p := r.process(ringwriter.Identity{Rank: rank, Size: ranks, World: "w"})
		w := r.thread(p, 1024)
		at := uint64(1_000_000_000)
		r.call(w, named(t, "MPI_Init"), 0, at, at+5000)
		at += 5000
		for i := range iterations {
			at += 1_000_000 // the common kind, from a Bcast to a Barrier
			r.call(w, named(t, "MPI_Barrier"), 0, at, at+300)
			at += 300
			if rank > 0 || i < iterations-lacking {
				at += 500_000 // the other, from a Barrier to a Barrier
				r.call(w, named(t, "MPI_Barrier"), 0, at, at+300)
				at += 300
			}
			r.call(w, named(t, "MPI_Bcast"), 0, at, at+300)
			at += 300
		}
		r.call(w, named(t, "MPI_Finalize"), 0, at, at+100)
		p.Finalize()
	}
	result := r.finish(byDuration)
	scores := make(map[int64]float64)
	for _, c := range result.Run.Clusters {
		if c.MeanNS > 400_000 {
			scores[int64(c.MeanNS)/100_000] += c.Score * float64(c.Bursts)
		}
	}
	common, other := float64(ranks*iterations), float64(ranks*iterations-lacking)
	want := other * other / common // bursts times share of the threads
	if math.Abs(scores[10]-common) > 1e-9 || math.Abs(scores[5]-want) > 1e-9 {
		t.Errorf("scores times bursts: %v, want %v and %v", scores, common, want)
	}
}

// A rank that dies leaves every call up to then, and the one it died in.
func TestDeath(t *testing.T) {
	r := newRig(t)
	barrier, recv := named(t, "MPI_Barrier"), named(t, "MPI_Recv")
	dead := r.process(ringwriter.Identity{Rank: 0, Size: 3, World: "w"})
	aborted := r.process(ringwriter.Identity{Rank: 2, Size: 3, World: "w"})
	const calls = 5000
	for _, p := range []*ringwriter.Process{dead, aborted} {
		w := r.thread(p, 8192)
		at := uint64(1_000_000_000)
		for range calls {
			r.call(w, barrier, 0, at, at+10)
			at += 1000
		}
		w.Enter(recv, 0, at)
	}
	dead.Exit()
	aborted.Abort()
	aborted.Exit()
	result := r.finish(byDuration)
	for i := range result.Run.Threads {
		th := &result.Run.Threads[i]
		if th.Calls.Len() != calls+1 || !th.Calls.Unfinished || th.Bursts.Len() != calls {
			t.Errorf("thread %d: %d calls, unfinished %v, %d bursts", i, th.Calls.Len(), th.Calls.Unfinished, th.Bursts.Len())
		}
		if last := th.Bursts.DurationNS[calls-1]; last != 990 {
			t.Errorf("the burst before death took %d ns, planted 990", last)
		}
	}
	l := result.Manifest.Losses
	if len(l.RanksDied) != 2 || l.RanksDied[0].Rank != 0 || l.RanksDied[1].How != "MPI_Abort" {
		t.Errorf("died: %+v", l.RanksDied)
	}
}

// What a full ring drops is counted, and no burst is made up across the gap.
func TestDrops(t *testing.T) {
	c := startCollector(t, "127.0.0.1:0")
	shm := t.TempDir()
	dir := ring.DirectoryPath(shm, os.Getuid(), "run1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// The rank has started and ended before the agent: its ring holds 64 calls.
	p, err := ringwriter.New(dir, ringwriter.Identity{Rank: 0, Size: 1, World: "w"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.Thread(64)
	if err != nil {
		t.Fatal(err)
	}
	barrier := named(t, "MPI_Barrier")
	const calls = 100
	for i := range uint64(calls) {
		w.Call(barrier, 0, 1_000_000_000+i*100, 1_000_000_000+i*100+10)
	}
	p.Exit()
	node, err := agent.New(agent.Config{Run: "run1", Shm: shm, Find: uplink.At(c.Rendezvous()), Spool: t.TempDir(), Log: quiet, Clocks: new(exactClock)})
	if err != nil {
		t.Fatal(err)
	}
	node.JobOver()
	if err := node.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	result, err := concludeAll(t, stopped(c), conclude.Job{}, byDuration)
	if err != nil {
		t.Fatal(err)
	}
	held := result.Run.Threads[0].Calls.Len()
	if dropped := int(result.Manifest.Losses.RecordsDropped); held != 64 || held+dropped != calls {
		t.Errorf("%d calls held, %d dropped, %d made", held, dropped, calls)
	}
}

// A rank that could not record says why.
func TestFault(t *testing.T) {
	r := newRig(t)
	if err := ringwriter.Fault(r.dir, 3, 4, 4711, syscall.ENOSPC); err != nil {
		t.Fatal(err)
	}
	result := r.finish(byDuration)
	if result.Manifest.Empty != "no rank could record" || result.Advice == "" || len(result.Manifest.Notes) == 0 {
		t.Errorf("empty because %q, %q; notes %q", result.Manifest.Empty, result.Advice, result.Manifest.Notes)
	}
}

// What one rank's stray pointers do to its ring costs that rank's thread, not its neighbours.
func TestDamagedRank(t *testing.T) {
	barrier := mpicall.Barrier
	tests := []struct {
		name        string
		damage      func(p *ringwriter.Process, w *ringwriter.Ring)
		calls, want int // of the damaged rank, recorded and held
		note        string
	}{
		{"a call that does not exist", func(_ *ringwriter.Process, w *ringwriter.Ring) { w.Call(999, 0, 2_000_000_000, 2_000_000_010) }, 11, 10, "MPI call 999"},
		{"a time that has not come", func(_ *ringwriter.Process, w *ringwriter.Ring) { w.Call(barrier, 0, 1<<63, 1<<63+1) }, 11, 10, "of the future"},
		{"a call path that is not defined", func(_ *ringwriter.Process, w *ringwriter.Ring) { w.Call(barrier, 77, 2_000_000_000, 2_000_000_010) }, 11, 11, ""},
		{"a time before all others", func(_ *ringwriter.Process, w *ringwriter.Ring) { w.Call(barrier, 0, 5, 6) }, 11, 11, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			var processes [2]*ringwriter.Process
			for rank := range processes {
				p := r.process(ringwriter.Identity{Rank: rank, Size: 2, World: "w"})
				w := r.thread(p, 256)
				for i := range uint64(10) {
					r.call(w, barrier, 0, 1_000_000_000+i*100, 1_000_000_000+i*100+10)
				}
				if rank == 0 {
					tt.damage(p, w)
				}
				for i := range uint64(5) {
					r.call(w, barrier, 0, 3_000_000_000+i*100, 3_000_000_000+i*100+10)
				}
				processes[rank] = p
			}
			for _, p := range processes {
				p.Finalize()
				p.Exit()
			}
			result := r.finish(byDuration)
			want := [2]int{tt.want, 15}
			if tt.want == tt.calls {
				want[0] += 5
			}
			for i := range result.Run.Threads {
				if got := result.Run.Threads[i].Calls.Len(); got != want[i] {
					t.Errorf("rank %d: %d calls, want %d", i, got, want[i])
				}
			}
			notes := strings.Join(result.Manifest.Notes, "\n")
			if !strings.Contains(notes, tt.note) {
				t.Errorf("no %q in the notes:\n%s", tt.note, notes)
			}
			if n := result.Manifest.Losses.MessagesRefused; n != 0 {
				t.Errorf("%d messages refused", n)
			}
		})
	}
}

// A program that starts one thread after the other has not all their rings in memory.
func TestThreadsComeAndGo(t *testing.T) {
	r := newRig(t)
	p := r.process(ringwriter.Identity{Rank: 0, Size: 1, World: "w"})
	const threads = 200
	most := 0
	for i := range uint64(threads) {
		w := r.thread(p, 64)
		for k := range uint64(3) {
			at := 1_000_000_000 + i*1000 + k*100
			r.call(w, mpicall.Barrier, 0, at, at+10)
		}
		w.Close()
		for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			rings, _ := filepath.Glob(r.dir + "/*.ring")
			most = max(most, len(rings))
			if len(rings) < 50 || time.Now().After(deadline) {
				break
			}
		}
	}
	p.Finalize()
	p.Exit()
	result := r.finish(byDuration)
	if len(result.Run.Threads) != threads {
		t.Errorf("%d threads, want %d", len(result.Run.Threads), threads)
	}
	for i := range result.Run.Threads {
		if n := result.Run.Threads[i].Calls.Len(); n != 3 {
			t.Errorf("thread %d: %d calls, want 3", i, n)
		}
	}
	if most > 50 {
		t.Errorf("%d rings at one time", most)
	}
}

// A process that outlives the job is taken as far as it has got, losses included.
func TestProcessOutlivesJob(t *testing.T) {
	r := newRig(t)
	p := r.process(ringwriter.Identity{Rank: 0, Size: 1, World: "w"})
	defer p.Exit()
	w := r.thread(p, 64)
	for i := range uint64(100) {
		w.Call(mpicall.Barrier, 0, 1_000_000_000+i*100, 1_000_000_000+i*100+10)
	}
	w.Enter(mpicall.Recv, 0, 1_000_020_000)
	result := r.finish(byDuration)
	l := result.Manifest.Losses
	held := result.Run.Threads[0].Calls.Len()
	if held+int(l.RecordsDropped) != 101 {
		t.Errorf("%d calls held, %d dropped, 101 made", held, l.RecordsDropped)
	}
	if len(l.RanksDied) != 1 || l.RanksDied[0].How != "still ran when the job had ended" {
		t.Errorf("died: %+v", l.RanksDied)
	}
}

// A file that is no ring is reported and harms nothing else.
func TestCorruptFiles(t *testing.T) {
	r := newRig(t)
	p := r.process(ringwriter.Identity{Rank: 0, Size: 1, World: "w"})
	w := r.thread(p, 64)
	barrier := named(t, "MPI_Barrier")
	r.call(w, barrier, 0, 1_000_000_000, 1_000_000_010)
	r.call(w, barrier, 0, 1_000_000_100, 1_000_000_110)
	for _, name := range []string{"0123456789abcdef.process", "0123456789abcdef.0.ring"} {
		if err := os.WriteFile(r.dir+"/"+name, []byte("nonsense"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.Finalize()
	result := r.finish(byDuration)
	if n := result.Run.Threads[0].Calls.Len(); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
	corrupt := 0
	for _, note := range result.Manifest.Notes {
		if len(note) > 0 && note[:4] == "host" {
			corrupt++
		}
	}
	if corrupt != 2 {
		t.Errorf("notes %q", result.Manifest.Notes)
	}
}
