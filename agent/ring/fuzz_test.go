package ring_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
)

// overlay writes patch over a copy of base: pairs of a 16-bit offset and a byte. A fuzzer that had to
// find the constants of a header by itself would never come past them.
func overlay(base, patch []byte) []byte {
	out := bytes.Clone(base)
	for ; len(patch) >= 3; patch = patch[3:] {
		out[int(binary.LittleEndian.Uint16(patch))%len(out)] = patch[2]
	}
	return out
}

// at is a patch of one little-endian value.
func at(offset int, value uint64, size int) []byte {
	var patch []byte
	for i := range size {
		patch = binary.LittleEndian.AppendUint16(patch, uint16(offset+i))
		patch = append(patch, byte(value>>(8*i)))
	}
	return patch
}

// sample is a directory with one process that left a ring of two calls, one of them with counts, two marks, and an
// open run of polls.
func sample(f *testing.F) (processFile, ringFile []byte) {
	f.Helper()
	dir := filepath.Join(f.TempDir(), "run")
	p, err := ringwriter.New(dir, ringwriter.Identity{Rank: 1, Size: 2, LogBytes: 256})
	if err != nil {
		f.Fatal(err)
	}
	module := p.Module("/bin/app", []byte{1, 2})
	p.Path(ringwriter.Frame{Module: module, Offset: 3})
	p.Note("a note")
	name := p.Name("a phase")
	w, err := p.Thread(16)
	if err != nil {
		f.Fatal(err)
	}
	w.Call(mpicall.Init, 1, 1, 2)
	w.Call(mpicall.Send, 1, 3, 4, 10, 20)
	w.Mark(shmabi.MarkBegin, name, 4, 0)
	w.Mark(shmabi.MarkEvent, name, 4, -5)
	w.Enter(mpicall.Test, 1, 5)
	w.Return(6)
	w.Poll(mpicall.Test, 1, 7)
	p.Exit()
	processFile, err = os.ReadFile(filepath.Join(dir, p.FileName()))
	if err != nil {
		f.Fatal(err)
	}
	ringFile, err = os.ReadFile(filepath.Join(dir, w.FileName()))
	if err != nil {
		f.Fatal(err)
	}
	return processFile, ringFile
}

