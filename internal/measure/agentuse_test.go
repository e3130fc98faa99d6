package measure

import (
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/rendezvous"
	"moriens/internal/shmabi"
	"moriens/internal/ticks"
)

// counting is a proxy that counts the bytes that go to the collector.
func counting(b *testing.B, target string) (address string, sent *atomic.Int64) {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { listener.Close() })
	sent = new(atomic.Int64)
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				in.Close()
				continue
			}
			go func() { io.Copy(in, out); in.Close() }()
			go func() { io.Copy(io.MultiWriter(out, counter{sent}), in); out.Close() }()
		}
	}()
	return listener.Addr().String(), sent
}

type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

// BenchmarkAgent is an agent of its own process that serves 16 ranks of 1,000 MPI calls per second and rank, each a send with a burst
// and two counters before it, over TLS: what part of a core it takes per rank, its memory, and bytes per burst on the wire.
func BenchmarkAgent(b *testing.B) {
	const ranks, rate, seconds = 16, 1000, 8
	for b.Loop() {
		dir := b.TempDir()
		c := startRun(b, "00000000000000cd", "127.0.0.1:0")
		meet := c.Rendezvous()
		var sent *atomic.Int64
		meet.Address, sent = counting(b, meet.Address)
		if err := rendezvous.Write(dir, meet); err != nil {
			b.Fatal(err)
		}
		shm := filepath.Join(dir, "shm")
		if err := os.Mkdir(shm, 0o700); err != nil {
			b.Fatal(err)
		}
		path := ring.DirectoryPath(shm, os.Getuid(), meet.Run)
		var writers sync.WaitGroup
		for rank := range ranks {
			p, err := ringwriter.New(path, ringwriter.Identity{Rank: rank, Size: ranks, World: "w", Events: "PAPI_TOT_INS,PAPI_TOT_CYC", Clock: ticks.Usual()})
			if err != nil {
				b.Fatal(err)
			}
			r, err := p.Thread(1 << 16)
			if err != nil {
				b.Fatal(err)
			}
			module := p.Module("/opt/app", nil)
			site := p.Path(ringwriter.Frame{Module: module, Offset: 1})
			writers.Go(func() {
				random := rand.New(rand.NewPCG(uint64(rank), 1))
				tick := time.NewTicker(10 * time.Millisecond)
				for i := range rate * seconds {
					if i%(rate/100) == 0 {
						<-tick.C
					}
					at, err := ticks.Now(ticks.Usual())
					if err != nil {
						b.Error(err)
					}
					cycles := 2_000_000 + random.Int64N(40_000)
					r.Enter(mpicall.Send, site, at, cycles*3/2+random.Int64N(10_000), cycles)
					ringwriter.Add(r, shmabi.Transfer{Kind: shmabi.SlotSent, Bytes: 8192, Peer: int32(rank+1) % ranks, Tag: 1})
					r.Exit(at + 3000 + random.Uint64N(500))
				}
				tick.Stop()
				p.Finalize()
				p.Exit()
			})
		}
		agent := child(b, agentEnv, dir)
		writers.Wait()
		if err := agent.Wait(); err != nil {
			b.Fatal(err)
		}
		f := c.Stop()
		d := f.Agents[0].Done
		if f.Totals.Calls != ranks*rate*seconds {
			b.Fatalf("%d calls", f.Totals.Calls)
		}
		b.ReportMetric(100*time.Duration(d.CpuNs).Seconds()/seconds/ranks, "%core/rank")
		b.ReportMetric(float64(d.CpuNs)/float64(f.Totals.Calls), "ns/call")
		b.ReportMetric(float64(d.PeakBytes)/(1<<20), "MiB")
		b.ReportMetric(float64(sent.Load())/float64(f.Totals.Bursts), "B/burst")
	}
}
