//go:build !quick

package windows

import (
	"context"
	"errors"
	"testing"
	"time"

	moriensv1 "moriens/proto/moriens/v1"
)

// A request without a waiter does not keep the next one from being sent.
func TestGivenUpQuestion(t *testing.T) {
	d := New()
	woken := make(chan struct{}, 8)
	line := d.Join(1, func() { woken <- struct{}{} })
	next := func() *moriensv1.ReportResponse {
		t.Helper()
		for {
			select {
			case <-woken:
			case <-time.After(2 * time.Minute):
				t.Fatal("nobody says that there is something to ask")
			}
			r := new(moriensv1.ReportResponse)
			if line.Ask(r); r.Fetch != nil {
				return r
			}
		}
	}
	ctx, giveUp := context.WithCancel(context.Background())
	first, second := make(chan []Fetched, 1), make(chan []Fetched, 1)
	go func() { first <- d.Fetch(ctx, nil) }()
	next()
	go func() { second <- d.Fetch(context.Background(), nil) }()
	<-woken // it is in the queue, after the first
	giveUp()
	if f := <-first; len(f) != 1 || !errors.Is(f[0].Err, context.Canceled) {
		t.Errorf("given up: %+v", f)
	}
	number := next().Fetch.Number
	line.Take(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_WindowsEnd{WindowsEnd: &moriensv1.WindowsEnd{Number: number}}})
	if f := <-second; len(f) != 1 || f[0].Err != nil {
		t.Errorf("the next: %+v", f)
	}
}

// Once the run is over an agent that is not done and has no stream does not reconnect: it is not waited for.
func TestFreeze(t *testing.T) {
	d := New()
	left, remaining := d.Join(1, func() {}), d.Join(2, func() {})
	left.Leave()
	waiting := make(chan []Fetched, 1)
	go func() { waiting <- d.Fetch(context.Background(), nil, 7) }()
	asked := func(l *Line) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(l.agent.queue) > 0
	}
	for !asked(left) || !asked(remaining) {
		time.Sleep(time.Millisecond)
	}
	d.Freeze()
	r := new(moriensv1.ReportResponse)
	if remaining.Ask(r); r.Fetch == nil {
		t.Fatal("an agent that is there is not asked")
	}
	remaining.Take(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_WindowsEnd{WindowsEnd: &moriensv1.WindowsEnd{Number: r.Fetch.Number}}})
	if f := <-waiting; len(f) != 2 || !errors.Is(f[0].Err, ErrGone) || f[1].Err != nil {
		t.Errorf("%+v", f)
	}
	calls := make(chan []Fetched, 1)
	go func() { calls <- d.FetchCalls(context.Background(), []Calls{{Agent: 1}, {Agent: 2}, {Agent: 3}}) }()
	for !asked(remaining) {
		time.Sleep(time.Millisecond)
	}
	remaining.Leave()
	if f := <-calls; len(f) != 3 || !errors.Is(f[0].Err, ErrGone) || !errors.Is(f[1].Err, ErrGone) || !errors.Is(f[2].Err, ErrGone) {
		t.Errorf("%+v", f)
	}
	d.Join(4, func() {}).Leave()
	if f := d.Fetch(context.Background(), nil); len(f) != 3 || !errors.Is(f[2].Err, ErrGone) {
		t.Errorf("%+v", f)
	}
}
