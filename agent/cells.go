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
	// Add takes a transaction: its messages, each once, in their order, then its blocks, those of a ring in the order of
	// their rows. The memory of blocks is used again afterwards.
	Add(messages []*moriensv1.ReportRequest, blocks []*section.Block)
	// Lost says that bursts are gone which the agent knew before it was started again.
	Lost(bursts uint64)
	// Answer calls emit for the parts of an answer; an error of emit ends it, and is returned. It may be called beside
	// Add.
	Answer(ask *moriensv1.CellsAsk, emit func(*moriensv1.CellsAnswer) error) error
}

// errSent is why an agent that sends its bursts has no micro-cells.
var errSent = errors.New("this agent sends its bursts, and keeps no micro-cells")

// A decoder makes blocks of sections of calls.
type decoder struct {
	section section.Section
	decoder section.Decoder
}

func (d *decoder) decode(calls []byte, b *section.Block) error {
	if _, err := d.section.Read(calls); err != nil {
		return err
	}
	return d.decoder.Calls(&d.section, d.section.Events(), b)
}

// relearnCells gives the CellStore what the windows hold. Of rows that are gone it is not known which had a burst
// before them: all count.
func (n *Node) relearnCells() error {
	if n.config.Cells == nil || n.outbox.Transactions() == 0 {
		return nil
	}
	started := time.Now()
	store := n.config.Cells.Store
	d, b := new(decoder), new(section.Block)
	gone, err := n.windows.store.Replay(func(definitions []*moriensv1.ReportRequest) { store.Add(definitions, nil) }, func(calls []byte) error {
		err := d.decode(calls, b)
		if err == nil {
			store.Add(nil, []*section.Block{b})
		}
		return err
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
