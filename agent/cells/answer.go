package cells

import (
	"errors"

	moriensv1 "moriens/proto/moriens/v1"
)

// errTaken is why numbers of units mean nothing here.
var errTaken = errors.New("cells: the survey whose unit numbers these are was not made here: want a new one")

// A reply is the answer to one ask, in parts. One part waits until it is known whether it is the last.
type reply struct {
	number uint64
	emit   func(*moriensv1.CellsAnswer) error
	held   *moriensv1.CellsAnswer
	broken error // of emit
}

// Answer answers a request of the collector in parts of about 1 MiB at most; the last one is marked so. A bad request
// is reported in the answer. An error is one of emit, and nothing more is sent after it. One request is answered at a
// time, and messages may be added in that time: a survey reports a state between two transactions, all else covers what
// has arrived when it is asked.
func (k *Store) Answer(ask *moriensv1.CellsAsk, emit func(*moriensv1.CellsAnswer) error) error {
	k.asking.Lock()
	defer k.asking.Unlock()
	to := &reply{number: ask.GetNumber(), emit: emit}
	err := k.answer(ask, to)
	broken := to.broken
	if broken == nil {
		broken = to.end(err)
	}
	k.uncertain = k.uncertain || err != nil || broken != nil
	return broken
}

func (k *Store) answer(ask *moriensv1.CellsAsk, to *reply) error {
	if s := ask.GetSurvey(); s != nil {
		return k.survey(s, to)
	}
	if !k.surveyed.made(ask.GetTaken()) {
		return errTaken
	}
	switch b := ask.Body.(type) {
	case *moriensv1.CellsAsk_Split:
		return k.split(b.Split, to)
	case *moriensv1.CellsAsk_Relabel:
		return k.relabel(b.Relabel, to)
	case *moriensv1.CellsAsk_Want:
		return k.want(b.Want, to)
	case *moriensv1.CellsAsk_Sum:
		return k.sum(to)
	case *moriensv1.CellsAsk_Team:
		return k.team(b.Team, to)
	case *moriensv1.CellsAsk_Rows:
		return k.rows(b.Rows, to)
	}
	return errors.New("cells: asked for nothing that is known here")
}

// send sends a part.
func (r *reply) send(a *moriensv1.CellsAnswer) error {
	a.Number = r.number
	was := r.held
	if r.held = a; was != nil {
		r.broken = r.emit(was)
	}
	return r.broken
}

// end sends the last part, and why there may be more.
func (r *reply) end(err error) error {
	if err != nil || r.held == nil {
		if sent := r.send(new(moriensv1.CellsAnswer)); sent != nil {
			return sent
		}
	}
	r.held.Last = true
	if err != nil {
		r.held.Error = err.Error()
	}
	return r.emit(r.held)
}

func (r *reply) units(parts []*moriensv1.CellsUnits) error {
	for _, p := range parts {
		if err := r.send(&moriensv1.CellsAnswer{Body: &moriensv1.CellsAnswer_Units{Units: p}}); err != nil {
			return err
		}
	}
	return nil
}
