package agent

import (
	"log/slog"
	"testing"

	"moriens/agent/spool"
	"moriens/agent/uplink"
	"moriens/agent/window"
	"moriens/internal/anchor"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// An agent that is killed between the windows and the outbox, or behind the outbox, leaves the windows whole: what the
// outbox does not have recurs.
func TestWindowsRecur(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	config := spool.Config{Dir: t.TempDir(), Max: spool.MinBytes, Run: "run", Shm: t.TempDir()}
	const transactions = 3
	messages := func(row uint64) []*moriensv1.ReportRequest {
		if row > 0 {
			return nil
		}
		return []*moriensv1.ReportRequest{
			{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Process: 1, Size: 1, Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW}}},
			{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: 2, Process: 1}}},
		}
	}
	for dies := range transactions {
		for _, committed := range []bool{false, true} {
			var rows, moves []uint64
			life := func(from uint64, dead func(row uint64) bool) (next uint64) {
				s, err := spool.Open(config)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				outbox, err := s.Outbox()
				if err != nil {
					t.Fatal(err)
				}
				defer outbox.Close()
				w, err := openWindows(s, outbox, uplink.New(nil, nil, outbox, log), nil, "run", log)
				if err != nil {
					t.Fatal(err)
				}
				defer w.close()
				for row := from; row < transactions; row++ {
					x := window.Move{Ring: 2, Lane: section.Lane{Kind: 1}, Transfer: section.Transfer{Row: row, Bytes: row}}
					call := (&sectiontest.Rows{Ring: 2, First: row, Function: []uint32{1}, Burst: []uint64{1}, Call: []uint64{1}}).Block()
					transaction := window.Transaction{Number: outbox.Transactions() + 1, Messages: messages(row), Blocks: []*section.Block{call}, Moves: []window.Move{x}}
					if _, err := w.store.Append(transaction); err != nil {
						t.Fatal(err)
					}
					if dead(row) && !committed {
						return row
					}
					if err := outbox.Commit(spool.Transaction{}); err != nil {
						t.Fatal(err)
					}
					if dead(row) {
						return row + 1
					}
				}
				w.store.Fetch(&moriensv1.Fetch{Window: []uint64{uint64(anchor.After(0))}}, func(p *moriensv1.WindowPart) error {
					rows = append(rows, p.FirstRow...)
					rows = append(rows, p.BehindRow...)
					var x section.Section
					var b section.Block
					for bytes := p.Sections; len(bytes) > 0; {
						var err error
						if bytes, err = x.Read(bytes); err == nil {
							err = new(section.Decoder).Moves(&x, &b)
						}
						if err != nil {
							t.Fatal(err)
						}
						for _, m := range b.Transfers {
							moves = append(moves, m.Row)
						}
					}
					return nil
				})
				return transactions
			}
			next := life(0, func(row uint64) bool { return row == uint64(dies) })
			life(next, func(uint64) bool { return false })
			if len(rows) != 2 || rows[0] != 0 || rows[1] != transactions || len(moves) != transactions {
				t.Errorf("dead at transaction %d, committed %t: rows %d, moves of rows %d", dies, committed, rows, moves)
			}
			s, err := spool.Open(config)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Remove(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
