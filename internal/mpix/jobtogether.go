//go:build mpi

package mpix

// #include "job.h"
import "C"

import (
	"slices"
	"unsafe"

	"github.com/emer/empi/mpi"

	"moriens/internal/team"
)

// lengths returns all members' lists of numbers, one after the other. All lists are equally long.
func (j *job) lengths(mine []int64) ([]int64, error) {
	out, in := j.out.numbers(len(mine)), j.in.numbers(len(mine)*j.size)
	copy(out, mine)
	if err := j.comm.AllGatherI64(in, out); err != nil {
		return nil, err
	}
	return slices.Clone(in), nil
}

// A layout is where the pieces of all members begin in memory, and how long they are, in bytes.
type layout struct{ counts, starts []C.int }

func (j *job) layout() layout { return layout{make([]C.int, j.size), make([]C.int, j.size)} }

// piece is how much goes to and from each member at a time.
func (j *job) piece() int { return max(j.staging/j.size, 1) }

// pieces lays out what follows begin of parts of these lengths, and returns how much it is in all.
func (l layout) pieces(lengths []int64, begin, piece int) int {
	total := 0
	for i, n := range lengths {
		count := min(max(int(n)-begin, 0), piece)
		l.counts[i], l.starts[i] = C.int(count), C.int(total)
		total += count
	}
	return total
}

// of returns the piece of a member.
func (l layout) of(area []byte, i int) []byte { return area[l.starts[i]:][:l.counts[i]] }

func (j *job) AllGather(mine []byte) ([][]byte, error) {
	var all [][]byte
	err := j.together(callAllGather, 0, func() error {
		lengths, err := j.lengths([]int64{int64(len(mine))})
		if err != nil {
			return err
		}
		all = room(lengths)
		l, piece := j.layout(), j.piece()
		for begin := 0; begin < int(slices.Max(lengths)); begin += piece {
			in := j.in.bytes(l.pieces(lengths, begin, piece))
			n := int(l.counts[j.rank])
			out := j.out.bytes(max(n, 1))
			copy(out, rest(mine, begin)[:n])
			if err := j.did("MPI_Allgatherv", C.mpix_allgatherv(unsafe.Pointer(&out[0]), C.int(n), unsafe.Pointer(&in[0]), &l.counts[0], &l.starts[0])); err != nil {
				return err
			}
			for i := range all {
				copy(rest(all[i], begin), l.of(in, i))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (j *job) AllToAll(parts [][]byte) ([][]byte, error) {
	if err := checkParts(parts, j.size); err != nil {
		return nil, err
	}
	var all [][]byte
	err := j.together(callAllToAll, 0, func() error {
		mine := make([]int64, j.size) // what goes to other members
		for i, p := range parts {
			if i != j.rank {
				mine[i] = int64(len(p))
			}
		}
		lengths, err := j.lengths(mine)
		if err != nil {
			return err
		}
		theirs := make([]int64, j.size)
		for i := range theirs {
			theirs[i] = lengths[i*j.size+j.rank]
		}
		all = room(theirs)
		all[j.rank] = slices.Clone(parts[j.rank])
		to, from, piece := j.layout(), j.layout(), j.piece()
		for begin := 0; begin < int(slices.Max(lengths)); begin += piece {
			out := j.out.bytes(max(to.pieces(mine, begin, piece), 1))
			in := j.in.bytes(max(from.pieces(theirs, begin, piece), 1))
			for i, p := range parts {
				copy(to.of(out, i), rest(p, begin))
			}
			if err := j.did("MPI_Alltoallv", C.mpix_alltoallv(unsafe.Pointer(&out[0]), &to.counts[0], &to.starts[0],
				unsafe.Pointer(&in[0]), &from.counts[0], &from.starts[0])); err != nil {
				return err
			}
			for i := range all {
				copy(rest(all[i], begin), from.of(in, i))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// room returns parts of these lengths.
func room(lengths []int64) [][]byte {
	parts := make([][]byte, len(lengths))
	for i, n := range lengths {
		parts[i] = make([]byte, n)
	}
	return parts
}

// rest returns what follows begin, if anything.
func rest(part []byte, begin int) []byte { return part[min(begin, len(part)):] }

var operations = [...]mpi.Op{team.Sum: mpi.OpSum, team.Min: mpi.OpMin, team.Max: mpi.OpMax}

func (j *job) AllReduce(values []int64, op team.Op) error {
	c, err := reducing(op)
	if err != nil {
		return err
	}
	return j.together(c, len(values), func() error {
		for some := range slices.Chunk(values, j.staging/8) {
			in := j.in.numbers(len(some))
			copy(in, some)
			if err := j.comm.AllReduceI64(operations[op], in, nil); err != nil {
				return err
			}
			copy(some, in)
		}
		return nil
	})
}

func (j *job) Barrier() error { return j.together(callBarrier, 0, func() error { return nil }) }
