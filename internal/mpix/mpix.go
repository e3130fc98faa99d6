// Package mpix provides teams of processes: the members of an MPI job and, for one process and for tests, goroutines.
//
// Open gives this process its place in the MPI job that it was started in, where the program is built with the tag mpi,
// as bin/moriens-mpi is, and otherwise a team of one. Code that talks through a Transport is the same for both. Package
// internal/team defines the calls.
//
// What is sent lies in C memory while MPI has it: libraries that register memory with a network adapter follow what the
// C library returns to the system, not what the Go runtime does. Data goes in pieces of some megabytes, whatever its
// size. A member that waits for others sleeps in between, because a collector is idle most of the time and others use
// its cores.
//
// The package is the only one that imports github.com/emer/empi. What that lacks, variable counts, non-blocking calls
// and an abort with a status, is in job.c.
package mpix

import (
	"errors"
	"fmt"

	"moriens/internal/team"
)

// A Transport is one member's view of a team that can also send messages, wait, and end.
//
// Members make the same collective calls in the same order; those of one member come one after the other, whichever
// goroutines make them. A collective call that not all members make, because one makes another or closes, is an error
// at all of them. After an error the team is of no more use: each further call returns it. Messages may be sent and
// received at any time by any goroutine.
type Transport interface {
	team.Team
	// Send sends a message to a member, which may be this one. It does not wait for it to be received; data may be used
	// again at once. Messages from one member to another arrive in the order in which they were sent.
	Send(to int, data []byte) error
	// Recv waits for the next message of a member. It is an error if that member has closed.
	Recv(from int) ([]byte, error)
	// Barrier is collective: it returns when all members have called it.
	Barrier() error
	// Abort ends all members, with a status from 1 to 255; others are taken for 1. It does not return where members are
	// processes.
	Abort(status int)
	// Close is collective, and the last call. It is an error if a message to this member has not been received. A team
	// that has failed is closed at once: processes end their job by ending themselves, with a status that is not 0.
	Close() error
}

// Open returns this process's place in its MPI job. It can be called once. Without the tag mpi it is that of a team of
// one, and an error where a launcher has started several processes, each of which would take itself for the only one.
func Open() (Transport, error) { return open() }

// Library names the MPI library that the program is linked to, and its version: "Open MPI v4.1.4"; "" without the tag
// mpi.
func Library() string { return library() }

// A call is one that is collective. Members exchange which one they make.
type call int64

const (
	callBarrier call = iota
	callAllGather
	callAllToAll
	callSum
	callMin
	callMax
	callClose // the greatest, so that all see it
)

func (c call) String() string {
	return [...]string{"Barrier", "AllGather", "AllToAll", "AllReduce of sums", "AllReduce of minima", "AllReduce of maxima", "Close"}[c]
}

// reducing returns the call that an operation is.
func reducing(op team.Op) (call, error) {
	switch op {
	case team.Sum:
		return callSum, nil
	case team.Min:
		return callMin, nil
	case team.Max:
		return callMax, nil
	}
	return 0, fmt.Errorf("mpix: operation %d is not known", op)
}

var errClosed = errors.New("mpix: closed")

// disagree returns an error if the members do not make one call, or not with the same number of values: for each, the
// least and the greatest of all members.
func disagree(least, greatest call, fewest, most int64) error {
	switch {
	case least == greatest && fewest == most:
		return nil
	case greatest == callClose:
		return fmt.Errorf("mpix: a member has closed, where another calls %v", least)
	case least != greatest:
		return fmt.Errorf("mpix: a member calls %v, where another calls %v", least, greatest)
	}
	return fmt.Errorf("mpix: a member calls %v with %d values, where another has %d", least, fewest, most)
}

func checkMember(rank, size int) error {
	if rank < 0 || rank >= size {
		return fmt.Errorf("mpix: no member %d: there are %d", rank, size)
	}
	return nil
}

func checkParts(parts [][]byte, size int) error {
	if len(parts) != size {
		return fmt.Errorf("mpix: %d parts for %d members", len(parts), size)
	}
	return nil
}

// exitStatus is what Abort ends processes with.
func exitStatus(status int) int {
	if status < 1 || status > 255 {
		return 1
	}
	return status
}
