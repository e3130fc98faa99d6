package message

import (
	"math"

	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// A site is where transfers of a kind are posted.
type site struct {
	kind     moriensv1.Transfers_Kind
	function mpicall.ID
	path     uint32
}

// A route is the peer to which or from which transfers of a kind go.
type route struct {
	kind moriensv1.Transfers_Kind
	comm uint32
	peer int32
}

// A traffic is what a process has moved, in sum.
type traffic struct {
	sites  sums[site]
	routes sums[route]
}

func newTraffic() traffic {
	return traffic{sites: sums[site]{at: make(map[site]int)}, routes: sums[route]{at: make(map[route]int)}}
}

// sums adds up by keys, of which the same few mostly recur in the same order.
type sums[K comparable] struct {
	at     map[K]int
	list   []sum[K]
	latest int
}

type sum[K comparable] struct {
	key          K
	count, bytes uint64
}

// place is where a key's sum is.
func (s *sums[K]) place(key K) *sum[K] { return &s.list[s.number(key)] }

// number is that of a key's sum in the list.
func (s *sums[K]) number(key K) int {
	next := s.latest + 1
	if next >= len(s.list) {
		next = 0
	}
	switch {
	case len(s.list) == 0:
	case s.list[s.latest].key == key:
		return s.latest
	case s.list[next].key == key:
		s.latest = next
		return next
	}
	n, known := s.at[key]
	if !known {
		n = len(s.list)
		s.at[key] = n
		s.list = append(s.list, sum[K]{key: key})
	}
	s.latest = n
	return n
}

// add adds an amount; bytes stop at the largest number, which only damaged records reach.
func (s *sum[K]) add(count, bytes uint64) {
	s.count += count
	s.bytes += min(bytes, math.MaxUint64-s.bytes)
}

func (t *traffic) add(o *operation, comm uint32, peer int32) {
	t.sites.place(site{o.kind, o.function, o.path}).add(1, o.bytes)
	t.routes.place(route{o.kind, comm, peer}).add(1, o.bytes)
}

// Traffic is what the process has moved so far. Whose it is the caller says.
func (m *Matcher) Traffic() *moriensv1.Traffic {
	t := new(moriensv1.Traffic)
	for i := range m.moved.sites.list {
		x := &m.moved.sites.list[i]
		t.Kind, t.Function, t.Path = append(t.Kind, x.key.kind), append(t.Function, uint32(x.key.function)), append(t.Path, x.key.path)
		t.Count, t.Bytes = append(t.Count, x.count), append(t.Bytes, x.bytes)
	}
	for i := range m.moved.routes.list {
		x := &m.moved.routes.list[i]
		t.PeerKind, t.Comm, t.Peer = append(t.PeerKind, x.key.kind), append(t.Comm, x.key.comm), append(t.Peer, x.key.peer)
		t.PeerCount, t.PeerBytes = append(t.PeerCount, x.count), append(t.PeerBytes, x.bytes)
	}
	return t
}

// traffic restores the sums.
func (r *reader) traffic(s *moriensv1.Traffic) {
	n, peers := len(s.GetKind()), len(s.GetPeerKind())
	if !r.same("traffic of calls", n, len(s.GetFunction()), len(s.GetPath()), len(s.GetCount()), len(s.GetBytes())) ||
		!r.same("traffic with peers", peers, len(s.GetComm()), len(s.GetPeer()), len(s.GetPeerCount()), len(s.GetPeerBytes())) {
		return
	}
	of := &r.m.moved
	for i := range n {
		if s.Function[i] > math.MaxUint16 {
			r.fail("traffic of a call")
			return
		}
		of.sites.place(site{s.Kind[i], mpicall.ID(s.Function[i]), s.Path[i]}).add(s.Count[i], s.Bytes[i])
	}
	for i := range peers {
		of.routes.place(route{s.PeerKind[i], s.Comm[i], s.Peer[i]}).add(s.PeerCount[i], s.PeerBytes[i])
	}
}
