// Package mpicall names the MPI calls that are recorded, by the number that stands in a record, and
// holds what a Paraver trace says of each. Its table is generated from cshim/gen/calls.txt. It
// imports nothing of ours.
package mpicall

import "strconv"

// ID is the number of an MPI call in a record. 0 is no call.
type ID uint16

// Class is what kind of call a call is.
type Class uint8

const (
	Unknown Class = iota
	PointToPoint
	Completion // of requests
	Collective
	Environment   // Init, Finalize, Abort, Pcontrol
	Persistent    // making and starting persistent requests, of collectives too
	Partitioned   // point-to-point
	Buffer        // emptying the buffers of buffered sends
	Neighbourhood // collectives
	Communicator  // making and freeing communicators
	Process       // spawn, connect, ports
	Session       // and communicators without MPI_COMM_WORLD
	OneSided
	IO
)

var classNames = [...]string{
	Unknown:       "unknown",
	PointToPoint:  "point-to-point",
	Completion:    "completion",
	Collective:    "collective",
	Environment:   "environment",
	Persistent:    "persistent",
	Partitioned:   "partitioned",
	Buffer:        "buffer",
	Neighbourhood: "neighbourhood",
	Communicator:  "communicator",
	Process:       "process",
	Session:       "session",
	OneSided:      "one-sided",
	IO:            "io",
}

func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return classNames[Unknown]
}

// Paraver's event types of MPI calls.
const (
	ParaverPointToPoint uint32 = 50000001
	ParaverCollective   uint32 = 50000002
	ParaverOther        uint32 = 50000003
	ParaverOneSided     uint32 = 50000004
	ParaverIO           uint32 = 50000005
)

const paraverStateOthers = 15

type facts struct {
	name         string
	class        Class
	paraverType  uint32
	paraverValue int64
	paraverState int
	request      bool
}

func (id ID) facts() facts {
	if int(id) < len(calls) {
		return calls[id]
	}
	return facts{}
}

// Known reports whether the table holds the call.
func (id ID) Known() bool {
	return id.facts().name != ""
}

// Tests reports whether it asks whether requests are complete, and does not wait for that.
func (id ID) Tests() bool {
	return id >= Test && id <= Testsome || id >= RequestGetStatus && id <= RequestGetStatusSome || id == Parrived
}

// String is the name in the C binding, such as MPI_Send, or "MPI call 99" for a number that the
// table does not hold (a record of a newer shim).
func (id ID) String() string {
	if name := id.facts().name; name != "" {
		return name
	}
	return "MPI call " + strconv.Itoa(int(id))
}

// Class is the call's kind, Unknown for a number that the table does not hold.
func (id ID) Class() Class {
	return id.facts().class
}

// HasRequest reports whether the call makes, starts or ends one request. A collective that does is not over when the
// call returns.
func (id ID) HasRequest() bool {
	return id.facts().request
}

// Paraver gives the event type and value that stand for the call in a Paraver trace: those of
// Extrae where it has one, else 1000 + id.
func (id ID) Paraver() (eventType uint32, value int64) {
	f := id.facts()
	if f.name == "" {
		return ParaverOther, 1000 + int64(id)
	}
	return f.paraverType, f.paraverValue
}

// ParaverState is the state of the time inside the call.
func (id ID) ParaverState() int {
	f := id.facts()
	if f.name == "" {
		return paraverStateOthers
	}
	return f.paraverState
}

// ByName finds a call by its name in the C binding.
func ByName(name string) (ID, bool) {
	id, ok := byName[name]
	return id, ok
}

var byName = func() map[string]ID {
	m := make(map[string]ID)
	for _, id := range All() {
		m[id.String()] = id
	}
	return m
}()

// All lists the calls in the order of their numbers.
func All() []ID {
	var ids []ID
	for i := range calls {
		if calls[i].name != "" {
			ids = append(ids, ID(i))
		}
	}
	return ids
}
