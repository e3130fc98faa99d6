package mpix

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"moriens/internal/team"
)

// A property is what holds for a team of any size and kind: each member finds it so.
type property struct {
	name string
	hold func(m Transport) error
}

var properties = []property{
	{"place", place},
	{"reduction", reduction},
	{"parts are the receiver's own", own},
	{"messages before they are awaited", messages},
	{"messages beside collective calls", beside},
	{"mistakes", mistakes},
	{"any program", func(m Transport) error { return errors.Join(program(m, 1, 60), program(m, 2, 60)) }},
	{"much", much},
}

// place: the members' ranks are 0, 1, … and all of them enter a barrier.
func place(m Transport) error {
	ranks, err := team.Gather(m, []int32{int32(m.Rank()), int32(m.Size())})
	if err != nil {
		return err
	}
	for i, r := range ranks {
		if !slices.Equal(r, []int32{int32(i), int32(m.Size())}) {
			return fmt.Errorf("member %d says rank and size %d", i, r)
		}
	}
	return m.Barrier()
}

// reduction: sums, which wrap, minima and maxima, of many values, one and none.
func reduction(m Transport) error {
	n := int64(m.Size())
	for _, c := range []struct {
		op         team.Op
		mine, want []int64
	}{
		{team.Sum, []int64{int64(m.Rank()), -1, 1 << 62}, []int64{n * (n - 1) / 2, -n, n << 62}},
		{team.Min, []int64{int64(m.Rank()), -int64(m.Rank())}, []int64{0, 1 - n}},
		{team.Max, []int64{int64(m.Rank()), -int64(m.Rank())}, []int64{n - 1, 0}},
		{team.Max, []int64{}, []int64{}},
	} {
		if err := m.AllReduce(c.mine, c.op); err != nil {
			return err
		}
		if !slices.Equal(c.mine, c.want) {
			return fmt.Errorf("operation %d gives %d, want %d", c.op, c.mine, c.want)
		}
	}
	return nil
}

// own: what a member has got is its own, and what it has given may change at once.
func own(m Transport) error {
	for range 3 {
		mine := bytes.Repeat([]byte{byte(m.Rank())}, 100)
		all, err := m.AllGather(mine)
		if err != nil {
			return err
		}
		clear(mine)
		parts := make([][]byte, m.Size())
		for i := range parts {
			parts[i] = bytes.Repeat([]byte{byte(m.Rank() + i)}, 100)
		}
		each, err := m.AllToAll(parts)
		if err != nil {
			return err
		}
		for i := range all {
			clear(parts[i])
			if all[i][99] != byte(i) || each[i][99] != byte(m.Rank()+i) {
				return fmt.Errorf("member %d has given %d and %d", i, all[i][99], each[i][99])
			}
			clear(all[i])
			clear(each[i])
		}
	}
	return nil
}

// messages: those to each member, this one included, arrive in order, large ones too, though all are sent before any is
// received.
func messages(m Transport) error {
	lengths := func(from, to int) []int {
		if to == (from+1)%m.Size() {
			return []int{0, 1, 0, 3 << 20, 7, 100_000, 0}
		}
		return []int{3, 0, 10_000, 1}
	}
	for to := range m.Size() {
		for i, n := range lengths(m.Rank(), to) {
			data := pattern(uint64(i), m.Rank(), to, n)
			if err := m.Send(to, data); err != nil {
				return err
			}
			clear(data)
		}
	}
	for from := range m.Size() {
		for i, n := range lengths(from, m.Rank()) {
			data, err := m.Recv(from)
			if err != nil {
				return err
			}
			if !bytes.Equal(data, pattern(uint64(i), from, m.Rank(), n)) {
				return fmt.Errorf("message %d of member %d is another: %d bytes", i, from, len(data))
			}
		}
	}
	return nil
}

// beside: goroutines answer messages during collective calls.
func beside(m Transport) error {
	const rounds = 30
	var failed [2]error
	var both sync.WaitGroup
	next, last := (m.Rank()+1)%m.Size(), (m.Rank()+m.Size()-1)%m.Size()
	both.Go(func() {
		for i := range rounds {
			if failed[0] = m.Send(next, pattern(uint64(i), m.Rank(), next, 1000*i)); failed[0] != nil {
				return
			}
			data, err := m.Recv(last)
			if failed[0] = err; err == nil && !bytes.Equal(data, pattern(uint64(i), last, m.Rank(), 1000*i)) {
				failed[0] = fmt.Errorf("message %d is another", i)
			}
			if failed[0] != nil {
				return
			}
		}
	})
	both.Go(func() { failed[1] = program(m, 3, rounds) })
	both.Wait()
	return errors.Join(failed[0], failed[1])
}

