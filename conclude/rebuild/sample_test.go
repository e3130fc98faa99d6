package rebuild

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/collector/store"
	"moriens/conclude/agenttest"
	"moriens/conclude/match"
	"moriens/internal/anchor"
	"moriens/internal/mpicall"
	"moriens/internal/mpix"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
	"moriens/trace/tracetest"
)

// A planted message is sent and received in windows.
type planted struct{ sent, received anchor.ID }

// steps plays two agents whose ranks send a message and meet, again and again, every so many seconds; every fifth
// message is received only after the next meeting. The agents keep their transfers, but for those of the windows by
// which clocks are compared. With anchors the meetings are MPI_Allreduce on MPI_COMM_WORLD, else there is none.
func steps(t *testing.T, stores [2]*store.Store, run string, n int, every float64, anchors bool) (messages []planted) {
	const ticksASecond = 2e9
	at := func(k, part int) float64 { return float64(k)*every + float64(part)*.001 }
	window := func(k, part int) anchor.ID {
		if !anchors {
			return anchor.After(0).At(time.Duration((at(k, part) - at(0, 1)) * 1e9))
		}
		return anchor.After(uint64(k))
	}
	for k := range n {
		if k%5 < 4 {
			messages = append(messages, planted{window(k, 1), window(k, 1)})
		} else {
			messages = append(messages, planted{window(k, 1), window(k+1, 0)})
		}
	}
	for rank := range 2 {
		kind := []moriensv1.Transfers_Kind{moriensv1.Transfers_KIND_SENT, moriensv1.Transfers_KIND_RECEIVED}[rank]
		f := agenttest.New(t, stores[rank], uint64(rank+1), "n")
		f.Clock(1000, 500)
		process := uint64(rank + 1)
		f.Process(&moriensv1.Process{Process: process, Rank: int32(rank), Size: 2, World: "w", Clock: moriensv1.Clock_CLOCK_TSC})
		f.Ring(&moriensv1.Ring{Ring: process + 10, Process: process})
		f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
			Communicator: 1, Id: 9, Size: 2, Peers: 2, First: []int32{0}, Stride: []int32{1}, Count: []uint32{2},
		}}})
		f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: process, Comm: 1, Communicator: 1, Rank: uint32(rank)}}})
		c := &sectiontest.Rows{Ring: process + 10, Origin: 2000, NoBurst: []uint32{0}}
		now := uint64(0)
		call := func(of mpicall.ID, at float64) {
			enter := uint64(at * ticksASecond)
			c.Add(uint32(of), 0, enter-now, 100)
			now = enter + 100
		}
		var moves []sectiontest.Move
		move := func(k int) {
			w := messages[k].sent
			if rank == 1 {
				w = messages[k].received
			}
			if w.Compared(run) {
				moves = append(moves, sectiontest.Move{Kind: kind, Peer: int32(1 - rank), Tag: 3, Comm: 1, Transfer: section.Transfer{
					Row: uint64(len(c.Function) - 1), Done: 1, Bytes: 8, Ordinal: uint64(k + 1),
				}})
			}
		}
		for k := range n + 1 {
			if rank == 1 && k > 0 && k%5 == 0 { // the message before
				call(mpicall.Recv, at(k, 0))
				move(k - 1)
			}
			if k < n && (rank == 0 || k%5 < 4) {
				call([]mpicall.ID{mpicall.Send, mpicall.Recv}[rank], at(k, 1))
				move(k)
			}
			if anchors {
				call(mpicall.Allreduce, at(k, 2))
				c.Meet(1, uint64(k), -1, 8, 8)
			}
		}
		f.Rows(c)
		if len(moves) > 0 {
			f.Send(sectiontest.Message(sectiontest.Moves(process+10, 0, moves...)))
		}
		count := uint64(n)
		f.Sums(process,
			sums.Row{Key: sums.Site(kind, mpicall.Send, 0), Count: count + 3, Bytes: 8*count + 24},
			sums.Row{Key: sums.Peer(kind, 1, int32(1-rank)), Count: count, Bytes: 8 * count, Blocked: 100 * count, Longest: 200, First: 40},
			sums.Row{Key: sums.Rest(kind), Count: 3, Bytes: 24, Blocked: 100, Longest: 98},
			sums.Row{Key: sums.Size(kind, 8), Count: count + 3, Bytes: 8*count + 24, Blocked: 100*count + 100},
			sums.Row{Key: sums.End(kind, mpicall.Waitall, 0), Count: count, Bytes: 8 * count, Blocked: 100*count + 100})
		f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: process, Transfers: count + 3}}})
		f.End(process, moriensv1.ProcessEnd_HOW_FINALIZED)
		end := float64(n+2) * every
		f.Clock(1000+uint64(end*ticksASecond), 500+int64(end*1e9))
	}
	return messages
}

