package window_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/agent/window"
	"moriens/internal/anchor"
	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// A threadCall is a call of a thread of the one process of a test.
type threadCall struct {
	ring       uint64
	row        uint64
	enter, end uint64
	comm       uint32 // of whose collectives it is one, 0: it sends
	ordinal    uint64
}

// drawThreads draws what the threads of a process do, some of which meet the other ranks, by one communicator or
// another: by ring, and in the order in which calls end.
func drawThreads(t *rapid.T) (byRing [][]threadCall, inOrder []*threadCall) {
	threads := rapid.IntRange(1, 4).Draw(t, "threads")
	long := rapid.Bool().Draw(t, "long") // enough for windows that are cut by time
	for thread := range threads {
		comms := rapid.SampledFrom([][]uint32{nil, {1}, {2}, {1, 2}}).Draw(t, "communicators")
		ticks := 1000 + rapid.Uint64Range(0, 50).Draw(t, "begin")
		var calls []threadCall
		for range rapid.IntRange(0, 30).Draw(t, "calls") {
			c := threadCall{ring: uint64(thread + 1), row: uint64(len(calls))}
			c.enter = ticks + rapid.Uint64Range(0, 20).Draw(t, "burst")
			if long && rapid.IntRange(0, 9).Draw(t, "pause") == 0 {
				c.enter += uint64(rapid.Int64Range(0, int64(25*time.Second)).Draw(t, "paused"))
			}
			c.end = c.enter + rapid.Uint64Range(0, 30).Draw(t, "took")
			if len(comms) > 0 && rapid.Bool().Draw(t, "meets") {
				c.comm = rapid.SampledFrom(comms).Draw(t, "communicator")
			}
			ticks = c.end
			calls = append(calls, c)
		}
		byRing = append(byRing, calls)
	}
	for _, calls := range byRing {
		for i := range calls {
			inOrder = append(inOrder, &calls[i])
		}
	}
	slices.SortStableFunc(inOrder, func(a, b *threadCall) int { return cmp.Compare(a.end, b.end) })
	had := make(map[uint32]uint64)
	for _, c := range inOrder {
		c.ordinal = had[c.comm]
		had[c.comm]++
	}
	return byRing, inOrder
}

// windowsOfCalls says in which window each call is, by its ring and row: in the one that was open when it ended, of
// which parts begin with a call that begins late enough.
func windowsOfCalls(inOrder []*threadCall) map[[2]uint64]anchor.ID {
	of := make(map[[2]uint64]anchor.ID)
	var now anchor.ID
	anchors, since := uint64(0), uint64(0)
	for i, c := range inOrder {
		if i == 0 {
			since = c.enter
		}
		if c.enter > since {
			now = max(now, now.At(time.Duration(c.enter-since)))
		}
		of[[2]uint64{c.ring, c.row}] = now
		if c.comm != 0 {
			anchors++
			if next := anchor.After(anchors); next > now {
				now, since = next, c.end
			}
		}
	}
	return of
}

// introduceThreads says who the process is.
func introduceThreads(threads int) []*moriensv1.ReportRequest {
	list := []*moriensv1.ReportRequest{request(&moriensv1.Process{Process: 9, Size: 2, Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW})}
	for comm := uint32(1); comm <= 2; comm++ {
		list = append(list,
			request(&moriensv1.Communicator{Communicator: comm, Id: uint64(comm), Size: 2, Peers: 2, First: []int32{0}, Stride: []int32{1}, Count: []uint32{2}}),
			request(&moriensv1.Member{Process: 9, Comm: comm, Communicator: comm}))
	}
	for thread := range threads {
		list = append(list, request(&moriensv1.Ring{Ring: uint64(thread + 1), Process: 9, Thread: uint32(thread)}))
	}
	return list
}

// reportThread is what some calls of a thread become, and the transfers of them apart. before is when the call before
// them ended.
func reportThread(calls []threadCall, before uint64) (reported []*moriensv1.ReportRequest, transfers *moriensv1.ReportRequest) {
	c := &moriensv1.Calls{Ring: calls[0].ring, First: calls[0].row, OriginTicks: before, Counts: []*moriensv1.Counts{{}, {}}}
	a, x := &moriensv1.Collectives{Ring: c.Ring}, &moriensv1.Transfers{Ring: c.Ring}
	var met, moved uint64
	for i, at := range calls {
		c.BurstTicks, c.CallTicks = append(c.BurstTicks, at.enter-before), append(c.CallTicks, at.end-at.enter)
		c.Path, c.NoCounts = append(c.Path, 1), append(c.NoCounts, uint32(i))
		before = at.end
		if at.comm != 0 {
			c.Function = append(c.Function, uint32(mpicall.Allreduce))
			a.Row, met = append(a.Row, int64(at.row-met)), at.row
			a.Comm, a.Ordinal, a.Sent = append(a.Comm, at.comm), append(a.Ordinal, at.ordinal), append(a.Sent, 8)
			a.Received, a.Root = append(a.Received, 8), append(a.Root, -1)
			continue
		}
		c.Function = append(c.Function, uint32(mpicall.Send))
		x.Kind, x.Row, moved = append(x.Kind, moriensv1.Transfers_KIND_SENT), append(x.Row, int64(at.row-moved)), at.row
		x.Done, x.Peer, x.Tag, x.Comm = append(x.Done, 1), append(x.Peer, 1), append(x.Tag, 0), append(x.Comm, 1)
		x.Bytes, x.Ordinal = append(x.Bytes, at.row), append(x.Ordinal, at.row+1)
	}
	reported = append(reported, request(c))
	if len(a.Row) > 0 {
		reported = append(reported, request(a))
	}
	if len(x.Row) > 0 {
		transfers = request(x)
	}
	return reported, transfers
}

