package window

import (
	"math"

	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// grouped sorts the entries of a column of rows by their windows, which it lists in the order of their first ones; rows are the column summed up.
// Where all are of one window that is all it returns.
func (r *ring) grouped(differences []int64) (windows []anchor.Window, entries map[anchor.Window][]int, rows []uint64) {
	row, low, high := uint64(0), uint64(math.MaxUint64), uint64(0)
	for _, d := range differences {
		row += uint64(d)
		low, high = min(low, row), max(high, row)
	}
	if len(differences) > 0 && len(r.edges) > 0 && low >= r.edges[0].row && r.of(low) == r.of(high) { // windows ascend with rows
		return []anchor.Window{r.of(low)}, nil, nil
	}
	entries = make(map[anchor.Window][]int)
	row = 0
	for i, d := range differences {
		row += uint64(d)
		w := r.of(row)
		if entries[w] == nil {
			windows = append(windows, w)
		}
		entries[w] = append(entries[w], i)
		rows = append(rows, row)
	}
	return windows, entries, rows
}

// pick takes some entries of a column.
func pick[T any](column []T, entries []int) []T {
	if len(column) == 0 {
		return nil
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

// splitTransfers gives transfers to the windows of the calls that posted them.
func (s *Store) splitTransfers(b *batch, x *moriensv1.Transfers) error {
	r, err := s.ring(b, x.Ring)
	if err != nil {
		return err
	}
	windows, entries, rows := r.grouped(x.Row)
	for _, w := range windows {
		part, of := x, entries[w]
		if len(windows) > 1 {
			part = &moriensv1.Transfers{
				Ring: x.Ring, Epoch: x.Epoch, Row: differences(rows, of), Kind: pick(x.Kind, of), Done: pick(x.Done, of), Peer: pick(x.Peer, of),
				Tag: pick(x.Tag, of), Comm: pick(x.Comm, of), Bytes: pick(x.Bytes, of), Ordinal: pick(x.Ordinal, of),
			}
			part.Elsewhere, part.DoneRing = pickSparse(x.Elsewhere, x.DoneRing, of)
			part.Partitioned, part.Channel = pickSparse(x.Partitioned, x.Channel, of)
		}
		b.add(r, w, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Transfers{Transfers: part}})
	}
	return nil
}

func (s *Store) splitCollectives(b *batch, x *moriensv1.Collectives) error {
	r, err := s.ring(b, x.Ring)
	if err != nil {
		return err
	}
	windows, entries, rows := r.grouped(x.Row)
	for _, w := range windows {
		part, of := x, entries[w]
		if len(windows) > 1 {
			part = &moriensv1.Collectives{
				Ring: x.Ring, Row: differences(rows, of), Comm: pick(x.Comm, of), Ordinal: pick(x.Ordinal, of),
				Sent: pick(x.Sent, of), Received: pick(x.Received, of), Root: pick(x.Root, of),
			}
		}
		b.add(r, w, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Collectives{Collectives: part}})
	}
	return nil
}

// splitGaps gives gaps to the windows of the rows that they lie in or before; one behind the last row to the latest window.
func (s *Store) splitGaps(b *batch, g *moriensv1.Gaps) error {
	r, err := s.ring(b, g.Ring)
	if err != nil {
		return err
	}
	at := make(map[anchor.Window]*moriensv1.Gaps)
	of := func(row uint64) *moriensv1.Gaps {
		w := r.of(row)
		if at[w] == nil {
			at[w] = &moriensv1.Gaps{Ring: g.Ring}
			b.add(r, w, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Gaps{Gaps: at[w]}})
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
	return nil
}
