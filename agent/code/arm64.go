package code

import (
	"encoding/binary"

	"golang.org/x/arch/arm64/arm64asm"
)

// arm64 decodes AArch64. All instructions have 4 bytes; only one class of them, shown by three bits, changes the flow,
// so that others need not be known.
type arm64 struct{}

func (arm64) decode(code []byte, addr uint64) (in instruction, ok bool) {
	if len(code) < 4 {
		return in, false
	}
	in.size = 4
	w := binary.LittleEndian.Uint32(code)
	if w>>16 == 0 { // UDF
		in.flow = flowTrap
		return in, true
	}
	if w>>26&7 != 5 {
		return in, true
	}
	switch {
	case w == 0xd503201f: // NOP
		in.flow = flowNop
		return in, true
	case w>>24 == 0xd5: // system registers, hints, barriers
		return in, true
	case w>>24 == 0xd4: // exceptions
		if kind := w >> 21 & 7; kind == 1 || kind == 2 { // BRK, HLT
			in.flow = flowTrap
		}
		return in, true
	case w>>25 == 0x6b: // to registers; with bits for authenticated pointers (RETAA, BRAA, BLRAA)
		switch w >> 21 & 7 {
		case 0:
			in.flow = flowIndirect
		case 1:
			in.flow = flowCall
		case 2, 4: // RET, ERET
			in.flow = flowEnd
		default:
			return in, false
		}
		return in, true
	}
	x, err := arm64asm.Decode(code)
	if err != nil {
		return in, false
	}
	for _, arg := range x.Args {
		if distance, ok := arg.(arm64asm.PCRel); ok {
			in.target = addr + uint64(distance)
		}
	}
	switch x.Op {
	case arm64asm.B:
		in.flow = flowJump
		if _, conditional := x.Args[0].(arm64asm.Cond); conditional {
			in.flow = flowBranch
		}
	case arm64asm.BL:
		in.flow = flowCall
	case arm64asm.CBZ, arm64asm.CBNZ, arm64asm.TBZ, arm64asm.TBNZ:
		in.flow = flowBranch
	default:
		return in, false
	}
	return in, true
}

// tables knows none: blocks that nothing else reaches are where an indirect jump goes.
func (arm64) tables(*image, *text, *event) []uint64 { return nil }

// stub reads `adrp x16, page` and `ldr x17, [x16, offset]`, perhaps behind `bti c`.
func (arm64) stub(code []byte, addr uint64) uint64 {
	if len(code) >= 4 && binary.LittleEndian.Uint32(code) == 0xd503245f {
		code, addr = code[4:], addr+4
	}
	if len(code) < 8 {
		return 0
	}
	page, load := binary.LittleEndian.Uint32(code), binary.LittleEndian.Uint32(code[4:])
	if page&0x9f00001f != 0x90000010 || load&0xffc003ff != 0xf9400211 {
		return 0
	}
	distance := int64(int32(page>>5&0x7ffff<<13)) >> 11 // of 21 bits, in pages: the upper 19
	distance |= int64(page >> 29 & 3)
	return addr&^0xfff + uint64(distance<<12) + uint64(load>>10&0xfff)*8
}

func (a arm64) references(code []byte, addr uint64, f func(at, target uint64, how flow)) {
	for p := 0; p+4 <= len(code); p += 4 {
		if binary.LittleEndian.Uint32(code[p:])>>26&7 != 5 {
			continue
		}
		at := addr + uint64(p)
		if in, ok := a.decode(code[p:p+4], at); ok && in.target != 0 {
			how := in.flow
			if how == flowBranch {
				how = flowJump
			}
			f(at, in.target, how)
		}
	}
}
