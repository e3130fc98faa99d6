package ingest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"moriens/collector/store"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// BenchmarkTake is what a call costs from the bytes of its message to the store, without stream and journal, and what
// the store keeps of it: sections as agents send them of 2 ranks that make 15,000 calls a second each, and of 16 that
// make 1,000. Ranks send with two counters; every tenth call is a reduction.
func BenchmarkTake(b *testing.B) {
	for _, load := range []struct{ ranks, rows, sections int }{{2, 4000, 200}, {16, 700, 140}} {
		b.Run(fmt.Sprintf("ranks=%d/rows=%d", load.ranks, load.rows), func(b *testing.B) {
			messages := messagesOf(b, load.ranks, load.rows, load.sections)
			calls := load.ranks * load.rows * load.sections
			c, held := newCodec(), 0.
			var allocated uint64
			for b.Loop() {
				b.StopTimer()
				before := heap()
				b.StartTimer()
				s := store.New()
				agent, _, err := s.Greet(&moriensv1.Hello{Agent: 1})
				if err != nil {
					b.Fatal(err)
				}
				for _, bytes := range messages {
					var w wire
					if err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(bytes)}, &w); err != nil {
						b.Fatal(err)
					}
					m, err := w.message()
					if err != nil {
						b.Fatal(err)
					}
					if _, err := s.Apply(agent, m); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				after := heap()
				held += float64(after.HeapAlloc) - float64(before.HeapAlloc)
				allocated += after.Mallocs - before.Mallocs
				if n := s.Totals().Calls; n != uint64(calls) {
					b.Fatalf("%d calls of %d", n, calls)
				}
				b.StartTimer()
			}
			n := float64(b.N) * float64(calls)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/call")
			b.ReportMetric(held/n, "B/call")
			b.ReportMetric(float64(allocated)/n*float64(load.rows), "allocs/section")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func heap() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC() // what the first one only marked as free
	runtime.ReadMemStats(&m)
	return m
}

// messagesOf are the messages of an agent, as they are on the wire.
func messagesOf(b *testing.B, ranks, rows, sections int) (list [][]byte) {
	const sites = 10
	random := rand.New(rand.NewPCG(1, 2))
	say := func(m *moriensv1.ReportRequest) {
		m.Sequence = uint64(len(list) + 1)
		bytes, err := proto.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, bytes)
	}
	for rank := range uint64(ranks) {
		say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
			Process: rank, Rank: int32(rank), Size: int32(ranks), Clock: moriensv1.Clock_CLOCK_TSC, Events: []string{"A", "B"},
		}}})
		say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: rank, Process: rank}}})
		for path := range uint64(sites) {
			say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{
				Process: rank, Path: uint32(path + 1), Frames: []*moriensv1.Frame{{Module: "m", Offset: path}},
			}}})
		}
	}
	say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
		Communicator: 1, Id: 8, Size: uint32(ranks), Peers: uint32(ranks), First: []int32{0}, Stride: []int32{1}, Count: []uint32{uint32(ranks)},
	}}})
	for rank := range uint64(ranks) {
		say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: rank, Comm: 1, Communicator: 1, Rank: uint32(rank)}}})
	}
	block, encoder, at := new(section.Block), new(section.Encoder), make([]uint64, ranks)
	for n := range sections {
		for rank := range ranks {
			block.Empty()
			block.Ring, block.First, block.Origin = uint64(rank), uint64(n*rows), at[rank]
			block.Grow(rows, 2)
			for row := range rows {
				site := (n*rows + row) % sites
				if row < sites {
					block.Sites = append(block.Sites, section.Site{Function: uint16(mpicall.Send), Path: uint32(site + 1)})
				}
				if site == sites-1 {
					block.Sites[row%sites].Function = uint16(mpicall.Allreduce)
					block.Collectives = append(block.Collectives, section.Collective{Row: uint32(row), Comm: 1, Root: -1, Ordinal: uint64((n*rows + row) / sites), Sent: 8, Received: 8})
				}
				block.Site[row] = uint16(row % sites)
				block.Burst[row] = 100_000*uint64(1+site%4) + random.Uint64N(4000)
				block.Call[row] = 3000 + random.Uint64N(2000)
				block.Counts[0][row], block.Counts[1][row] = int64(2*block.Burst[row]+random.Uint64N(4000)), int64(block.Burst[row])
				at[rank] += block.Burst[row] + block.Call[row]
			}
			say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Sections{Sections: encoder.Calls(nil, block)}})
		}
	}
	return list
}
