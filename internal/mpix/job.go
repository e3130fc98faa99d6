//go:build mpi

package mpix

// #cgo pkg-config: ompi
// #include <stdlib.h>
// #include "job.h"
import "C"
import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/emer/empi/mpi"

	"moriens/internal/hint"
)

const (
	stagingBytes = 32 << 20
	closing      = -1 // the length of the last message
)

func library() string {
	var text [C.MPIX_TEXT]C.char
	C.mpix_library(&text[0])
	line, _, _ := strings.Cut(C.GoString(&text[0]), "\n") // MPICH reports how it was built as well
	line, _, _ = strings.Cut(line, ",")                   // and Open MPI, who did it
	return strings.Join(strings.Fields(strings.Replace(line, "Version:", "", 1)), " ")
}

// A job is this process's place in its MPI job.
type job struct {
	comm       *mpi.Comm
	rank, size int
	staging    int // bytes of a collective call that are on their way at a time, each way, and those of a piece of a message

	turn sync.Mutex // held during a collective call
	mu   sync.Mutex // held during a call of MPI, and of all below

	ended     error
	closed    bool // or about to be
	gone      []bool
	meeting   *C.struct_mpix_meeting
	out, in   memory // on its way
	receiving []sync.Mutex
	sending   sync.WaitGroup

	finalize, finalized chan struct{}
}

func open() (Transport, error) {
	if mpi.IsOn() {
		return nil, errors.New("mpix: the MPI job has been opened before")
	}
	mpi.LogErrors = false
	// Others may be at work on the cores, where Open MPI takes them to be its own as long as its processes are no more
	// than they are.
	const yields = "OMPI_MCA_mpi_yield_when_idle"
	if os.Getenv(yields) == "" {
		os.Setenv(yields, "1")
	}
	j := &job{staging: stagingBytes, finalize: make(chan struct{}), finalized: make(chan struct{})}
	begun := make(chan error)
	// MPI is ended by the thread that has begun it; MPI-3.1, section 8.7.
	go func() {
		runtime.LockOSThread()
		begun <- mpi.InitThreadSafe()
		<-j.finalize
		mpi.Finalize()
		close(j.finalized)
	}()
	err := <-begun
	if err != nil {
		return nil, hint.With(fmt.Errorf("%s: %w", library(), err), "moriens needs an MPI library with support for MPI_THREAD_MULTIPLE")
	}
	if err := j.did("MPI_Comm_set_errhandler", C.mpix_errors_return()); err != nil {
		return nil, err
	}
	if j.comm, err = mpi.NewComm(nil); err != nil {
		return nil, err
	}
	j.rank, j.size = j.comm.Rank(), j.comm.Size()
	if j.size == 1 {
		if err := launched(); err != nil {
			close(j.finalize)
			<-j.finalized
			return nil, err
		}
	}
	j.gone, j.receiving = make([]bool, j.size), make([]sync.Mutex, j.size)
	j.meeting = (*C.struct_mpix_meeting)(C.calloc(1, C.sizeof_struct_mpix_meeting))
	return j, nil
}

func (j *job) Rank() int { return j.rank }
func (j *job) Size() int { return j.size }

// did returns the error of a call of MPI.
func (j *job) did(what string, code C.int) error {
	if code == C.MPI_SUCCESS {
		return nil
	}
	var text [C.MPIX_TEXT]C.char
	C.mpix_error(code, &text[0])
	return j.end(fmt.Errorf("mpix: %s: %s", what, C.GoString(&text[0])))
}

// end remembers what the team has failed by; it returns nil for nil.
func (j *job) end(err error) error {
	if err != nil && j.ended == nil {
		j.ended = err
	}
	return j.ended
}

// wait asks again and again whether something is done.
func (j *job) wait(what string, test func(done *C.int) C.int) error {
	for p := (patience{}); ; p.rest() {
		var done C.int
		j.mu.Lock()
		err := j.ended
		if err == nil {
			err = j.did(what, test(&done))
		}
		j.mu.Unlock()
		if err != nil || done != 0 {
			return err
		}
	}
}

// together does what a collective call does when all members have entered it. n is the number of its values.
func (j *job) together(c call, n int, do func() error) error {
	j.turn.Lock()
	defer j.turn.Unlock()
	j.mu.Lock()
	err := j.ended
	if err == nil && j.closed {
		err = errClosed
	}
	j.mu.Unlock()
	if err == nil {
		err = j.meet(c, n)
	}
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end(do())
}

