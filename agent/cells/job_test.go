package cells_test

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	moriensv1 "moriens/proto/moriens/v1"
)

// A job draws the messages of a node.
type job struct {
	t        *rapid.T
	messages []*moriensv1.ReportRequest
	gaps     bool // some messages are lost, and some arrive twice, as when an agent resumes
}

const worldSize = 4

func request(body proto.Message) *moriensv1.ReportRequest {
	return wrap(new(moriensv1.ReportRequest), body)
}

// wrap makes a message the body of another, in the field of its kind.
func wrap[M proto.Message](m M, body proto.Message) M {
	of := m.ProtoReflect()
	fields := of.Descriptor().Oneofs().ByName("body").Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Message() == body.ProtoReflect().Descriptor() {
			of.Set(f, protoreflect.ValueOfMessage(body.ProtoReflect()))
			return m
		}
	}
	panic(fmt.Sprintf("%T is no body of %T", body, m))
}

func sample(seconds int) *moriensv1.ReportRequest {
	return request(&moriensv1.ClockSample{
		Clock: moriensv1.Clock_CLOCK_TSC, Ticks: uint64(seconds)*ticksPerSec + 77, MonotonicNs: int64(seconds)*1e9 + 5,
	})
}

// A thread is a ring at work.
type thread struct {
	ring     uint64
	process  *moriensv1.Process
	rows     uint64
	ordinals map[uint32]uint64
	late     *moriensv1.Collectives
	lateRow  uint64
}

// introduce draws processes with their threads, paths and communicators.
func (j *job) introduce(events [][]string) []*thread {
	j.messages = append(j.messages, sample(1))
	for i, c := range []*moriensv1.Communicator{
		{Size: worldSize, First: []int32{0}, Stride: []int32{1}, Count: []uint32{worldSize}},
		{Size: worldSize, First: []int32{0}, Stride: []int32{1}, Count: []uint32{worldSize}},
		{Size: worldSize - 1, First: []int32{0}, Stride: []int32{1}, Count: []uint32{worldSize - 1}},
		{Size: worldSize, First: []int32{0}, Stride: []int32{1}, Count: []uint32{worldSize}, Inter: true},
	} {
		c.Communicator = uint32(i) + 1
		j.messages = append(j.messages, request(c))
	}
	var threads []*thread
	for i := range rapid.IntRange(1, 3).Draw(j.t, "processes") {
		p := &moriensv1.Process{
			Process: uint64(100 + i), Rank: int32(i), Size: worldSize, Clock: moriensv1.Clock_CLOCK_TSC,
			Events: rapid.SampledFrom(events).Draw(j.t, "events"),
		}
		j.messages = append(j.messages, request(p))
		for number := range uint32(3) { // the same places have other numbers in other processes, and the file lies elsewhere
			j.messages = append(j.messages, request(&moriensv1.CallPath{Process: p.Process, Path: 1 + (number+uint32(i))%3, Frames: []*moriensv1.Frame{
				{Module: []string{"/a/app", "/b/app", "/c/app"}[i], BuildId: []byte{7}, Offset: uint64(number)}, {Offset: 9},
			}}))
		}
		for comm := range uint32(4) {
			j.messages = append(j.messages, request(&moriensv1.Member{Process: p.Process, Comm: comm + 11, Communicator: comm + 1, Rank: uint32(i)}))
		}
		for n := range rapid.IntRange(1, 2).Draw(j.t, "threads") {
			t := &thread{ring: uint64(1000 + 10*i + n), process: p, ordinals: map[uint32]uint64{}}
			j.messages = append(j.messages, request(&moriensv1.Ring{Ring: t.ring, Process: p.Process, Thread: uint32(n)}))
			threads = append(threads, t)
		}
	}
	return threads
}

// work draws what threads do. In the middle another process starts, which counts these events.
func (j *job) work(threads []*thread, batches int, events []string) {
	for batch := range batches {
		if batch == batches*2/3 {
			threads = append(threads, j.bystander(201, events))
		}
		t := rapid.SampledFrom(threads).Draw(j.t, "thread")
		c := j.calls(t)
		fate := 0
		if j.gaps {
			fate = rapid.IntRange(0, 5).Draw(j.t, "fate")
		}
		if fate != 1 { // 1: it is lost
			j.messages = append(j.messages, request(c))
		}
		if fate == 2 {
			j.messages = append(j.messages, request(c))
		}
		if rapid.Bool().Draw(j.t, "collectives come") {
			j.flush(t, fate == 1)
		}
		if batch == batches/3 {
			j.messages = append(j.messages, sample(2))
		}
		if batch == batches/2 {
			j.messages = append(j.messages, sample(9))
		}
	}
	j.messages = append(j.messages, sample(10))
	for _, t := range threads {
		j.flush(t, false)
	}
}

func (j *job) flush(t *thread, lost bool) {
	if t.late != nil && !lost {
		j.messages = append(j.messages, request(t.late))
	}
	t.late = nil
}

// calls draws some rows of a thread.
func (j *job) calls(t *thread) *moriensv1.Calls {
	c := &moriensv1.Calls{Ring: t.ring, First: t.rows, OriginTicks: 5}
	for range t.process.Events {
		c.Counts = append(c.Counts, new(moriensv1.Counts))
	}
	draw := func(name string, from, to int) int { return rapid.IntRange(from, to).Draw(j.t, name) }
	for i := range uint32(draw("rows", 1, 12)) {
		c.BurstTicks = append(c.BurstTicks, uint64(rapid.SampledFrom([]int{0, 1, 8, 1000, 1010, 1011, 2000, 2200, 5000, 900_000}).Draw(j.t, "burst")))
		c.CallTicks = append(c.CallTicks, uint64(draw("call", 0, 90)))
		c.Function = append(c.Function, uint32(draw("function", 1, 2)))
		c.Path = append(c.Path, uint32(draw("path", 0, 3)))
		if t.rows == 0 && i == 0 || draw("no burst", 0, 9) == 0 {
			c.NoBurst = append(c.NoBurst, i)
		}
		if draw("polls", 0, 6) == 0 {
			c.PollsRow, c.Polls = append(c.PollsRow, i), append(c.Polls, uint64(draw("of", 2, 30)))
		}
		if len(c.Counts) > 0 && draw("no counts", 0, 4) == 0 {
			c.NoCounts = append(c.NoCounts, i)
		} else {
			for _, counts := range c.Counts {
				counts.Value = append(counts.Value, rapid.SampledFrom([]int64{math.MinInt64, -3, 0, 1000, 1001, 1020, 1500, 1 << 40}).Draw(j.t, "count"))
			}
		}
		if draw("collective", 0, 3) == 0 {
			j.collective(t, t.rows+uint64(i), uint32(draw("comm", 11, 14)))
		}
	}
	t.rows += uint64(len(c.Function))
	return c
}

func (j *job) collective(t *thread, row uint64, comm uint32) {
	if t.late == nil {
		t.late, t.lateRow = &moriensv1.Collectives{Ring: t.ring}, 0
	}
	x := t.late
	x.Row = append(x.Row, int64(row-t.lateRow))
	t.lateRow = row
	x.Comm, x.Ordinal = append(x.Comm, comm), append(x.Ordinal, t.ordinals[comm])
	t.ordinals[comm]++
	if rapid.IntRange(0, 8).Draw(j.t, "others") == 0 { // of another thread
		t.ordinals[comm]++
	}
}
