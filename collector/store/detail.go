package store

import (
	"fmt"
	"slices"

	moriensv1 "moriens/proto/moriens/v1"
)

// A Detail is transfers of a ring as a window of full detail has them.
type Detail struct {
	Ring *Ring
	Transfers
}

// Detail validates transfers of a window and gives them as the store has those that arrived unasked.
func (f *Frozen) Detail(x *moriensv1.Transfers) (*Detail, error) {
	r := f.rings[x.Ring]
	if r == nil {
		return nil, fmt.Errorf("transfers of unknown ring %016x", x.Ring)
	}
	t, err := decode(f.rings, r, x)
	if err != nil {
		return nil, fmt.Errorf("ring %016x, transfers: %w", x.Ring, err)
	}
	return &Detail{Ring: r, Transfers: t}, nil
}

// Ring is the ring of an id, nil where there is none.
func (f *Frozen) Ring(id uint64) *Ring { return f.rings[id] }

// Fetched says that these are all transfers that the nodes have kept. What arrived unasked counts where they have
// nothing of its call.
func (f *Frozen) Fetched(list []*Detail) {
	f.fetched = make(map[*Ring][]Transfers)
	for _, d := range list {
		f.fetched[d.Ring] = append(f.fetched[d.Ring], d.Transfers)
	}
	for r, chunks := range f.fetched {
		f.fetched[r] = append(chunks, r.besides(chunks)...)
	}
}

// besides are the transfers that arrived unasked of calls of which others have none.
func (r *Ring) besides(others []Transfers) (list []Transfers) {
	have := make([]bool, r.Calls)
	for i := range others {
		for _, row := range others[i].Row {
			have[row] = true
		}
	}
	for i := range r.Transfers {
		t := r.Transfers[i].of(func(row uint32) bool { return !have[row] })
		if t.Len() > 0 {
			list = append(list, t)
		}
	}
	return list
}

// of are the transfers of some rows.
func (t *Transfers) of(wanted func(row uint32) bool) Transfers {
	if !slices.ContainsFunc(t.Row, func(row uint32) bool { return !wanted(row) }) {
		return *t
	}
	part := Transfers{Epoch: t.Epoch, DoneRing: make(map[int]*Ring), Channel: make(map[int]uint32), Unreported: make(map[int]bool)}
	for i, row := range t.Row {
		if !wanted(row) {
			continue
		}
		n := part.Len()
		part.Kind, part.Row, part.Done = append(part.Kind, t.Kind[i]), append(part.Row, row), append(part.Done, t.Done[i])
		part.Peer, part.Tag, part.Comm = append(part.Peer, t.Peer[i]), append(part.Tag, t.Tag[i]), append(part.Comm, t.Comm[i])
		part.Bytes = append(part.Bytes, t.Bytes[i])
		if t.Ordinal != nil {
			part.Ordinal = append(part.Ordinal, t.Ordinal[i])
		}
		if r := t.DoneRing[i]; r != nil {
			part.DoneRing[n] = r
		}
		if channel, partitioned := t.Channel[i]; partitioned {
			part.Channel[n] = channel
		}
		if t.Unreported[i] {
			part.Unreported[n] = true
		}
	}
	return part
}

// Transfers are those of a ring that arrived, by themselves or fetched.
func (f *Frozen) Transfers(r *Ring) []Transfers {
	if chunks, has := f.fetched[r]; has {
		return chunks
	}
	return r.Transfers
}

// Lacks is how many transfers of a process have not arrived, as far as is known how many there were.
func (f *Frozen) Lacks(p *Process) uint64 {
	if p.Agent.Member != f.member {
		return p.lacking
	}
	received := uint64(0)
	for _, r := range p.Rings {
		for i := range f.Transfers(r) {
			received += uint64(f.Transfers(r)[i].Len())
		}
	}
	return p.counted - min(received, p.counted)
}
