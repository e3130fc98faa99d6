package match

import (
	"maps"
	"testing"

	"moriens/internal/mpix"
)

// What one member knows of sends and receives without an end all get, as what it was.
func TestShareOpen(t *testing.T) {
	sent, received := open{process: 1, comm: 7, peer: 2, tag: 3}, open{process: 2, comm: 8, peer: -1, tag: -1, receive: true}
	want := map[open]Gap{sent: {10, 20}, received: {30, 40}}
	all := make([]map[open]Gap, 2)
	if err := mpix.Each(2, func(m mpix.Transport) error {
		p := NewPostings()
		own := []open{sent, received}[m.Rank()]
		p.open[own] = want[own]
		all[m.Rank()] = p.open
		return p.shareOpen(m)
	}); err != nil {
		t.Fatal(err)
	}
	for rank, got := range all {
		if !maps.Equal(got, want) {
			t.Errorf("member %d: %v, want %v", rank, got, want)
		}
	}
}
