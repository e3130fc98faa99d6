package code

import (
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"
)

// window is how many instructions before an indirect jump are looked at.
const window = 24

// maxTable bounds the entries of a jump table.
const maxTable = 1 << 16

// A tableRead is the instruction of a window that reads a jump table.
type tableRead struct {
	at    int // in the window
	table uint64
	size  int // bytes of an entry: 8 = an address, 4 = a distance from the table
	index x86asm.Reg
}

// tables knows what compilers make of a switch: a comparison with the last case, and a jump to an address, or to a
// distance from the table, that the table has for the case. Without the comparison the table's end is not known.
func (x86) tables(m *image, t *text, jump *event) []uint64 {
	list := t.before(jump.at, window)
	var code []x86asm.Inst
	for _, at := range list {
		x, err := x86asm.Decode(t.code[at:], 64)
		if err != nil || x.Op == 0 {
			x = x86asm.Inst{} // of no interest, whatever it is: endbr64, vectors
		}
		code = append(code, x)
	}
	here, err := x86asm.Decode(unprefixed(t.code[jump.at:jump.end]), 64)
	if err != nil {
		return nil
	}
	read, ok := readOf(here, code, func(i int) uint64 { return t.start + uint64(list[i]) + uint64(code[i].Len) })
	if !ok {
		return nil
	}
	n, ok := boundOf(code[:read.at], read.index)
	if !ok {
		return nil
	}
	data := m.read(read.table, uint64(n*read.size))
	if len(data) < n*read.size || m.executable(read.table) {
		return nil
	}
	targets := make([]uint64, n)
	for i := range targets {
		if read.size == 8 {
			targets[i] = binary.LittleEndian.Uint64(data[8*i:])
		} else {
			targets[i] = read.table + uint64(int64(int32(binary.LittleEndian.Uint32(data[4*i:]))))
		}
	}
	return targets
}

// readOf finds where a jump's target is read from: code is what stands before, next(i) the address behind its ith.
func readOf(jump x86asm.Inst, code []x86asm.Inst, next func(i int) uint64) (read tableRead, ok bool) {
	if mem, ok := jump.Args[0].(x86asm.Mem); ok {
		return tableRead{len(code), uint64(mem.Disp), 8, whole(mem.Index)}, absolute(mem)
	}
	reg, ok := jump.Args[0].(x86asm.Reg)
	if !ok {
		return read, false
	}
	// Backwards: the addition of the table's address, the read of the entry, and where the address is put.
	wanted := []x86asm.Reg{reg}
	for i := len(code) - 1; i >= 0; i-- {
		to, isReg := code[i].Args[0].(x86asm.Reg)
		if !isReg || code[i].Op == x86asm.CMP || code[i].Op == x86asm.TEST {
			continue
		}
		to = whole(to)
		mem, isMem := code[i].Args[1].(x86asm.Mem)
		switch from, _ := code[i].Args[1].(x86asm.Reg); {
		case to != wanted[0] && (len(wanted) == 1 || to != wanted[1]):
		case code[i].Op == x86asm.ADD && from != 0 && len(wanted) == 1:
			wanted = append(wanted, whole(from))
		case code[i].Op == x86asm.MOV && isMem && len(wanted) == 1 && absolute(mem):
			return tableRead{i, uint64(mem.Disp), 8, whole(mem.Index)}, true
		case code[i].Op == x86asm.MOVSXD && isMem && len(wanted) == 2 && mem.Scale == 4 && mem.Index != 0 && mem.Disp == 0 &&
			(mem.Base == wanted[0] || mem.Base == wanted[1]):
			for k := i - 1; k >= 0; k-- {
				if to, ok := code[k].Args[0].(x86asm.Reg); !ok || whole(to) != mem.Base || code[k].Op == x86asm.CMP || code[k].Op == x86asm.TEST {
					continue
				}
				at, ok := code[k].Args[1].(x86asm.Mem)
				return tableRead{i, next(k) + uint64(at.Disp), 4, whole(mem.Index)}, ok && code[k].Op == x86asm.LEA && at.Base == x86asm.RIP
			}
			return read, false
		default:
			if code[i].Op == x86asm.LEA && isMem && mem.Base == x86asm.RIP && len(wanted) == 2 {
				continue // the table's address, once more
			}
			return read, false
		}
	}
	return read, false
}

// absolute reports whether an operand is an entry of a table of addresses.
func absolute(mem x86asm.Mem) bool {
	return mem.Base == 0 && mem.Index != 0 && mem.Scale == 8 && mem.Disp > 0
}

// unprefixed removes what x86asm does not take before a jump.
func unprefixed(code []byte) []byte {
	for len(code) > 0 && (code[0] == 0x3e || code[0] == 0xf2) {
		code = code[1:]
	}
	return code
}

// whole is the register of 64 bits of which one is a part.
func whole(r x86asm.Reg) x86asm.Reg {
	switch {
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return r - x86asm.EAX + x86asm.RAX
	case r >= x86asm.AX && r <= x86asm.R15W:
		return r - x86asm.AX + x86asm.RAX
	case r == x86asm.AL || r == x86asm.CL || r == x86asm.DL || r == x86asm.BL:
		return r - x86asm.AL + x86asm.RAX
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return r - x86asm.SPB + x86asm.RSP
	}
	return r
}

// boundOf is how many cases there are: what the comparison of the index with a constant allows that a `ja` follows.
func boundOf(code []x86asm.Inst, index x86asm.Reg) (n int, ok bool) {
	var from x86asm.Mem // where the index was read
	for i := len(code) - 1; i >= 0; i-- {
		x := &code[i]
		reg, isReg := x.Args[0].(x86asm.Reg)
		mem, isMem := x.Args[0].(x86asm.Mem)
		if x.Op == x86asm.CMP && (isReg && whole(reg) == index || isMem && from != (x86asm.Mem{}) && mem == from) {
			limit, ok := x.Args[1].(x86asm.Imm)
			return int(limit) + 1, ok && limit >= 0 && limit < maxTable && i+1 < len(code) && code[i+1].Op == x86asm.JA
		}
		if !isReg || whole(reg) != index || x.Op == x86asm.CMP || x.Op == x86asm.TEST {
			continue
		}
		if x.Op != x86asm.MOV && x.Op != x86asm.MOVZX && x.Op != x86asm.MOVSXD {
			return 0, false
		}
		switch arg := x.Args[1].(type) {
		case x86asm.Reg:
			index = whole(arg)
		case x86asm.Mem:
			index, from = 0, arg
		default:
			return 0, false
		}
	}
	return 0, false
}
