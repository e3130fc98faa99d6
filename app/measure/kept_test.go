package measure

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"moriens/collector"
	"moriens/collector/windows"
	"moriens/conclude"
	"moriens/conclude/fetch"
	"moriens/conclude/retention"
	"moriens/cshim/ringwriter"
	"moriens/internal/anchor"
	"moriens/internal/shmabi"
	"moriens/internal/stage"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// A stencil is a planted job of two nodes: ranks exchange halos with their neighbours and meet once in an iteration.
type stencil struct {
	collector *collector.Collector
	nodes     []*rig
	frozen    held
}

const stencilOdd = 70 // the iteration in which a burst of rank 0 takes ten times its time

// plantStencil has the ranks of two nodes run, and returns when everything arrived and nothing more is accepted; the
// agents keep running.
func plantStencil(t *testing.T, ranks, iterations int) *stencil {
	t.Helper()
	return plantThreads(t, ranks, iterations, 0)
}

// plantThreads is plantStencil of ranks that have further threads, which exchange messages with their likes alone.
func plantThreads(t *testing.T, ranks, iterations, helpers int) *stencil {
	t.Helper()
	c, err := collector.Start(collector.Config{
		Journal: t.TempDir() + "/journal", Run: "run1", Listen: "127.0.0.1:0", Log: quiet, Options: byDuration, Linger: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &stencil{collector: c, nodes: []*rig{newNode(t, c, nil), newNode(t, c, nil)}}
	random := rand.New(rand.NewPCG(3, 4))
	for rank := range ranks {
		r := s.nodes[rank*2/ranks]
		p := r.process(ringwriter.Identity{Rank: rank, Size: ranks, World: "w"})
		p.Comm(worldOf(rank, ranks))
		w := r.thread(p, 1<<15)
		at := uint64(0)
		call := func(name string, us uint64, m ringwriter.Meaning) {
			r.meant(w, name, at, at+us, m)
			at += us
		}
		call("MPI_Init", 100, ringwriter.Meaning{})
		for i := range iterations {
			at = 1000 + uint64(i)*5000
			left, right := int32((rank+ranks-1)%ranks), int32((rank+1)%ranks)
			call("MPI_Irecv", 5, transfer(shmabi.SlotReceived, 7, left, 1, 1, 800))
			at += 20
			call("MPI_Isend", 5, transfer(shmabi.SlotSent, 5, right, 1, 1, 800))
			at += 1000 + random.Uint64N(20)
			if i == stencilOdd && rank == 0 {
				at += 2500
			}
			call("MPI_Waitall", 30, completed(shmabi.Request{Request: 7, Bytes: 800, Source: left, Tag: 1}, shmabi.Request{Request: 5}))
			at = 1000 + uint64(i)*5000 + 4000
			call("MPI_Allreduce", 100, collective(uint32(i), 1, 8, 8))
		}
		for helper := range helpers {
			w, tag := r.thread(p, 1<<15), int32(10+helper)
			left, right := int32((rank+ranks-1)%ranks), int32((rank+1)%ranks)
			for i := range 3 * iterations {
				at := 1000 + uint64(i)*5000/3 + uint64(helper)*500 + random.Uint64N(300)
				r.meant(w, "MPI_Irecv", at, at+5, transfer(shmabi.SlotReceived, 7, left, tag, 1, 80))
				r.meant(w, "MPI_Isend", at+10, at+15, transfer(shmabi.SlotSent, 5, right, tag, 1, 80))
				r.meant(w, "MPI_Waitall", at+600, at+620, completed(shmabi.Request{Request: 7, Bytes: 80, Source: left, Tag: tag}, shmabi.Request{Request: 5}))
			}
		}
		call("MPI_Finalize", 10, ringwriter.Meaning{})
		p.Finalize()
	}
	for _, r := range s.nodes {
		r.node.JobOver()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for c.Journal().Store().Totals().AgentsDone < len(s.nodes) {
		if ctx.Err() != nil {
			t.Fatal("the agents are not done")
		}
		time.Sleep(time.Millisecond)
	}
	s.frozen = hold(c.Freeze(""))
	t.Cleanup(func() {
		c.Release()
		for _, r := range s.nodes {
			if err := <-r.done; err != nil {
				t.Error(err)
			}
		}
		c.Close(collector.Outcome{})
	})
	return s
}

// end concludes with windows in so much room, with this requester.
func (s *stencil) end(ctx context.Context, budget units.Bytes, stages *stage.Stages, requester fetch.Agents) (*conclude.Result, error) {
	return conclude.Conclude(ctx, conclude.End{
		Frozen: s.frozen.again(), Job: conclude.Job{Run: "run1"}, Options: byDuration, Stages: stages, Windows: requester,
		Keep: retention.Options{Budget: budget, Windows: 2, Outliers: -1, Workers: 2},
	})
}

// all concludes with everything kept.
func (s *stencil) all(t *testing.T) *conclude.Result {
	t.Helper()
	r, err := conclude.Conclude(t.Context(), conclude.End{
		Frozen: s.frozen.again(), Job: conclude.Job{Run: "run1"}, Options: byDuration, Stages: stage.New(0), Windows: s.collector.Windows(), Keep: retention.Options{All: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What is kept of a job whose agents answer is what the whole run has in those windows, messages included; it fits its
// budget, and is the same when read back from disk.
func TestKeptWindows(t *testing.T) {
	t.Parallel()
	s := plantStencil(t, 8, 200)
	whole := s.all(t)
	if whole.Manifest.Losses.TransfersLost > 0 || whole.Run.Traffic != nil || len(whole.Run.Messages) != 8*200 {
		t.Fatalf("%d transfers lost, %d messages", whole.Manifest.Losses.TransfersLost, len(whole.Run.Messages))
	}
	for _, budget := range []units.Bytes{64 << 20, 400 << 10, 200 << 10, 150 << 10} {
		r, err := s.end(t.Context(), budget, stage.New(0), s.collector.Windows())
		if err != nil {
			t.Fatal(err)
		}
		m := r.Manifest
		if len(m.Reduction.Missing) > 0 || m.Losses.TransfersLost > 0 {
			t.Errorf("%v: %d transfers lost, missing: %q", budget, m.Losses.TransfersLost, m.Reduction.Missing)
		}
		kept := make([][]trace.Span, len(r.Run.Threads))
		for i := range kept {
			kept[i] = r.Kept.Threads[i].Kept
		}
		if d := cmp.Diff(whole.Run.Cut(r.Kept.Windows, kept), r.Kept, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(trace.Run{}, "Traffic", "Clusters")); d != "" {
			t.Errorf("%v: what is kept differs from what the run has there (-want +got):\n%s", budget, d)
		}
		if r.Kept.Messages == nil || len(r.Kept.Windows) == 0 {
			t.Errorf("%v: %d windows, %d messages", budget, len(r.Kept.Windows), len(r.Kept.Messages))
		}
		odd := slices.ContainsFunc(r.Kept.Windows, func(w trace.Window) bool {
			at := int64(1000+stencilOdd*5000) * 1000
			return w.Why == trace.Anomaly && w.BeginNS <= at+1_000_000 && at+2_000_000 <= w.EndNS && slices.Contains(w.Threads, 0)
		})
		if !odd {
			t.Errorf("%v: the odd iteration is not among the windows", budget)
		}
		dir := t.TempDir()
		files, err := rundir.Write(&r.Content, dir)
		if err != nil {
			t.Fatal(err)
		}
		rundirtest.CheckPhases(t, dir)
		bytes := int64(0)
		for _, f := range files {
			bytes += f.Bytes
		}
		if bytes > int64(budget) || bytes != m.Reduction.Bytes {
			t.Errorf("%v: the directory has %d bytes, the manifest says %d", budget, bytes, m.Reduction.Bytes)
		}
		back, _, _, err := rundir.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(back.Windows) != len(r.Kept.Windows) || len(back.Messages) != len(r.Kept.Messages) {
			t.Errorf("%v: %d windows and %d messages were returned, of %d and %d", budget, len(back.Windows), len(back.Messages), len(r.Kept.Windows), len(r.Kept.Messages))
		}
	}
}

// Threads that make no collective calls have their sends and receives in what is kept, in all of it: in which of the
// nodes' windows they are depends on when the agents read them, but not whether they are found. So nothing is missing,
// and no loss is reported.
func TestKeptWindowsOfThreads(t *testing.T) {
	t.Parallel()
	s := plantThreads(t, 4, 120, 2)
	r, err := s.end(t.Context(), 64<<20, stage.New(0), s.collector.Windows())
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Manifest; len(m.Reduction.Missing) > 0 || m.Losses.TransfersLost > 0 {
		t.Errorf("%d transfers lost, missing: %q", m.Losses.TransfersLost, m.Reduction.Missing)
	}
	sends := 0 // of threads without collectives
	for i := range r.Kept.Threads {
		th := &r.Kept.Threads[i]
		posted := make(map[uint32]bool)
		for _, row := range th.Transfers.Call {
			posted[row] = true
		}
		for row, path := range th.Calls.Path {
			name := r.Kept.CallPaths[path].Function
			if moves := name == "MPI_Isend" || name == "MPI_Irecv"; moves != posted[uint32(row)] {
				t.Fatalf("rank %d, thread %d, row %d of what is kept: %s, of which a transfer is known: %t", th.Rank, th.Thread, row, name, posted[uint32(row)])
			} else if moves && th.Thread > 0 {
				sends++
			}
		}
	}
	if sends == 0 {
		t.Error("nothing of the threads without collectives is kept")
	}
}

// Less room keeps a part of what more room keeps, and never more than there is room for.
func TestNoRoom(t *testing.T) {
	s := plantStencil(t, 2, 60)
	r, err := s.end(t.Context(), 1000, stage.New(0), s.collector.Windows())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Kept.Windows) > 0 || r.Levels == nil || !missing(r, "of 0.977 KiB, the files that every run has take") {
		t.Errorf("%d windows; missing: %q", len(r.Kept.Windows), r.Manifest.Reduction.Missing)
	}
	if _, err := rundir.Write(&r.Content, t.TempDir()); err != nil {
		t.Error(err)
	}
}

func missing(r *conclude.Result, part string) bool {
	return slices.ContainsFunc(r.Manifest.Reduction.Missing, func(text string) bool { return strings.Contains(text, part) })
}

// A requesterFunc is a function as a requester.
type requesterFunc func(ctx context.Context, calls []windows.Calls) []windows.Fetched

func (f requesterFunc) FetchCalls(ctx context.Context, calls []windows.Calls) []windows.Fetched {
	return f(ctx, calls)
}

func (f requesterFunc) Fetch(context.Context, []anchor.ID, ...uint64) []windows.Fetched { return nil }

// Agents that do not answer cost the messages of their ranks and nothing else, and the manifest names them.
func TestAgentsThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	s := plantStencil(t, 8, 120)
	requester := s.collector.Windows()
	host := s.frozen.Agents[0].Hello.Host
	for _, tt := range []struct {
		name      string
		requester requesterFunc
		why       string
		none      bool // no message can be there
		// That the agents do not answer is noticed by the time that has gone, which here goes by only where everything waits.
		never bool
	}{
		{"never", func(ctx context.Context, _ []windows.Calls) []windows.Fetched {
			<-ctx.Done()
			return []windows.Fetched{{Agent: s.frozen.Agents[0].Hello.Agent, Err: ctx.Err()}, {Agent: s.frozen.Agents[1].Hello.Agent, Err: ctx.Err()}}
		}, "ranks on " + host + ": not received from their agent: it did not answer in time", true, true},
		{"gone", func(context.Context, []windows.Calls) []windows.Fetched {
			return []windows.Fetched{{Agent: s.frozen.Agents[0].Hello.Agent, Err: windows.ErrGone}}
		}, "it had disconnected", true, false},
		{"not even known", func(context.Context, []windows.Calls) []windows.Fetched { return nil }, "not available on their node", true, false},
		{"one of two", func(ctx context.Context, calls []windows.Calls) []windows.Fetched {
			answers := requester.FetchCalls(ctx, calls)
			answers[0] = windows.Fetched{Agent: answers[0].Agent, Err: errors.New("the disk is broken")}
			return answers
		}, "the disk is broken", false, false},
		{"half of it", func(ctx context.Context, calls []windows.Calls) []windows.Fetched {
			answers := requester.FetchCalls(ctx, calls)
			for i := range answers {
				answers[i].Parts = answers[i].Parts[:len(answers[i].Parts)/2]
			}
			return answers
		}, "not available on their node", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r *conclude.Result
			var err error
			if end := func(t *testing.T, limit time.Duration) {
				r, err = s.end(t.Context(), 64<<20, stage.New(limit), tt.requester)
			}; tt.never {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					end(t, time.Hour)
					if took := time.Since(began); took == 0 || took >= time.Hour {
						t.Errorf("of an hour it waited %v", took)
					}
				})
			} else {
				end(t, 0)
			}
			if err != nil {
				t.Fatal(err)
			}
			calls := 0
			for i := range r.Kept.Threads {
				calls += r.Kept.Threads[i].Calls.Len()
			}
			if calls == 0 || len(r.Kept.Windows) == 0 || tt.none && len(r.Kept.Messages) > 0 {
				t.Errorf("%d windows, %d calls, %d messages", len(r.Kept.Windows), calls, len(r.Kept.Messages))
			}
			if !missing(r, tt.why) {
				t.Errorf("missing: %q", r.Manifest.Reduction.Missing)
			}
			if r.Manifest.Losses.TransfersLost == 0 {
				t.Errorf("no transfer is counted as lost; missing: %q", r.Manifest.Reduction.Missing)
			}
			if _, err := rundir.Write(&r.Content, t.TempDir()); err != nil {
				t.Error(err)
			}
		})
	}
}

// An untilStage is a context that ends when a stage has begun, or soon after.
type untilStage struct {
	context.Context
	end    context.CancelFunc
	stages *stage.Stages
	name   string
}

// Done is what each stage asks for when it begins.
func (c *untilStage) Done() <-chan struct{} {
	if slices.ContainsFunc(c.stages.State(), func(s stage.Stage) bool { return s.Name == c.name }) {
		go c.end()
	}
	return c.Context.Done()
}

// Whenever there is no time left, the existing results are returned, can be written and read, and the manifest lists
// what is missing.
func TestNoTimeLeft(t *testing.T) {
	t.Parallel()
	s := plantStencil(t, 4, 120)
	requester := s.collector.Windows()
	whole, err := s.end(t.Context(), 64<<20, stage.New(0), requester)
	if err != nil {
		t.Fatal(err)
	}
	for name := range whole.Manifest.StageSeconds {
		t.Errorf("the stages are reported before they are over: %s", name)
	}
	stages := stage.New(0)
	if _, err := s.end(t.Context(), 64<<20, stages, requester); err != nil {
		t.Fatal(err)
	}
	for _, at := range stages.State() {
		t.Run(at.Name, func(t *testing.T) {
			stages := stage.New(0)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := s.end(&untilStage{ctx, cancel, stages, at.Name}, 64<<20, stages, requester)
			if r == nil || err != nil && !strings.Contains(err.Error(), "cluster the bursts") {
				t.Fatalf("%v", err)
			}
			dir := t.TempDir()
			if _, err := rundir.Write(&r.Content, dir); err != nil {
				t.Fatal(err)
			}
			if _, _, _, err := rundir.Read(dir); err != nil {
				t.Error(err)
			}
			rundirtest.CheckPhasesIfKnown(t, dir)
			gaveUp := 0
			for _, x := range stages.State() {
				if x.GivenUp && x.Name != "cluster" {
					gaveUp++
				}
			}
			if gaveUp > 0 && len(r.Manifest.Reduction.Missing) == 0 {
				t.Errorf("%d stages were given up, and nothing is said to be missing", gaveUp)
			}
		})
	}
}
