package store

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// maxBytes bounds what one call moves.
const maxBytes = 1 << 62

// What stands for a peer, a root or a tag where it is none.
const (
	AnyRank  = -1 // any that nothing has resolved, or none
	RootRank = -3 // this rank is the root, for the other group of an intercommunicator
)

// A Communicator is a communicator, a window or a file as the processes of one group on one node see it.
type Communicator struct {
	Info *moriensv1.Communicator
}

// A Member is a process's place in a communicator.
type Member struct {
	*Communicator
	Rank   int
	Origin *moriensv1.Origin // of one with ranks of several worlds, as far as it is known; else nil
}

// Transfers are what rows of a ring move between their rank and one other, in order of arrival. All columns but the
// sparse ones have one length.
type Transfers struct {
	Kind       []uint8  // moriensv1.Transfers_Kind; of KIND_COLLECTIVE is what moves nothing: a call has completed a collective
	Row        []uint32 // of the call that posted it
	Done       []int64  // of the call that completed it; -1: none that is known
	Peer, Tag  []int32  // of a start of a persistent collective the tag is its number among those of its request, from 0
	Comm       []uint32 // of Process.Comms; 0 = unknown
	Bytes      []uint64
	DoneRing   map[int]*Ring  // by place: the ring of the completing row, where it is another one
	Channel    map[int]uint32 // by place: those that are partitioned, and which of the process's requests that match in order each is
	Unreported map[int]bool   // by place: receives of which Bytes are the most that they can be, and Peer or Tag may be unknown
	Ordinal    []uint64       // which of its kind each is, of a collective in its communicator, plus 1; 0 = not known. nil: of none
	Epoch      uint32         // 0: ordinals of sends and receives count from the beginning
}

// Len returns the number of transfers.
func (t *Transfers) Len() int { return len(t.Row) }

// Collectives counts those that move nothing: a call has completed a collective.
func (t *Transfers) Collectives() (n int) {
	for _, kind := range t.Kind {
		if kind == collective {
			n++
		}
	}
	return n
}

const collective = uint8(moriensv1.Transfers_KIND_COLLECTIVE)

// OrdinalOf is which of its kind a send or a receive is from the beginning on, plus 1; 0 where that is not known.
func (t *Transfers) OrdinalOf(i int) uint64 {
	if t.Epoch != 0 || t.Ordinal == nil {
		return 0
	}
	return t.Ordinal[i]
}

// Collectives are the collective calls of a ring; all columns have one length.
type Collectives struct {
	Row            []uint32
	Comm           []uint32 // of Process.Comms; 0 = unknown
	Ordinal        []uint64
	Sent, Received []uint64
	Root           []int32
}

// Gaps are the rows of a ring before which, and those inside which, something was moved that nothing describes.
type Gaps struct {
	Before, Inside []uint64
}

func (s *Store) addCommunicator(a *Agent, c *moriensv1.Communicator) error {
	if a.communicators[c.Communicator] != nil || c.Communicator == 0 {
		return fmt.Errorf("communicator %d is there already", c.Communicator)
	}
	if c.Size == 0 || c.Size > maxSize || c.Peers > maxSize {
		return fmt.Errorf("communicator %d: a group of %d with %d peers", c.Communicator, c.Size, c.Peers)
	}
	if len(c.Stride) != len(c.First) || len(c.Count) != len(c.First) {
		return fmt.Errorf("communicator %d: columns of %d, %d and %d rows", c.Communicator, len(c.First), len(c.Stride), len(c.Count))
	}
	listed := uint64(0)
	for i, first := range c.First {
		count, stride := int64(c.Count[i]), int64(c.Stride[i])
		last := int64(first) + stride*max(count-1, 0)
		if count == 0 || count > maxSize || first < -1 || first == -1 && stride != 0 || first >= 0 && (last < 0 || last >= maxSize) || first >= maxSize {
			return fmt.Errorf("communicator %d: %d ranks from %d by %d", c.Communicator, count, first, stride)
		}
		listed += uint64(count)
	}
	if listed != uint64(c.Peers) && !(c.Cut && listed < uint64(c.Peers)) {
		return fmt.Errorf("communicator %d: %d of %d peers", c.Communicator, listed, c.Peers)
	}
	if a.communicators == nil {
		a.communicators = make(map[uint32]*Communicator)
	}
	a.communicators[c.Communicator] = &Communicator{Info: c}
	return nil
}

