package measure

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"moriens/agent/spool"
	"moriens/agent/uplink"
	"moriens/internal/ticks"
	moriensv1 "moriens/proto/moriens/v1"
)

// commitExchanged has the rounds' results sent.
func commitExchanged(t *testing.T, u *uplink.Uplink, outbox *spool.Outbox) {
	t.Helper()
	for _, e := range u.Exchanged() {
		m := &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockExchange{ClockExchange: e}}
		if err := outbox.Commit(spool.Transaction{Messages: []*moriensv1.ReportRequest{m}}); err != nil {
			t.Fatal(err)
		}
	}
}

// A round of exchanges leaves its quickest one with the collector. Both sides read one counter here, so that the four
// times have to follow each other.
func TestExchange(t *testing.T) {
	c := startCollector(t, "127.0.0.1:0")
	outbox := openOutbox(t)
	u, _ := startUplink(t, outbox, c.Rendezvous(), "run1")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var reads atomic.Int64
	kind := ticks.Usual()
	read := func() (uint64, error) {
		reads.Add(1)
		return ticks.Now(kind)
	}
	const rounds = 3
	for range rounds {
		if !u.Exchange(moriensv1.Clock(kind), read) {
			t.Fatal("no round begins")
		}
		u.AwaitExchange(ctx)
	}
	broken := func() (uint64, error) { return 0, errors.New("no clock") }
	if !u.Exchange(moriensv1.Clock(kind), broken) {
		t.Fatal("no round begins")
	}
	u.AwaitExchange(ctx)
	commitExchanged(t, u, outbox)
	if err := u.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	f := stopped(c)
	exchanges := f.Agents[0].Exchanges[moriensv1.Clock(kind)]
	if len(exchanges) != rounds || reads.Load() != rounds*2*8 || f.Totals.Refused != 0 {
		t.Fatalf("%d exchanges, %d readings, %d refused", len(exchanges), reads.Load(), f.Totals.Refused)
	}
	last := uint64(0)
	for _, e := range exchanges {
		if e.SentTicks <= last || e.ReceivedTicks < e.SentTicks || e.RepliedTicks < e.ReceivedTicks || e.ReturnedTicks < e.RepliedTicks {
			t.Errorf("after %d: %v", last, e)
		}
		last = e.ReturnedTicks
	}
	if len(f.Clocks) != 1 {
		t.Fatalf("the collector's clocks: %v", f.Clocks)
	}
	if c := f.Clocks[0]; c.Kind != moriensv1.Clock(kind) || len(c.Samples) != 2 || c.Samples[1].Ticks <= last || c.Samples[0].Identity == "" {
		t.Errorf("the collector's clock: %v", c)
	}
}

// Streams that are cut take probes with them, but no round remains open for ever, and what is reported is whole.
func TestExchangeSurvivesCuts(t *testing.T) {
	t.Parallel()
	c := startCollector(t, "127.0.0.1:0")
	meet := c.Rendezvous()
	meet.Address = cutter(t, meet.Address, 8_000, 1_000)
	outbox := openOutbox(t)
	u, _ := startUplink(t, outbox, meet, "run1")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	kind := ticks.Usual()
	read := func() (uint64, error) { return ticks.Now(kind) }
	const messages = 400
	sendRing(t, outbox, messages)
	rounds := 0
	for u.Stats().Streams < 4 && ctx.Err() == nil {
		if u.Exchange(moriensv1.Clock(kind), read) {
			rounds++
		}
		time.Sleep(time.Millisecond)
	}
	u.AwaitExchange(ctx)
	commitExchanged(t, u, outbox)
	if err := u.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	f := stopped(c)
	exchanges := f.Agents[0].Exchanges[moriensv1.Clock(kind)]
	if len(exchanges) != rounds || f.Totals.Refused != 0 {
		t.Errorf("%d exchanges of %d rounds, %d messages refused", len(exchanges), rounds, f.Totals.Refused)
	}
	for _, e := range exchanges {
		if e.ReceivedTicks < e.SentTicks || e.RepliedTicks < e.ReceivedTicks || e.ReturnedTicks < e.RepliedTicks {
			t.Errorf("%v", e)
		}
	}
}

// While a round waits for its replies there is no other.
func TestOneExchangeAtATime(t *testing.T) {
	c := startCollector(t, "127.0.0.1:0")
	defer stopped(c)
	kind := ticks.Usual()
	read := func() (uint64, error) { return ticks.Now(kind) }
	u := uplink.New(uplink.At(c.Rendezvous()), &moriensv1.Hello{Run: "run1", Agent: 42, Host: "n1"}, openOutbox(t), quiet) // it does not run
	if !u.Exchange(moriensv1.Clock(kind), read) || u.Exchange(moriensv1.Clock(kind), read) {
		t.Error("want one round, and no second one before it has ended")
	}
}
