//go:build !quick

package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"moriens/internal/segment"
)

// A faultyDisk refuses to write or to sync as often as it is asked to. What was appended and not synced when a sync
// fails is lost, and the next sync says nothing of it, as on Linux.
type faultyDisk struct {
	mu      sync.Mutex
	random  *rand.Rand
	faults  float64 // share of calls that fail
	safe    []string
	pending []string
	lost    bool // of pending
}

func (d *faultyDisk) fails() error {
	if d.random.Float64() < d.faults {
		return fmt.Errorf("write: %w", syscall.ENOSPC)
	}
	return nil
}

func (d *faultyDisk) Append(records ...[]byte) (segment.Position, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails(); err != nil {
		return segment.Position{}, err
	}
	for _, r := range records {
		d.pending = append(d.pending, string(r))
	}
	return segment.Position{}, nil
}

func (d *faultyDisk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails(); err != nil {
		d.lost = true
		return err
	}
	if !d.lost {
		d.safe = append(d.safe, d.pending...)
	}
	d.pending, d.lost = nil, false
	return nil
}

func (d *faultyDisk) TakeBack() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails(); err != nil {
		return err
	}
	d.pending, d.lost = nil, false
	return nil
}

func (d *faultyDisk) Bytes() int64 { return 0 }

func (d *faultyDisk) setFaults(share float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = share
}

func (d *faultyDisk) has() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.safe)
}

// runWriter starts a writer and returns what ends it.
func runWriter(t *testing.T, d disk, log io.Writer) (*writer, func()) {
	w := newWriter(d, slog.New(slog.NewTextHandler(log, nil)))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		w.run(ctx)
		close(ended)
	}()
	return w, func() {
		stop()
		<-ended
	}
}

// However a disk fails: what is called safe is on it, and in the end everything is, once and in order.
func TestNothingUnsafeIsCalledSafe(t *testing.T) {
	for seed := range uint64(20) {
		d := &faultyDisk{random: rand.New(rand.NewPCG(seed, 1)), faults: .3}
		w, end := runWriter(t, d, io.Discard)
		const records = 60
		for i := range records {
			w.add([]byte(fmt.Sprint(i)), func() {
				if has := d.has(); has < i+1 {
					t.Errorf("seed %d: record %d is called safe, %d are on the disk", seed, i, has)
				}
			})
			if i%20 == 0 {
				time.Sleep(3 * time.Millisecond)
			}
		}
		time.AfterFunc(300*time.Millisecond, func() { d.setFaults(0) })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		if err := w.flush(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		end()
		if len(d.safe) != records || len(w.queue) > 0 {
			t.Fatalf("seed %d: %d records on the disk, want %d", seed, len(d.safe), records)
		}
		for i, r := range d.safe {
			if r != fmt.Sprint(i) {
				t.Fatalf("seed %d: record %d is %s", seed, i, r)
			}
		}
	}
}

// A full disk is reported once, agents have to wait when much waits already, and it is over when there is room.
func TestFullDiskIsOver(t *testing.T) {
	d := &faultyDisk{random: rand.New(rand.NewPCG(1, 1)), faults: 1}
	var log bytes.Buffer
	w, end := runWriter(t, d, &log)
	big := make([]byte, 1<<20)
	for w.room(canceled()) == nil {
		w.add(big, func() {})
	}
	if w.bytes < waitingBytes || w.bytes > waitingBytes+len(big) {
		t.Errorf("%d bytes wait, %d may", w.bytes, waitingBytes)
	}
	waited := make(chan error)
	go func() { waited <- w.room(t.Context()) }()
	for failures := uint64(0); failures < 3; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		failures = w.stats.Failures
		if failures > 0 && !strings.Contains(w.stats.Failing, "no space left") {
			t.Errorf("failing: %q", w.stats.Failing)
		}
		w.mu.Unlock()
	}
	select {
	case err := <-waited:
		t.Fatalf("there is room: %v", err)
	default:
	}
	d.setFaults(0)
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if err := w.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	end()
	if w.stats.Failing != "" || w.bytes != 0 || w.records != 0 || w.stats.Records != uint64(len(d.safe)) || w.stats.Syncs == 0 {
		t.Errorf("%+v, %d bytes", w.stats, w.bytes)
	}
	if n := strings.Count(log.String(), "cannot be written"); n != 1 || strings.Count(log.String(), "can be written again") != 1 {
		t.Errorf("said %d times:\n%s", n, &log)
	}
}

// A writer that ends while the disk is full says nothing is safe that is not.
func TestEndWhileFull(t *testing.T) {
	d := &faultyDisk{random: rand.New(rand.NewPCG(1, 1)), faults: 1}
	w, end := runWriter(t, d, io.Discard)
	w.add([]byte("x"), func() { t.Error("called safe") })
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("enough"))
	defer cancel()
	if err := w.flush(ctx); err == nil || err.Error() != "enough" {
		t.Errorf("flush: %v", err)
	}
	end()
	if len(w.queue) == 0 || len(d.safe) != 0 {
		t.Error("it is on the disk")
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