// A sample of messages says in which window each was sent, and stands for all: over many runs it has as many as there
// are, by its weights, also of those that are received in another window.
func TestSample(t *testing.T) {
	const n, runs = 400, 60
	for _, tt := range []struct {
		name    string
		anchors bool
		every   float64 // seconds
	}{{"windows", true, .01}, {"parts", false, 7.3}} {
		t.Run(tt.name, func(t *testing.T) {
			sum, late := 0., 0.
			var variance, lateVariance float64
			for i := range runs {
				run, s := fmt.Sprint("run ", i), store.New()
				messages := steps(t, [2]*store.Store{s, s}, run, n, tt.every, tt.anchors)
				r, _ := rebuiltAll(t, s.Freeze())
				variance, lateVariance = 0, 0
				got := make(map[int]trace.Sampled)
				if len(r.Run.Traffic.Sample) != len(r.Run.Messages) {
					t.Fatalf("%d of %d messages are of a window", len(r.Run.Traffic.Sample), len(r.Run.Messages))
				}
				for k, m := range r.Run.Messages {
					got[int(math.Round(float64(m.SendNS)/1e9/tt.every))] = r.Run.Traffic.Sample[k]
				}
				comparedCalls(t, r.Run, run, tt.anchors)
				want := make(map[int]trace.Sampled)
				for k, m := range messages {
					weight := 1 / m.sent.Share()
					if m.received != m.sent {
						weight /= m.received.Share()
					}
					variance += (weight - 1) * 3 // and what neighbours have in common
					if m.received != m.sent {
						lateVariance += (weight - 1) * 3
					}
					if m.sent.Compared(run) && m.received.Compared(run) {
						want[k] = trace.Sampled{Window: uint64(m.sent), Weight: weight}
						sum += weight
						if m.received != m.sent {
							late += weight
						}
					}
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("run %d (-want +got):\n%s", i, d)
				}
			}
			crossing := 0
			for _, m := range steps(t, [2]*store.Store{store.New(), store.New()}, "", n, tt.every, tt.anchors) {
				if m.received != m.sent {
					crossing++
				}
			}
			if mean, error := sum/runs, math.Sqrt(variance/runs); math.Abs(mean-n) > 5*error || error > n/4 {
				t.Errorf("%.1f messages of %d, standard error %.1f", mean, n, error)
			}
			if mean, error := late/runs, math.Sqrt(lateVariance/runs); math.Abs(mean-float64(crossing)) > 5*error || crossing < n/20 {
				t.Errorf("%.1f messages that end in another window, of %d, standard error %.1f", mean, crossing, error)
			}
		})
	}
}

// comparedCalls tests that the time of compared windows has the calls that began in these, where the rank has messages
// in them, and, behind a window that is none of them, the collective before.
func comparedCalls(t *testing.T, run *trace.Run, name string, anchors bool) {
	t.Helper()
	for i := range run.Threads {
		c, windows := &run.Threads[i].Calls, run.Traffic.Compared[i]
		if len(windows) == 0 {
			t.Fatal("no window")
		}
		of := make(map[uint64]bool)
		for k, w := range windows {
			if !anchor.ID(w.Window).Compared(name) || of[w.Window] || k > 0 && w.BeginNS < windows[k-1].EndNS {
				t.Errorf("%+v", w)
			}
			of[w.Window] = true
			first, _ := slices.BinarySearch(c.EnterNS, w.BeginNS)
			last, ends := slices.BinarySearch(c.ExitNS, w.EndNS)
			alone := first > 0 && (k == 0 || windows[k-1].EndNS < w.BeginNS) // behind a window that is left out
			if begins := first == 0 || c.ExitNS[first-1] <= w.BeginNS; !ends || !begins || last < first {
				t.Errorf("thread %d: window %+v has calls %d to %d", i, w, first, last)
			}
			meets := anchors && run.CallPaths[c.Path[first]].Function == "MPI_Allreduce"
			if alone && anchors != meets {
				t.Errorf("thread %d: window %+v begins with %+v", i, w, run.CallPaths[c.Path[first]])
			}
			if anchors && run.CallPaths[c.Path[last]].Function != "MPI_Allreduce" && last < c.Len()-1 {
				t.Errorf("thread %d: window %+v ends with call %d", i, w, last)
			}
		}
		for k := range run.Messages {
			m := &run.Messages[k]
			for side, ns := range []int64{m.SendNS, m.RecvNS} {
				if of := []int{m.From, m.To}[side]; of == i && !slices.ContainsFunc(windows, func(w trace.Compared) bool { return w.BeginNS <= ns && ns < w.EndNS }) {
					t.Errorf("message %+v is in no window", m)
				}
			}
		}
	}
}

