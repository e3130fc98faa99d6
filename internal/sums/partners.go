package sums

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// PlacePartners is how many partners of one place have rows of their own, at most.
	PlacePartners = 64
	// AllPartners is the same of all places of a process: with what finds them they take 256 KiB and, of each place with
	// many, 256 bytes.
	AllPartners = 2048
	// OtherPartners is the peer of the row of a place for all others.
	OtherPartners = -2
)

// A Partner is messages of a kind that calls of one place posted, to or from one peer.
type Partner struct {
	Kind     moriensv1.Transfers_Kind
	Function mpicall.ID
	Path     uint32
	Comm     uint32
	Peer     int32
	Moved
}

// Others reports whether it is all peers of its place that have no row of their own.
func (p *Partner) Others() bool { return p.Peer == OtherPartners }

func (p *Partner) place() place { return place{p.Kind, p.Function, p.Path} }

// A Moved is how many messages, and how many bytes they and the smallest and the largest of them have.
type Moved struct{ Count, Bytes, Least, Most uint64 }

func (m *Moved) add(bytes uint64) {
	if m.Count == 0 {
		m.Least = bytes
	}
	m.Count++
	m.Bytes += min(bytes, math.MaxUint64-m.Bytes)
	m.Least, m.Most = min(m.Least, bytes), max(m.Most, bytes)
}

type place struct {
	kind     moriensv1.Transfers_Kind
	function mpicall.ID
	path     uint32
}

// Partners count messages by place and peer. The first PlacePartners of a place have rows of their own, which are
// exact, as long as all places have no more than AllPartners; the others of a place are in one row. Its zero value is
// empty, and is not to be copied.
type Partners struct {
	places []*Place
	at     map[place]*Place
	latest *Place
	rows   int
}

// A Place is where calls post messages of one kind.
type Place struct {
	place
	of     *Partners
	then   *Place // the one that was asked for after it, the latest time
	rows   []partner
	latest int32
	at     []uint8 // rows, plus 1, by the hash of their keys; nil where they are few
	others Moved
}

type partner struct {
	comm uint32
	peer int32
	then int32 // row that was added to after this one, the latest time
	Moved
}

const (
	manyRows  = 8                 // from so many on rows are found by their hash
	hashSlots = 4 * PlacePartners // what has no row is mostly found at the first look
)

// Place is that of calls of a function from a call path; it is always the same one.
func (p *Partners) Place(kind moriensv1.Transfers_Kind, function mpicall.ID, path uint32) *Place {
	key := place{kind, function, path}
	if p.latest != nil {
		if next := p.latest.then; next != nil && next.place == key {
			p.latest = next
			return next
		}
	}
	x := p.at[key]
	if x == nil {
		if p.at == nil {
			p.at = make(map[place]*Place)
		}
		x = &Place{place: key, of: p}
		p.at[key], p.places = x, append(p.places, x)
	}
	if p.latest != nil {
		p.latest.then = x
	}
	p.latest = x
	return x
}

// Add adds a message.
func (x *Place) Add(comm uint32, peer int32, bytes uint64) {
	if len(x.rows) > 0 {
		n := x.rows[x.latest].then
		if r := &x.rows[n]; r.peer == peer && r.comm == comm {
			x.latest = n
			r.add(bytes)
			return
		}
	}
	x.row(comm, peer).add(bytes)
}

// row is that of a peer, or that of the others.
func (x *Place) row(comm uint32, peer int32) *Moved {
	n := x.find(comm, peer)
	if n < 0 {
		if len(x.rows) >= PlacePartners || x.of.rows >= AllPartners {
			return &x.others
		}
		n = x.add(comm, peer)
	}
	x.rows[x.latest].then, x.latest = n, n
	return &x.rows[n].Moved
}

func (x *Place) add(comm uint32, peer int32) int32 {
	n := int32(len(x.rows))
	x.rows = append(x.rows, partner{comm: comm, peer: peer})
	x.of.rows++
	switch {
	case x.at != nil:
		x.hash(n)
	case len(x.rows) == manyRows:
		x.at = make([]uint8, hashSlots)
		for i := range x.rows {
			x.hash(int32(i))
		}
	}
	return n
}

// hash makes a row be found.
func (x *Place) hash(row int32) {
	slot := slotOf(x.rows[row].comm, x.rows[row].peer)
	for x.at[slot] != 0 {
		slot = (slot + 1) % hashSlots
	}
	x.at[slot] = uint8(row) + 1
}

func slotOf(comm uint32, peer int32) uint64 {
	return (uint64(comm)<<32 | uint64(uint32(peer))) * 0x9e3779b97f4a7c15 >> 32 % hashSlots
}

// find is the number of a peer's row, -1 = it has none.
func (x *Place) find(comm uint32, peer int32) int32 {
	if x.at != nil {
		for slot := slotOf(comm, peer); x.at[slot] != 0; slot = (slot + 1) % hashSlots {
			n := int32(x.at[slot]) - 1
			if r := &x.rows[n]; r.peer == peer && r.comm == comm {
				return n
			}
		}
		return -1
	}
	for i := range x.rows {
		if r := &x.rows[i]; r.peer == peer && r.comm == comm {
			return int32(i)
		}
	}
	return -1
}

// Rows are all of them, those of a place together, the others last.
func (p *Partners) Rows() []Partner {
	list := make([]Partner, 0, p.rows+len(p.places))
	for _, x := range p.places {
		for i := range x.rows {
			r := &x.rows[i]
			list = append(list, Partner{x.kind, x.function, x.path, r.comm, r.peer, r.Moved})
		}
		if x.others.Count > 0 {
			list = append(list, Partner{x.kind, x.function, x.path, 0, OtherPartners, x.others})
		}
	}
	return list
}

