package store

import (
	"fmt"
	"slices"

	"moriens/internal/section"
	"moriens/internal/units"
)

// A Detail is transfers of a ring as a window of full detail has them.
type Detail struct {
	Ring *Ring
	Transfers
}

// Details takes apart sections of moves that follow each other, as windows of full detail have them, and gives their
// transfers as the store has those that arrived unasked. Each is taken as a whole or refused; where the bytes are not a
// section, those behind it are lost with it. What is sound is returned beside an error, which names the first that was
// refused.
func (f *Frozen) Details(sections []byte) (list []*Detail, err error) {
	if f.reader == nil {
		f.reader = new(reader)
	}
	refused := 0
	refuse := func(why error) {
		if refused++; err == nil {
			err = why
		}
	}
	for len(sections) > 0 {
		rest, why := f.reader.section.Read(sections)
		if why != nil {
			refuse(why)
			break
		}
		sections = rest
		if kind := f.reader.section.Kind; kind != section.Moves {
			refuse(fmt.Errorf("a section of kind %d in the place of transfers", kind))
			continue
		}
		r, t, why := f.reader.moves(f.rings, arrived)
		if why != nil {
			refuse(why)
			continue
		}
		list = append(list, &Detail{Ring: r, Transfers: t})
	}
	if refused > 1 {
		err = fmt.Errorf("%w (and %s more)", err, units.Count(refused-1, "section"))
	}
	return list, err
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

// HasFetched reports whether transfers of a ring were fetched, as far as they are here.
func (f *Frozen) HasFetched(r *Ring) bool {
	_, has := f.fetched[r]
	return has
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
	received, _ := f.received(p)
	return p.counted - min(received, p.counted)
}

// LacksCollectives is of how many collectives of a process that did not block it has not arrived which call completed
// them, as far as is known how many there were. Of a process of another member nothing is.
func (f *Frozen) LacksCollectives(p *Process) uint64 {
	if p.Agent.Member != f.member {
		return 0
	}
	_, received := f.received(p)
	n := p.TransfersEnd.GetCollectives()
	return n - min(received, n)
}

// received counts what arrived of a process.
func (f *Frozen) received(p *Process) (transfers, collectives uint64) {
	for _, r := range p.Rings {
		chunks := f.Transfers(r)
		for i := range chunks {
			n := chunks[i].Collectives()
			transfers += uint64(chunks[i].Len() - n)
			collectives += uint64(n)
		}
	}
	return transfers, collectives
}
