package match

import (
	"errors"
	"maps"
	"sync"
	"testing"

	"moriens/internal/mpix"
)

// What one member knows of sends and receives without an end all get, as what it was.
func TestShareOpen(t *testing.T) {
	sent, received := open{process: 1, comm: 7, peer: 2, tag: 3}, open{process: 2, comm: 8, peer: -1, tag: -1, receive: true}
	want := map[open]Gap{sent: {10, 20}, received: {30, 40}}
	all := make([]map[open]Gap, 2)
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for rank, x := range mpix.Local(2) {
		wg.Go(func() {
			p := NewPostings()
			own := []open{sent, received}[rank]
			p.open[own] = want[own]
			all[rank], errs[rank] = p.open, p.shareOpen(x)
			x.Close()
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for rank, got := range all {
		if !maps.Equal(got, want) {
			t.Errorf("member %d: %v, want %v", rank, got, want)
		}
	}
}
