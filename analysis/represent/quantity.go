package represent

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// A Quantity is one column of Ranks: what is added up over the run of a thread.
type Quantity struct {
	Kind    Kind
	Cluster int32     // of ComputeNS: a cluster's ID; 0 = the bursts that are in none
	OfKind  bool      // of ComputeNS: the cluster stands for all bursts of its kind
	Class   CallClass // of CallNS
}

// A Kind of quantity, with its unit.
type Kind int

const (
	ComputeNS     Kind = iota // time in the bursts of a cluster
	CallNS                    // time in calls of a class
	SentBytes                 // bytes sent
	ReceivedBytes             // bytes received
	CausedNS                  // time that other threads waited for this one at collective calls
	SufferedNS                // time that this one waited for others there
)

// String names what is compared, as in the manifest.
func (k Kind) String() string {
	return [...]string{
		ComputeNS: "computing", CallNS: "calls", SentBytes: "sent_bytes", ReceivedBytes: "received_bytes", CausedNS: "waited_for", SufferedNS: "waiting",
	}[k]
}

// A CallClass is a group of MPI calls that do the same kind of thing.
type CallClass int

const (
	PointToPoint CallClass = iota
	Collective
	Wait // completing requests, probing
	IO
	OneSided
	OtherCalls
)

var callClasses = [...]string{"point-to-point calls", "collective calls", "wait and test calls", "I/O calls", "one-sided calls", "other MPI calls"}

// Ranks are the threads as vectors of quantities.
type Ranks struct {
	Quantities []Quantity
	Values     []float64 // row-major, a row per thread; finite, not negative
	Name       Namer
}

// Len returns the number of threads.
func (r *Ranks) Len() int {
	if len(r.Quantities) == 0 {
		return 0
	}
	return len(r.Values) / len(r.Quantities)
}

func (r *Ranks) row(thread int) []float64 {
	n := len(r.Quantities)
	return r.Values[thread*n : (thread+1)*n]
}

func (r *Ranks) check() error {
	columns := len(r.Quantities)
	if columns == 0 {
		if len(r.Values) > 0 {
			return errors.New("represent: values without quantities")
		}
		return nil
	}
	if len(r.Values)%columns != 0 {
		return fmt.Errorf("represent: %d values are no whole number of threads with %d quantities", len(r.Values), columns)
	}
	for _, q := range r.Quantities {
		if q.Kind < ComputeNS || q.Kind > SufferedNS || q.Class < 0 || int(q.Class) >= len(callClasses) {
			return fmt.Errorf("represent: unknown quantity %+v", q)
		}
	}
	for i, v := range r.Values {
		if !(v >= 0) || math.IsInf(v, 1) {
			return fmt.Errorf("represent: thread %d, quantity %d: %v is no amount", i/columns, i%columns, v)
		}
	}
	return nil
}

// A scale is shared by quantities that are compared with each other.
type scale int

const (
	computing scale = iota
	calling         // and waiting, and noise: mostly effects of what others compute, and chance
	moving          // bytes
	allScales
)

func (q Quantity) scale() scale {
	switch {
	case q.Kind == ComputeNS && q.Cluster > 0:
		return computing
	case q.Kind == SentBytes || q.Kind == ReceivedBytes:
		return moving
	}
	return calling
}

// place is where the time of a quantity is spent.
func (q Quantity) place() string {
	switch {
	case q.Kind == CallNS:
		return callClasses[q.Class]
	case q.Cluster > 0 && q.OfKind:
		return "kind " + strconv.Itoa(int(q.Cluster))
	case q.Cluster > 0:
		return "cluster " + strconv.Itoa(int(q.Cluster))
	}
	return "bursts in no cluster"
}

// words are how an amount of a quantity is spoken of: "spends", "time in cluster 2", " in cluster 2".
func (q Quantity) words() (verb, of, in string) {
	switch q.Kind {
	case SentBytes:
		return "sends", "bytes", ""
	case ReceivedBytes:
		return "receives", "bytes", ""
	case SufferedNS:
		return "spends", "time waiting for others at collective calls", " waiting for others at collective calls"
	}
	return "spends", "time in " + q.place(), " in " + q.place()
}

// differs says how a thread's value of a quantity differs from the median of its class.
func (q Quantity) differs(value, median float64) string {
	verb, of, in := q.words()
	switch {
	case median == 0:
		return fmt.Sprintf("%s %s%s (its class's median: none)", verb, q.amount(value), in)
	case value == 0:
		return fmt.Sprintf("%s no %s (its class's median: %s)", verb, of, q.amount(median))
	}
	return fmt.Sprintf("%s %s its class's median (%s, median %s)", verb, compared(value, median, of), q.amount(value), q.amount(median))
}
