package window_test

import (
	"cmp"
	"io"
	"log/slog"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"moriens/agent/window"
	"moriens/internal/anchor"
	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

const run = "run1"

// tester is a test, or a round of a property's.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func open(t tester, dir string, maxBytes int64) *window.Store {
	t.Helper()
	return openAt(t, dir, maxBytes, 1<<62)
}

func openAt(t tester, dir string, maxBytes int64, committed uint64) *window.Store {
	t.Helper()
	return openWith(t, window.Config{Run: run, Dir: dir, Committed: committed, Log: quiet}, maxBytes)
}

func openWith(t tester, config window.Config, maxBytes int64) *window.Store {
	t.Helper()
	if maxBytes > 0 {
		config.Max = func() int64 { return maxBytes }
	}
	s, err := window.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func request(body any) *moriensv1.ReportRequest {
	switch b := body.(type) {
	case *moriensv1.Process:
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: b}}
	case *moriensv1.Ring:
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: b}}
	case *moriensv1.Communicator:
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: b}}
	case *moriensv1.Member:
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: b}}
	case *moriensv1.Calls:
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Calls{Calls: b}}
	case *moriensv1.Marks:
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Marks{Marks: b}}
	case *moriensv1.Transfers:
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Transfers{Transfers: b}}
	case *moriensv1.Collectives:
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Collectives{Collectives: b}}
	case *moriensv1.Gaps:
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Gaps{Gaps: b}}
	}
	panic("no such body")
}

// A job is ranks that send, receive and meet in a collective, again and again; each rank has one thread, whose ring has
// the process's id.
type job struct {
	ranks int
	row   []uint64 // of each rank
	ticks []uint64
	meets uint64
	mark  uint64
}

// introduce says who the ranks are.
func (j *job) introduce() []*moriensv1.ReportRequest {
	n := uint32(j.ranks)
	j.row, j.ticks = make([]uint64, n), make([]uint64, n)
	list := []*moriensv1.ReportRequest{request(&moriensv1.Communicator{
		Communicator: 1, Id: 5, Size: n, Peers: n, First: []int32{0}, Stride: []int32{1}, Count: []uint32{n}})}
	for rank := range uint64(n) {
		list = append(list,
			request(&moriensv1.Process{Process: rank + 1, Rank: int32(rank), Size: int32(n), Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW}),
			request(&moriensv1.Ring{Ring: rank + 1, Process: rank + 1}),
			request(&moriensv1.Member{Process: rank + 1, Comm: 1, Communicator: 1, Rank: uint32(rank)}))
	}
	return list
}

