//go:build !quick

package window_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"moriens/agent/window"
	"moriens/internal/anchor"
	"moriens/internal/testenv"
	moriensv1 "moriens/proto/moriens/v1"
)

// disk is a small one with a store, and a file that takes what room there is.
type disk struct {
	t            *testing.T
	dir, windows string
}

func diskOf(t *testing.T, options string) *disk {
	t.Helper()
	testenv.NeedRoot(t)
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, options); err != nil {
		testenv.Lacking(t, "cannot mount a tmpfs here: "+err.Error())
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return &disk{t, dir, filepath.Join(dir, "windows")}
}

// fill leaves so many bytes free.
func (d *disk) fill(free int64) {
	d.t.Helper()
	f, err := os.Create(filepath.Join(d.dir, "full"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	info, err := f.Stat()
	if err == nil {
		err = f.Truncate(info.Size() - free)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *disk) free() {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.dir, "full")); err != nil {
		d.t.Fatal(err)
	}
}

// On a full disk what cannot be written is counted, and the next windows are held; where not even that can be written
// down the transaction recurs, and nothing of it is lost once there is room.
func TestFullDisk(t *testing.T) {
	d := diskOf(t, "size=4m")
	s := openAt(t, d.windows, 0, 0)
	defer func() { s.Close() }()
	j := &job{ranks: 2, sends: 300, skip: 64}
	if _, err := s.Append(j.introduce()); err != nil {
		t.Fatal(err)
	}
	said := make(map[place]moves)
	j.play(t, s, 2, 3, 3, said, nil)
	number := uint64(5)
	lost, failed, random := 0, 0, rand.New(rand.NewPCG(1, 2))
	for i := range 16 {
		for page := int64(os.Getpagesize()); i%2 == 0 && s.StateBytes()%page < page-100; { // the state log needs room next
			why := make([]byte, min(900, page-s.StateBytes()%page-60))
			for k := range why {
				why[k] = byte('a' + random.IntN(26)) // which do not become much less
			}
			if got := s.Keep(&moriensv1.Keep{Why: moriensv1.Keep_WHY_PINNED, Window: []uint64{uint64(j.window(500))}, Reason: string(why)}); got.Error != "" {
				t.Fatal(got)
			}
		}
		d.fill(0)
		x := j.iterate(number, 3)
		_, err := s.Append(x)
		if err != nil && (!errors.Is(err, syscall.ENOSPC) || s.Last() != number-1) {
			t.Fatalf("behind %d: %v", s.Last(), err)
		}
		if err != nil {
			failed++
			d.free()
			if _, err := s.Append(x); err != nil {
				t.Fatal(err)
			}
		} else {
			d.free()
		}
		j.say(x.Moves, said)
		torn := 0
		for i := range 3 {
			for process := range uint64(2) {
				if s.Torn(process+1, j.window(j.done-1-i)) {
					torn++
				}
			}
		}
		if err != nil && torn > 0 {
			t.Fatalf("%v, and then %d windows are torn", err, torn)
		}
		lost += torn
		number++
		j.play(t, s, number, 1, 3, said, nil)
		number++
		held := holds(t, s, said)
		if len(held)+lost != len(said) {
			t.Fatalf("%d windows are held of %d, %d could not be written", len(held), len(said), lost)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openAt(t, d.windows, 0, number-1)
		if again := holds(t, s, said); len(again) != len(held) || s.Failed() != nil {
			t.Fatalf("restarted: %d windows are held, it were %d, %v", len(again), len(held), s.Failed())
		}
	}
	t.Logf("%d windows could not be written, %d transactions failed", lost, failed)
	if lost == 0 || failed == 0 {
		t.Errorf("%d windows could not be written, %d transactions failed", lost, failed)
	}
}

// What is marked moves on a full disk too: the log that it was in makes room.
func TestFullDiskEvicts(t *testing.T) {
	d := diskOf(t, "size=2m")
	bound := int64(1 << 30)
	s, err := window.Open(window.Config{Run: run, Dir: d.windows, Log: quiet, Max: func() int64 { return bound }})
	if err != nil {
		t.Fatal(err)
	}
	j := &job{ranks: 2, sends: 100, skip: 64}
	if _, err := s.Append(j.introduce()); err != nil {
		t.Fatal(err)
	}
	pins := j.names(60)
	pins = slices.DeleteFunc(pins, func(w uint64) bool { return w>>22%4 != 0 })
	if got := s.Keep(&moriensv1.Keep{Why: moriensv1.Keep_WHY_PINNED, Window: pins}); got.Error != "" {
		t.Fatal(got)
	}
	said := make(map[place]moves)
	j.play(t, s, 2, 20, 3, said, nil)
	before := s.Stats()
	d.fill(0)
	bound = 2 * before.Bytes / 3
	j.play(t, s, 22, 1, 3, said, nil)
	held := holds(t, s, said)
	for _, w := range pins {
		for process := range uint64(2) {
			if at := (place{process + 1, anchor.ID(w)}); !held[at] {
				t.Errorf("%v, pinned, is gone", at)
			}
		}
	}
	if len(held) == len(said) || len(held) == len(pins) || s.Failed() != nil {
		t.Errorf("%d of %d windows are held, %d are pinned for 2 processes, %v", len(held), len(said), len(pins), s.Failed())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, d.windows, bound, 22) // the disk is full still
	defer s.Close()
	if !maps.Equal(holds(t, s, said), held) || s.Failed() != nil {
		t.Errorf("restarted, others are held, %v", s.Failed())
	}
}
