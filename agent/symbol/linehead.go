package symbol

import (
	"bytes"
	"encoding/binary"
)

// Forms that the entries of a line table's head have (DWARF 5, sections 6.2.4.1 and 7.5.6).
const (
	formBlock    = 0x09
	formString   = 0x08
	formUdata    = 0x0f
	formStrp     = 0x0e
	formData1    = 0x0b
	formData2    = 0x05
	formData4    = 0x06
	formData8    = 0x07
	formData16   = 0x1e
	formLineStrp = 0x1f
	formStrpSup  = 0x1d
	formStrx     = 0x1a
	formStrx1    = 0x25
	formStrx2    = 0x26
	formStrx3    = 0x27
	formStrx4    = 0x28
)

// A head reads the start of a line table. After the first fault it is empty.
type head struct {
	left  []byte
	order binary.ByteOrder
	bad   bool
}

func (h *head) skip(n uint64) {
	if n > uint64(len(h.left)) {
		h.left, h.bad = nil, true
		return
	}
	h.left = h.left[n:]
}

func (h *head) fixed(n int) uint64 {
	var word [8]byte
	if n > len(h.left) {
		h.left, h.bad = nil, true
		return 0
	}
	if h.order == binary.ByteOrder(binary.BigEndian) {
		copy(word[8-n:], h.left[:n])
	} else {
		copy(word[:], h.left[:n])
	}
	h.left = h.left[n:]
	return h.order.Uint64(word[:])
}

func (h *head) uleb() uint64 {
	v, n := binary.Uvarint(h.left)
	if n <= 0 {
		h.left, h.bad = nil, true
		return 0
	}
	h.left = h.left[n:]
	return v
}

// saneLines reports whether the counts in the head of the line table at offset fit into the section. The library
// allocates as many entries as a damaged head asks for.
func saneLines(section []byte, order binary.ByteOrder, offset int64) bool {
	if offset < 0 || offset > int64(len(section)) {
		return false
	}
	h := &head{left: section[offset:], order: order}
	wide := 4 // bytes of an offset
	if h.fixed(4) == 1<<32-1 {
		wide = 8
		h.skip(8)
	}
	if h.fixed(2) < 5 {
		return !h.bad // older ones have lists that end themselves
	}
	h.skip(2)            // sizes of addresses and of segment selectors
	h.skip(uint64(wide)) // length of the head
	h.skip(5)            // minimum_instruction_length … line_range
	if opcodes := h.fixed(1); opcodes > 0 {
		h.skip(opcodes - 1)
	}
	for range 2 { // directories, then files
		forms := make([]uint64, h.fixed(1))
		for i := range forms {
			h.uleb()
			forms[i] = h.uleb()
		}
		count := h.uleb()
		if h.bad || count > uint64(len(h.left)) || count > 0 && len(forms) == 0 {
			return false
		}
		for ; count > 0 && !h.bad; count-- {
			for _, form := range forms {
				h.entry(form, wide)
			}
		}
	}
	return !h.bad
}

func (h *head) entry(form uint64, wide int) {
	switch form {
	case formString:
		end := bytes.IndexByte(h.left, 0)
		if end < 0 {
			end = len(h.left) // one more than there is
		}
		h.skip(uint64(end) + 1)
	case formStrp, formLineStrp, formStrpSup:
		h.skip(uint64(wide))
	case formData1, formStrx1:
		h.skip(1)
	case formData2, formStrx2:
		h.skip(2)
	case formStrx3:
		h.skip(3)
	case formData4, formStrx4:
		h.skip(4)
	case formData8:
		h.skip(8)
	case formData16:
		h.skip(16)
	case formUdata, formStrx:
		h.uleb()
	case formBlock:
		h.skip(h.uleb())
	default:
		h.left, h.bad = nil, true
	}
}
