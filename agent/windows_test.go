package agent

import (
	"log/slog"
	"testing"

	"moriens/agent/spool"
	"moriens/agent/uplink"
	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// An agent that is killed between a transaction and its windows leaves the windows whole: the next one takes the
// transaction from the outbox, also where the collector has acknowledged it by then.
func TestWindowsCatchUp(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	config := spool.Config{Dir: t.TempDir(), Max: spool.MinBytes, Run: "run", Shm: t.TempDir()}
	calls := func(first uint64) *moriensv1.ReportRequest {
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Calls{Calls: &moriensv1.Calls{
			Ring: 2, First: first, BurstTicks: []uint64{1}, CallTicks: []uint64{1}, Function: []uint32{1}, Path: []uint32{0},
		}}}
	}
	transactions := [][]*moriensv1.ReportRequest{
		{{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Process: 1, Size: 1, Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW}}},
			{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: 2, Process: 1}}}, calls(0)},
		{calls(1)},
		{calls(2)},
	}
	for _, acknowledged := range []bool{false, true} {
		for last := range transactions {
			rows := uint64(0)
			for life, messages := range [][][]*moriensv1.ReportRequest{transactions[:last+1], transactions[last+1:]} {
				s, err := spool.Open(config)
				if err != nil {
					t.Fatal(err)
				}
				outbox, err := s.Outbox()
				if err != nil {
					t.Fatal(err)
				}
				w, err := openWindows(s, outbox, uplink.New(nil, nil, outbox, log), nil, "run", log)
				if err != nil {
					t.Fatal(err)
				}
				for i, m := range messages {
					if err := outbox.Commit(spool.Transaction{Messages: m}); err != nil {
						t.Fatal(err)
					}
					if acknowledged {
						if err := outbox.Acknowledge(outbox.Last()); err != nil {
							t.Fatal(err)
						}
					}
					if life == 1 || i < last {
						w.take(outbox.Transactions(), m)
					}
				}
				if life == 1 {
					w.store.Fetch(&moriensv1.Fetch{Window: []uint64{uint64(anchor.After(0))}}, func(p *moriensv1.WindowPart) error {
						for _, m := range p.Messages {
							rows += uint64(len(m.GetCalls().GetFunction()))
						}
						return nil
					})
				}
				w.close()
				outbox.Close()
				if life == 1 {
					err = s.Remove()
				} else {
					err = s.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if rows != uint64(len(transactions)) {
				t.Errorf("dead after %d, acknowledged %t: the windows have %d calls", last, acknowledged, rows)
			}
		}
	}
}