// fetchCalls returns what a store has of the windows of some calls of a ring, by window.
func fetchCalls(t tester, s *window.Store, f *moriensv1.Fetch) map[anchor.ID]map[flat]int {
	t.Helper()
	got := make(map[anchor.ID]map[flat]int)
	f.Number = 9
	parts := uint64(0)
	end := s.Fetch(f, func(p *moriensv1.WindowPart) error {
		w := anchor.ID(p.Window)
		if got[w] == nil {
			got[w] = make(map[flat]int)
		}
		flatten(p.Messages, got[w])
		parts++
		return nil
	})
	if end.Error != "" || end.Parts != parts || len(end.GoneWindow) > 0 {
		t.Fatalf("fetch: %v", end)
	}
	return got
}

// A process of several threads, some of which make no collective calls. A fetch of the windows of calls gets these
// calls and what they have moved, once, regardless of when which thread was read, in which messages and transactions
// the data arrived, and how often the agent was restarted. Where all was read up to a time again and again, the windows
// are those of the calls' own times.
func TestThreads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp("", "moriens-threads-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		dir := filepath.Join(base, "windows")
		s := open(t, dir, 1<<16) // small files, but room for all
		defer func() { s.Close() }()
		byRing, inOrder := drawThreads(t)
		even := rapid.Bool().Draw(t, "all are read up to a time")
		transaction := uint64(0)
		put := func(messages []*moriensv1.ReportRequest) {
			if rapid.Bool().Draw(t, "part") {
				s.Part(messages)
			}
			transaction++
			if err := s.Append(transaction, messages); err != nil {
				t.Fatal(err)
			}
			if rapid.IntRange(0, 3).Draw(t, "restart") == 0 {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, dir, 1<<16)
			}
		}
		put(introduceThreads(len(byRing)))
		want := make(map[flat]int)
		read := make([]int, len(byRing)) // calls of each thread
		var late []*moriensv1.ReportRequest
		rounds := rapid.IntRange(1, 6).Draw(t, "transactions")
		for round := range rounds {
			last := round == rounds-1
			until := uint64(1 << 62)
			if even && !last {
				if rest := slices.IndexFunc(inOrder, func(c *threadCall) bool { return int(c.row) >= read[c.ring-1] }); rest >= 0 {
					until = inOrder[rapid.IntRange(rest, len(inOrder)-1).Draw(t, "until")].end
				}
			}
			messages := late
			late = nil
			for _, thread := range rapid.Permutation(threadNumbers(len(byRing))).Draw(t, "order") {
				calls := byRing[thread]
				from, to := read[thread], len(calls)
				if even && !last {
					to, _ = slices.BinarySearchFunc(calls, until+1, func(c threadCall, ticks uint64) int { return cmp.Compare(c.end, ticks) })
				} else if !last {
					to = rapid.IntRange(from, len(calls)).Draw(t, "read")
				}
				for from < to { // in so many messages
					n := rapid.IntRange(from+1, to).Draw(t, "message")
					before := calls[from].enter
					if from > 0 {
						before = calls[from-1].end
					}
					reported, transfers := reportThread(calls[from:n], before)
					flatten(reported, want)
					messages = append(messages, reported...)
					if transfers != nil {
						flatten([]*moriensv1.ReportRequest{transfers}, want)
						if rapid.Bool().Draw(t, "late") {
							late = append(late, transfers)
						} else {
							messages = append(messages, transfers)
						}
					}
					from = n
				}
				read[thread] = max(read[thread], to)
			}
			put(messages)
		}
		put(late)
		// All of it, by calls.
		all := new(moriensv1.Fetch)
		for thread, calls := range byRing {
			all.Ring, all.FirstRow, all.BehindRow = append(all.Ring, uint64(thread+1)), append(all.FirstRow, 0), append(all.BehindRow, uint64(len(calls)+3))
		}
		windows := fetchCalls(t, s, all)
		if d := gocmp.Diff(want, total(windows), gocmp.AllowUnexported(flat{})); d != "" {
			t.Fatalf("lines differ (-want +got):\n%s", d)
		}
		filed := make(map[[2]uint64]anchor.ID)
		for w, lines := range windows {
			for line := range lines {
				at := [2]uint64{line.ring, line.row}
				if was, there := filed[at]; there && was != w {
					t.Fatalf("what belongs to row %d of ring %d is in windows %d and %d", line.row, line.ring, was, w)
				}
				filed[at] = w
			}
		}
		if d := gocmp.Diff(windowsOfCalls(inOrder), filed); even && d != "" {
			t.Fatalf("windows of calls, by ring and row, differ (-want +got):\n%s", d)
		}
		// Each call by itself.
		for at, w := range filed {
			got := fetchCalls(t, s, &moriensv1.Fetch{Ring: []uint64{at[0]}, FirstRow: []uint64{at[1]}, BehindRow: []uint64{at[1] + 1}})
			if d := gocmp.Diff(map[anchor.ID]map[flat]int{w: windows[w]}, got, gocmp.AllowUnexported(flat{})); d != "" {
				t.Fatalf("asked for row %d of ring %d (-want +got):\n%s", at[1], at[0], d)
			}
		}
	})
}

func threadNumbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
