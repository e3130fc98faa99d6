package cells_test

import (
	"math"

	"pgregory.net/rapid"

	"moriens/analysis/phase"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// A job draws what the agent of a node reads.
type job struct {
	t    *rapid.T
	list []item
	gaps bool // some rows are lost, and some arrive twice, as when an agent resumes
	// Threads mark phases.
	marks bool
}

// An item is a message, or rows of a ring.
type item struct {
	message *moriensv1.ReportRequest
	rows    *sectiontest.Rows
}

func (j *job) say(messages ...*moriensv1.ReportRequest) {
	for _, m := range messages {
		j.list = append(j.list, item{message: m})
	}
}

// messagesOf are those among items.
func messagesOf(list []item) (messages []*moriensv1.ReportRequest) {
	for _, x := range list {
		if x.message != nil {
			messages = append(messages, x.message)
		}
	}
	return messages
}

// blocks are the rows among items: as they were formed, where what has no count has any, or decoded.
func (j *job) blocks(list []item) (blocks []*section.Block) {
	for _, x := range list {
		if x.rows == nil {
			continue
		}
		b := x.rows.Block()
		if rapid.Bool().Draw(j.t, "decoded") {
			b = decoded(j.t, b)
		}
		anything := rapid.SampledFrom([]int64{0, 1000, math.MinInt64})
		for _, x := range b.NotRead {
			b.Counts[x.Event][x.Row] = anything.Draw(j.t, "not read")
		}
		for _, row := range b.NoCounts {
			for _, counts := range b.Counts {
				counts[row] = anything.Draw(j.t, "none")
			}
		}
		blocks = append(blocks, b)
	}
	return blocks
}

func decoded(t fataler, b *section.Block) *section.Block {
	s, out := new(section.Section), new(section.Block)
	_, err := s.Read(sectiontest.Calls(b))
	if err == nil {
		err = new(section.Decoder).Calls(s, s.Events(), out)
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	return out
}

// reuse has blocks be of something else, as when the next transaction is read into their memory.
func reuse(blocks []*section.Block) {
	for _, b := range blocks {
		clear(b.Sites)
		clear(b.Burst)
		clear(b.Call)
		for _, counts := range b.Counts {
			clear(counts)
		}
		for _, rows := range [][]uint32{b.NoBurst, b.Paused, b.NoCounts, b.PollsRow} {
			clear(rows)
		}
		clear(b.NotRead)
		clear(b.Polls)
		clear(b.Collectives)
		b.Empty()
	}
}

const worldSize = 4

var request = sectiontest.Request

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
	ticks    uint64 // of the latest exit
	marks    uint64
	open     []uint32
	before   uint64 // ticks of the burst before the next row,
	marked   uint64 // and of the latest mark in it
	lost     bool   // the latest block with rows is lost
}

// introduce draws processes with their threads, paths and communicators.
func (j *job) introduce(events [][]string) []*thread {
	j.say(sample(1))
	for i, c := range []*moriensv1.Communicator{
		{Size: worldSize, First: []int32{0}, Stride: []int32{1}, Count: []uint32{worldSize}},
		{Size: worldSize, First: []int32{0}, Stride: []int32{1}, Count: []uint32{worldSize}},
		{Size: worldSize - 1, First: []int32{0}, Stride: []int32{1}, Count: []uint32{worldSize - 1}},
		{Size: worldSize, First: []int32{0}, Stride: []int32{1}, Count: []uint32{worldSize}, Inter: true},
	} {
		c.Communicator = uint32(i) + 1
		j.say(request(c))
	}
	var threads []*thread
	for i := range rapid.IntRange(1, 3).Draw(j.t, "processes") {
		p := &moriensv1.Process{
			Process: uint64(100 + i), Rank: int32(i), Size: worldSize, Clock: moriensv1.Clock_CLOCK_TSC,
			Events: rapid.SampledFrom(events).Draw(j.t, "events"),
		}
		j.say(request(p))
		for number := range uint32(3) { // the same places have other numbers in other processes, and the file lies elsewhere
			j.say(request(&moriensv1.CallPath{Process: p.Process, Path: 1 + (number+uint32(i))%3, Frames: []*moriensv1.Frame{
				{Module: []string{"/a/app", "/b/app", "/c/app"}[i], BuildId: []byte{7}, Offset: uint64(number)}, {Offset: 9},
			}}))
		}
		for comm := range uint32(4) {
			j.say(request(&moriensv1.Member{Process: p.Process, Comm: comm + 11, Communicator: comm + 1, Rank: uint32(i)}))
		}
		for n := range rapid.IntRange(1, 2).Draw(j.t, "threads") {
			t := &thread{ring: uint64(1000 + 10*i + n), process: p, ordinals: map[uint32]uint64{}}
			j.say(request(&moriensv1.Ring{Ring: t.ring, Process: p.Process, Thread: uint32(n)}))
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
		x := j.rows(t)
		fate := 0
		if j.gaps {
			fate = rapid.IntRange(0, 5).Draw(j.t, "fate")
		}
		if t.lost = fate == 1; !t.lost {
			j.list = append(j.list, item{rows: x})
		}
		if fate == 2 {
			j.list = append(j.list, item{rows: x})
		}
		if batch == batches/3 {
			j.say(sample(2))
		}
		if batch == batches/2 {
			j.say(sample(9))
		}
	}
	j.say(sample(10))
}

// rows draws some rows of a thread.
func (j *job) rows(t *thread) *sectiontest.Rows {
	bursts := rapid.SampledFrom([]uint64{0, 1, 8, 1000, 1010, 1011, 2000, 2200, 5000, 900_000})
	if t.ticks == 0 {
		t.ticks = 50 + t.ring
		t.before, t.marked = bursts.Draw(j.t, "burst"), t.ticks
	}
	for j.marks && !t.lost && rapid.IntRange(0, 2).Draw(j.t, "marks alone") == 0 {
		x := &sectiontest.Rows{Ring: t.ring, First: t.rows, FirstMark: t.marks, Counts: make([][]int64, len(t.process.Events))}
		if j.mark(t, x); len(x.Marks) > 0 {
			x.Origin = x.Marks[0].Ticks
			j.list = append(j.list, item{rows: x})
		}
	}
	x := &sectiontest.Rows{Ring: t.ring, First: t.rows, Origin: t.ticks, FirstMark: t.marks, Counts: make([][]int64, len(t.process.Events))}
	draw := func(name string, from, to int) int { return rapid.IntRange(from, to).Draw(j.t, name) }
	for i := range uint32(draw("rows", 1, 12)) {
		burst := t.before
		x.Add(uint32(draw("function", 1, 2)), uint32(draw("path", 0, 3)), burst, uint64(draw("call", 1, 90)))
		if t.rows == 0 && i == 0 || draw("no burst", 0, 9) == 0 {
			if x.NoBurst = append(x.NoBurst, i); draw("paused", 0, 1) == 0 {
				x.Paused = append(x.Paused, i)
			}
		}
		j.mark(t, x)
		t.ticks += burst + x.Call[i]
		t.before, t.marked = bursts.Draw(j.t, "burst"), t.ticks
		if draw("polls", 0, 6) == 0 {
			x.PollsRow, x.Polls = append(x.PollsRow, i), append(x.Polls, uint64(draw("of", 2, 30)))
		}
		if len(x.Counts) > 0 && draw("no counts", 0, 4) == 0 {
			x.NoCounts = append(x.NoCounts, i)
		} else {
			for k := range x.Counts {
				x.Counts[k] = append(x.Counts[k], rapid.SampledFrom([]int64{math.MinInt64, -3, 0, 1000, 1001, 1020, 1500, 1 << 40}).Draw(j.t, "count"))
			}
		}
		if draw("collective", 0, 3) == 0 {
			comm := uint32(draw("comm", 11, 14))
			x.Meet(comm, t.ordinals[comm], -1, 0, 0)
			t.ordinals[comm]++
			if draw("others", 0, 8) == 0 { // of another thread
				t.ordinals[comm]++
			}
		}
	}
	t.rows += uint64(len(x.Function))
	if rapid.IntRange(0, 2).Draw(j.t, "marks behind") == 0 {
		j.mark(t, x)
	}
	return x
}

// mark draws marks in the burst before the next row.
func (j *job) mark(t *thread, x *sectiontest.Rows) {
	if !j.marks {
		return
	}
	draw := func(name string, from, to int) int { return rapid.IntRange(from, to).Draw(j.t, name) }
	at, enter := t.marked, t.ticks+t.before
	if draw("deep", 0, 60) == 0 { // without ends, as of an early return
		for range phase.MostDepth / 2 {
			m := section.Mark{Ticks: at, What: section.BeginPhase, Name: uint32(len(t.open)) % 2}
			x.Marks, t.open = append(x.Marks, m), append(t.open, m.Name)
			t.marks++
		}
	}
	for range max(0, draw("marks", -3, 3)) {
		if at += uint64(rapid.SampledFrom([]int{0, 1, 3, 500, 900}).Draw(j.t, "to the mark")); at > enter {
			break
		}
		m := section.Mark{Ticks: at, What: section.MarkKind(draw("mark", 1, 3)), Name: uint32(draw("name", 0, 2))}
		if m.What == section.EndPhase && draw("right", 0, 5) > 0 && len(t.open) > 0 {
			m.Name = t.open[len(t.open)-1]
		}
		switch m.What {
		case section.BeginPhase:
			t.open = append(t.open, m.Name)
		case section.EndPhase:
			t.open = t.open[:max(0, len(t.open)-1)]
		}
		var counts []int64
		if m.What != section.Event && draw("counted", 0, 3) > 0 {
			for range t.process.Events {
				// Mostly below what the burst counts, and in order.
				counts = append(counts, rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, 10, 100, int64(at-t.ticks) / 2, int64(at-t.ticks) / 2}).Draw(j.t, "count at the mark"))
			}
		}
		x.Mark(m, counts...)
		t.marked = at
		t.marks++
	}
}
