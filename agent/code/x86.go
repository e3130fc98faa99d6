package code

import (
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"
)

// x86 decodes x86-64. What changes the flow is read here, and so are the lengths of what x86asm does not know or takes
// for something else: it gives a prefix of one byte, without an error, for ENDBR64 and for `notrack jmp`.
type x86 struct{}

// maxInstruction is how long an instruction can be.
const maxInstruction = 15

func (x86) decode(code []byte, addr uint64) (in instruction, ok bool) {
	code = code[:min(len(code), maxInstruction)]
	at := 0
	for at < len(code) && isPrefix(code[at]) {
		at++
	}
	vex := at < len(code) && (code[at] == 0xc4 || code[at] == 0xc5 || code[at] == 0x62)
	if !vex && at < len(code) && code[at]&0xf0 == 0x40 { // REX
		at++
	}
	if at >= len(code) {
		return in, false
	}
	if vex {
		in.size = vexLength(code, at)
		return in, in.size > 0
	}
	if in, ok := flowOf(code, at, addr); ok {
		return in, in.size <= len(code)
	}
	if in.size = plainLength(code, at); in.size > 0 {
		in.flow = plainFlow(code, at)
		return in, true
	}
	x, err := x86asm.Decode(code, 64)
	if err != nil || x.Op == 0 || x.Len <= 0 || x.Len > len(code) {
		return in, false
	}
	in.size = x.Len
	return in, true
}

func isPrefix(b byte) bool {
	switch b {
	case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3:
		return true
	}
	return false
}

// flowOf reads the instructions behind whose prefixes code[at] is that do not just continue.
func flowOf(code []byte, at int, addr uint64) (in instruction, ok bool) {
	relative := func(f flow, begin, size int) (instruction, bool) {
		end := begin + size
		if end > len(code) {
			return instruction{size: end}, true
		}
		distance := int64(int8(code[begin]))
		if size == 4 {
			distance = int64(int32(binary.LittleEndian.Uint32(code[begin:])))
		}
		return instruction{size: end, flow: f, target: addr + uint64(end) + uint64(distance)}, true
	}
	op := code[at]
	switch {
	case op == 0xe8:
		return relative(flowCall, at+1, 4)
	case op == 0xe9:
		return relative(flowJump, at+1, 4)
	case op == 0xeb:
		return relative(flowJump, at+1, 1)
	case op>>4 == 7 || op >= 0xe0 && op <= 0xe3: // Jcc, LOOP, JRCXZ
		return relative(flowBranch, at+1, 1)
	case op == 0xc3 || op == 0xcb || op == 0xcf || op == 0xf4: // RET, RETF, IRET, HLT
		return instruction{size: at + 1, flow: flowEnd}, true
	case op == 0xc2 || op == 0xca:
		return instruction{size: at + 3, flow: flowEnd}, true
	case op == 0xcc: // INT3
		return instruction{size: at + 1, flow: flowTrap}, true
	}
	if at+1 >= len(code) {
		return in, false
	}
	next := code[at+1]
	switch {
	case op == 0x0f && next>>4 == 8:
		return relative(flowBranch, at+2, 4)
	case op == 0x0f && next == 0x0b: // UD2
		return instruction{size: at + 2, flow: flowTrap}, true
	case op == 0x0f && (next == 0xff || next == 0xb9): // UD0, UD1
		return instruction{size: at + 2 + operandLength(code, at+2), flow: flowTrap}, true
	case op == 0x0f && (next == 0x07 || next == 0x35): // SYSRET, SYSEXIT
		return instruction{size: at + 2, flow: flowEnd}, true
	case op == 0xc7 && next == 0xf8: // XBEGIN
		return relative(flowBranch, at+2, 4)
	case op == 0xff && next>>3&7 >= 2 && next>>3&7 <= 5:
		n := operandLength(code, at+1)
		if n == 0 {
			return in, false
		}
		in.size, in.flow = at+1+n, flowCall
		if next>>3&7 >= 4 {
			in.flow = flowIndirect
		}
		if next&0xc7 == 0x05 && in.size <= len(code) {
			in.slot = addr + uint64(in.size) + uint64(int64(int32(binary.LittleEndian.Uint32(code[at+2:]))))
		}
		return in, true
	}
	return in, false
}

