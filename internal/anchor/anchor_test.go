package anchor_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"moriens/internal/anchor"
)

func TestAfter(t *testing.T) {
	for _, tt := range []struct{ anchors, window, first uint64 }{
		{0, 0, 0}, {1, 1, 1}, {4095, 4095, 4095}, {4096, 4096, 4096}, {4097, 4096, 4096}, {4098, 4097, 4098},
		{3*4096 - 1, 8191, 3*4096 - 2}, {3 * 4096, 8192, 3 * 4096}, {3*4096 + 3, 8192, 3 * 4096}, {1_000_000, 32420, 999_936},
	} {
		w := anchor.After(tt.anchors)
		if w != anchor.ID(tt.window<<16) || w.Anchors() != tt.first {
			t.Errorf("behind %d anchors: window %d behind %d, want %d behind %d", tt.anchors, w>>16, w.Anchors(), tt.window, tt.first)
		}
	}
}

func TestWindowsGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(0, 1<<40).Draw(t, "anchors")
		w, next := anchor.After(n), anchor.After(n+1)
		if next < w || w.Anchors() > n || next != w && next.Anchors() != n+1 {
			t.Fatalf("%d anchors: %d behind %d, then %d behind %d", n, w, w.Anchors(), next, next.Anchors())
		}
		at := time.Duration(rapid.Int64Range(0, 1<<58).Draw(t, "since"))
		part, later := w.At(at), w.At(at+time.Second)
		if part < w || later < part || later >= anchor.After(1<<60) || part.Anchors() != w.Anchors() {
			t.Fatalf("%v in window %d: part %d, a second later %d", at, w, part, later)
		}
	})
}

func TestParts(t *testing.T) {
	w := anchor.After(7)
	for _, tt := range []struct {
		since time.Duration
		part  anchor.ID
	}{
		{-time.Second, 0}, {0, 0}, {10*time.Second - 1, 0}, {10 * time.Second, 1}, {639 * time.Second, 63}, {640 * time.Second, 64}, {659 * time.Second, 64},
		{660 * time.Second, 65}, {1<<63 - 1, 1453},
	} {
		if got := w.At(tt.since); got != w+tt.part {
			t.Errorf("%v: part %d, want %d", tt.since, got-w, tt.part)
		}
	}
}

func TestHashIsEven(t *testing.T) {
	var below [4]int
	const windows = 100_000
	for n := range uint64(windows) {
		below[anchor.ID(n<<16).Hash("run")>>62]++
	}
	for quarter, n := range below {
		if n < windows/4*95/100 || n > windows/4*105/100 {
			t.Errorf("quarter %d has %d windows: %v", quarter, n, below)
		}
	}
	if anchor.After(3).Hash("a") == anchor.After(3).Hash("b") {
		t.Error("two runs have the same order")
	}
}

// The windows that are compared stand for all, each for as many as its share says: over many runs that is their number,
// and that of pairs of different windows.
func TestSharesAreUnbiased(t *testing.T) {
	const runs = 2000
	for _, part := range []anchor.ID{1 << 16, 1, 1<<16 + 1} {
		const windows = 3000
		var sum, squares, variance, pairs float64
		for run := range runs {
			name, n := fmt.Sprintf("run %d", run), 0.
			for i := range anchor.ID(windows) {
				if w := i * part; w.Compared(name) {
					n += 1 / w.Share()
				}
			}
			sum += n
			squares += n * n
			for i := range anchor.ID(windows - 1) { // messages that are sent in one and received in the next
				if w, next := i*part, (i+1)*part; w.Compared(name) && next.Compared(name) {
					pairs += 1 / (w.Share() * next.Share())
				}
			}
		}
		for i := range anchor.ID(windows) {
			share := (i * part).Share()
			variance += 1/share - 1 // of the sum, if windows are chosen independently
		}
		mean := sum / runs
		if error := math.Sqrt(variance / runs); math.Abs(mean-windows) > 5*error {
			t.Errorf("by %d: %.1f windows of %d, five standard errors are %.1f", part, mean, windows, 5*error)
		}
		if got := squares/runs - mean*mean; got < .8*variance || got > 1.2*variance {
			t.Errorf("by %d: the variance is %.0f, want %.0f", part, got, variance)
		}
		pairVariance := 0.
		for i := range anchor.ID(windows - 1) { // neighbours have a window in common
			share := (i * part).Share()
			pairVariance += 1/(share*((i+1)*part).Share()) - 1 + 2*(1/share-1)
		}
		if n, error := pairs/runs, math.Sqrt(pairVariance/runs); math.Abs(n-(windows-1)) > 5*error {
			t.Errorf("by %d: %.0f pairs of %d, five standard errors are %.0f", part, n, windows-1, 5*error)
		}
	}
	for _, tt := range []struct {
		w    anchor.ID
		want float64
	}{{63 << 16, 1}, {64 << 16, .5}, {127 << 16, .5}, {128 << 16, .25}, {63, 1}, {64, .5}, {64<<16 + 128, .125}} {
		if got := tt.w.Share(); got != tt.want {
			t.Errorf("window %#x has share %v, want %v", tt.w, got, tt.want)
		}
	}
}

func TestComparedGrowsWithTheLogarithm(t *testing.T) {
	for _, part := range []anchor.ID{1 << 16, 1} { // windows, and parts of one
		n := 0
		for i := range anchor.ID(1 << 14) {
			if (i * part).Compared("run") {
				n++
			}
			switch i + 1 {
			case 64:
				if n != 64 {
					t.Errorf("of the first 64 by %d: %d", part, n)
				}
			case 1 << 14:
				if want := 64 + 8*32; n < want*8/10 || n > want*12/10 {
					t.Errorf("of the first 16,384 by %d: %d, want about %d", part, n, want)
				}
			}
		}
	}
}
