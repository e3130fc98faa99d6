package code

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"
)

// maxFrames bounds the bytes of .eh_frame that are read.
const maxFrames = 256 << 20

// A frame is an entry (FDE) of .eh_frame: the bounds of a function or of a part of it, and where its table of landing
// pads is.
type frame struct {
	start, end uint64
	pads       uint64 // 0 = it has none
}

// readFrames reads .eh_frame, by its section or, where there are no sections, by the program header.
func (m *image) readFrames() {
	var at uint64
	if s := m.file.Section(".eh_frame"); s != nil && s.Type != elf.SHT_NOBITS {
		at = s.Addr
	} else {
		at = m.framesByHeader()
	}
	m.frames = parseFrames(m.read(at, maxFrames), at)
	slices.SortStableFunc(m.frames, func(a, b frame) int { return cmp.Compare(a.start, b.start) })
}

// framesByHeader reads the address of .eh_frame in .eh_frame_hdr.
func (m *image) framesByHeader() uint64 {
	for _, p := range m.file.Progs {
		if p.Type != elf.PT_GNU_EH_FRAME {
			continue
		}
		head := m.read(p.Vaddr, 64)
		if len(head) < 8 || head[0] != 1 {
			return 0
		}
		r := cursor{data: head, base: p.Vaddr, at: 4}
		at := r.pointer(head[1])
		if r.bad {
			return 0
		}
		return at
	}
	return 0
}

// frameAt returns the frame that holds an address.
func (m *image) frameAt(pc uint64) *frame {
	i, exact := slices.BinarySearchFunc(m.frames, pc, func(f frame, pc uint64) int { return cmp.Compare(f.start, pc) })
	if !exact {
		i--
	}
	if i >= 0 && i < len(m.frames) && m.frames[i].start <= pc && pc < m.frames[i].end {
		return &m.frames[i]
	}
	return nil
}

// How pointers are encoded (LSB 5.0, section 10.5).
const (
	encodingOmit  = 0xff
	encodingUleb  = 0x01
	encodingSleb  = 0x09
	encodingPCRel = 0x10
)

// A cursor reads what lies at an address. After the first fault it reads zeros.
type cursor struct {
	data []byte
	base uint64
	at   int
	bad  bool
}

func (c *cursor) take(n int) []byte {
	if c.bad || n < 0 || n > len(c.data)-c.at {
		c.bad = true
		return make([]byte, 8)
	}
	c.at += n
	return c.data[c.at-n : c.at]
}

func (c *cursor) byte() byte     { return c.take(1)[0] }
func (c *cursor) uint32() uint32 { return binary.LittleEndian.Uint32(c.take(4)) }
func (c *cursor) uint64() uint64 { return binary.LittleEndian.Uint64(c.take(8)) }

func (c *cursor) uleb() (n uint64) {
	for shift := 0; shift < 70; shift += 7 {
		b := c.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	c.bad = true
	return 0
}

func (c *cursor) sleb() (n int64) {
	for shift := 0; shift < 70; shift += 7 {
		b := c.byte()
		n |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				n |= -1 << (shift + 7)
			}
			return n
		}
	}
	c.bad = true
	return 0
}

// value reads a number without what it is relative to.
func (c *cursor) value(encoding byte) uint64 {
	switch encoding & 0x0f {
	case 0x00, 0x04, 0x0c:
		return c.uint64()
	case encodingUleb:
		return c.uleb()
	case encodingSleb:
		return uint64(c.sleb())
	case 0x02:
		return uint64(binary.LittleEndian.Uint16(c.take(2)))
	case 0x0a:
		return uint64(int16(binary.LittleEndian.Uint16(c.take(2))))
	case 0x03:
		return uint64(c.uint32())
	case 0x0b:
		return uint64(int32(c.uint32()))
	}
	c.bad = true
	return 0
}

// pointer reads an address; 0 stands for none.
func (c *cursor) pointer(encoding byte) uint64 {
	place := c.base + uint64(c.at)
	v := c.value(encoding)
	switch encoding & 0xf0 {
	case 0:
	case encodingPCRel:
		if v != 0 {
			v += place
		}
	default: // relative to what is not known here, or indirect
		c.bad = true
	}
	return v
}

// A cie is what frames have in common.
type cie struct {
	pointers, pads byte // encodings
	sized          bool // augmentation data has a length
	ok             bool
}

