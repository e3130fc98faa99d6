package windows

import (
	"context"
	"errors"
	"testing"
	"time"

	moriensv1 "moriens/proto/moriens/v1"
)

// A question that nobody waits for any more does not keep the next one from being asked.
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
	<-woken // it is in the queue, behind the first
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
