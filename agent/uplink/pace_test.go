package uplink

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"moriens/agent/spool"
	moriensv1 "moriens/proto/moriens/v1"
)

// A list is an outbox of messages of 100 bytes, which has room for as many bytes as it is asked to.
type list struct {
	mu         sync.Mutex
	last, held uint64
	room       int64
	notify     func()
}

func (l *list) Notify(f func()) { l.notify = f }

func (l *list) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *list) Held() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

func (l *list) Next(after uint64) (spool.Message, bool, error) {
	return spool.Message{Sequence: after + 1, Body: make([]byte, 100)}, after < l.Last(), nil
}

func (l *list) Acknowledge(held uint64) error {
	l.mu.Lock()
	l.held = held
	l.mu.Unlock()
	l.notify()
	return nil
}

func (l *list) Waiting() (bytes, room int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return 100 * int64(l.last-l.held), l.room
}

func (l *list) commit() {
	l.mu.Lock()
	l.last++
	l.mu.Unlock()
	l.notify()
}

// A line is a stream that takes everything, and when.
type line struct {
	stream
	mu        sync.Mutex
	messages  []time.Time
	standings []time.Time
	probes    []time.Time
}

func (l *line) Send(m *moriensv1.ReportRequest) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case m.GetStanding() != nil:
		l.standings = append(l.standings, time.Now())
	case m.GetClockProbe() != nil:
		l.probes = append(l.probes, time.Now())
	}
	return nil
}

func (l *line) SendMsg(any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages = append(l.messages, time.Now())
	return nil
}

// sendings is how many times are different.
func sendings(times []time.Time) (n int) {
	for i, t := range times {
		if i == 0 || t.After(times[i-1]) {
			n++
		}
	}
	return n
}

// paced runs a test in virtual time, with an uplink whose stream is a line.
func paced(t *testing.T, room int64, test func(t *testing.T, u *Uplink, box *list, l *line)) {
	synctest.Test(t, func(t *testing.T) {
		box, l := &list{room: room}, &line{}
		u := New(nil, nil, box, slog.New(slog.DiscardHandler))
		u.lives = true
		ctx, stop := context.WithCancel(t.Context())
		var sender sync.WaitGroup
		sender.Go(func() {
			if err := u.send(ctx, l); err != nil {
				t.Error(err)
			}
		})
		if err := u.acknowledge(0); err != nil {
			t.Error(err)
		}
		test(t, u, box, l)
		stop()
		sender.Wait()
		time.Sleep(2 * paceLast) // of an alarm
	})
}

// However many transactions there are, what they bring is sent once a second, and no later; the first at once.
func TestSentOnceASecond(t *testing.T) {
	paced(t, 1<<30, func(t *testing.T, u *Uplink, box *list, l *line) {
		var committed []time.Time
		for range 1000 {
			box.commit()
			committed = append(committed, time.Now())
			u.ReportStanding(&moriensv1.Standing{})
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(paceLast)
		synctest.Wait()
		if len(l.messages) != len(committed) {
			t.Fatalf("%d of %d messages are sent", len(l.messages), len(committed))
		}
		for i, at := range l.messages {
			if took := at.Sub(committed[i]); took > paceLast || i == 0 && took > 0 {
				t.Errorf("message %d is sent after %v", i, took)
			}
		}
		if n := sendings(l.messages); n < 20 || n > 26 {
			t.Errorf("sent %d times in 20 s", n)
		}
		for _, at := range l.standings {
			if !contains(l.messages, at) {
				t.Errorf("where threads are is sent at %v, and no message", at)
			}
		}
	})
}

func contains(times []time.Time, at time.Time) bool {
	for _, t := range times {
		if t.Equal(at) {
			return true
		}
	}
	return false
}

// What waits is sent at once where much does, by itself or of what may, where somebody waits for its acknowledgement,
// and on another stream.
func TestSentAtOnce(t *testing.T) {
	for name, x := range map[string]struct {
		room int64
		many int // messages that do not wait
	}{"much": {1 << 30, pressing / 100}, "a quarter of the room": {40_000, 99}} {
		t.Run(name, func(t *testing.T) {
			paced(t, x.room, func(t *testing.T, u *Uplink, box *list, l *line) {
				box.commit()
				synctest.Wait()
				for range x.many - 1 {
					box.commit()
				}
				synctest.Wait()
				if len(l.messages) != 1 {
					t.Fatalf("%d messages are sent", len(l.messages))
				}
				box.commit()
				box.commit()
				synctest.Wait()
				if len(l.messages) != x.many+2 {
					t.Errorf("%d messages of %d are sent", len(l.messages), x.many+2)
				}
			})
		})
	}
	t.Run("flush", func(t *testing.T) {
		paced(t, 1<<30, func(t *testing.T, u *Uplink, box *list, l *line) {
			box.commit()
			synctest.Wait()
			box.commit()
			box.commit()
			synctest.Wait()
			flushed := make(chan error)
			go func() { flushed <- u.Flush(t.Context()) }()
			synctest.Wait()
			box.commit()
			synctest.Wait()
			if len(l.messages) != 4 {
				t.Errorf("%d messages are sent", len(l.messages))
			}
			if err := u.acknowledge(4); err != nil {
				t.Error(err)
			}
			if err := <-flushed; err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("clocks", func(t *testing.T) {
		paced(t, 1<<30, func(t *testing.T, u *Uplink, box *list, l *line) {
			box.commit()
			synctest.Wait()
			box.commit()
			u.Exchange(moriensv1.Clock_CLOCK_TSC, func() (uint64, error) { return 1, nil })
			synctest.Wait()
			if len(l.probes) != 1 || len(l.messages) != 1 {
				t.Errorf("%d probes and %d messages are sent", len(l.probes), len(l.messages))
			}
		})
	})
}

// An alarm that was set on a stream before is no reason to send nothing for longer than the first pause of the next.
func TestAlarmOfAStreamBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &list{room: 1 << 40}
		u := New(nil, &moriensv1.Hello{}, l, slog.New(slog.DiscardHandler))
		u.greeted, u.lives = true, true
		due := func() bool {
			u.mu.Lock()
			defer u.mu.Unlock()
			return u.due()
		}
		sent := func() {
			u.mu.Lock()
			u.sent = l.Last()
			u.mu.Unlock()
			due()
		}
		for range 6 { // the pause is a second now
			l.commit()
			for !due() {
				time.Sleep(10 * time.Millisecond)
			}
			sent()
		}
		l.commit()
		if due() {
			t.Fatal("what can wait does not")
		}
		u.mu.Lock()
		u.renewPace() // another stream, at once
		u.mu.Unlock()
		if !due() {
			t.Fatal("the first message on a stream waits")
		}
		sent()
		l.commit()
		began := time.Now()
		u.mu.Lock()
		for !u.due() {
			u.changed.Wait()
		}
		u.mu.Unlock()
		if waited := time.Since(began); waited != paceFirst {
			t.Errorf("the second message on a stream waits %v, want %v", waited, paceFirst)
		}
	})
}
