// Package ring reads what libmoriens.so leaves in shared memory: the rings of a run, one per thread that calls MPI, and
// the process files that go with them.
//
// In come the files of one run's directory. Out come records of MPI calls, in ticks of the process's clock, call paths,
// and how many of each were lost. cshim/include/shim_abi.h defines the layout; docs/format/ring.md describes it.
//
// The processes that write the files may have corrupted their own memory, so the package trusts nothing in them: what
// does not fit the layout is an error (ErrCorrupt), never a panic or a read beyond the mapping.
package ring

import (
	"errors"
	"fmt"
	"moriens/internal/shmabi"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrCorrupt is what every error about a file's content wraps.
var ErrCorrupt = errors.New("corrupt")

func corrupt(name, format string, args ...any) error {
	return fmt.Errorf("ring: %s: %w: %s", name, ErrCorrupt, fmt.Sprintf(format, args...))
}

// Guard calls look, which reads a mapped file. If the file was truncated in the meantime the access faults. Guard turns
// the fault into an error, in a goroutine that has set debug.SetPanicOnFault.
func Guard(look func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			if _, fault := p.(interface{ Addr() uintptr }); !fault {
				panic(p)
			}
			err = fmt.Errorf("ring: incomplete: %w: %w", ErrCorrupt, p)
		default:
			panic(p)
		}
	}()
	look()
	return nil
}

// mapping is a file in shared memory.
type mapping struct {
	data []byte
	size uint64 // of the file, when it was opened
	file *os.File
}

// mapFile maps a regular file that begins with a header, shared: its first bytes, or all of it where mapped is 0.
func mapFile(path string, maxBytes, mapped int64, write bool) (*mapping, error) {
	flags, prot := os.O_RDONLY, unix.PROT_READ
	if write {
		flags, prot = os.O_RDWR, unix.PROT_READ|unix.PROT_WRITE
	}
	file, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("ring: %w", err)
	}
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() < shmabi.HeaderBytes || info.Size() > maxBytes) {
		err = corrupt(path, "%s of %d bytes", info.Mode().Type(), info.Size())
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	if mapped == 0 {
		mapped = info.Size()
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(mapped), prot, unix.MAP_SHARED)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("ring: map %s: %w", path, err)
	}
	return &mapping{data: data, size: uint64(info.Size()), file: file}, nil
}

// extend maps as many bytes of the file, which has so many. What at has given is not valid any more.
func (m *mapping) extend(bytes uint64) error {
	if bytes <= uint64(len(m.data)) {
		return nil
	}
	data, err := unix.Mremap(m.data, int(bytes), unix.MREMAP_MAYMOVE)
	if err == nil {
		m.data = data
	}
	return err
}

func (m *mapping) close() error {
	return errors.Join(unix.Munmap(m.data), m.closeFile())
}

// closeFile closes the file and keeps the mapping.
func (m *mapping) closeFile() error {
	if m.file == nil {
		return nil
	}
	err := m.file.Close()
	m.file = nil
	return err
}

// at gives the address of a T within the mapping, which the caller has checked it holds. Mappings
// start on a page and every field on a multiple of its size.
func at[T any](m *mapping, offset uint64) *T {
	var t T
	if offset%uint64(unsafe.Alignof(t)) != 0 || offset+uint64(unsafe.Sizeof(t)) > uint64(len(m.data)) {
		panic(fmt.Sprintf("ring: no %T at %d of %d bytes", t, offset, len(m.data)))
	}
	return (*T)(unsafe.Pointer(&m.data[offset]))
}
