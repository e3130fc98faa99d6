package message

import (
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/internal/sums"
)

// checkSums compares the sums with what was sent. calls are the records by ring and row.
func checkSums(t *rapid.T, f *follower, calls map[[2]uint64]placeKey) {
	type moved struct{ Count, Bytes uint64 }
	want, got := make(map[sums.Key]moved), make(map[sums.Key]moved)
	for _, o := range f.got.all {
		if o.Kind == wasMet { // moves nothing
			continue
		}
		at := calls[[2]uint64{o.Ring, o.Row}]
		for _, key := range []sums.Key{sums.Site(o.Kind, at.function, at.path), sums.Peer(o.Kind, o.Comm, o.Peer)} {
			want[key] = moved{want[key].Count + 1, want[key].Bytes + o.Bytes}
		}
	}
	rows, err := sums.Decode(f.m.Sums())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		got[r.Key] = moved{r.Count, r.Bytes}
	}
	if d := gocmp.Diff(want, got); d != "" || len(rows) != len(got) {
		t.Fatalf("sums differ, %d rows (-want +got):\n%s", len(rows), d)
	}
}