// meet waits until all members have reached a collective call, and checks that it is the same one. What follows does
// not wait.
func (j *job) meet(c call, n int) error {
	m := j.meeting
	m.mine = [C.MPIX_SAID]C.int64_t{C.int64_t(c), -C.int64_t(c), C.int64_t(n), -C.int64_t(n)}
	j.mu.Lock()
	err := j.did("MPI_Iallreduce", C.mpix_meet(m))
	j.mu.Unlock()
	if err == nil {
		err = j.wait("MPI_Test", func(done *C.int) C.int { return C.mpix_met(m, done) })
	}
	if err != nil {
		return err
	}
	most := m.greatest
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end(disagree(call(-most[1]), call(most[0]), int64(-most[3]), int64(most[2])))
}

func (j *job) Send(to int, data []byte) error {
	if err := checkMember(to, j.size); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.ended != nil:
		return j.ended
	case j.closed:
		return errClosed
	}
	return j.send(to, int64(len(data)), data)
}

// send begins to send a message, and has its memory freed when it is sent.
func (j *job) send(to int, length int64, data []byte) error {
	m := C.mpix_message(C.int64_t(length), C.int64_t(j.staging))
	if m == nil {
		return j.end(fmt.Errorf("mpix: no memory for a message of %d bytes", length))
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(m.bytes)), len(data)), data)
	if err := j.did("MPI_Isend", C.mpix_send(m, C.int64_t(j.staging), C.int(to))); err != nil {
		return err
	}
	j.sending.Go(func() {
		if j.wait("MPI_Test", func(done *C.int) C.int { return C.mpix_sent(m, done) }) == nil {
			C.mpix_free(m)
		}
	})
	return nil
}

func (j *job) Recv(from int) ([]byte, error) {
	if err := checkMember(from, j.size); err != nil {
		return nil, err
	}
	j.receiving[from].Lock()
	defer j.receiving[from].Unlock()
	for p := (patience{}); ; p.rest() {
		if data, here, err := j.received(from); here || err != nil {
			return data, err
		}
	}
}

// received returns the next message of a member if it is here.
func (j *job) received(from int) (data []byte, here bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found C.int
	switch {
	case j.ended != nil:
		return nil, false, j.ended
	case j.closed:
		return nil, false, errClosed
	case !j.gone[from]:
		if err := j.did("MPI_Iprobe", C.mpix_probe(C.int(from), &found)); err != nil || found == 0 {
			return nil, false, err
		}
		length, err := j.length(from)
		if err != nil {
			return nil, false, err
		}
		if !j.gone[from] {
			data, err := j.content(from, length)
			return data, true, err
		}
	}
	return nil, false, fmt.Errorf("mpix: member %d has closed, and sends no more messages", from)
}

// length takes the length of the next message of a member, or that there is none.
func (j *job) length(from int) (int64, error) {
	n := j.in.numbers(1)
	if err := j.comm.RecvI64(from, 0, n); err != nil {
		return 0, j.end(err)
	}
	j.gone[from] = n[0] == closing
	return n[0], nil
}

func (j *job) content(from int, length int64) ([]byte, error) {
	data := make([]byte, length)
	for some := range slices.Chunk(data, j.staging) {
		in := j.in.bytes(len(some))
		if err := j.comm.RecvU8(from, 0, in); err != nil {
			return nil, j.end(err)
		}
		copy(some, in)
	}
	return data, nil
}

func (j *job) Abort(status int) {
	C.mpix_abort(C.int(exitStatus(status)))
	os.Exit(exitStatus(status))
}

func (j *job) Close() error {
	j.turn.Lock()
	defer j.turn.Unlock()
	j.mu.Lock()
	was, err := j.closed, j.ended
	j.closed = true
	for to := 0; to < j.size && !was && err == nil; to++ {
		err = j.send(to, closing, nil)
	}
	j.mu.Unlock()
	if was {
		return nil
	}
	if err == nil {
		err = j.meet(callClose, 0)
	}
	if err != nil {
		return err
	}
	left, err := j.drain()
	if err != nil {
		return err
	}
	j.sending.Wait() // all has been received
	j.out.free()
	j.in.free()
	C.free(unsafe.Pointer(j.meeting))
	close(j.finalize)
	<-j.finalized
	return left
}

// drain takes the last message of each member, if Recv has not, and what is before it; left says that something did.
func (j *job) drain() (left, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for from := range j.size {
		for !j.gone[from] {
			n, err := j.length(from)
			if err != nil {
				return nil, err
			}
			if j.gone[from] {
				break
			}
			if _, err := j.content(from, n); err != nil {
				return nil, err
			}
			left = leftOver(from)
		}
	}
	return left, nil
}