func (s *Store) addMember(a *Agent, m *moriensv1.Member) error {
	p := s.processes[m.Process]
	switch c := a.communicators[m.Communicator]; {
	case p == nil:
		return fmt.Errorf("member process %016x is unknown", m.Process)
	case c == nil:
		return fmt.Errorf("process %016x: communicator %d is not defined", m.Process, m.Communicator)
	case m.Comm == 0 || p.Comms[m.Comm].Communicator != nil:
		return fmt.Errorf("process %016x: communicator number %d is taken", m.Process, m.Comm)
	case m.Rank >= c.Info.Size:
		return fmt.Errorf("process %016x: rank %d of %d in communicator %d", m.Process, m.Rank, c.Info.Size, m.Communicator)
	case !soundOrigin(p, m):
		return fmt.Errorf("process %016x: communicator number %d of a bad origin: %v", m.Process, m.Comm, m.Origin)
	default:
		if p.Comms == nil {
			p.Comms = make(map[uint32]Member)
		}
		p.Comms[m.Comm] = Member{c, int(m.Rank), m.Origin}
	}
	return nil
}

// soundOrigin validates how worlds were connected: nothing is made of what was defined later.
func soundOrigin(p *Process, m *moriensv1.Member) bool {
	switch o := m.Origin; o.GetHow() {
	case moriensv1.Origin_HOW_UNSPECIFIED:
		return o == nil
	case moriensv1.Origin_HOW_DERIVED:
		return o.Parent == 0 || p.Comms[o.Parent].Communicator != nil
	case moriensv1.Origin_HOW_SPAWNED, moriensv1.Origin_HOW_PARENT, moriensv1.Origin_HOW_ACCEPTED, moriensv1.Origin_HOW_CONNECTED, moriensv1.Origin_HOW_JOINED:
		return o.Parent == 0 && o.Began <= o.Ended
	}
	return false
}

// peer validates a communicator's number and the rank of a peer in it.
func (p *Process) peer(comm uint32, rank int32) error {
	c := p.Comms[comm].Communicator
	if comm != 0 && c == nil {
		return fmt.Errorf("communicator %d is not defined", comm)
	}
	if rank < AnyRank || comm != 0 && rank >= 0 && uint32(rank) >= c.Info.Peers {
		return fmt.Errorf("no peer %d in communicator %d", rank, comm)
	}
	return nil
}

// addMoves takes what the section that was read moved, as a whole.
func (s *Store) addMoves(completed func(*Ring) uint64) error {
	r, t, err := s.reader.moves(s.rings, completed)
	if err != nil {
		return err
	}
	r.Transfers = append(r.Transfers, t)
	r.Process.received += uint64(t.Len() - t.Collectives())
	s.count(r.Process)
	return nil
}

// arrived is how many calls of a ring there are.
func arrived(r *Ring) uint64 { return r.Calls }

// moves takes apart the section of moves that was read, and validates it. completed is how many calls of a ring may
// have completed what others posted.
func (d *reader) moves(rings map[uint64]*Ring, completed func(*Ring) uint64) (*Ring, Transfers, error) {
	r := rings[d.section.Ring]
	if r == nil {
		return nil, Transfers{}, fmt.Errorf("transfers of unknown ring %016x", d.section.Ring)
	}
	err := d.decoder.Moves(&d.section, &d.block)
	var t Transfers
	if err == nil {
		t, err = transfersOf(rings, r, &d.block, completed)
	}
	if err != nil {
		return nil, Transfers{}, fmt.Errorf("ring %016x, transfers: %w", d.section.Ring, err)
	}
	return r, t, nil
}

