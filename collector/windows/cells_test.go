package windows

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	moriensv1 "moriens/proto/moriens/v1"
)

// A stream is one of an agent, as the collector's end of it sees it.
type stream struct {
	*Line
	woken chan struct{}
}

func joined(d *Requester, id uint64) *stream {
	s := &stream{woken: make(chan struct{}, 8)}
	s.Line = d.Join(id, func() { s.woken <- struct{}{} })
	return s
}

// asked waits for what the agent is asked.
func (s *stream) asked(t *testing.T) *moriensv1.CellsAsk {
	t.Helper()
	for range s.woken {
		r := new(moriensv1.ReportResponse)
		if s.Ask(r); r.CellsAsk != nil {
			return r.CellsAsk
		}
	}
	return nil
}

func (s *stream) answer(a *moriensv1.CellsAnswer) {
	s.Take(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CellsAnswer{CellsAnswer: a}})
}

// An asking is an Ask under way.
type asking struct {
	units []uint32 // that take got
	done  chan error
}

func ask(ctx context.Context, d *Requester, agent uint64) *asking {
	a := &asking{done: make(chan error, 1)}
	survey := &moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Survey{Survey: &moriensv1.CellsSurvey{After: 7}}}
	go func() {
		a.done <- d.Ask(ctx, agent, survey, func(part *moriensv1.CellsAnswer) error {
			a.units = append(a.units, part.GetUnits().GetUnit()...)
			return nil
		})
	}()
	return a
}

func part(number uint64, last bool, units ...uint32) *moriensv1.CellsAnswer {
	return &moriensv1.CellsAnswer{Number: number, Last: last, Body: &moriensv1.CellsAnswer_Units{Units: &moriensv1.CellsUnits{Unit: units}}}
}

// An answer whose stream breaks is requested again on the next one, and is delivered as a whole, once. Other agents are
// not asked. There is one request at a time.
func TestAskCells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New()
		first, other := joined(d, 1), joined(d, 2)
		a := ask(t.Context(), d, 1)
		asked := first.asked(t)
		if asked.GetSurvey().GetAfter() != 7 {
			t.Fatalf("asked %v", asked)
		}
		first.answer(part(asked.Number, false, 1, 2))
		first.answer(part(asked.Number+1, true, 99)) // to something else
		synctest.Wait()
		b := ask(t.Context(), d, 1)
		synctest.Wait()
		if r := new(moriensv1.ReportResponse); len(other.woken) > 0 {
			t.Error("another agent is woken")
		} else if first.Ask(r); r.CellsAsk != nil {
			t.Errorf("asked again before the answer: %v", r.CellsAsk)
		}
		second := joined(d, 1)
		first.answer(part(asked.Number, true, 3)) // too late
		first.Leave()
		again := second.asked(t)
		if again.Number != asked.Number {
			t.Fatalf("asked %v on the next stream, was %v", again, asked)
		}
		second.answer(part(again.Number, false, 4))
		second.answer(part(again.Number, true, 5))
		if err := <-a.done; err != nil || !slices.Equal(a.units, []uint32{4, 5}) {
			t.Errorf("got %v, %v; want the answer on the second stream", a.units, err)
		}
		next := second.asked(t)
		refused := part(next.Number, true, 6)
		refused.Error = "no such survey"
		second.answer(refused)
		if err := <-b.done; err == nil || err.Error() != "no such survey" || !slices.Equal(b.units, []uint32{6}) {
			t.Errorf("got %v, %v; want the agent's error behind what it has", b.units, err)
		}
	})
}

// An agent that is done is asked as long as it has a stream; one that never connected has ended, and one that is away
// is waited for as long as there is time.
func TestWhichAgentsAreAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New()
		one, two := joined(d, 1), joined(d, 2)
		joined(d, 3).Leave() // and may reconnect
		one.Take(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}})
		if ids := d.IDs(); !slices.Equal(ids, []uint64{1, 2, 3}) {
			t.Errorf("can be asked: %v", ids)
		}
		waiting := ask(t.Context(), d, 1)
		one.asked(t)
		one.Leave()
		if err := <-waiting.done; !errors.Is(err, ErrGone) {
			t.Errorf("an agent that ends while it is asked: %v", err)
		}
		if ids := d.IDs(); !slices.Equal(ids, []uint64{2, 3}) {
			t.Errorf("can be asked: %v", ids)
		}
		for _, id := range []uint64{1, 4} {
			if err := <-ask(t.Context(), d, id).done; !errors.Is(err, ErrGone) {
				t.Errorf("agent %d: %v", id, err)
			}
		}
		ctx, giveUp := context.WithCancel(t.Context())
		away := ask(ctx, d, 3)
		synctest.Wait()
		giveUp()
		if err := <-away.done; !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
		if err := <-ask(t.Context(), d, 3).done; !errors.Is(err, errAway) {
			t.Errorf("an agent that is away: %v", err)
		}
		if ids := d.IDs(); !slices.Equal(ids, []uint64{2}) {
			t.Errorf("can be asked: %v", ids)
		}
		silent := ask(t.Context(), d, 2)
		number := two.asked(t).Number
		time.Sleep(silence / 2)
		two.answer(part(number, false))
		time.Sleep(silence / 2)
		synctest.Wait()
		if len(silent.done) > 0 {
			t.Errorf("an agent that said something just now: %v", <-silent.done)
		}
		if err := <-silent.done; !errors.Is(err, errSilent) {
			t.Errorf("an agent that says nothing more: %v", err)
		}
		failing := errors.New("full")
		done := make(chan error, 1)
		go func() {
			done <- d.Ask(t.Context(), 2, &moriensv1.CellsAsk{}, func(*moriensv1.CellsAnswer) error { return failing })
		}()
		two.answer(part(two.asked(t).Number, true))
		if err := <-done; !errors.Is(err, failing) {
			t.Errorf("take failed: %v", err)
		}
	})
}

// An answer of another kind than what was asked is dropped, whatever its number is: what was asked waits for its own.
func TestAnswerOfAnotherKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New()
		agent := joined(d, 1)
		a := ask(t.Context(), d, 1)
		number := agent.asked(t).Number
		agent.Take(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Kept{Kept: &moriensv1.Kept{Number: number}}})
		agent.Take(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_WindowPart{WindowPart: &moriensv1.WindowPart{Number: number}}})
		agent.Take(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_WindowsEnd{WindowsEnd: &moriensv1.WindowsEnd{Number: number, Parts: 1}}})
		agent.answer(part(number, true, 4))
		if err := <-a.done; err != nil || !slices.Equal(a.units, []uint32{4}) {
			t.Errorf("got %v, %v; want the answer to what was asked", a.units, err)
		}
		kept := make(chan []Kept, 1)
		go func() { kept <- d.Keep(t.Context(), moriensv1.Keep_WHY_PINNED, "", nil) }()
		<-agent.woken
		r := new(moriensv1.ReportResponse)
		agent.Ask(r)
		agent.answer(part(r.Keep.Number, true, 5))
		agent.Take(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Kept{Kept: &moriensv1.Kept{Number: r.Keep.Number, Held: 3}}})
		if list := <-kept; len(list) != 1 || list[0].Held != 3 || list[0].Err != nil {
			t.Errorf("%+v: want 3 held", list)
		}
	})
}
