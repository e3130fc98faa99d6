package journal

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"moriens/internal/segment"
)

// A countedDisk counts its syncs.
type countedDisk struct{ records, syncs int }

func (d *countedDisk) Append(records ...[]byte) (segment.Position, error) {
	d.records += len(records)
	return segment.Position{}, nil
}

func (d *countedDisk) Sync() error {
	d.syncs++
	return nil
}

func (d *countedDisk) TakeBack() error { return nil }
func (d *countedDisk) Bytes() int64    { return 0 }

// writing runs a test in virtual time, with a writer on a disk that takes no time.
func writing(t *testing.T, test func(t *testing.T, w *writer, d *countedDisk)) {
	synctest.Test(t, func(t *testing.T) {
		d := &countedDisk{}
		w := newWriter(d, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.run(ctx) })
		test(t, w, d)
		stop()
		running.Wait()
	})
}

// What arrives within a tenth of a second is synced together, and nothing waits longer.
func TestWrittenTogether(t *testing.T) {
	writing(t, func(t *testing.T, w *writer, d *countedDisk) {
		for range 1000 {
			began := time.Now()
			w.addLater([]byte("x"), func() {
				if took := time.Since(began); took > commitEvery {
					t.Errorf("safe after %v", took)
				}
			})
			time.Sleep(3 * time.Millisecond)
		}
		time.Sleep(commitEvery)
		synctest.Wait()
		if d.records != 1000 || d.syncs > 31 {
			t.Errorf("%d records in %d syncs", d.records, d.syncs)
		}
	})
}

// Nothing waits where somebody waits for it, or where much would.
func TestWrittenAtOnce(t *testing.T) {
	writing(t, func(t *testing.T, w *writer, d *countedDisk) {
		syncs := func(want int) {
			t.Helper()
			synctest.Wait()
			if d.syncs != want {
				t.Fatalf("%d syncs, want %d", d.syncs, want)
			}
		}
		w.addLater(make([]byte, commitFrom-1), nil)
		syncs(0)
		w.addLater([]byte("x"), nil)
		syncs(1)
		w.addLater([]byte("x"), nil)
		syncs(1)
		w.add([]byte("x"), nil)
		syncs(2)
		w.addLater([]byte("x"), nil)
		if err := w.flush(t.Context()); err != nil {
			t.Error(err)
		}
		syncs(3)
	})
}