// transfersOf validates a block's transfers, of a ring, and makes columns of them.
func transfersOf(rings map[uint64]*Ring, r *Ring, b *section.Block, completed func(*Ring) uint64) (Transfers, error) {
	n := len(b.Transfers)
	if n == 0 {
		return Transfers{}, errors.New("none")
	}
	for i := range b.Lanes {
		if err := r.Process.checkLane(&b.Lanes[i]); err != nil {
			return Transfers{}, err
		}
	}
	t := Transfers{
		Kind: make([]uint8, n), Row: make([]uint32, n), Done: make([]int64, n), Peer: make([]int32, n), Tag: make([]int32, n), Comm: make([]uint32, n),
		Bytes: make([]uint64, n), Epoch: b.Epoch,
	}
	if slices.ContainsFunc(b.Transfers, func(x section.Transfer) bool { return x.Ordinal != 0 }) {
		t.Ordinal = make([]uint64, n)
	}
	for i := range b.Transfers {
		x, lane := &b.Transfers[i], &b.Lanes[b.Transfers[i].Lane]
		if x.Row >= r.Calls || x.Row > math.MaxUint32 {
			return Transfers{}, fmt.Errorf("row %d of %d", x.Row, r.Calls)
		}
		if x.Bytes > maxBytes {
			return Transfers{}, fmt.Errorf("%d bytes of tag %d", x.Bytes, lane.Tag)
		}
		if x.Bytes > 0 && uint8(lane.Kind) == collective {
			return Transfers{}, fmt.Errorf("a collective of %d bytes", x.Bytes)
		}
		done := r
		if x.Ring != 0 {
			if done = rings[x.Ring]; done == nil || done.Process != r.Process {
				return Transfers{}, fmt.Errorf("completed by ring %016x, which is none of the process's", x.Ring)
			}
			put(&t.DoneRing, i, done)
		}
		if x.Channel != 0 {
			put(&t.Channel, i, x.Channel-1)
		}
		if x.Untold {
			put(&t.Unreported, i, true)
		}
		var err error
		if t.Done[i], err = doneRow(completed(done), x); err != nil {
			return Transfers{}, err
		}
		t.Kind[i], t.Row[i], t.Bytes[i] = uint8(lane.Kind), uint32(x.Row), x.Bytes
		t.Peer[i], t.Tag[i], t.Comm[i] = lane.Peer, lane.Tag, lane.Comm
		if t.Ordinal != nil {
			t.Ordinal[i] = x.Ordinal
		}
	}
	return t, nil
}

// put adds what few transfers have.
func put[V any](to *map[int]V, place int, value V) {
	if *to == nil {
		*to = make(map[int]V)
	}
	(*to)[place] = value
}

func (p *Process) checkLane(l *section.Lane) error {
	if kind := moriensv1.Transfers_Kind(l.Kind); kind <= moriensv1.Transfers_KIND_UNSPECIFIED || kind > moriensv1.Transfers_KIND_COLLECTIVE {
		return fmt.Errorf("kind %d", l.Kind)
	}
	if uint8(l.Kind) == collective && l.Peer != AnyRank {
		return fmt.Errorf("a collective with peer %d", l.Peer)
	}
	if err := p.peer(l.Comm, l.Peer); err != nil {
		return err
	}
	if l.Tag < AnyRank {
		return fmt.Errorf("tag %d", l.Tag)
	}
	return nil
}

// doneRow is the row of the call that completed a transfer, in a ring of so many.
func doneRow(calls uint64, x *section.Transfer) (int64, error) {
	distance := x.Done
	if distance == 0 {
		return -1, nil
	}
	if distance > 0 {
		distance--
	}
	if distance > math.MaxUint32 || distance < -math.MaxUint32 {
		return 0, fmt.Errorf("completed %d rows further on", distance)
	}
	row := int64(x.Row) + distance
	if row < 0 || uint64(row) >= calls {
		return 0, fmt.Errorf("completed by row %d of %d", row, calls)
	}
	return row, nil
}

func (s *Store) endTransfers(e *moriensv1.TransfersEnd) error {
	p := s.processes[e.Process]
	switch {
	case p == nil:
		return fmt.Errorf("end of the transfers of unknown process %016x", e.Process)
	case p.TransfersEnd != nil:
		return fmt.Errorf("the transfers of process %016x have ended already", e.Process)
	}
	p.TransfersEnd = e
	if e.Transfers != p.counted {
		return fmt.Errorf("process %016x has %d transfers, %d in its sums, %d received", e.Process, e.Transfers, p.Sums.Transfers, p.received)
	}
	return nil
}