// All collectors of a run have what one would have, in nanoseconds, with its sample; what ranks have not counted peer
// by peer is not taken for missing.
func TestTrafficOfSums(t *testing.T) {
	const n = 300
	one := store.New()
	steps(t, [2]*store.Store{one, one}, "run", n, .01, true)
	r, _ := rebuiltAll(t, one.Freeze())
	traffic := r.Run.Traffic
	want := func(rank int, kind trace.TransferKind) trace.RankTraffic {
		return trace.RankTraffic{
			Rank:  rank,
			Sites: []trace.TrafficSite{{Kind: kind, Count: n + 3, Bytes: 8*n + 24}},
			Routes: slices.Values([]trace.TrafficRoute{
				{Kind: kind, Peer: int32(1 - rank), Count: n, Bytes: 8 * n, BlockedNS: 50 * n, LongestNS: 100, FirstNS: 20},
				{Kind: kind, Peer: -1, Comm: -1, Rest: true, Count: 3, Bytes: 24, BlockedNS: 50, LongestNS: 49},
			}),
			Sizes: []trace.TrafficSize{{Kind: kind, Bin: 4, Count: n + 3, Bytes: 8*n + 24, BlockedNS: 50*n + 50}},
			Ends:  []trace.TrafficEnd{{Kind: kind, Count: n, Bytes: 8 * n, BlockedNS: 50*n + 50}},
		}
	}
	path := func(name string) uint32 {
		return uint32(slices.IndexFunc(r.Run.CallPaths, func(p trace.CallPath) bool { return p.Function == name }))
	}
	wanted := []trace.RankTraffic{want(0, trace.Sent), want(1, trace.Received)}
	for i := range wanted {
		wanted[i].Sites[0].Path, wanted[i].Ends[0].Path = path("MPI_Send"), path("MPI_Waitall")
	}
	if d := cmp.Diff(wanted, traffic.Ranks, tracetest.Routes); d != "" || traffic.Matched != n || traffic.MatchedBytes != 8*n {
		t.Errorf("%d messages of %d bytes (-want +got):\n%s", traffic.Matched, traffic.MatchedBytes, d)
	}
	if d := cmp.Diff(match.Unpaired{match.ManyPeers: {Sends: 3, Receives: 3}}, positive(r.Unpaired)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	several := [2]*store.Store{store.New(), store.New()}
	steps(t, several, "run", n, .01, true)
	var all [2]*trace.Run
	err := mpix.Each(2, func(m mpix.Transport) error {
		f := several[m.Rank()].Freeze()
		if err := f.Share(m); err != nil {
			return err
		}
		r, err := Rebuild(t.Context(), f, m, 1)
		if err == nil {
			all[m.Rank()] = r.Run
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, run := range all {
		own := *traffic
		own.Compared = make([][]trace.Compared, 2) // as each has its own calls
		own.Compared[i] = traffic.Compared[i]
		if d := cmp.Diff(&own, run.Traffic, tracetest.Routes); d != "" {
			t.Errorf("collector %d has other traffic than one of all would have:\n%s", i, d)
		}
		if d := cmp.Diff(r.Run.Messages, run.Messages); d != "" {
			t.Errorf("collector %d has other messages:\n%s", i, d)
		}
	}
	if cut := r.Run.Cut(nil, make([][]trace.Span, len(r.Run.Threads))); cut.Traffic.Sample != nil || r.Run.Traffic.Sample == nil {
		t.Error("messages of chosen windows are called a sample")
	}
}

// positive leaves out reasons that nothing has.
func positive(u match.Unpaired) match.Unpaired {
	found := make(match.Unpaired)
	for why, n := range u {
		if n != (match.Count{}) {
			found[why] = n
		}
	}
	return found
}
