// Package team lets several processes, each with a share of the data, compute one result.
//
// A Team is a set of members that run the same program over their shares. Its calls are collective: every member makes
// them, in the same order, and none returns before all have made it. So whatever decides the next call must be equal at
// all members: a result of a Team, never a member's own share or clock. Agree makes one member's error that of all.
// With one member, Solo, every call returns its input: code for a team needs no second version for one process.
//
// Results are in the order of the members, and sums are of integers: a result depends neither on the number of members
// nor on their order of arrival. Package internal/mpix provides teams that are MPI jobs, and goroutines.
package team

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"
)

// A Team is one member's view of all of them.
type Team interface {
	Rank() int // of this member, from 0
	Size() int
	// AllGather returns what every member has given, by rank. The members may give different amounts, and none.
	AllGather(mine []byte) ([][]byte, error)
	// AllToAll sends parts[i] to member i, and returns by rank what the members have sent to this one. There is one part
	// for each member; parts may have different lengths, and none.
	AllToAll(parts [][]byte) ([][]byte, error)
	// AllReduce replaces each value by that of all members at its place taken together. All give equally many.
	AllReduce(values []int64, op Op) error
}

// An Op takes values of several members together.
type Op int

// What AllReduce does. Sums that overflow wrap.
const (
	Sum Op = iota
	Min
	Max
)

// Solo is a team of one.
type Solo struct{}

// Rank implements Team.
func (Solo) Rank() int { return 0 }

// Size implements Team.
func (Solo) Size() int { return 1 }

// AllGather implements Team.
func (Solo) AllGather(mine []byte) ([][]byte, error) { return [][]byte{slices.Clone(mine)}, nil }

// AllToAll implements Team.
func (Solo) AllToAll(parts [][]byte) ([][]byte, error) {
	if len(parts) != 1 {
		return nil, fmt.Errorf("team: %d parts for 1 member", len(parts))
	}
	return [][]byte{slices.Clone(parts[0])}, nil
}

// AllReduce implements Team.
func (Solo) AllReduce([]int64, Op) error { return nil }

// ErrElsewhere is what Agree returns where this member itself has no error.
var ErrElsewhere = errors.New("another member of the team has failed")

// A MisfitError says what is wrong with what a member has sent.
type MisfitError struct {
	Member int // its rank
	Err    error
}

func (e *MisfitError) Error() string { return fmt.Sprintf("team: member %d sent %v", e.Member, e.Err) }

// Unwrap returns what is wrong.
func (e *MisfitError) Unwrap() error { return e.Err }

// Agree is collective: it returns nil at all members if none has an error, and else at each its own or ErrElsewhere.
func Agree(t Team, err error) error {
	failed := []int64{0}
	if err != nil {
		failed[0] = 1
	}
	if lost := t.AllReduce(failed, Max); lost != nil {
		return errors.Join(err, lost)
	}
	if err == nil && failed[0] != 0 {
		return ErrElsewhere
	}
	return err
}

// Plain is what lies in memory as it is sent. Members run on machines of one kind.
type Plain interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | ~bool
}

// Gather is AllGather of numbers.
func Gather[T Plain](t Team, mine []T) ([][]T, error) {
	all, err := t.AllGather(bytesOf(mine))
	if err != nil {
		return nil, err
	}
	return allOf[T](all)
}

// Exchange is AllToAll of numbers.
func Exchange[T Plain](t Team, parts [][]T) ([][]T, error) {
	raw := make([][]byte, len(parts))
	for i, p := range parts {
		raw[i] = bytesOf(p)
	}
	all, err := t.AllToAll(raw)
	if err != nil {
		return nil, err
	}
	return allOf[T](all)
}

func allOf[T Plain](all [][]byte) ([][]T, error) {
	list := make([][]T, len(all))
	for i, raw := range all {
		var none T
		size := int(unsafe.Sizeof(none))
		if len(raw)%size != 0 {
			return nil, &MisfitError{i, fmt.Errorf("%d bytes, which are no whole number of values of %d", len(raw), size)}
		}
		list[i] = make([]T, len(raw)/size)
		copy(bytesOf(list[i]), raw)
	}
	return list, nil
}

func bytesOf[T Plain](list []T) []byte {
	if len(list) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*int(unsafe.Sizeof(list[0])))
}
