package ring

import (
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
)

// maxSlots bounds what a header may ask us to map: 2 GiB.
const maxSlots = 1 << 26

// Reader reads one ring and, on request, gives its slots back. One goroutine at a time may use it.
type Reader struct {
	// What the header says of the ring; it never changes.
	ID      uint64
	Process uint64 // the process it belongs to
	Thread  int    // ordinal within the process, 0 = the first that called MPI

	name   string
	m      *mapping
	header *shmabi.Ring
	tail   uint64 // slots that were read
	// released is how many of them were given back.
	released uint64
	unseen   uint64 // of these, the first ones, whose memory is not the reader's any more
	segments []segment
	known    uint32 // segments that the header had reported
	now      int    // index of the segment that tail is in
	err      error  // the first corruption met: the ring ends there
}

// OpenReader maps the ring at path, and has the ring say that it is read. Its first Read starts after what was
// released.
func OpenReader(path string) (*Reader, error) {
	m, err := mapFile(path, shmabi.HeaderBytes+2*maxSlots*shmabi.SlotBytes, shmabi.HeaderBytes, true)
	if err != nil {
		return nil, err
	}
	m.closeFile() // a process may have thousands of rings
	r := &Reader{name: path, m: m, header: at[shmabi.Ring](m, 0)}
	if err := r.check(); err != nil {
		m.close()
		return nil, err
	}
	atomic.StoreUint32(&r.header.Agent, 1)
	return r, nil
}

// check compares every constant of the header with what the file is, and copies what is used later:
// the header can change under us.
func (r *Reader) check() error {
	h := *r.header
	switch {
	case h.Magic != shmabi.RingMagic:
		return corrupt(r.name, "magic %#x", h.Magic)
	case h.Abi != shmabi.Version:
		return corrupt(r.name, "layout version %d, this agent reads %d", h.Abi, shmabi.Version)
	case h.Header_bytes != shmabi.HeaderBytes || h.Slot_bytes != shmabi.SlotBytes:
		return corrupt(r.name, "header of %d bytes, slots of %d", h.Header_bytes, h.Slot_bytes)
	case bits.OnesCount32(h.Slots) != 1 || h.Slots > maxSlots:
		return corrupt(r.name, "%d slots", h.Slots)
	}
	r.ID, r.Process, r.Thread = h.Ring, h.Process, int(h.Thread)
	r.tail = atomic.LoadUint64(&r.header.Tail)
	r.released = r.tail
	_, err := r.readable()
	r.unseen = unseenFrom(max(r.tail&^(unseenSlots-1), r.segment().first))
	return err
}

// readable is the head, once it is known that the slots from tail to it are ours to read.
func (r *Reader) readable() (uint64, error) {
	head := atomic.LoadUint64(&r.header.Head)
	if err := r.follow(); err != nil {
		return 0, err
	}
	last := r.segments[len(r.segments)-1]
	if head < r.tail || head > max(r.released, last.first) && head-max(r.released, last.first) > last.slots {
		return 0, corrupt(r.name, "head %d, tail %d, %d slots from %d on", head, r.tail, last.slots, last.first)
	}
	return head, nil
}

// slots are those of the segment that tail is in, a power of two of them.
func (r *Reader) slots() slots {
	s := r.segment()
	at[shmabi.Slot](r.m, s.offset+(s.slots-1)*shmabi.SlotBytes) // it is all there
	return unsafe.Slice(at[shmabi.Slot](r.m, s.offset), s.slots)
}

type slots []shmabi.Slot

// at is the slot of that number.
func (s slots) at(number uint64) *shmabi.Slot { return &s[number&uint64(len(s)-1)] }

// Read copies published records into dst, oldest first, and returns how many there were; 0 means that all is read. The
// reader owns their slots until Release. The memory of dst's slices is used again. After an error, which wraps
// ErrCorrupt, the records returned with it are good and nothing more can be read.
func (r *Reader) Read(dst []Record) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	head, err := r.readable()
	if err != nil {
		r.err = err
		return 0, err
	}
	n, end, slots := 0, r.tail, slots(nil)
	for n < len(dst) && r.tail != head {
		if r.tail >= end {
			end = min(head, r.advance())
			slots = r.slots()
		}
		s := *slots.at(r.tail)
		if s.Seq != uint32(r.tail+1) || s.Slots == 0 || uint64(s.Slots) > end-r.tail {
			r.err = corrupt(r.name, "slot %d of %d: %+v", r.tail, r.segment().slots, s)
			break
		}
		rec := &dst[n]
		rec.Clear()
		if _, r.err = r.decode(slots, r.tail, s, rec); r.err != nil {
			break
		}
		n++
		r.tail += uint64(s.Slots)
	}
	return n, r.err
}