// operandLength is that of a ModRM byte with what belongs to it; 0 = code ends before.
func operandLength(code []byte, at int) int {
	if at >= len(code) {
		return 0
	}
	mod, rm, n := code[at]>>6, code[at]&7, 1
	if mod != 3 && rm == 4 {
		if at+1 >= len(code) {
			return 0
		}
		n++
		if mod == 0 && code[at+1]&7 == 5 {
			n += 4
		}
	}
	switch {
	case mod == 1:
		n++
	case mod == 2 || mod == 0 && rm == 5:
		n += 4
	}
	if at+n > len(code) {
		return 0
	}
	return n
}

// plainLength is that of the instructions of 0F whose form is the same in each: hints, which later processors gave a
// meaning (ENDBR64), three-byte opcodes, and groups without an immediate; 0 = it is none of them.
func plainLength(code []byte, at int) int {
	if at+2 >= len(code) || code[at] != 0x0f {
		return 0
	}
	begin, immediate := at+2, 0
	switch op := code[at+1]; {
	case op == 0x38:
		begin++
	case op == 0x3a:
		begin, immediate = begin+1, 1
	case op >= 0x18 && op <= 0x1f, op == 0x0d, op == 0x01, op == 0xae, op == 0xc7:
	default:
		return 0
	}
	n := operandLength(code, begin)
	if n == 0 || begin+n+immediate > len(code) {
		return 0
	}
	return begin + n + immediate
}

func plainFlow(code []byte, at int) flow {
	if op := code[at+1]; op >= 0x18 && op <= 0x1f {
		return flowNop
	}
	return flowNext
}

// vexLength is that of an instruction with a VEX or EVEX prefix at a place: these have one opcode byte, a ModRM byte
// and at most one byte of immediate. 0 = code ends before, or the map of opcodes is not known.
func vexLength(code []byte, at int) int {
	opcode, table := at+2, 1
	switch {
	case at+3 >= len(code):
		if code[at] == 0xc5 && at+2 < len(code) && code[at+2] == 0x77 {
			return at + 3
		}
		return 0
	case code[at] == 0xc4:
		opcode, table = at+3, int(code[at+1]&0x1f)
	case code[at] == 0x62:
		opcode, table = at+4, int(code[at+1]&7)
	}
	if opcode >= len(code) || table == 0 || table == 4 || table > 6 {
		return 0
	}
	op := code[opcode]
	if table == 1 && op == 0x77 && code[at] != 0x62 { // VZEROUPPER, VZEROALL
		return opcode + 1
	}
	n := operandLength(code, opcode+1)
	if n == 0 {
		return 0
	}
	size := opcode + 1 + n
	if table == 3 || table == 1 && (op >= 0x70 && op <= 0x73 || op == 0xc2 || op == 0xc4 || op == 0xc5 || op == 0xc6) {
		size++
	}
	if size > len(code) {
		return 0
	}
	return size
}

func (x86) stub([]byte, uint64) uint64 { return 0 }

// references looks at every byte: where functions begin is not known.
func (x86) references(code []byte, addr uint64, f func(at, target uint64, how flow)) {
	for p := 2; p+4 <= len(code); p++ {
		before, how, begin := code[p-1], flowNext, p-1
		switch {
		case before == 0xe9:
			how = flowJump
		case before == 0xe8:
			how = flowCall
		case before>>4 == 8 && code[p-2] == 0x0f:
			how, begin = flowJump, p-2
		case before&0xc7 == 0x05 && code[p-2] == 0x8d: // LEA
		default:
			continue
		}
		f(addr+uint64(begin), addr+uint64(p)+4+uint64(int64(int32(binary.LittleEndian.Uint32(code[p:])))), how)
	}
}