// iterate is what some iterations of all ranks bring: in each so many sends, and an Allreduce. The calls before the
// first iteration's collective are in the window that is open. slow is an iteration that takes 50 times as long.
func (j *job) iterate(iterations, sends int, slow int) (list []*moriensv1.ReportRequest) {
	met := j.meets
	for rank := range uint64(j.ranks) {
		j.meets = met
		c := &moriensv1.Calls{Ring: rank + 1, First: j.row[rank], OriginTicks: j.ticks[rank], Counts: []*moriensv1.Counts{{}, {}}}
		x := &moriensv1.Transfers{Ring: rank + 1}
		a := &moriensv1.Collectives{Ring: rank + 1}
		m := &moriensv1.Marks{Ring: rank + 1, First: j.mark, OriginTicks: j.ticks[rank]}
		var rowWas, meetWas, markWas uint64
		markWas = j.ticks[rank]
		call := func(id mpicall.ID, burst uint64) {
			i := uint32(len(c.Function))
			c.BurstTicks, c.CallTicks = append(c.BurstTicks, burst), append(c.CallTicks, 300+burst%7)
			c.Function, c.Path = append(c.Function, uint32(id)), append(c.Path, 1+i%3)
			if j.row[rank]%5 == 3 {
				c.NoCounts = append(c.NoCounts, i)
			} else {
				c.Counts[0].Value = append(c.Counts[0].Value, int64(j.row[rank]))
				c.Counts[1].Value = append(c.Counts[1].Value, int64(j.row[rank]*j.row[rank]))
			}
			if j.row[rank]%7 == 2 {
				c.NoBurst = append(c.NoBurst, i)
			}
			if j.row[rank]%21 == 4 {
				c.PollsRow, c.Polls = append(c.PollsRow, i), append(c.Polls, 2+j.row[rank])
			}
			j.ticks[rank] += c.BurstTicks[i] + c.CallTicks[i]
			j.row[rank]++
		}
		for i := range iterations {
			scale := uint64(1)
			if i == slow && rank == 0 {
				scale = 50
			}
			m.Ticks, markWas = append(m.Ticks, j.ticks[rank]+1-markWas), j.ticks[rank]+1
			m.What, m.Name, m.Value = append(m.What, moriensv1.Marks_WHAT_EVENT), append(m.Name, 1), append(m.Value, int64(j.mark)+int64(i))
			for k := range sends {
				row := j.row[rank]
				call(mpicall.Isend, scale*(1000+(j.meets*31+uint64(k)*17)%97))
				x.Kind, x.Row, rowWas = append(x.Kind, moriensv1.Transfers_KIND_SENT), append(x.Row, int64(row-rowWas)), row
				x.Done, x.Peer, x.Tag = append(x.Done, 2), append(x.Peer, int32((int(rank)+1)%j.ranks)), append(x.Tag, int32(k))
				x.Comm, x.Bytes, x.Ordinal = append(x.Comm, 1), append(x.Bytes, 8*row), append(x.Ordinal, j.meets+1)
				if row%13 == 5 {
					n := uint32(len(x.Kind) - 1)
					x.Elsewhere, x.DoneRing = append(x.Elsewhere, n), append(x.DoneRing, rank+1)
				}
			}
			row := j.row[rank]
			call(mpicall.Allreduce, scale*500)
			a.Row, meetWas = append(a.Row, int64(row-meetWas)), row
			a.Comm, a.Ordinal, a.Sent = append(a.Comm, 1), append(a.Ordinal, j.meets), append(a.Sent, 8)
			a.Received, a.Root = append(a.Received, 8), append(a.Root, -1)
			j.meets++
		}
		list = append(list, request(m), request(c), request(a))
		if len(x.Kind) > 0 {
			list = append(list, request(x))
		}
	}
	j.mark += uint64(iterations)
	return list
}

// flat is everything that messages say, a line each, so that cutting them differently makes no difference.
type flat struct {
	ring, row uint64
	what      string
	a, b, c   int64
}

func flatten(messages []*moriensv1.ReportRequest, to map[flat]int) {
	for _, m := range messages {
		if c := m.GetCalls(); c != nil {
			ticks := c.OriginTicks
			values := [2][]int64{c.Counts[0].Value, c.Counts[1].Value}
			for i := range c.Function {
				row := c.First + uint64(i)
				ticks += c.BurstTicks[i]
				to[flat{c.Ring, row, "call", int64(ticks), int64(c.CallTicks[i]), int64(c.Function[i])<<32 | int64(c.Path[i])}]++
				ticks += c.CallTicks[i]
				if slices.Contains(c.NoBurst, uint32(i)) {
					to[flat{c.Ring, row, "no burst", 0, 0, 0}]++
				}
				if k, found := slices.BinarySearch(c.PollsRow, uint32(i)); found {
					to[flat{c.Ring, row, "polls", int64(c.Polls[k]), 0, 0}]++
				}
				if !slices.Contains(c.NoCounts, uint32(i)) {
					to[flat{c.Ring, row, "counts", values[0][0], values[1][0], 0}]++
					values[0], values[1] = values[0][1:], values[1][1:]
				}
			}
		}
		if x := m.GetTransfers(); x != nil {
			row := int64(0)
			for i := range x.Kind {
				row += x.Row[i]
				done := x.Done[i]
				if k, found := slices.BinarySearch(x.Elsewhere, uint32(i)); found {
					done += int64(x.DoneRing[k]) << 32
				}
				to[flat{x.Ring, uint64(row), "transfer", done, int64(x.Bytes[i])<<8 | int64(x.Kind[i]), int64(x.Ordinal[i])<<8 | int64(x.Tag[i])}]++
			}
		}
		if a := m.GetCollectives(); a != nil {
			row := int64(0)
			for i := range a.Row {
				row += a.Row[i]
				to[flat{a.Ring, uint64(row), "collective", int64(a.Ordinal[i]), int64(a.Sent[i]), int64(a.Root[i])}]++
			}
		}
		if k := m.GetMarks(); k != nil {
			ticks, values := k.OriginTicks, k.Value
			for i, d := range k.Ticks {
				ticks += d
				to[flat{k.Ring, k.First + uint64(i), "mark", int64(ticks), values[0], int64(k.Name[i])}]++
				values = values[1:]
			}
		}
		if g := m.GetGaps(); g != nil {
			for _, row := range g.Before {
				to[flat{g.Ring, row, "before", 0, 0, 0}]++
			}
			for _, row := range g.Inside {
				to[flat{g.Ring, row, "inside", 0, 0, 0}]++
			}
		}
	}
}