func FuzzRing(f *testing.F) {
	_, base := sample(f)
	const head, tail, slots = 128, 256, 24
	f.Add([]byte{}, uint16(len(base)))
	f.Add([]byte{}, uint16(len(base)-1))
	f.Add([]byte{}, uint16(100))
	f.Add(at(0, 0, 8), uint16(len(base)))             // no magic
	f.Add(at(8, 99, 4), uint16(len(base)))            // another layout
	f.Add(at(slots, 3, 4), uint16(len(base)))         // no power of two
	f.Add(at(slots, 0, 4), uint16(len(base)))         // none
	f.Add(at(slots, 1<<31, 4), uint16(len(base)))     // more than the file has
	f.Add(at(head, ^uint64(0), 8), uint16(len(base))) // head far away
	f.Add(at(head, 17, 8), uint16(len(base)))         // one too many
	f.Add(at(tail, 6, 8), uint16(len(base)))          // tail beyond head
	const (
		slot0 = shmabi.HeaderBytes + shmabi.SlotBytes*iota
		slot1
		slot2
		mark0
		mark1
		slot3
		slot4
	)
	f.Add(at(slot0+20, 7, 4), uint16(len(base)))          // wrong seq
	f.Add(at(slot0+28, 0, 4), uint16(len(base)))          // a record of no slots
	f.Add(at(slot0+28, 255, 4), uint16(len(base)))        // a record of too many
	f.Add(at(slot0+28, 2, 4), uint16(len(base)))          // a record that holds another call
	f.Add(at(slot0+24, 65535, 2), uint16(len(base)))      // an unknown call
	f.Add(at(slot0, ^uint64(0), 8), uint16(len(base)))    // ends before it starts
	f.Add(at(slot2+24, 4, 4), uint16(len(base)))          // more counts than the slot holds
	f.Add(at(slot2+28, 5, 4), uint16(len(base)))          // no kind
	f.Add(at(slot2+28, 0x80000077, 4), uint16(len(base))) // a kind of the future
	f.Add(at(slot1+28, 1, 4), uint16(len(base)))          // a record that does not hold its counts
	f.Add(at(mark0+24, 0xff77, 2), uint16(len(base)))     // a mark of the future
	f.Add(at(mark0+28, 2, 4), uint16(len(base)))          // a mark that holds another
	f.Add(at(mark1+26, 7, 2), uint16(len(base)))          // one with all flags
	f.Add(at(head, 3, 8), uint16(len(base)))              // one that was not published
	f.Add(at(slot3+24, 0xff01, 2), uint16(len(base)))     // a run of polls that is a mark
	f.Add(at(slot3+20, 0, 4), uint16(len(base)))          // no open call
	f.Add(at(slot3+28, 17, 4), uint16(len(base)))         // an open call longer than the ring
	f.Add(at(slot3+28, 16, 4), uint16(len(base)))         // as long as the ring: it would hold itself
	f.Add(at(slot3+24, 65535, 2), uint16(len(base)))      // an open call without a name
	f.Add(at(slot3+26, 0, 2), uint16(len(base)))          // an unfinished call that is a run
	f.Add(at(slot4+20, 0xffffffff, 4), uint16(len(base))) // very many polls
	f.Add(at(slot4, ^uint64(0), 8), uint16(len(base)))    // begun after the end of time
	f.Fuzz(func(t *testing.T, patch []byte, size uint16) {
		content := overlay(base, patch)
		content = content[:min(int(size), len(content))]
		path := filepath.Join(t.TempDir(), "fuzz.ring")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := ring.OpenReader(path)
		if err != nil {
			if !errors.Is(err, ring.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		defer r.Close()
		buf := make([]ring.Record, 3)
		for read := 0; ; {
			n, err := r.Read(buf)
			read += n
			if err != nil && !errors.Is(err, ring.ErrCorrupt) {
				t.Fatal(err)
			}
			if read > r.Slots() {
				t.Fatalf("read %d records of %d slots", read, r.Slots())
			}
			for _, rec := range buf[:n] {
				if rec.Exit < rec.Enter || rec.Mark != 0 && (rec.Call != 0 || rec.Exit != rec.Enter) {
					t.Fatalf("%+v", rec)
				}
			}
			if err != nil || n == 0 {
				break
			}
		}
		if left, unfinished := r.Left(); len(left) > 2 || unfinished && len(left) == 0 {
			t.Fatalf("left %+v, unfinished %v", left, unfinished)
		}
	})
}

func FuzzProcess(f *testing.F) {
	base, _ := sample(f)
	const logHead = 144
	const log = shmabi.HeaderBytes
	const name = log + 56 + 32 + 16 // after a module, a path of one frame and a note
	f.Add([]byte{}, uint16(len(base)))
	f.Add([]byte{}, uint16(len(base)-8))
	f.Add([]byte{}, uint16(0))
	f.Add(at(24, ^uint64(0), 8), uint16(len(base)))      // room for a log that is not there
	f.Add(at(logHead, ^uint64(0), 8), uint16(len(base))) // log beyond the file
	f.Add(at(logHead, 4, 8), uint16(len(base)))          // half an entry
	f.Add(at(log, 0, 4), uint16(len(base)))              // an entry of no bytes
	f.Add(at(log, 9, 4), uint16(len(base)))              // unaligned
	f.Add(at(log, 8, 4), uint16(len(base)))              // too short for a module
	f.Add(at(log, 1<<30, 4), uint16(len(base)))          // too long
	f.Add(at(log+4, 77, 2), uint16(len(base)))           // a kind of the future
	f.Add(at(log+6, 65535, 2), uint16(len(base)))        // a path longer than its entry
	f.Add(at(log+12, 33, 4), uint16(len(base)))          // a build id longer than its field
	f.Add(at(log+8, 0, 4), uint16(len(base)))            // module 0
	f.Add(at(log+56+6, 65535, 2), uint16(len(base)))     // more frames than the entry holds
	f.Add(at(log+56+8, 0, 4), uint16(len(base)))         // path 0
	f.Add(at(name, 0, 4), uint16(len(base)))             // an entry of no bytes where the name is
	f.Add(at(name+6, 65535, 2), uint16(len(base)))       // a name longer than its entry
	f.Add(at(name+8, 0, 4), uint16(len(base)))           // name 0
	f.Add(at(32, 0xffffffff, 4), uint16(len(base)))      // rank -1
	f.Add(at(44, 9, 4), uint16(len(base)))               // an unknown clock
	f.Fuzz(func(t *testing.T, patch []byte, size uint16) {
		content := overlay(base, patch)
		content = content[:min(int(size), len(content))]
		path := filepath.Join(t.TempDir(), "fuzz.process")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := ring.OpenProcess(path)
		if err != nil {
			if !errors.Is(err, ring.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		defer p.Close()
		_ = p.State().String()
		p.Losses()
		_, err = p.ReadLog()
		if err != nil && !errors.Is(err, ring.ErrCorrupt) {
			t.Fatal(err)
		}
		log, again := p.ReadLog()
		if len(log.Modules)+len(log.Paths)+len(log.Notes)+len(log.Names) != 0 || (again == nil) != (err == nil) {
			t.Fatalf("a second read gave %v, %v", log, again)
		}
	})
}
