package window

import (
	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// A span is entries of a column of rows that follow each other in one window.
type span struct {
	from, to int    // from ≤ entry < to
	row      uint64 // of the first
	window   anchor.ID
}

// spans cuts a column of rows where the window changes, and reports whether no window comes twice.
func (r *ring) spans(differences []int64) (list []span, once bool) {
	row, first, behind := uint64(0), uint64(1), uint64(0) // rows that are of the latest window
	once = true
	for i, d := range differences {
		row += uint64(d)
		if row < first || row >= behind {
			x := span{from: i, row: row}
			x.window, first, behind = r.stretch(row)
			if n := len(list); n > 0 {
				once = once && list[n-1].window < x.window
			}
			list = append(list, x)
		}
		list[len(list)-1].to = i + 1
	}
	return list, once
}

// grouped sorts the entries of spans by their windows, which it lists in the order of their first ones; rows are the
// column summed up.
func grouped(differences []int64, spans []span) (windows []anchor.ID, entries map[anchor.ID][]int, rows []uint64) {
	entries = make(map[anchor.ID][]int)
	for _, x := range spans {
		if entries[x.window] == nil {
			windows = append(windows, x.window)
		}
		for i := x.from; i < x.to; i++ {
			entries[x.window] = append(entries[x.window], i)
		}
	}
	return windows, entries, rowsOfColumn(differences)
}

// rowsOfColumn is a column of rows summed up.
func rowsOfColumn(differences []int64) []uint64 {
	rows := make([]uint64, len(differences))
	row := uint64(0)
	for i, d := range differences {
		row += uint64(d)
		rows[i] = row
	}
	return rows
}

// pick takes some entries of a column, which ascend. Those that follow each other are shared with it.
func pick[T any](column []T, entries []int) []T {
	if len(column) == 0 {
		return nil
	}
	if first, last := entries[0], entries[len(entries)-1]; last-first == len(entries)-1 {
		return column[first : last+1 : last+1]
	}
	part := make([]T, len(entries))
	for k, i := range entries {
		part[k] = column[i]
	}
	return part
}

// differences is the column of rows for some entries.
func differences(rows []uint64, entries []int) []int64 {
	list := make([]int64, len(entries))
	last := uint64(0)
	for k, i := range entries {
		list[k], last = int64(rows[i]-last), rows[i]
	}
	return list
}

// pickSparse takes what a sparse column has for some entries.
func pickSparse[T any](places []uint32, values []T, entries []int) (at []uint32, of []T) {
	for k, i := range entries {
		for len(places) > 0 && int(places[0]) < i {
			places, values = places[1:], values[1:]
		}
		if len(places) > 0 && int(places[0]) == i {
			at, of = append(at, uint32(k)), append(of, values[0])
		}
	}
	return at, of
}

// splitColumns gives the entries of columns with these rows to their windows: cut encodes those that follow each other,
// and of makes a message of others.
func (s *Store) splitColumns(b *batch, ring uint64, column []int64, cut func(span), of func(row []int64, entries []int) *moriensv1.ReportRequest) error {
	r, err := s.ring(b, ring)
	if err != nil {
		return err
	}
	spans, once := r.spans(column)
	if once {
		for _, x := range spans {
			cut(x)
			b.add(r, x.window)
		}
		return nil
	}
	windows, entries, rows := grouped(column, spans)
	for _, w := range windows {
		if err := b.messages.message(partMessages, of(differences(rows, entries[w]), entries[w])); err != nil {
			return err
		}
		b.add(r, w)
	}
	return nil
}

func soundTransfers(x *moriensv1.Transfers) bool {
	return same(len(x.Row), len(x.Kind), len(x.Done), len(x.Peer), len(x.Tag), len(x.Comm), len(x.Bytes), len(x.Ordinal)) &&
		len(x.Elsewhere) == len(x.DoneRing) && len(x.Partitioned) == len(x.Channel)
}

// splitTransfers gives transfers to the windows of the calls that posted them.
func (s *Store) splitTransfers(b *batch, x *moriensv1.Transfers) error {
	if !soundTransfers(x) {
		return errColumns
	}
	return s.splitColumns(b, x.Ring, x.Row,
		func(of span) { b.messages.transfers(x, of.from, of.to, of.row) },
		func(row []int64, of []int) *moriensv1.ReportRequest { return transfersOf(x, row, of) })
}

// transfersOf is some entries of a message of transfers, with the column of their rows.
func transfersOf(x *moriensv1.Transfers, row []int64, of []int) *moriensv1.ReportRequest {
	part := &moriensv1.Transfers{
		Ring: x.Ring, Epoch: x.Epoch, Row: row, Kind: pick(x.Kind, of), Done: pick(x.Done, of), Peer: pick(x.Peer, of),
		Tag: pick(x.Tag, of), Comm: pick(x.Comm, of), Bytes: pick(x.Bytes, of), Ordinal: pick(x.Ordinal, of),
	}
	part.Elsewhere, part.DoneRing = pickSparse(x.Elsewhere, x.DoneRing, of)
	part.Partitioned, part.Channel = pickSparse(x.Partitioned, x.Channel, of)
	part.Untold, _ = pickSparse(x.Untold, x.Untold, of)
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Transfers{Transfers: part}}
}

// splitCollectives gives collectives to the windows of their calls.
func (s *Store) splitCollectives(b *batch, x *moriensv1.Collectives) error {
	if !same(len(x.Row), len(x.Comm), len(x.Ordinal), len(x.Sent), len(x.Received), len(x.Root)) {
		return errColumns
	}
	return s.splitColumns(b, x.Ring, x.Row,
		func(of span) { b.messages.collectives(x, of.from, of.to, of.row) },
		func(row []int64, of []int) *moriensv1.ReportRequest {
			return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Collectives{Collectives: &moriensv1.Collectives{
				Ring: x.Ring, Row: row, Comm: pick(x.Comm, of), Ordinal: pick(x.Ordinal, of),
				Sent: pick(x.Sent, of), Received: pick(x.Received, of), Root: pick(x.Root, of),
			}}}
		})
}

// splitGaps gives gaps to the windows of the rows that they lie in or before; one after the last row to the latest
// window.
func (s *Store) splitGaps(b *batch, g *moriensv1.Gaps) error {
	r, err := s.ring(b, g.Ring)
	if err != nil {
		return err
	}
	at := make(map[anchor.ID]*moriensv1.Gaps)
	var windows []anchor.ID
	of := func(row uint64) *moriensv1.Gaps {
		w := r.of(row)
		if at[w] == nil {
			at[w] = &moriensv1.Gaps{Ring: g.Ring}
			windows = append(windows, w)
		}
		return at[w]
	}
	for _, row := range g.Before {
		part := of(row)
		part.Before = append(part.Before, row)
	}
	for _, row := range g.Inside {
		part := of(row)
		part.Inside = append(part.Inside, row)
	}
	for _, w := range windows {
		if err := b.messages.message(partMessages, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Gaps{Gaps: at[w]}}); err != nil {
			return err
		}
		b.add(r, w)
	}
	return nil
}
