package message

import (
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/internal/mpicall"
)

// checkTraffic compares the sums with what was sent. calls are the records by ring and row.
func checkTraffic(t *rapid.T, f *follower, calls map[[2]uint64]site) {
	type moved struct{ Count, Bytes uint64 }
	sites, routes := make(map[site]moved), make(map[route]moved)
	for _, o := range f.got.all {
		at := calls[[2]uint64{o.Ring, o.Row}]
		at.kind = o.Kind
		to := route{o.Kind, o.Comm, o.Peer}
		sites[at] = moved{sites[at].Count + 1, sites[at].Bytes + o.Bytes}
		routes[to] = moved{routes[to].Count + 1, routes[to].Bytes + o.Bytes}
	}
	s := f.m.Traffic()
	gotSites, gotRoutes := make(map[site]moved), make(map[route]moved)
	for i, kind := range s.Kind {
		gotSites[site{kind, mpicall.ID(s.Function[i]), s.Path[i]}] = moved{s.Count[i], s.Bytes[i]}
	}
	for i, kind := range s.PeerKind {
		gotRoutes[route{kind, s.Comm[i], s.Peer[i]}] = moved{s.PeerCount[i], s.PeerBytes[i]}
	}
	all := gocmp.AllowUnexported(site{}, route{})
	if d := gocmp.Diff(sites, gotSites, all); d != "" || len(s.Kind) != len(gotSites) {
		t.Fatalf("sums by calls differ (-want +got):\n%s", d)
	}
	if d := gocmp.Diff(routes, gotRoutes, all); d != "" || len(s.PeerKind) != len(gotRoutes) {
		t.Fatalf("sums by peers differ (-want +got):\n%s", d)
	}
}
