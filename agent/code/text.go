package code

import (
	"context"
	"fmt"
	"math/bits"
)

// A text is the decoded code of a span.
type text struct {
	span
	code   []byte
	starts bitmap  // offsets at which instructions begin
	real   bitmap  // of them those that are not padding
	events []event // what is not just followed by the next instruction, by offset
	fault  string  // why it could not be decoded
}

// An event is an instruction that changes the flow, from offset at to offset end.
type event struct {
	at, end int
	flow    flow
	target  uint64
	slot    uint64
}

type bitmap []uint64

func newBitmap(n int) bitmap    { return make(bitmap, (n+63)/64) }
func (b bitmap) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitmap) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }

// any reports whether one of [from, to) is set.
func (b bitmap) any(from, to int) bool {
	n := b.next(from)
	return n >= 0 && n < to
}

// next is the first one from i on, -1: there is none.
func (b bitmap) next(i int) int {
	for w := i / 64; w < len(b); w++ {
		word := b[w]
		if w == i/64 {
			word &^= 1<<(i%64) - 1
		}
		if word != 0 {
			return 64*w + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// maxSpan bounds the bytes of a function that is read.
const maxSpan = 16 << 20

// decodeSpan reads a span from end to end.
func (m *image) decodeSpan(ctx context.Context, s span) *text {
	t := &text{span: s}
	n := s.end - s.start
	if n > maxSpan {
		t.fault = fmt.Sprintf("%d MiB of machine code, at most %d are read", n>>20, maxSpan>>20)
		return t
	}
	t.code = m.read(s.start, n)
	if uint64(len(t.code)) < n || !m.executable(s.start) {
		t.fault = "its machine code is not in the file"
		return t
	}
	t.starts, t.real = newBitmap(len(t.code)), newBitmap(len(t.code))
	for at, count := 0, 0; at < len(t.code); count++ {
		if count%4096 == 0 && ctx.Err() != nil {
			t.fault = "no time was left"
			return t
		}
		in, ok := m.decode.decode(t.code[at:], s.start+uint64(at))
		if !ok || in.size <= 0 || in.size > len(t.code)-at {
			t.fault = fmt.Sprintf("the instruction at %#x is not known", s.start+uint64(at))
			return t
		}
		t.starts.set(at)
		if in.flow != flowNop && in.flow != flowTrap {
			t.real.set(at)
		}
		if in.flow != flowNext && in.flow != flowNop {
			t.events = append(t.events, event{at, at + in.size, in.flow, in.target, in.slot})
		}
		at += in.size
	}
	return t
}

// before lists up to n instructions that stand before an offset, in their order.
func (t *text) before(at, n int) []int {
	list := make([]int, n)
	k := n
	for at--; at >= 0 && k > 0; at-- {
		if t.starts.has(at) {
			k--
			list[k] = at
		}
	}
	return list[k:]
}
