package ring

import (
	"math"
	"math/bits"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"moriens/internal/shmabi"
)

// A segment is a part of the ring's slots, from number first up to the next segment's first, and the area of the file
// that they are in.
type segment struct{ first, offset, slots uint64 }

func (s segment) bytes() uint64 { return s.slots * shmabi.SlotBytes }

// segment is the one that tail is in.
func (r *Reader) segment() segment {
	if r.now >= len(r.segments) { // none is known: the file is corrupt
		return segment{}
	}
	return r.segments[r.now]
}

// follow learns of the segments that the writer has begun since.
func (r *Reader) follow() error {
	known := atomic.LoadUint32(&r.header.Segments)
	if known == r.known && len(r.segments) > 0 {
		return nil
	}
	from := r.known
	if len(r.segments) == 0 {
		from = r.firstLiving(known)
	}
	if known == 0 || known-from > shmabi.RingSegments {
		return corrupt(r.name, "%d segments, %d of them known", known, from)
	}
	for i := from; i != known; i++ {
		entry := r.header.Segment[i%shmabi.RingSegments]
		s := segment{entry.First, entry.Offset, uint64(entry.Slots)}
		if err := r.sound(s, i); err != nil {
			return err
		}
		if err := r.m.extend(s.offset + s.bytes()); err != nil {
			return corrupt(r.name, "no memory for %d slots: %v", s.slots, err) // nothing after it can be read
		}
		r.header = at[shmabi.Ring](r.m, 0)
		r.segments = append(r.segments, s)
		r.known = i + 1
	}
	r.advance()
	return nil
}

// firstLiving is the number of the segment that tail is in, of so many. Those before it may have been overwritten.
func (r *Reader) firstLiving(known uint32) uint32 {
	for i := known; i > 0 && known-i < shmabi.RingSegments; i-- {
		if r.header.Segment[(i-1)%shmabi.RingSegments].First <= r.tail {
			return i - 1
		}
	}
	return 0
}

// sound checks a segment that follows those that are known.
func (r *Reader) sound(s segment, number uint32) error {
	switch {
	case bits.OnesCount64(s.slots) != 1 || s.slots > maxSlots:
		return corrupt(r.name, "segment %d of %d slots", number, s.slots)
	case s.offset < shmabi.HeaderBytes || s.offset%shmabi.SlotBytes != 0 || s.offset > r.m.size || s.bytes() > r.m.size-s.offset:
		return corrupt(r.name, "segment %d: %d slots at %d of %d bytes", number, s.slots, s.offset, r.m.size)
	case len(r.segments) == 0:
		if s.first > r.tail {
			return corrupt(r.name, "segment %d begins at %d, tail %d", number, s.first, r.tail)
		}
		return nil
	}
	last := r.segments[len(r.segments)-1]
	if s.first < last.first || s.first < r.tail || s.first > max(last.first, r.released) && s.first-max(last.first, r.released) > last.slots {
		return corrupt(r.name, "segment %d begins at %d, the one before it at %d with %d slots, tail %d", number, s.first, last.first, last.slots, r.tail)
	}
	return nil
}

// advance moves to the segment that tail is in, and returns where that ends as far as is known.
func (r *Reader) advance() (end uint64) {
	for r.now+1 < len(r.segments) {
		if next := r.segments[r.now+1].first; r.tail < next {
			return next
		}
		r.now++
	}
	return math.MaxUint64
}

// leave frees the memory of segments that tail has passed: their slots are about to be returned. Where they were
// returned before the next segment began, the writer has freed the memory, and may have it in use again. The memory of
// the first area is kept: the writer returns to it without asking for memory.
func (r *Reader) leave() {
	r.advance()
	if r.now == 0 {
		return
	}
	for i, s := range r.segments[:r.now] {
		page := uint64(os.Getpagesize())
		from, to := (s.offset+page-1)/page*page, (s.offset+s.bytes())/page*page
		how := unix.MADV_REMOVE
		if s.offset == shmabi.HeaderBytes || r.released >= r.segments[i+1].first {
			how = unix.MADV_DONTNEED
		}
		if from < to {
			unix.Madvise(r.m.data[from:to], how) // where it fails the ring keeps the memory
		}
	}
	r.segments = append(r.segments[:0], r.segments[r.now:]...)
	r.now = 0
	r.unseen = unseenFrom(r.segments[0].first)
}
