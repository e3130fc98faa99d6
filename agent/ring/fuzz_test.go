package ring_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
)

// overlay writes patch over a copy of base: pairs of a 16-bit offset and a byte. A fuzzer that had to find the
// constants of a header by itself would never get past them.
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

// grown is a ring of two segments, three records in the first and one in the second.
func grown(f *testing.F) []byte {
	f.Helper()
	dir := filepath.Join(f.TempDir(), "run")
	p, err := ringwriter.New(dir, ringwriter.Identity{LogBytes: 512})
	if err != nil {
		f.Fatal(err)
	}
	w, err := p.GrowingThread(4, 2)
	if err != nil {
		f.Fatal(err)
	}
	for i := range uint64(3) {
		w.Call(mpicall.Send, 0, i+1, i+2)
	}
	w.Call(mpicall.Send, 0, 4, 5, 6)
	p.Exit()
	file, err := os.ReadFile(filepath.Join(dir, w.FileName()))
	if err != nil || w.Segments() != 2 {
		f.Fatal(err, w.Segments())
	}
	return file
}

// sample is a directory with one process that left a ring of four records, one with counts, one with a slot of each
// kind that says what a call means, and a mark, and an open run of polls; its log has an entry of each kind.
func sample(f *testing.F) (processFile, ringFile []byte) {
	f.Helper()
	dir := filepath.Join(f.TempDir(), "run")
	p, err := ringwriter.New(dir, ringwriter.Identity{Rank: 1, Size: 2, LogBytes: 512})
	if err != nil {
		f.Fatal(err)
	}
	module := p.Module("/bin/app", []byte{1, 2})
	p.Path(ringwriter.Frame{Module: module, Offset: 3})
	p.Note("a note")
	w, err := p.Thread(16)
	if err != nil || !p.Log(commEntry()) || p.Name("phase") == 0 || p.Place("jac.py", "main", 7) == 0 {
		f.Fatal(err)
	}
	w.Call(mpicall.Init, 1, 1, 2)
	w.Call(mpicall.Send, 1, 3, 4, 10, 20)
	if !writeMeanings(w) {
		f.Fatal("no room")
	}
	w.Enter(mpicall.Test, 1, 35)
	w.Return(36)
	w.Poll(mpicall.Test, 1, 37)
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
	second := grown(f)
	const head, tail, slots, segments, segment = 128, 256, 24, 172, 384
	// Of the second segment: first, offset, slots.
	for _, patch := range [][]byte{
		{}, at(segments, 0, 4), at(segments, 1, 4), at(segments, 3, 4), at(segments, 17, 4), at(segments, 1<<32-1, 4), at(segment, 2, 8), at(segment+8, 8, 8), at(segment+16, 3, 4),
		at(segment+24, 0, 8), at(segment+24, 2, 8), at(segment+24, 5, 8), at(segment+24, ^uint64(0), 8), at(segment+32, 0, 8), at(segment+32, 4096, 8),
		at(segment+32, 4097, 8), at(segment+32, 8224, 8), at(segment+32, ^uint64(31), 8), at(segment+40, 0, 4), at(segment+40, 16, 4), at(segment+40, 1<<31, 4), at(tail, 3, 8), at(head, 3, 8),
	} {
		f.Add(patch, uint16(len(second)), true)
	}
	f.Add([]byte{}, uint16(5000), true)
	f.Add([]byte{}, uint16(len(base)), false)
	f.Add([]byte{}, uint16(len(base)-1), false)
	f.Add([]byte{}, uint16(100), false)
	f.Add(at(0, 0, 8), uint16(len(base)), false)             // no magic
	f.Add(at(8, 99, 4), uint16(len(base)), false)            // another layout
	f.Add(at(slots, 3, 4), uint16(len(base)), false)         // no power of two
	f.Add(at(slots, 0, 4), uint16(len(base)), false)         // none
	f.Add(at(slots, 1<<31, 4), uint16(len(base)), false)     // more than the file has
	f.Add(at(head, ^uint64(0), 8), uint16(len(base)), false) // head far away
	f.Add(at(head, 17, 8), uint16(len(base)), false)         // one too many
	f.Add(at(tail, 12, 8), uint16(len(base)), false)         // tail beyond head
	slot := func(n int) int { return shmabi.HeaderBytes + n*shmabi.SlotBytes }
	// Init; Send with counts; Sendrecv with counts, two transfers, a collective and two requests; a mark; an open run of
	// polls.
	const init, send, counts, sendrecv, sent, collective, request, mark, run, polls = 0, 1, 2, 3, 5, 7, 8, 10, 11, 12
	f.Add(at(slot(init)+20, 7, 4), uint16(len(base)), false)            // wrong seq
	f.Add(at(slot(init)+28, 0, 4), uint16(len(base)), false)            // a record of no slots
	f.Add(at(slot(init)+28, 255, 4), uint16(len(base)), false)          // a record of too many
	f.Add(at(slot(init)+28, 2, 4), uint16(len(base)), false)            // a record that holds another call
	f.Add(at(slot(init)+24, 65535, 2), uint16(len(base)), false)        // a mark of no kind
	f.Add(at(slot(init)+24, 0xfeff, 2), uint16(len(base)), false)       // an unknown call
	f.Add(at(slot(init), ^uint64(0), 8), uint16(len(base)), false)      // ends before it starts
	f.Add(at(slot(counts)+24, 4, 4), uint16(len(base)), false)          // more counts than the slot holds
	f.Add(at(slot(counts)+28, 5, 4), uint16(len(base)), false)          // no kind
	f.Add(at(slot(counts)+28, 0x80000077, 4), uint16(len(base)), false) // a kind of the future
	f.Add(at(slot(send)+28, 1, 4), uint16(len(base)), false)            // a record that does not hold its counts
	for kind := uint64(shmabi.SlotCounters); kind <= shmabi.SlotRequest; kind++ {
		f.Add(at(slot(sent)+28, kind, 4), uint16(len(base)), false) // each kind, made of another's bytes
		f.Add(at(slot(polls)+28, kind, 4), uint16(len(base)), false)
	}
	f.Add(at(slot(sent)+16, 1<<31, 4), uint16(len(base)), false)       // no such peer
	f.Add(at(slot(collective)+20, 1<<31, 4), uint16(len(base)), false) // no such root
	f.Add(at(slot(request)+24, 99, 4), uint16(len(base)), false)       // no such event
	f.Add(at(slot(sendrecv)+28, 8, 4), uint16(len(base)), false)       // a record that holds the mark
	f.Add(at(slot(mark)+28, 2, 4), uint16(len(base)), false)           // a mark of two slots
	f.Add(at(slot(mark)+26, 7, 2), uint16(len(base)), false)           // one with all flags
	f.Add(at(head, mark, 8), uint16(len(base)), false)                 // one that was not published
	f.Add(at(slot(mark)+24, 0xff00, 2), uint16(len(base)), false)      // a mark of no kind
	f.Add(at(slot(run)+20, 0, 4), uint16(len(base)), false)            // no open call
	f.Add(at(slot(run)+28, 17, 4), uint16(len(base)), false)           // an open call longer than the ring
	f.Add(at(slot(run)+28, 16, 4), uint16(len(base)), false)           // as long as the ring: it would hold itself
	f.Add(at(slot(run)+24, 65535, 2), uint16(len(base)), false)        // an open mark
	f.Add(at(slot(run)+24, 0xfeff, 2), uint16(len(base)), false)       // an open call without a name
	f.Add(at(slot(run)+26, 0, 2), uint16(len(base)), false)            // an unfinished call that is a run
	f.Add(at(slot(polls)+20, 0xffffffff, 4), uint16(len(base)), false) // very many polls
	f.Add(at(slot(polls), ^uint64(0), 8), uint16(len(base)), false)    // begun after the end of time
	f.Fuzz(func(t *testing.T, patch []byte, size uint16, grew bool) {
		content := overlay(base, patch)
		if grew {
			content = overlay(second, patch)
		}
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
			if slots := (len(content) - shmabi.HeaderBytes) / shmabi.SlotBytes; read > slots {
				t.Fatalf("read %d records of %d slots", read, slots)
			}
			for _, rec := range buf[:n] {
				if rec.Exit < rec.Enter || !holds(r, rec) {
					t.Fatalf("%+v", rec)
				}
			}
			if err != nil || n == 0 {
				break
			}
		}
		left, unfinished := r.Left()
		if len(left) > 2 || unfinished && len(left) == 0 {
			t.Fatalf("left %+v, unfinished %v", left, unfinished)
		}
		for _, rec := range left {
			if !holds(r, rec) {
				t.Fatalf("left %+v", rec)
			}
		}
	})
}

