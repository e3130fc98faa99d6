package agent

import (
	"errors"
	"log/slog"
	"path/filepath"

	"moriens/agent/spool"
	"moriens/agent/uplink"
	"moriens/agent/window"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// windows is the node's full detail, with its micro-cells, and what the collector asks about them.
type windows struct {
	store     *window.Store
	cellStore CellStore // nil: there are no micro-cells
	up        *uplink.Uplink
	asked     chan asked
	log       *slog.Logger
	done      chan struct{} // closed when what was asked is answered, once asked is closed
}

// errBroken ends an answer whose stream is gone.
var errBroken = errors.New("the stream has ended")

// asked is the last request on a stream. The collector asks again only when it has its answer, or on another stream.
type asked struct {
	stream uint64
	asks   *moriensv1.ReportResponse
}

// windowsDir is where a spool has them.
func windowsDir(s *spool.Spool) string { return filepath.Join(s.Path(), "windows") }

// openWindows resumes with the windows in a spool, in the room that the outbox leaves, and answers requests for them.
func openWindows(s *spool.Spool, outbox *spool.Outbox, up *uplink.Uplink, cellStore CellStore, run string, log *slog.Logger) (*windows, error) {
	store, err := window.Open(window.Config{
		Run: run, Dir: windowsDir(s), Max: s.Budget.Windows, Whole: cellStore != nil,
		Committed: outbox.Transactions(), Log: log,
	})
	if err != nil {
		return nil, err
	}
	w := &windows{store: store, cellStore: cellStore, up: up, asked: make(chan asked, 4), done: make(chan struct{}), log: log}
	up.OnAsk(func(stream uint64, asks *moriensv1.ReportResponse) {
		select {
		case w.asked <- asked{stream, asks}:
		default: // of streams that are gone by now; this one's is asked again when it breaks
			log.Warn("the collector requests more than it waits for")
		}
	})
	go w.answer()
	return w, nil
}

func (w *windows) answer() {
	defer close(w.done)
	for a := range w.asked {
		if k := a.asks.Keep; k != nil {
			w.up.Answer(a.stream, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Kept{Kept: w.store.Keep(k)}})
		}
		if f := a.asks.Fetch; f != nil {
			end := w.store.Fetch(f, func(p *moriensv1.WindowPart) error {
				if !w.up.Answer(a.stream, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_WindowPart{WindowPart: p}}) {
					return errBroken
				}
				return nil
			})
			w.up.Answer(a.stream, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_WindowsEnd{WindowsEnd: end}})
		}
		if c := a.asks.CellsAsk; c != nil {
			w.cells(a.stream, c)
		}
	}
}

// describe says what is held and what is lost.
func (w *windows) describe() *moriensv1.Windows {
	s := w.store.Stats()
	d := &moriensv1.Windows{
		Bytes: uint64(s.Bytes), EvictedBytes: s.EvictedBytes, EvictedWindows: s.EvictedWindows, Below: s.Below, Unusual: s.Unusual, Pinned: s.Pinned,
	}
	if err := w.store.Failed(); err != nil {
		d.Error = err.Error()
	}
	return d
}

// take has the micro-cells take a transaction of the outbox.
func (w *windows) take(messages []*moriensv1.ReportRequest, blocks []*section.Block) {
	if w.cellStore != nil {
		w.cellStore.Add(messages, blocks)
	}
}

// close ends the answers. The uplink has ended before, so that nothing waits for it.
func (w *windows) close() {
	close(w.asked)
	<-w.done
	if err := w.store.Close(); err != nil {
		w.log.Warn("close the windows of full detail", "error", err)
	}
}