// parseFrames reads entries up to the end or to the first that makes no sense.
func parseFrames(data []byte, base uint64) (frames []frame) {
	cies := make(map[int]cie)
	for c := (cursor{data: data, base: base}); ; {
		length := uint64(c.uint32())
		if length == 0xffffffff {
			length = c.uint64()
		}
		if c.bad || length == 0 || length > uint64(len(data)-c.at) {
			return frames
		}
		entry := cursor{data: data[:c.at+int(length)], base: base, at: c.at}
		c.at += int(length)
		idAt := entry.at
		id := entry.uint32()
		if id == 0 {
			continue
		}
		at := idAt - int(id)
		common, known := cies[at]
		if !known {
			common = parseCIE(data, at)
			cies[at] = common
		}
		if !common.ok {
			continue
		}
		f := frame{start: entry.pointer(common.pointers)}
		size := entry.value(common.pointers)
		if common.sized {
			length := entry.uleb()
			if common.pads != encodingOmit && length > 0 {
				f.pads = entry.pointer(common.pads)
			}
		}
		if f.end = f.start + size; !entry.bad && f.start > 0 && f.end > f.start {
			frames = append(frames, f)
		}
	}
}

// parseCIE reads the common part whose length stands 4 bytes before its number, which is at the given place less that
// of a length of 4 bytes.
func parseCIE(data []byte, at int) cie {
	x := cie{pads: encodingOmit}
	if at < 0 || at >= len(data) {
		return x
	}
	c := cursor{data: data, at: at}
	length := uint64(c.uint32())
	if length == 0xffffffff {
		length = c.uint64()
	}
	if c.bad || length > uint64(len(data)-c.at) {
		return x
	}
	c.data = data[:c.at+int(length)]
	if c.uint32() != 0 {
		return x
	}
	version := c.byte()
	var augmentation []byte
	for b := c.byte(); b != 0 && !c.bad; b = c.byte() {
		augmentation = append(augmentation, b)
	}
	if version == 4 {
		c.take(2) // sizes of addresses and of segment selectors
	}
	c.uleb() // code alignment
	c.sleb() // data alignment
	if version == 1 {
		c.byte() // the return address's register
	} else {
		c.uleb()
	}
	if len(augmentation) > 0 && augmentation[0] != 'z' {
		return x
	}
	x.sized = len(augmentation) > 0
	if x.sized {
		c.uleb()
	}
	for _, b := range augmentation {
		switch b {
		case 'z', 'S', 'B', 'G': // without data
		case 'R':
			x.pointers = c.byte()
		case 'L':
			x.pads = c.byte()
		case 'P':
			c.value(c.byte()) // the personality routine
		default:
			return x
		}
	}
	x.ok = !c.bad && (version == 1 || version == 3 || version == 4)
	return x
}

// maxPads bounds the bytes of a function's table of landing pads.
const maxPads = 1 << 20

// A pad is where an exception continues that leaves a call in a range.
type pad struct{ from, to, at uint64 }

// padOf is where an exception continues that leaves a call at an address. The ranges of a table lie apart.
func padOf(pads []pad, pc uint64) (at uint64, ok bool) {
	i, exact := slices.BinarySearchFunc(pads, pc, func(p pad, pc uint64) int { return cmp.Compare(p.from, pc) })
	if !exact {
		i--
	}
	if i < 0 || pc >= pads[i].to {
		return 0, false
	}
	return pads[i].at, true
}

// padsOf reads the table of call sites of a frame (.gcc_except_table), sorted. Not ok: it makes no sense.
func (m *image) padsOf(f *frame) (pads []pad, ok bool) {
	if f == nil || f.pads == 0 {
		return nil, true
	}
	c := cursor{data: m.read(f.pads, 64), base: f.pads}
	base := f.start
	if encoding := c.byte(); encoding != encodingOmit {
		base = c.pointer(encoding)
	}
	if encoding := c.byte(); encoding != encodingOmit {
		c.uleb() // to the types
	}
	encoding := c.byte()
	length := c.uleb()
	if c.bad || length > maxPads {
		return nil, false
	}
	c.data = m.read(f.pads, uint64(c.at)+length)
	for c.at < len(c.data) && !c.bad {
		from, size, at := c.value(encoding), c.value(encoding), c.value(encoding)
		c.uleb() // action
		if at != 0 && !c.bad {
			pads = append(pads, pad{f.start + from, f.start + from + size, base + at})
		}
	}
	slices.SortStableFunc(pads, func(a, b pad) int { return cmp.Compare(a.from, b.from) })
	return pads, !c.bad
}
