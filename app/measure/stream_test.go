package measure

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"moriens/agent/spool"
	"moriens/agent/uplink"
	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector"
	"moriens/collector/store"
	"moriens/internal/rendezvous"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

var quiet = slog.New(slog.DiscardHandler)

func startCollector(t *testing.T, listen string) *collector.Collector {
	t.Helper()
	return startRun(t, "run1", listen)
}

func startRun(t testing.TB, run, listen string) *collector.Collector {
	t.Helper()
	c, err := collector.Start(collector.Config{
		Journal: filepath.Join(t.TempDir(), "journal"), Run: run, Listen: listen, Log: quiet,
		Options: grouping.Options{Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// openOutbox opens the outbox of a spool that only the test knows.
func openOutbox(t *testing.T) *spool.Outbox {
	t.Helper()
	s, err := spool.Open(spool.Config{Dir: t.TempDir(), Run: "run1", Shm: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	outbox, err := s.Outbox()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outbox.Close(); s.Close() })
	return outbox
}

func startUplink(t *testing.T, outbox *spool.Outbox, meet rendezvous.Rendezvous, run string) (*uplink.Uplink, <-chan error) {
	t.Helper()
	u := uplink.New(uplink.At(meet), &moriensv1.Hello{Run: run, Agent: 42, Host: "n1"}, outbox, quiet)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- u.Run(ctx) }()
	t.Cleanup(cancel)
	return u, done
}

// rows is how many calls each of the test's messages has.
const rows = 100

func sendRing(t *testing.T, outbox *spool.Outbox, messages int) {
	t.Helper()
	sendRingOf(t, outbox, 1, messages)
}

// sendRingOf sends a process with one ring, whose id is one more.
func sendRingOf(t *testing.T, outbox *spool.Outbox, process uint64, messages int) {
	t.Helper()
	send := func(m *moriensv1.ReportRequest) {
		if err := outbox.Commit(spool.Transaction{Messages: []*moriensv1.ReportRequest{m}}); err != nil {
			t.Fatal(err)
		}
	}
	send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Process: process, Size: 1}}})
	send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: process + 1, Process: process}}})
	for i := range messages {
		c := &sectiontest.Rows{Ring: process + 1, First: uint64(i * rows)}
		for range rows {
			c.Add(1, 0, uint64(i), 1)
		}
		send(c.Message())
	}
	send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: process + 1, Calls: uint64(messages * rows)}}})
	send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}})
}

func flush(t *testing.T, u *uplink.Uplink) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := u.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

// checkRing checks that each message is there once and in order.
func checkRing(t *testing.T, c *collector.Collector, messages int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.WaitAgents(ctx); err != nil {
		t.Fatal(err)
	}
	f := stopped(c)
	if len(f.Processes) != 1 || len(f.Processes[0].Rings) != 1 {
		t.Fatalf("%d processes", len(f.Processes))
	}
	chunks := f.Processes[0].Rings[0].Chunks
	if len(chunks) != messages {
		t.Fatalf("%d messages held, want %d", len(chunks), messages)
	}
	reader := new(store.Reader)
	for i := range chunks {
		chunk := reader.Ticks(&chunks[i])
		if chunk.Burst[0] != uint64(i) || len(chunk.Burst) != rows {
			t.Fatalf("message %d holds %d calls of message %d", i, len(chunk.Burst), chunk.Burst[0])
		}
	}
}

func TestStream(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "unix:" + filepath.Join(t.TempDir(), "s"), rendezvous.NewSocket()} {
		c := startCollector(t, listen)
		outbox := openOutbox(t)
		u, _ := startUplink(t, outbox, c.Rendezvous(), "run1")
		sendRing(t, outbox, 1000)
		flush(t, u)
		checkRing(t, c, 1000)
		if s := u.Stats(); s.Resent != 0 || s.Streams != 1 {
			t.Errorf("%s: %+v", listen, s)
		}
	}
}

// cutter is a TCP proxy that cuts each connection after some bytes towards the target, then after some more each time.
func cutter(t *testing.T, target string, first, more int64) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for budget := first; ; budget += more {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				in.Close()
				continue
			}
			var once sync.Once
			cut := func() { once.Do(func() { in.Close(); out.Close() }) }
			go func() { io.Copy(in, out); cut() }()
			go func() { io.CopyN(out, in, budget); cut() }()
		}
	}()
	return listener.Addr().String()
}

// However often the connection breaks, each message is held once.
func TestStreamSurvivesCuts(t *testing.T) {
	c := startCollector(t, "127.0.0.1:0")
	meet := c.Rendezvous()
	meet.Address = cutter(t, meet.Address, 20_000, 10_000)
	outbox := openOutbox(t)
	u, _ := startUplink(t, outbox, meet, "run1")
	sendRing(t, outbox, 400)
	flush(t, u)
	if s := u.Stats(); s.Streams < 2 || s.Resent == 0 {
		t.Errorf("nothing was cut: %+v", s)
	}
	checkRing(t, c, 400)
}

func TestStreamRefuses(t *testing.T) {
	tests := []struct {
		name   string
		run    string
		change func(*rendezvous.Rendezvous)
		want   string
	}{
		{"a wrong token", "run1", func(r *rendezvous.Rendezvous) { r.Token = strings.Repeat("0", 64) }, "wrong token"},
		{"no token", "run1", func(r *rendezvous.Rendezvous) { r.Token = "" }, "wrong token"},
		{"another run", "run2", func(*rendezvous.Rendezvous) {}, "another run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := startCollector(t, "127.0.0.1:0")
			meet := c.Rendezvous()
			tt.change(&meet)
			outbox := openOutbox(t)
			u, done := startUplink(t, outbox, meet, tt.run)
			sendRing(t, outbox, 1)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := u.Flush(ctx); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Flush: %v, want %q", err, tt.want)
			}
			if err := <-done; err == nil {
				t.Error("the uplink goes on")
			}
			if f := stopped(c); len(f.Processes) != 0 || f.Totals.Refused != 1 {
				t.Errorf("%d processes, %d refused", len(f.Processes), f.Totals.Refused)
			}
		})
	}
}

// An agent does not talk to a collector that has not the certificate of the rendezvous.
func TestStreamChecksCertificate(t *testing.T) {
	c := startCollector(t, "127.0.0.1:0")
	meet := c.Rendezvous()
	meet.Fingerprint = strings.Repeat("0", 64)
	outbox := openOutbox(t)
	u, _ := startUplink(t, outbox, meet, "run1")
	sendRing(t, outbox, 1)
	for deadline := time.Now().Add(patience); ; {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		err := u.Flush(ctx)
		cancel()
		if err != nil && strings.Contains(err.Error(), "the collector's certificate is not the one in") {
			break
		}
		if err == nil || time.Now().After(deadline) {
			t.Fatalf("Flush: %v", err)
		}
	}
	if f := stopped(c); len(f.Agents) != 0 {
		t.Errorf("%d agents", len(f.Agents))
	}
}
