package section

import (
	"encoding/binary"
	"math/bits"
)

const (
	// packValues is how many values a pack has at most.
	packValues = 128
	// widest is the largest width of packed values; wider ones are plain.
	widest = 56
	plain  = 64
	// exceptional is the bit of a pack's width byte that says that exceptions follow.
	exceptional = 0x80
	// slack is how many bytes have to follow packed values: each is read by one load of 8 bytes.
	slack = 8
)

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// appendPacks appends values as packs. It uses v as its room.
func appendPacks(dst []byte, v []uint64) []byte {
	for len(v) > 0 {
		n := min(len(v), packValues)
		dst = appendPack(dst, v[:n])
		v = v[n:]
	}
	return dst
}

// appendPack appends one pack: the least value, the width of what the others have above it, these in that width, and
// what those have beyond it that are exceptions.
func appendPack(dst []byte, v []uint64) []byte {
	n, least, most := len(v), int64(v[0]), int64(v[0])
	for _, x := range v[1:] {
		least, most = min(least, int64(x)), max(most, int64(x))
	}
	if least == most { // so are most packs of what calls moved
		return append(binary.AppendUvarint(dst, zigzag(least)), 0)
	}
	top := bits.Len64(uint64(most - least))
	var lengths [65]uint8
	for i := range v {
		v[i] -= uint64(least)
		lengths[bits.Len64(v[i])]++
	}
	width := chooseWidth(n, top, &lengths)
	dst = binary.AppendUvarint(dst, zigzag(least))
	if width > widest {
		dst = append(dst, plain)
		for _, x := range v {
			dst = binary.LittleEndian.AppendUint64(dst, x)
		}
		return dst
	}
	mark := byte(0)
	if width < top {
		mark = exceptional
	}
	dst = appendBits(append(dst, byte(width)|mark), v, width)
	if mark != 0 {
		dst = appendExceptions(dst, v, width, (top-width+7)/8)
	}
	return dst
}

// chooseWidth is the width at which n values take the least room, of which at most a quarter are exceptions. top is the
// length of the longest, and lengths how many have each length.
func chooseWidth(n, top int, lengths *[65]uint8) int {
	width, least, exceptions := top, n*top, 0
	for w := top - 1; w >= 0; w-- {
		exceptions += int(lengths[w+1])
		if exceptions > n/4 {
			break
		}
		if room := n*w + exceptions*(8+8*((top-w+7)/8)) + 16; room < least {
			width, least = w, room
		}
	}
	return width
}

// appendBits appends the low bits of values, without gaps.
func appendBits(dst []byte, v []uint64, width int) []byte {
	if width == 0 {
		return dst
	}
	at := len(dst)
	end := at + (len(v)*width+7)/8
	for cap(dst) < end+slack {
		dst = append(dst[:cap(dst)], 0)
	}
	dst = dst[:end+slack]
	mask := uint64(1)<<uint(width) - 1
	pending, used := uint64(0), uint(0)
	for _, x := range v {
		x &= mask
		pending |= x << (used & 63)
		if used += uint(width); used >= 64 {
			binary.LittleEndian.PutUint64(dst[at:], pending)
			at += 8
			used -= 64
			pending = x >> ((uint(width) - used) & 63)
		}
	}
	binary.LittleEndian.PutUint64(dst[at:], pending)
	return dst[:end]
}

// appendExceptions appends the places of values that are wider, and their high bits, in so many bytes each.
func appendExceptions(dst []byte, v []uint64, width, size int) []byte {
	dst = append(dst, 0, byte(size))
	count := len(dst) - 2
	for i, x := range v {
		if high := x >> uint(width); high != 0 {
			dst[count]++
			dst = append(dst, byte(i))
			for range size {
				dst = append(dst, byte(high))
				high >>= 8
			}
		}
	}
	return dst
}

// A packHead is what the first bytes of a pack say.
type packHead struct {
	least uint64
	width int
	more  bool // exceptions follow
	body  int  // offset of the packed values
	bytes int  // of these
}

// headOf reads the head of a pack of n values that begins at an offset and ends before another. The bytes that it
// announces are there.
func headOf(b []byte, at, end, n int) (h packHead, ok bool) {
	least, size := binary.Uvarint(b[at:end])
	if size <= 0 || at+size >= end {
		return h, false
	}
	at += size
	h.least, h.width, h.more, h.body = uint64(unzigzag(least)), int(b[at]&^exceptional), b[at]&exceptional != 0, at+1
	if h.width > widest && (h.width != plain || h.more) {
		return h, false
	}
	h.bytes = (n*h.width + 7) / 8
	return h, h.body+h.bytes <= end
}

// exceptionsOf reads how many exceptions follow at an offset, in how many bytes each has its high bits, and where the
// pack ends with them.
func exceptionsOf(b []byte, at, end int) (count, size, next int, ok bool) {
	if at+2 > end {
		return 0, 0, 0, false
	}
	count, size = int(b[at]), int(b[at+1])
	next = at + 2 + count*(1+size)
	return count, size, next, size <= 8 && next <= end
}

// skipPacks returns where packs of n values end that begin at an offset.
func skipPacks(b []byte, at, end, n int) (next int, ok bool) {
	for n > 0 {
		m := min(n, packValues)
		h, ok := headOf(b, at, end, m)
		if !ok {
			return 0, false
		}
		at = h.body + h.bytes
		if h.more {
			count, size, next, ok := exceptionsOf(b, at, end)
			if !ok {
				return 0, false
			}
			for i := range count {
				if int(b[at+2+i*(1+size)]) >= m {
					return 0, false
				}
			}
			at = next
		}
		n -= m
	}
	return at, true
}

// readPacks reads the values of packs that begin at an offset and end before another, and returns where they end. Slack
// bytes have to follow the end.
func readPacks(b []byte, at, end int, v []uint64) (next int, ok bool) {
	for len(v) > 0 {
		n := min(len(v), packValues)
		if at, ok = readPack(b, at, end, v[:n]); !ok {
			return 0, false
		}
		v = v[n:]
	}
	return at, true
}

func readPack(b []byte, at, end int, v []uint64) (next int, ok bool) {
	h, ok := headOf(b, at, end, len(v))
	if !ok {
		return 0, false
	}
	at = h.body + h.bytes
	switch h.width {
	case 0:
		for i := range v {
			v[i] = h.least
		}
	case plain:
		for i := range v {
			v[i] = h.least + binary.LittleEndian.Uint64(b[h.body+8*i:])
		}
	default:
		readBits(b[h.body:at+slack], v, uint(h.width), h.least)
	}
	if !h.more {
		return at, true
	}
	count, size, next, ok := exceptionsOf(b, at, end)
	if !ok {
		return 0, false
	}
	at += 2
	for range count {
		i, high := int(b[at]), uint64(0)
		for k := range size {
			high |= uint64(b[at+1+k]) << uint(8*k)
		}
		if i >= len(v) {
			return 0, false
		}
		v[i] += high << uint(h.width)
		at += 1 + size
	}
	return next, true
}

// readBits reads values of a width, each above the least. slack bytes follow them.
func readBits(b []byte, v []uint64, width uint, least uint64) {
	mask := uint64(1)<<width - 1
	bit := uint(0)
	for i := range v {
		v[i] = least + binary.LittleEndian.Uint64(b[bit>>3:])>>(bit&7)&mask
		bit += width
	}
}
