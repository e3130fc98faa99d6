//go:build mpi

package mpix

// #include <stdlib.h>
import "C"

import "unsafe"

// memory is some of C's.
type memory struct {
	start unsafe.Pointer
	size  int // bytes
}

// bytes returns the first n bytes, 1 or more, with anything in them. It is the same memory each time.
func (m *memory) bytes(n int) []byte {
	if n > m.size {
		m.free()
		m.start, m.size = C.malloc(C.size_t(n)), n
	}
	return unsafe.Slice((*byte)(m.start), n)
}

// numbers returns the first n numbers.
func (m *memory) numbers(n int) []int64 {
	const size = int(unsafe.Sizeof(int64(0)))
	return unsafe.Slice((*int64)(unsafe.Pointer(&m.bytes(n * size)[0])), n)
}

func (m *memory) free() {
	C.free(m.start)
	*m = memory{}
}