// RestorePartners returns the Partners of rows.
func RestorePartners(rows []Partner) (*Partners, error) {
	p := new(Partners)
	for i := range rows {
		r := &rows[i]
		x := p.Place(r.Kind, r.Function, r.Path)
		switch {
		case r.Others() && x.others.Count == 0:
			x.others = r.Moved
		case !r.Others() && x.find(r.Comm, r.Peer) < 0:
			x.rows[x.add(r.Comm, r.Peer)].Moved = r.Moved
		default:
			return nil, fmt.Errorf("partner %d of communicator %d twice", r.Peer, r.Comm)
		}
	}
	for _, x := range p.places { // a row that follows must be another one
		for i := range x.rows {
			x.rows[i].then = int32((i + 1) % len(x.rows))
		}
	}
	return p, nil
}

// EncodePartners makes the message of rows, those of a place one behind the other.
func EncodePartners(rows []Partner) *moriensv1.Partners {
	n := len(rows)
	m := &moriensv1.Partners{
		Comm: make([]uint32, n), Peer: make([]int32, n), Count: make([]uint64, n), Bytes: make([]uint64, n), Least: make([]uint64, n), More: make([]uint64, n),
	}
	before := int32(0)
	for i := range rows {
		r := &rows[i]
		if i == 0 || r.place() != rows[i-1].place() {
			m.Kind, m.Function, m.Path, m.Rows = append(m.Kind, r.Kind), append(m.Function, uint32(r.Function)), append(m.Path, r.Path), append(m.Rows, 0)
		}
		m.Rows[len(m.Rows)-1]++
		m.Comm[i], m.Peer[i], m.Count[i], m.Bytes[i], m.Least[i], m.More[i] = r.Comm, r.Peer-before, r.Count, r.Bytes, r.Least, r.Most-r.Least
		before = r.Peer
	}
	return m
}

// DecodePartners returns the rows of a message, if they can be: messages, of a size from the least to the most. What
// else they can be is for the caller to know.
func DecodePartners(m *moriensv1.Partners) ([]Partner, error) {
	n, runs := len(m.GetComm()), len(m.GetRows())
	if len(m.GetKind()) != runs || len(m.GetFunction()) != runs || len(m.GetPath()) != runs {
		return nil, fmt.Errorf("columns of %d, %d, %d and %d places", len(m.GetKind()), len(m.GetFunction()), len(m.GetPath()), runs)
	}
	for _, x := range []int{len(m.GetPeer()), len(m.GetCount()), len(m.GetBytes()), len(m.GetLeast()), len(m.GetMore())} {
		if x != n {
			return nil, fmt.Errorf("columns of %d and %d partners", n, x)
		}
	}
	list := make([]Partner, 0, n)
	before := int32(0)
	for run, rows := range m.GetRows() {
		if rows == 0 || uint64(rows) > uint64(n-len(list)) || m.Function[run] > math.MaxUint16 {
			return nil, fmt.Errorf("place %d of function %d has %d rows of %d", run, m.Function[run], rows, n)
		}
		for range rows {
			i := len(list)
			before += m.Peer[i]
			r := Partner{m.Kind[run], mpicall.ID(m.Function[run]), m.Path[run], m.Comm[i], before, Moved{m.Count[i], m.Bytes[i], m.Least[i], m.Least[i] + m.More[i]}}
			if err := r.sound(); err != nil {
				return nil, err
			}
			list = append(list, r)
		}
	}
	if len(list) != n {
		return nil, fmt.Errorf("places of %d partners, of %d", len(list), n)
	}
	return list, nil
}

// sound says what is wrong with a row by itself; nil if nothing.
func (p *Partner) sound() error {
	switch {
	case p.Kind != moriensv1.Transfers_KIND_SENT && p.Kind != moriensv1.Transfers_KIND_RECEIVED:
		return fmt.Errorf("partners of kind %d", p.Kind)
	case p.Count == 0 || p.Least > p.Most || p.Most > p.Bytes || p.Bytes < math.MaxUint64 && (p.Bytes/p.Count < p.Least || p.Most < p.Bytes/p.Count):
		return fmt.Errorf("%d messages of %d bytes, of %d to %d each", p.Count, p.Bytes, p.Least, p.Most)
	case p.Others() && p.Comm != 0:
		return fmt.Errorf("others in communicator %d", p.Comm)
	}
	return nil
}

// PackedPartners are rows as they travel. nil: they are not known.
type PackedPartners []byte

// PackPartners packs a message.
func PackPartners(m *moriensv1.Partners) PackedPartners {
	if m == nil {
		return nil
	}
	packed, err := proto.Marshal(m)
	if err != nil {
		panic(err) // there is no text in it
	}
	return append(PackedPartners{}, packed...)
}

// Message is the message of the rows; nil: they are not known.
func (p PackedPartners) Message() *moriensv1.Partners {
	if p == nil {
		return nil
	}
	m := new(moriensv1.Partners)
	if err := proto.Unmarshal(p, m); err != nil {
		panic(err) // nothing else has written it
	}
	return m
}

// Rows are the rows.
func (p PackedPartners) Rows() []Partner {
	rows, err := DecodePartners(p.Message())
	if err != nil {
		panic(err) // likewise
	}
	return rows
}
