package ingest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	moriensv1 "moriens/proto/moriens/v1"
)

// A mouth is a stream that takes responses.
type mouth struct {
	grpc.BidiStreamingServer[moriensv1.ReportRequest, moriensv1.ReportResponse]
	mu   sync.Mutex
	said []uint64
	at   []time.Time
	// ended is how often it was reported that the last message is safe.
	ended int
}

func (m *mouth) Send(r *moriensv1.ReportResponse) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said, m.at = append(m.said, r.Acknowledged), append(m.at, time.Now())
	return nil
}

// answering runs a test in virtual time, with acknowledgements to a mouth.
func answering(t *testing.T, test func(a *acks, m *mouth)) {
	synctest.Test(t, func(t *testing.T) {
		a, m := newAcks(func() (uint64, uint32, error) { return 1, 0, nil }, nil, Linger{}), &mouth{}
		a.ended = func() { m.ended++ }
		ctx, stop := context.WithCancel(t.Context())
		var sender sync.WaitGroup
		sender.Go(func() { a.send(ctx, func(*moriensv1.ReportResponse) {}, m) })
		test(a, m)
		stop()
		sender.Wait()
	})
}

// What is held is acknowledged once a second, and no later; what an agent holds when it comes at once.
func TestAcknowledgedOnceASecond(t *testing.T) {
	answering(t, func(a *acks, m *mouth) {
		began := time.Now()
		a.set(7, 0)
		synctest.Wait()
		if len(m.said) != 1 || m.said[0] != 7 {
			t.Fatalf("at first: %d", m.said)
		}
		for i := range uint64(500) {
			time.Sleep(20 * time.Millisecond)
			a.set(8+i, 100)
		}
		time.Sleep(ackEvery)
		synctest.Wait()
		for i := 1; i < len(m.at); i++ {
			if pause := m.at[i].Sub(m.at[i-1]); pause < ackEvery || pause > ackEvery+20*time.Millisecond {
				t.Errorf("acknowledgement %d comes after %v", i, pause)
			}
		}
		if n := len(m.said); m.said[n-1] != 507 || n < 10 || n > 12 {
			t.Errorf("in %v: %d", time.Since(began), m.said)
		}
		time.Sleep(time.Hour)
		if n := len(m.said); n > 12 {
			t.Errorf("%d acknowledgements, of which nothing is new", n)
		}
	})
}

// It is acknowledged at once where much has arrived, and from an agent's last message on.
func TestAcknowledgedAtOnce(t *testing.T) {
	answering(t, func(a *acks, m *mouth) {
		said := func(want ...uint64) {
			t.Helper()
			synctest.Wait()
			if len(m.said) != len(want) || m.said[len(want)-1] != want[len(want)-1] {
				t.Fatalf("%d, want %d", m.said, want)
			}
		}
		a.set(0, 0)
		said(0)
		a.set(1, ackBytes-1)
		said(0)
		a.set(2, 1)
		said(0, 2)
		a.set(3, 10)
		said(0, 2)
		a.set(17, 2*ackBytes) // much becomes safe behind what was acknowledged
		said(0, 2, 17)
		if m.ended > 0 {
			t.Error("the last message is safe that has not arrived")
		}
		a.last()
		a.set(18, 10)
		said(0, 2, 17, 18)
		if m.ended != 1 {
			t.Error("nobody is informed that the last message is safe")
		}
		a.set(19, 10)
		said(0, 2, 17, 18, 19)
		a.set(20, 10)
		a.close()
		synctest.Wait()
		if last := m.said[len(m.said)-1]; last != 20 {
			t.Errorf("at the end of the stream: %d", m.said)
		}
	})
}

// What becomes safe behind an answer to something else is not taken for acknowledged with it.
func TestAcknowledgedBehindAnAnswer(t *testing.T) {
	answering(t, func(a *acks, m *mouth) {
		a.set(0, 0)
		synctest.Wait()
		a.set(1, ackBytes/2)
		a.probe(&moriensv1.ClockProbe{Number: 1})
		synctest.Wait()
		a.set(2, ackBytes/2)
		synctest.Wait()
		a.set(3, ackBytes/2)
		synctest.Wait()
		if n := len(m.said); n != 3 || m.said[1] != 1 || m.said[2] != 3 {
			t.Errorf("%d, want 0, 1 with the answer, and 3", m.said)
		}
	})
}

// With an answer to something else goes what is held.
func TestAcknowledgedAlong(t *testing.T) {
	answering(t, func(a *acks, m *mouth) {
		a.set(1, 0)
		synctest.Wait()
		a.set(2, 10)
		a.probe(&moriensv1.ClockProbe{Number: 1})
		synctest.Wait()
		if len(m.said) != 2 || m.said[1] != 2 {
			t.Errorf("%d", m.said)
		}
		time.Sleep(time.Hour)
		if len(m.said) != 2 {
			t.Errorf("said again: %d", m.said)
		}
	})
}
