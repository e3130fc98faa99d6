package message

import (
	"testing"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
)

// Receives from the neighbours of a stencil, as an op each: one call for each, and one that completes those of all.
func BenchmarkReceives(b *testing.B) {
	const neighbours = 26
	from := func(i int) ring.Transfer {
		return ring.Transfer{Kind: ring.Received, Bytes: 1 << (i % 12), Peer: int32(i), Tag: 1, Comm: 1}
	}
	var one, all []*ring.Record
	end := &ring.Record{Call: mpicall.Waitall}
	for i := range neighbours {
		one = append(one, &ring.Record{Call: mpicall.Recv, Transfers: []ring.Transfer{from(i)}})
		x := from(i)
		x.Request = uint64(100 + i)
		all = append(all, &ring.Record{Call: mpicall.Irecv, Transfers: []ring.Transfer{x}})
		end.Requests = append(end.Requests, ring.Request{Event: ring.Completed, Handle: x.Request, Bytes: x.Bytes, Source: x.Peer, Tag: x.Tag})
	}
	all = append(all, end)
	for _, tt := range []struct {
		name    string
		records []*ring.Record
		simply  bool
	}{{"one/simple", one, true}, {"one/general", one, false}, {"all/simple", all, true}, {"all/general", all, false}} {
		b.Run(tt.name, func(b *testing.B) {
			m := New(none{})
			m.Define(1, neighbours)
			th := m.Thread(1)
			if tt.simply {
				m.Simplify()
			}
			b.ReportAllocs()
			row := uint64(0)
			for n := 0; n < b.N; n += neighbours {
				for _, r := range tt.records {
					r.Enter, r.Exit = 10*row, 10*row+row%8
					th.Add(row, r, false)
					row++
				}
			}
		})
	}
}
