package code

import (
	"strings"
)

// endings are functions that do not return.
var endings = map[string]bool{
	"abort": true, "exit": true, "_exit": true, "_Exit": true, "quick_exit": true, "pthread_exit": true, "thrd_exit": true,
	"__stack_chk_fail": true, "__stack_chk_fail_local": true, "__fortify_fail": true, "__chk_fail": true,
	"__assert_fail": true, "__assert": true, "__assert_rtn": true, "__assert_perror_fail": true,
	"longjmp": true, "_longjmp": true, "siglongjmp": true, "__longjmp_chk": true, "err": true, "errx": true, "verr": true, "verrx": true,
	"_Unwind_Resume": true, "__cxa_throw": true, "__cxa_rethrow": true, "__cxa_bad_cast": true, "__cxa_bad_typeid": true,
	"__cxa_throw_bad_array_new_length": true, "__cxa_throw_bad_array_length": true, "__cxa_pure_virtual": true,
	"__cxa_deleted_virtual": true, "__cxa_call_unexpected": true, "__cxa_call_terminate": true, "__clang_call_terminate": true,
	"_ZSt9terminatev": true, "_ZSt10unexpectedv": true,
	"_gfortran_runtime_error": true, "_gfortran_runtime_error_at": true, "_gfortran_os_error": true, "_gfortran_os_error_at": true,
	"_gfortran_stop_string": true, "_gfortran_stop_numeric": true, "_gfortran_error_stop_string": true,
	"_gfortran_error_stop_numeric": true, "_gfortran_exit_i4": true, "_gfortran_exit_i8": true, "_gfortran_abort": true,
}

// endsProgram reports whether a function is known not to return, by its symbol.
func endsProgram(name string) bool {
	if at := strings.IndexByte(name, '@'); at > 0 {
		name = name[:at]
	}
	// std::__throw_out_of_range and others: _ZSt20__throw_out_of_rangePKc.
	if rest, ok := strings.CutPrefix(name, "_ZSt"); ok {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits > 0 && strings.HasPrefix(rest[digits:], "__throw_") {
			return true
		}
	}
	return endings[name]
}

// twice are functions from whose call a program may return more than once: after any later call it goes on there.
var twice = map[string]bool{
	"setjmp": true, "_setjmp": true, "__setjmp": true, "sigsetjmp": true, "_sigsetjmp": true, "__sigsetjmp": true,
	"getcontext": true, "vfork": true, "__vfork": true,
}

// returnsTwice is what a function calls of these; empty: none.
func (r *reader) returnsTwice(parts []*text) string {
	for _, t := range parts {
		for i := range t.events {
			if e := &t.events[i]; e.flow == flowCall {
				if name := r.nameOf(e); twice[name] {
					return name
				}
			}
		}
	}
	return ""
}

// nameOf is the symbol of what an event calls; empty: it has none.
func (r *reader) nameOf(e *event) string {
	slot := e.slot
	if e.target != 0 {
		if slot = r.image.linkage(e.target); slot == 0 {
			if s, ok := r.image.at(e.target); ok && s.start == e.target {
				return s.name
			}
			return ""
		}
	}
	name, _, _ := strings.Cut(r.image.slots[slot], "@")
	return name
}

const (
	// maxExplored bounds the instructions of a called function that are looked at to see whether it returns, and
	// maxExploredDepth those that it calls itself.
	maxExplored      = 512
	maxExploredDepth = 6
)

// A knowledge of functions that are called: whether they return.
type knowledge struct {
	image   *image
	returns map[uint64]bool
}

// dead reports whether a call does not return.
func (k *knowledge) dead(e *event) bool {
	return e.flow == flowCall && !k.continues(e, 0)
}

func (k *knowledge) continues(e *event, depth int) bool {
	if e.target == 0 {
		return e.slot == 0 || k.named(k.image.slots[e.slot], depth)
	}
	return k.address(e.target, depth)
}

func (k *knowledge) named(name string, depth int) bool {
	if endsProgram(name) {
		return false
	}
	if at := k.image.exports[name]; at != 0 {
		return k.address(at, depth)
	}
	return true
}

// address reports whether the function at an address returns: true where that is not known.
func (k *knowledge) address(at uint64, depth int) bool {
	if known, ok := k.returns[at]; ok {
		return known
	}
	if depth > maxExploredDepth {
		return true // asked from elsewhere it may be known
	}
	k.returns[at] = true // while it is looked at
	answer := k.explore(at, depth)
	k.returns[at] = answer
	return answer
}

func (k *knowledge) explore(at uint64, depth int) bool {
	s, ok := k.image.at(at)
	switch {
	case ok && s.start == at && endsProgram(s.name):
		return false
	case !ok || s.start != at:
		// An entry of the procedure linkage table has no symbol; its frame holds all of the table.
		s = span{start: at, end: at + 16}
	}
	code := k.image.read(s.start, min(s.end-s.start, 1<<16))
	if slot := k.image.decode.stub(code, at); slot != 0 {
		return k.named(k.image.slots[slot], depth+1)
	}
	starts := []uint64{at}
	if f := k.image.frameAt(at); f != nil && f.start == at {
		pads, ok := k.image.padsOf(f)
		if !ok {
			return true
		}
		for _, p := range pads {
			starts = append(starts, p.at)
		}
	}
	seen := make(map[uint64]bool)
	for count := 0; len(starts) > 0; {
		pc := starts[len(starts)-1]
		starts = starts[:len(starts)-1]
		for !seen[pc] {
			seen[pc] = true
			if count++; count > maxExplored || pc < s.start || pc-s.start >= uint64(len(code)) {
				return true // also for jumps to parts of it that lie elsewhere
			}
			in, ok := k.image.decode.decode(code[pc-s.start:], pc)
			if !ok {
				return true
			}
			e := event{flow: in.flow, target: in.target, slot: in.slot}
			next := pc + uint64(in.size)
			switch in.flow {
			case flowBranch:
				starts = append(starts, in.target)
			case flowCall:
				if !k.continues(&e, depth+1) {
					next = pc
				}
			case flowJump:
				next = in.target
				if !s.holds(next) { // it ends as the other function does
					if k.address(next, depth+1) {
						return true
					}
					next = pc
				}
			case flowIndirect:
				if in.slot == 0 || k.named(k.image.slots[in.slot], depth+1) {
					return true
				}
				next = pc
			case flowEnd:
				return true
			case flowTrap:
				next = pc
			}
			pc = next
		}
	}
	return false
}
