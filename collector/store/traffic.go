package store

import (
	"fmt"
	"math"

	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// Traffic is what a process has moved, in sum, as far as it has reported.
type Traffic struct {
	Sites     []Site
	Routes    []Route
	Transfers uint64 // all of them
}

// A Site is calls that posted transfers of a kind.
type Site struct {
	Kind         uint8  // moriensv1.Transfers_Kind
	Path         uint32 // Store's number of the call path
	Count, Bytes uint64
}

// A Route is the peer to which or from which transfers of a kind went.
type Route struct {
	Kind         uint8
	Comm         uint32 // of Process.Comms; 0 = unknown
	Peer         int32  // AnyRank: not known
	Count, Bytes uint64
}

// addTraffic takes the sums of a process in the place of those before.
func (s *Store) addTraffic(x *moriensv1.Traffic) error {
	p := s.processes[x.Process]
	if p == nil {
		return fmt.Errorf("traffic of unknown process %016x", x.Process)
	}
	t, err := s.sums(p, x)
	if err != nil {
		return fmt.Errorf("process %016x, traffic: %w", x.Process, err)
	}
	p.Traffic = t
	s.count(p)
	return nil
}

// count counts what a process has moved: what it has reported, or what arrived, if that is more.
func (s *Store) count(p *Process) {
	n := max(p.received, p.Traffic.Transfers)
	s.totals.Transfers += n - p.counted
	p.counted = n
}

// sums validates what a process has moved.
func (s *Store) sums(p *Process, x *moriensv1.Traffic) (Traffic, error) {
	n, peers := len(x.Kind), len(x.PeerKind)
	if len(x.Function) != n || len(x.Path) != n || len(x.Count) != n || len(x.Bytes) != n {
		return Traffic{}, fmt.Errorf("columns of %d, %d, %d, %d and %d calls", n, len(x.Function), len(x.Path), len(x.Count), len(x.Bytes))
	}
	if len(x.Comm) != peers || len(x.Peer) != peers || len(x.PeerCount) != peers || len(x.PeerBytes) != peers {
		return Traffic{}, fmt.Errorf("columns of %d, %d, %d, %d and %d peers", peers, len(x.Comm), len(x.Peer), len(x.PeerCount), len(x.PeerBytes))
	}
	var t Traffic
	transfers, err := total(x.Kind, x.Count)
	if err != nil {
		return Traffic{}, err
	}
	routed, err := total(x.PeerKind, x.PeerCount)
	if err != nil {
		return Traffic{}, err
	}
	if routed != transfers {
		return Traffic{}, fmt.Errorf("%d transfers by calls and %d by peers", transfers, routed)
	}
	if transfers < p.Traffic.Transfers {
		return Traffic{}, fmt.Errorf("%d transfers, there have been %d", transfers, p.Traffic.Transfers)
	}
	for i, f := range x.Function {
		if f > math.MaxUint16 || !mpicall.ID(f).Known() {
			return Traffic{}, fmt.Errorf("unknown MPI function %d", f)
		}
		if _, known := p.local[x.Path[i]]; !known && x.Path[i] != 0 {
			return Traffic{}, fmt.Errorf("call path %d is not defined", x.Path[i])
		}
	}
	for i, comm := range x.Comm {
		if err := p.peer(comm, x.Peer[i]); err != nil {
			return Traffic{}, err
		}
	}
	for i, f := range x.Function {
		t.Sites = append(t.Sites, Site{uint8(x.Kind[i]), s.paths.number(p, mpicall.ID(f), x.Path[i]), x.Count[i], min(x.Bytes[i], math.MaxInt64)})
	}
	for i, comm := range x.Comm {
		t.Routes = append(t.Routes, Route{uint8(x.PeerKind[i]), comm, x.Peer[i], x.PeerCount[i], min(x.PeerBytes[i], math.MaxInt64)})
	}
	t.Transfers = transfers
	return t, nil
}

// maxTransfers is more than any process has.
const maxTransfers = 1 << 56

// total adds up how many transfers of each kind there were.
func total(kinds []moriensv1.Transfers_Kind, counts []uint64) (sum uint64, err error) {
	for i, n := range counts {
		if kinds[i] <= moriensv1.Transfers_KIND_UNSPECIFIED || kinds[i] > moriensv1.Transfers_KIND_READ {
			return 0, fmt.Errorf("kind %d", kinds[i])
		}
		if n == 0 || n > maxTransfers-sum {
			return 0, fmt.Errorf("%d transfers and %d", sum, n)
		}
		sum += n
	}
	return sum, nil
}