// fetch returns what a store has of windows, by window, and those that are gone.
func fetch(t tester, s *window.Store, windows []uint64, processes ...uint64) (map[anchor.ID]map[flat]int, []uint64) {
	t.Helper()
	got := make(map[anchor.ID]map[flat]int)
	end := s.Fetch(&moriensv1.Fetch{Number: 9, Window: windows, Process: processes}, func(p *moriensv1.WindowPart) error {
		w := anchor.ID(p.Window)
		if got[w] == nil {
			got[w] = make(map[flat]int)
		}
		flatten(p.Messages, got[w])
		return nil
	})
	if end.Error != "" || end.Number != 9 {
		t.Fatalf("fetch: %v", end)
	}
	gone := slices.Clone(end.GoneWindow)
	slices.Sort(gone)
	return got, slices.Compact(gone)
}

// numbered lists the windows after so many anchors.
func numbered(anchors int) (list []uint64) {
	for n := range anchors + 1 {
		if w := uint64(anchor.After(uint64(n))); len(list) == 0 || list[len(list)-1] != w {
			list = append(list, w)
		}
	}
	return list
}

func total(windows map[anchor.ID]map[flat]int) map[flat]int {
	all := make(map[flat]int)
	for _, lines := range windows {
		for line, n := range lines {
			all[line] += n
		}
	}
	return all
}

func TestFetchReturnsWhatIsAppended(t *testing.T) {
	j := &job{ranks: 3}
	s := open(t, t.TempDir(), 0)
	defer s.Close()
	want := make(map[flat]int)
	transaction := uint64(0)
	put := func(messages []*moriensv1.ReportRequest) {
		transaction++
		if err := s.Append(transaction, messages); err != nil {
			t.Fatal(err)
		}
		flatten(messages, want)
	}
	put(j.introduce())
	for i := range 40 {
		put(j.iterate(i%7+1, i%4, -1))
	}
	put([]*moriensv1.ReportRequest{request(&moriensv1.Gaps{Ring: 1, Before: []uint64{0, 7, j.row[0]}, Inside: []uint64{12}})})
	if err := s.Append(transaction, j.iterate(1, 1, -1)); err != nil { // it is there already
		t.Fatal(err)
	}
	windows, gone := fetch(t, s, numbered(int(j.meets)))
	if d := gocmp.Diff(want, total(windows)); d != "" || len(gone) > 0 {
		t.Errorf("gone %v, lines differ (-want +got):\n%s", gone, d)
	}
	// Of an iteration, each window has the calls up to its collective.
	for w, lines := range windows {
		meets := 0
		for line := range lines {
			if line.what == "collective" {
				meets++
				if anchor.After(uint64(line.a)) != w {
					t.Errorf("collective %d is in window %d", line.a, w)
				}
			}
		}
		if meets != j.ranks && w != anchor.After(j.meets-1) {
			t.Errorf("window %d has %d collectives of %d ranks", w, meets, j.ranks)
		}
	}
	one, _ := fetch(t, s, []uint64{uint64(anchor.After(3))}, 2)
	if len(one) != 1 || len(one[anchor.After(3)]) == 0 {
		t.Errorf("%d windows", len(one))
	}
	for line := range one[anchor.After(3)] {
		if line.ring != 2 {
			t.Errorf("another process's %v", line)
		}
	}
}

// What is split is not changed: it has yet to be sent.
func TestSplitMessagesAreTheCallers(t *testing.T) {
	j := &job{ranks: 2}
	s := open(t, t.TempDir(), 0)
	defer s.Close()
	if err := s.Append(1, j.introduce()); err != nil {
		t.Fatal(err)
	}
	again := *j
	again.row, again.ticks = slices.Clone(j.row), slices.Clone(j.ticks)
	messages, copies := j.iterate(5, 3, -1), again.iterate(5, 3, -1)
	if err := s.Append(2, messages); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(copies, messages, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

func sorted(list []uint64) []uint64 {
	slices.SortFunc(list, func(a, b uint64) int {
		return cmp.Compare(anchor.ID(a).Hash(run), anchor.ID(b).Hash(run))
	})
	return list
}
