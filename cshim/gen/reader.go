package main

import (
	"fmt"
	"strings"
)

// reader says how the C code gets at the values of parameters. In Fortran all parameters are addresses.
type reader struct {
	fortran   bool
	described bool // buffers are array descriptors
	large     bool // counts have 64 bits
}

// binding is the C name for it.
func (r reader) binding() string {
	if r.fortran {
		return "MORIENS_F"
	}
	return "MORIENS_C"
}

func (r reader) pick(c, fortran, name string) string {
	if r.fortran {
		return fmt.Sprintf(fortran, name)
	}
	return fmt.Sprintf(c, name)
}

func (r reader) integer(name string) string { return r.pick("(int)%s", "*(const int *)%s", name) }

func (r reader) handle(name string) string {
	return r.pick("moriens_handle(%s)", "moriens_fortran_handle(%s)", name)
}

func (r reader) count(name string) string {
	if !r.large {
		return r.integer(name)
	}
	return r.pick("(int64_t)%s", "*(const int64_t *)%s", name)
}

// reference is one to a communicator, a window or a file that is an argument.
func (r reader) reference(role string) string {
	kind := strings.TrimPrefix(role, "new")
	return r.pick("moriens_"+kind+"_ref(%s)", "moriens_fortran_"+kind+"_ref(%s)", role)
}

// referenceAt is one to what the argument is the address of.
func (r reader) referenceAt(role string) string {
	kind := strings.TrimPrefix(role, "new")
	return r.pick("moriens_"+kind+"_ref_at(%s)", "moriens_fortran_"+kind+"_ref(%s)", role)
}

func (r reader) request(name string) string {
	return fmt.Sprintf("moriens_request_at(%s, %s, 0)", r.binding(), name)
}

func (r reader) message(name string) string {
	return r.pick("moriens_handle_at(%s)", "moriens_c_handle(moriens_fortran_handle(%s), moriens_mpi.message_f2c)", name)
}

func (r reader) buffer(name string) string {
	if r.described {
		return "*(const word *)" + name // an array descriptor begins with the address
	}
	return name
}

func (r reader) counts(name string) string {
	if r.large {
		return "MORIENS_ARRAY(" + name + ", 8)"
	}
	return "MORIENS_ARRAY(" + name + ", 4)"
}

func (r reader) types(name string) string {
	return r.pick("MORIENS_ARRAY(%s, moriens_mpi.handle_bytes)", "MORIENS_ARRAY(%s, 4)", name)
}
