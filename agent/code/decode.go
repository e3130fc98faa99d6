package code

// A flow is where an instruction continues.
type flow uint8

const (
	flowNext     flow = iota // at the next one
	flowNop                  // likewise, and it does nothing: padding consists of these
	flowCall                 // at the next one, after what it calls
	flowJump                 // at its target
	flowBranch               // at its target or at the next one
	flowIndirect             // at an address that is not in it
	flowEnd                  // nowhere in this function
	flowTrap                 // likewise; also padding
)

// An instruction is what of one matters to the order of calls.
type instruction struct {
	size   int
	flow   flow
	target uint64 // of a direct jump or call; 0 = it is not in the instruction
	slot   uint64 // address of the memory that has the target; 0 = no fixed one
}

// A decoder reads one instruction at an address. Not ok: it does not know it.
type decoder interface {
	decode(code []byte, addr uint64) (in instruction, ok bool)
	// tables finds where an indirect jump goes that reads its target from a table, nil where there is none that it
	// knows.
	tables(m *image, t *text, jump *event) []uint64
	// stub is the address of the memory from which an entry of the procedure linkage table takes its target; 0: the
	// code is none, or its jump says so itself.
	stub(code []byte, addr uint64) uint64
	// references calls f for each place in code, which lies at addr, that names an address: a jump (or branch), a call,
	// or anything else (next). It may be taken for one by chance.
	references(code []byte, addr uint64, f func(at, target uint64, how flow))
}