// Release gives the slots of all records that were read back to the writer: the next reader of the ring does not see
// them any more.
func (r *Reader) Release() {
	r.leave()
	atomic.StoreUint64(&r.header.Tail, r.tail)
	r.released = r.tail
	s := r.segment()
	for ; s.slots >= unseenSlots && r.released >= r.unseen+unseenSlots; r.unseen += unseenSlots {
		from := s.offset + (r.unseen&(s.slots-1))*shmabi.SlotBytes
		unix.Madvise(r.m.data[from:from+unseenSlots*shmabi.SlotBytes], unix.MADV_DONTNEED) // that is no loss where it fails
	}
}

// unseenSlots is how many slots that were given back are unmapped at a time: their memory is the writer's, and counts
// as the reader's too as long as that has seen it. It recurs with the slots' next use.
const unseenSlots = 1 << 13

// unseenFrom is the first multiple of unseenSlots from a slot number on.
func unseenFrom(number uint64) uint64 { return (number + unseenSlots - 1) &^ (unseenSlots - 1) }

// Held is how many slots were read and not released.
func (r *Reader) Held() int { return int(r.tail - r.released) }

// Resume continues after the slots that an earlier reader reports to have read, of which it may not have released the
// last ones. Slots that it has released without reporting them are an error, and so are slots that were never written.
func (r *Reader) Resume(tail uint64) error {
	if head := r.Head(); tail < r.released || tail > head {
		return fmt.Errorf("ring: %s: %d slots were read, %d released, of %d", r.name, tail, r.released, head)
	}
	if err := r.follow(); err != nil {
		return err
	}
	r.tail = tail
	r.advance()
	r.Release()
	return nil
}

// decode fills in rec from the record whose first slot, s, has that number, and returns the poll that is
// under way in it, if any. Slots of kinds that this version does not know are passed over.
func (r *Reader) decode(slots slots, number uint64, s shmabi.Slot, rec *Record) (inside *Record, err error) {
	rec.Lost, rec.Paused = s.Flags&shmabi.SlotLost != 0, s.Flags&shmabi.SlotPaused != 0
	if s.Call >= firstMark {
		m := *(*shmabi.Mark)(unsafe.Pointer(&s))
		rec.Enter, rec.Exit = m.Time, m.Time
		rec.Mark, rec.Name, rec.Value = MarkKind(m.What), m.Name, m.Value
		for i := uint64(1); i < uint64(s.Slots); i++ {
			at := slots.at(number + i)
			if at.Slots == shmabi.SlotCounters {
				if err := r.addCounts(rec, at, number+i); err != nil {
					return nil, err
				}
			}
		}
		return nil, nil
	}
	rec.Enter = s.Enter
	// Never before the entry: a thread that moves to another CPU inside a call can find the counter there
	// a few ticks behind.
	rec.Exit = max(s.Enter, s.Exit)
	rec.Call, rec.Path = mpicall.ID(s.Call), s.Path
	for i := uint64(1); i < uint64(s.Slots); i++ {
		at := slots.at(number + i)
		switch kind := at.Slots; { // where a continuation slot has its kind
		case kind == shmabi.SlotCounters:
			if err := r.addCounts(rec, at, number+i); err != nil {
				return nil, err
			}
		case kind == shmabi.SlotPolls:
			p := *(*shmabi.Polls)(unsafe.Pointer(at))
			if p.Steps >= 2 {
				rec.Polls = append(rec.Polls, Polls{mpicall.ID(p.Call), p.Path, p.First, uint64(p.Steps / 2)})
			}
			if p.Steps%2 != 0 {
				inside = &Record{Enter: max(rec.Exit, p.Enter), Call: mpicall.ID(p.Call), Path: p.Path}
			}
		case kind >= shmabi.SlotSent && kind <= shmabi.SlotRead:
			t := *(*shmabi.Transfer)(unsafe.Pointer(at))
			rec.Transfers = append(rec.Transfers, Transfer{
				Kind: TransferKind(t.Kind), Bytes: t.Bytes, Request: t.Request, Peer: t.Peer, Tag: t.Tag, Comm: t.Comm,
			})
		case kind == shmabi.SlotCollective:
			c := *(*shmabi.Collective)(unsafe.Pointer(at))
			rec.Collective = Collective{Sent: c.Sent, Received: c.Received, Ordinal: c.Ordinal, Root: c.Root, Comm: c.Comm}
			rec.IsCollective = true
		case kind == shmabi.SlotRequest:
			q := *(*shmabi.Request)(unsafe.Pointer(at))
			if len(rec.Requests) == cap(rec.Requests) {
				rec.Requests = slices.Grow(rec.Requests, int(uint64(s.Slots)-i)) // most that can follow
			}
			rec.Requests = append(rec.Requests, Request{
				Event: RequestEvent(q.Event), Handle: q.Request, Bytes: q.Bytes, Source: q.Source, Tag: q.Tag,
			})
		case kind&continuation == 0:
			return nil, corrupt(r.name, "slot %d of %d is of no kind: %#x", number+i, r.segment().slots, kind)
		}
	}
	return inside, nil
}