// holds reports whether no record has more than its ring can.
func holds(r *ring.Reader, rec ring.Record) bool {
	meanings := len(rec.Transfers) + len(rec.Requests) + len(rec.Polls)
	return len(rec.Counts) <= shmabi.MaxEvents && meanings < r.Slots() && (rec.Mark == 0 || rec.Call == 0 && meanings == 0 && rec.Exit == rec.Enter)
}

func FuzzProcess(f *testing.F) {
	base, _ := sample(f)
	const logHead = 144
	const log = shmabi.HeaderBytes
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
	const comm = log + 56 + 32 + 16                      // after a module, a path and a note
	const ranks = comm + 40
	const name = ranks + 24
	const place = name + 24
	f.Add(at(comm+6, 65535, 2), uint16(len(base)))        // more ranks than the entry holds
	f.Add(at(comm+8, 0, 4), uint16(len(base)))            // communicator 0
	f.Add(at(comm+12, 31, 4), uint16(len(base)))          // all that a communicator can be
	f.Add(at(comm+24, 6, 4), uint16(len(base)))           // a rank that it does not have
	f.Add(at(comm+28, 0, 4), uint16(len(base)))           // of no size
	f.Add(at(comm+32, ^uint64(0), 4), uint16(len(base)))  // of more peers than were reported
	f.Add(at(ranks+8, ^uint64(0), 4), uint16(len(base)))  // of fewer
	f.Add(at(name+6, 65535, 2), uint16(len(base)))        // a name longer than its entry
	f.Add(at(name, 8, 4), uint16(len(base)))              // one without its fixed part
	f.Add(at(name+8, 0, 4), uint16(len(base)))            // name 0
	f.Add(at(name+16, 0xff, 1), uint16(len(base)))        // not UTF-8
	f.Add(at(place+6, 65535, 2), uint16(len(base)))       // a place longer than its entry
	f.Add(at(place, 16, 4), uint16(len(base)))            // one without its fixed part
	f.Add(at(place+8, 0, 4), uint16(len(base)))           // place 0
	f.Add(at(place+12, ^uint64(0), 4), uint16(len(base))) // an invalid line
	f.Add(at(place+16, 11, 4), uint16(len(base)))         // a file's name longer than all of it
	f.Add(at(place+24, 0xff, 1), uint16(len(base)))       // not UTF-8
	f.Add(at(32, 0xffffffff, 4), uint16(len(base)))       // rank -1
	f.Add(at(44, 9, 4), uint16(len(base)))                // an unknown clock
	const threads, failed, fault = 132, 136, 140
	for _, count := range []int{152, 160, 168, 176} {
		f.Add(at(count, ^uint64(0), 8), uint16(len(base)))    // a negative number of what was lost
		f.Add(at(count, ring.MaxCount, 8), uint16(len(base))) // as many as can be
	}
	f.Add(at(threads, 0xffffffff, 4), uint16(len(base))) // no such number of threads
	f.Add(at(failed, 0x80000000, 4), uint16(len(base)))  // more without a ring than there are
	f.Add(at(fault, 0xffffffff, 4), uint16(len(base)))   // no such reason
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
		p.State()
		l := p.Losses()
		damaged, lossesErr := p.Damaged()
		if lossesErr != nil != (damaged > 0) || lossesErr != nil && !errors.Is(lossesErr, ring.ErrCorrupt) {
			t.Fatalf("%d figures: %v", damaged, lossesErr)
		}
		if threads := p.Threads(); threads < 0 || threads > l.Threads || l.ThreadsFailed > l.Threads || l.Fault > 4095 || max(l.Unrecorded, l.PathsLost, l.NamesLost, l.CommsLost) > ring.MaxCount {
			t.Fatalf("%d threads, %+v", threads, l)
		}
		first, err := p.ReadLog()
		for _, c := range first.Comms {
			listed := uint64(0)
			for _, r := range c.Ranks {
				listed += uint64(r.Count)
			}
			if c.Rank < 0 || c.Rank >= c.Size || listed > uint64(c.Peers) || !c.Cut && listed < uint64(c.Peers) {
				t.Fatalf("%+v", c)
			}
		}
		for _, n := range first.Names {
			if !utf8.ValidString(n.Text) {
				t.Fatalf("%+v", n)
			}
		}
		if err != nil && !errors.Is(err, ring.ErrCorrupt) {
			t.Fatal(err)
		}
		log, again := p.ReadLog()
		if len(log.Modules)+len(log.Paths)+len(log.Notes)+len(log.Unseen)+len(log.Places)+len(log.Comms)+len(log.Names) != 0 || (again == nil) != (err == nil) {
			t.Fatalf("a second read gave %v, %v", log, again)
		}
	})
}
