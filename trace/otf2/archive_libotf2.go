//go:build otf2 && cgo

package otf2

/*
#cgo CFLAGS: -std=c11 -D_GNU_SOURCE -Wall -Wextra
#cgo LDFLAGS: -lotf2
#include <stdlib.h>
#include "archive.h"
*/
import "C"

import (
	"cmp"
	"fmt"
	"path/filepath"
	"unsafe"
)

func available() error { return nil }

// The two types are one.
var (
	_ [unsafe.Sizeof(event{}) - C.sizeof_struct_event]byte
	_ [C.sizeof_struct_event - unsafe.Sizeof(event{})]byte
)

const batch = 1024

// An archive is one that is being written: the events of one location after the other, then what they refer to.
type archive struct {
	c       *C.struct_archive
	types   *[attributes]C.uint8_t // of attributes
	pending []event
	ids     []C.uint64_t
}

const attributes = attrWaitFor + 1

func open(dir, creator string) (*archive, error) {
	a := &archive{
		c: (*C.struct_archive)(C.calloc(1, C.sizeof_struct_archive)), types: (*[attributes]C.uint8_t)(C.calloc(attributes, 1)),
		pending: make([]event, 0, batch),
	}
	var d definitions
	d.defineAttributes()
	for i, attribute := range d.attributes {
		a.types[i] = C.uint8_t(attribute.kind)
	}
	a.c.attribute_types = &a.types[0]
	path, name, by := C.CString(dir), C.CString(Name), C.CString(creator)
	defer C.free(unsafe.Pointer(path))
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(by))
	if err := failure(C.archive_open(a.c, path, name, by)); err != nil {
		return nil, cmp.Or(err, a.close())
	}
	return a, nil
}

// failure makes an error of what the library says, of its first complaint where it has made one.
func failure(code C.OTF2_ErrorCode) error {
	if code == C.OTF2_SUCCESS {
		return nil
	}
	more := C.GoString(C.archive_complaint())
	if cause := C.archive_cause(); cause != C.OTF2_SUCCESS {
		code = cause
	}
	text := C.GoString(C.OTF2_Error_GetDescription(code))
	if more != "" {
		text += ": " + more
	}
	return fmt.Errorf("libotf2: %s", text)
}

// verify reads the closed archive in dir again.
func (a *archive) verify(dir string, d *definitions) error {
	anchor := C.CString(filepath.Join(dir, Name+".otf2"))
	defer C.free(unsafe.Pointer(anchor))
	counts := make([]C.uint64_t, len(a.ids))
	for i := range d.locations {
		counts[i] = C.uint64_t(d.locations[i].events)
	}
	if len(counts) == 0 {
		return nil
	}
	if err := failure(C.archive_verify(anchor, &a.ids[0], &counts[0], C.size_t(len(counts)))); err != nil {
		return fmt.Errorf("the archive is incomplete, possibly because the disk is full: %w", err)
	}
	return nil
}

func (a *archive) begin(location uint64) error {
	a.ids = append(a.ids, C.uint64_t(location))
	return failure(C.archive_begin(a.c, C.uint64_t(location)))
}

func (a *archive) event(e event) error {
	a.pending = append(a.pending, e)
	if len(a.pending) < batch {
		return nil
	}
	return a.flush()
}

func (a *archive) flush() error {
	if len(a.pending) == 0 {
		return nil
	}
	code := C.archive_events(a.c, (*C.struct_event)(unsafe.Pointer(&a.pending[0])), C.size_t(len(a.pending)))
	a.pending = a.pending[:0]
	return failure(code)
}

// end ends the events of a location and returns their number.
func (a *archive) end() (uint64, error) {
	if err := a.flush(); err != nil {
		return 0, err
	}
	var events C.uint64_t
	err := failure(C.archive_end(a.c, &events))
	return uint64(events), err
}

func (a *archive) close() error {
	err := failure(C.archive_close(a.c))
	C.free(unsafe.Pointer(a.c))
	C.free(unsafe.Pointer(a.types))
	return err
}