// addCounts adds the counts of a slot, which has that number.
func (r *Reader) addCounts(rec *Record, slot *shmabi.Slot, number uint64) error {
	c := *(*shmabi.Counters)(unsafe.Pointer(slot))
	if c.Count > shmabi.SlotEvents || len(rec.Counts)+int(c.Count) > shmabi.MaxEvents {
		return corrupt(r.name, "slot %d of %d: %d counts after %d", number, r.segment().slots, c.Count, len(rec.Counts))
	}
	rec.Counts = append(rec.Counts, c.Value[:c.Count]...)
	return nil
}

// continuation is the bit that distinguishes a continuation slot from a call slot.
const continuation = 1 << 31

// Left gives what a thread has left open: a run of polls that is not published, and last, if unfinished,
// the call that it is inside, without its exit. It is for the rings of processes that have ended, once
// all records are read: a living writer may be changing it.
func (r *Reader) Left() (records []Record, unfinished bool) {
	head, err := r.readable()
	if r.err != nil || err != nil || head != r.tail {
		return nil, false
	}
	r.advance()
	slots := r.slots()
	seq := atomic.LoadUint32(&slots.at(head).Seq)
	s := *slots.at(head)
	if seq != uint32(head+1) || s.Slots == 0 || uint64(s.Slots) > r.segment().slots {
		return nil, false
	}
	var rec Record
	inside, err := r.decode(slots, head, s, &rec)
	switch {
	case err != nil:
		return nil, false
	case rec.Mark != 0: // whole, and not published yet
		return []Record{rec}, false
	case s.Flags&shmabi.SlotReturned == 0:
		rec.Exit = 0
		return []Record{rec}, true
	case inside != nil:
		return []Record{rec, *inside}, true
	}
	return []Record{rec}, false
}

// Dropped is how many records the writer has found no room for.
func (r *Reader) Dropped() uint64 { return atomic.LoadUint64(&r.header.Dropped) }

// Abandoned is how many calls the thread has left by longjmp or an exception: they have no record.
func (r *Reader) Abandoned() uint64 { return atomic.LoadUint64(&r.header.Abandoned) }

// Paused is how many calls have no record because the program had paused recording, and MarksInside how many marks
// have none because their thread was inside an MPI call.
func (r *Reader) Paused() uint64 { return atomic.LoadUint64(&r.header.Paused) }

// MarksInside is described with Paused.
func (r *Reader) MarksInside() uint64 { return atomic.LoadUint64(&r.header.Marks_inside) }

// Head is how many slots the writer has published, and Tail how many of them were read.
func (r *Reader) Head() uint64 { return atomic.LoadUint64(&r.header.Head) }

// Tail is how many slots were read.
func (r *Reader) Tail() uint64 { return r.tail }

// Slots is how many slots the ring's latest segment has that are known to the reader.
func (r *Reader) Slots() int { return int(r.segments[len(r.segments)-1].slots) }

// Closed reports whether the ring's thread has ended, or MPI has: once it is true, what Read finds is the rest.
func (r *Reader) Closed() bool {
	return atomic.LoadUint32(&r.header.State) == shmabi.RingClosed
}

// Close unmaps the ring; its file is kept, with the mark that it has no reader. A truncated file is a fault, and the
// ring is unmapped all the same. A second Close does nothing.
func (r *Reader) Close() (err error) {
	if r.m == nil {
		return nil
	}
	m := r.m
	r.m = nil
	defer func() {
		if err = m.close(); err != nil {
			err = fmt.Errorf("ring: %s: %w", r.name, err)
		}
	}()
	atomic.StoreUint32(&r.header.Agent, 0)
	return nil
}
