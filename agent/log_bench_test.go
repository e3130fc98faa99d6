package agent

import (
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"moriens/agent/uplink"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/rendezvous"
	"moriens/internal/shmabi"
	"moriens/internal/ticks"
)

// A script is a rank that repeats a program.
type script struct {
	ring       *ringwriter.Ring
	paths      []uint32
	random     *rand.Rand
	at         uint64
	sends      int // neighbours of a halo exchange; 0: it is irregular; -1: it makes collectives that do not block
	calls      int
	meetings   uint32
	iterations int
}

func (s *script) call(b *testing.B, of mpicall.ID, path uint32, what ...any) {
	s.at += 20_000 + s.random.Uint64N(400)
	cycles := int64(40_000 + s.random.IntN(900))
	whole := s.ring.Enter(of, path, s.at, cycles*3/2+s.random.Int64N(100), cycles)
	for _, x := range what {
		switch x := x.(type) {
		case shmabi.Transfer:
			whole = ringwriter.Add(s.ring, x) && whole
		case shmabi.Request:
			whole = ringwriter.Add(s.ring, x) && whole
		case shmabi.Collective:
			whole = ringwriter.Add(s.ring, x) && whole
		}
	}
	s.at += 3000 + s.random.Uint64N(500)
	s.ring.Exit(s.at)
	if s.calls++; !whole {
		b.Fatal("the ring is full")
	}
}

func (s *script) meet(b *testing.B, path uint32) {
	s.call(b, mpicall.Allreduce, path, shmabi.Collective{Kind: shmabi.SlotCollective, Sent: 8, Received: 8, Ordinal: s.meetings, Root: shmabi.RankAny, Comm: 1})
	s.meetings++
}

// iterate makes an iteration's calls.
func (s *script) iterate(b *testing.B) {
	s.iterations++
	if s.sends < 0 {
		s.call(b, mpicall.Iallreduce, s.paths[0],
			shmabi.Collective{Kind: shmabi.SlotCollective, Sent: 8, Received: 8, Ordinal: s.meetings, Root: shmabi.RankAny, Comm: 1},
			shmabi.Request{Kind: shmabi.SlotRequest, Event: shmabi.RequestMade, Request: 4096})
		s.call(b, mpicall.Wait, s.paths[1], shmabi.Request{Kind: shmabi.SlotRequest, Event: shmabi.RequestCompleted, Request: 4096})
		s.meetings++
		return
	}
	if s.sends == 0 {
		for range 20 {
			k := s.random.IntN(len(s.paths))
			s.call(b, mpicall.Send, s.paths[k], shmabi.Transfer{
				Kind: shmabi.SlotSent, Bytes: s.random.Uint64N(1 << 16), Peer: int32(s.random.IntN(190)), Tag: int32(s.random.IntN(10)), Comm: 1,
			})
		}
		s.meet(b, s.paths[0])
		return
	}
	var done []any
	for k := range 2 * s.sends {
		handle, peer := uint64(4096+64*k), int32(k%s.sends)
		x := shmabi.Transfer{Kind: shmabi.SlotReceived, Bytes: 8192, Request: handle, Peer: peer, Tag: 7, Comm: 1}
		of := mpicall.Irecv
		if k >= s.sends {
			x.Kind, of = shmabi.SlotSent, mpicall.Isend
		}
		s.call(b, of, s.paths[k], x)
		done = append(done, shmabi.Request{Kind: shmabi.SlotRequest, Event: shmabi.RequestCompleted, Request: handle, Bytes: 8192, Source: peer, Tag: 7})
	}
	s.call(b, mpicall.Waitall, s.paths[2*s.sends], done...)
	s.meet(b, s.paths[2*s.sends+1])
}

// What an agent does with a quarter of a ring, from its slots to what is on the disk, without waking up and sending.
func BenchmarkLog(b *testing.B) {
	for _, sends := range []int{6, 26, 0, -1} {
		name := fmt.Sprintf("halo=%d", sends)
		switch sends {
		case 0:
			name = "irregular"
		case -1:
			name = "nonblocking"
		}
		b.Run(name, func(b *testing.B) { benchmarkLog(b, sends) })
	}
}

func benchmarkLog(b *testing.B, sends int) {
	shm := b.TempDir()
	n, err := New(Config{
		Run: "run", Shm: shm, Rings: "rings", Spool: b.TempDir(), Log: slog.New(slog.DiscardHandler),
		Find: uplink.Find(func() (rendezvous.Rendezvous, error) { return rendezvous.Rendezvous{}, fs.ErrNotExist }),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		n.windows.close()
		n.outbox.Close()
		n.spool.Remove()
		n.claim.Close()
	}()
	p, err := ringwriter.New(n.directory.Path(), ringwriter.Identity{Rank: 0, Size: 200, World: "w", Events: "PAPI_TOT_INS,PAPI_TOT_CYC", Clock: ticks.Usual()})
	if err != nil {
		b.Fatal(err)
	}
	p.Comm(ringwriter.Comm{Number: 1, ID: 99, Rank: 0, Size: 200, Ranks: []ringwriter.Ranks{{First: 0, Stride: 1, Count: 200}}})
	const slots = 1 << 16
	ring, err := p.Thread(slots)
	if err != nil {
		b.Fatal(err)
	}
	s := &script{ring: ring, random: rand.New(rand.NewPCG(1, 2)), sends: sends, at: 1000}
	module := p.Module("/opt/app", nil)
	for i := range max(200*(1-min(sends, 1)), 2*sends+2) {
		s.paths = append(s.paths, p.Path(ringwriter.Frame{Module: module, Offset: uint64(i + 1)}))
	}
	n.scan()
	if len(n.agents) != 1 {
		b.Fatalf("%d processes in %s", len(n.agents), filepath.Base(shm))
	}
	var a *Process
	for _, a = range n.agents {
	}
	t := a.threads[0]
	round := func() {
		for t.reader.Head()-t.reader.Tail() < slots/4 {
			s.iterate(b)
		}
	}
	take := func() {
		for n.read(a, t) {
		}
		if err := n.commit(a); err != nil || t.corrupt != nil {
			b.Fatal(err, t.corrupt)
		}
	}
	round()
	take()
	calls, least := s.calls, math.Inf(1)
	for b.Loop() {
		b.StopTimer()
		if err := n.outbox.Acknowledge(n.outbox.Last()); err != nil {
			b.Fatal(err)
		}
		before, elapsed := s.calls, b.Elapsed()
		round()
		b.StartTimer()
		take()
		least = min(least, float64((b.Elapsed()-elapsed).Nanoseconds())/float64(s.calls-before))
	}
	calls = s.calls - calls
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(calls), "ns/call")
	b.ReportMetric(least, "least-ns/call")
	b.ReportMetric(float64(calls)/float64(b.N), "calls")
	if x := a.messages.Stats(); x.Transfers+x.Collectives == 0 || x.EndsUnknown > 0 || n.windows.store.Failed() != nil {
		b.Fatalf("%+v, %v", x, n.windows.store.Failed())
	}
}
