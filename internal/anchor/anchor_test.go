package anchor_test

import (
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
