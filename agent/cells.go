package agent

import (
	"errors"
	"time"

	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// Cells are how an agent keeps bursts on its node.
type Cells struct {
	Store CellStore
	Spec  string // how it was asked to make micro-cells: the same at all agents of a run
}

// A CellStore keeps the bursts of a node as sequences of micro-cells: a cells.Store. Calls and their details are then
// kept in the node's windows, and the collector asks the CellStore.
type CellStore interface {
	// Add takes the messages of a transaction, each once, in their order. The columns of calls and transfers are used
	// again afterwards.
	Add(messages []*moriensv1.ReportRequest)
	// Lost says that bursts are gone which the agent knew before it was started again.
	Lost(bursts uint64)
	// Answer calls emit for the parts of an answer; an error of emit ends it, and is returned. It may be called beside
	// Add.
	Answer(ask *moriensv1.CellsAsk, emit func(*moriensv1.CellsAnswer) error) error
}

// errSent is why an agent that sends its bursts has no micro-cells.
var errSent = errors.New("this agent sends its bursts, and keeps no micro-cells")

// relearnCells gives the CellStore what the windows hold. Of rows that are gone it is not known which had a burst
// before them: all count.
func (n *Node) relearnCells() error {
	if n.config.Cells == nil || n.outbox.Transactions() == 0 {
		return nil
	}
	started := time.Now()
	store := n.config.Cells.Store
	gone, err := n.windows.store.Replay(store.Add, func(calls []byte) error {
		var (
			x section.Section
			b section.Block
		)
		if _, err := x.Read(calls); err != nil {
			return err
		}
		if err := new(section.Decoder).Calls(&x, x.Events(), &b); err != nil {
			return err
		}
		store.Add(messagesOf(&b))
		return nil
	})
	if err != nil {
		return err
	}
	store.Lost(gone)
	n.config.Log.Info("micro-cells are rebuilt from the windows held", "took", time.Since(started), "calls lost", gone)
	return nil
}

// cells answers what is asked about micro-cells.
func (w *windows) cells(stream uint64, ask *moriensv1.CellsAsk) {
	emit := func(a *moriensv1.CellsAnswer) error {
		if !w.up.Answer(stream, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CellsAnswer{CellsAnswer: a}}) {
			return errBroken
		}
		return nil
	}
	err := errSent
	if w.cellStore != nil {
		err = w.cellStore.Answer(ask, emit)
	}
	if err != nil && !errors.Is(err, errBroken) {
		emit(&moriensv1.CellsAnswer{Number: ask.Number, Last: true, Error: err.Error()})
	}
}