// mistakes of a member's own make no call, and the team continues.
func mistakes(m Transport) error {
	_, parts := m.AllToAll(make([][]byte, m.Size()+1))
	_, from := m.Recv(m.Size())
	for what, err := range map[string]error{
		"a part too many": parts, "a message to nobody": m.Send(m.Size(), nil), "a message to -1": m.Send(-1, nil), "a message of nobody": from,
		"an operation that is none": m.AllReduce([]int64{1}, team.Op(9)),
	} {
		if err == nil {
			return fmt.Errorf("%s: no error", what)
		}
	}
	return m.Barrier()
}

// much: some megabytes from one member to another, nothing between others, and a gathering where one gives nearly all.
func much(m Transport) error {
	const n = 5<<20 + 3
	last := m.Size() - 1
	parts := make([][]byte, m.Size())
	if m.Rank() == 0 {
		parts[last] = pattern(4, 0, last, n)
	}
	each, err := m.AllToAll(parts)
	if err != nil {
		return err
	}
	for i, got := range each {
		var want []byte
		if i == 0 && m.Rank() == last {
			want = pattern(4, 0, last, n)
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("%d bytes of member %d, want %d", len(got), i, len(want))
		}
	}
	mine := pattern(5, m.Rank(), 0, m.Rank())
	if m.Rank() == last {
		mine = pattern(5, last, 0, n)
	}
	all, err := m.AllGather(mine)
	if err != nil {
		return err
	}
	if !bytes.Equal(all[last], pattern(5, last, 0, n)) {
		return errors.New("what one has given in pieces is not what others have got")
	}
	return nil
}

// program makes calls that the seed draws, the same at all members, and checks that each gives what it has to.
func program(m Transport, seed uint64, steps int) error {
	draw := rand.New(rand.NewPCG(seed, 0))
	length := func() int {
		return []int{0, 0, 1, draw.IntN(50), draw.IntN(50), draw.IntN(2000), draw.IntN(20_000)}[draw.IntN(7)]
	}
	for step := range uint64(steps) {
		key := seed<<32 | step<<8
		lengths := make([]int, m.Size()*m.Size()) // from i to j: i·size + j
		for i := range lengths {
			lengths[i] = length()
		}
		var err error
		switch draw.IntN(4) {
		case 0:
			err = m.Barrier()
		case 1:
			var all [][]byte
			if all, err = m.AllGather(pattern(key, m.Rank(), 0, lengths[m.Rank()])); err == nil {
				for i := range all {
					err = errors.Join(err, same(all[i], pattern(key, i, 0, lengths[i])))
				}
			}
		case 2:
			parts := make([][]byte, m.Size())
			for i := range parts {
				parts[i] = pattern(key, m.Rank(), i, lengths[m.Rank()*m.Size()+i])
			}
			var all [][]byte
			if all, err = m.AllToAll(parts); err == nil {
				for i := range all {
					err = errors.Join(err, same(all[i], pattern(key, i, m.Rank(), lengths[i*m.Size()+m.Rank()])))
				}
			}
		case 3:
			err = reduceSome(m, key, lengths[0]/8, team.Op(draw.IntN(3)))
		}
		if err != nil {
			return fmt.Errorf("seed %d, call %d: %w", seed, step, err)
		}
	}
	return nil
}

func reduceSome(m Transport, key uint64, n int, op team.Op) error {
	values, want := numbers(pattern(key, m.Rank(), 0, 8*n)), numbers(pattern(key, 0, 0, 8*n))
	for i := 1; i < m.Size(); i++ {
		for k, v := range numbers(pattern(key, i, 0, 8*n)) {
			want[k] = [...]int64{want[k] + v, min(want[k], v), max(want[k], v)}[op]
		}
	}
	if err := m.AllReduce(values, op); err != nil {
		return err
	}
	if !slices.Equal(values, want) {
		return fmt.Errorf("operation %d of %d values gives others", op, n)
	}
	return nil
}

func same(got, want []byte) error {
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%d bytes, want other %d", len(got), len(want))
	}
	return nil
}

// pattern is n bytes that no other pair of members, and no other key, has.
func pattern(key uint64, from, to, n int) []byte {
	draw := rand.NewPCG(key, uint64(from)<<32|uint64(to))
	data := make([]byte, n+8)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(data[i:], draw.Uint64())
	}
	return data[:n]
}

func numbers(data []byte) []int64 {
	list := make([]int64, len(data)/8)
	for i := range list {
		list[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return list
}
