package conclude

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	keeping "moriens/agent/cells"
	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/conclude/agenttest"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// keepingAgents are agents that keep what their ranks do.
type keepingAgents map[uint64]*keepingAgent

type keepingAgent struct {
	kept *keeping.Store
	held map[uint64][]*moriensv1.ReportRequest // by process: what its windows have
	gone bool
}

// IDs implements cells.Agents.
func (s keepingAgents) IDs() (list []uint64) {
	for id, a := range s {
		if !a.gone {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// Ask implements cells.Agents: messages are encoded and decoded.
func (s keepingAgents) Ask(_ context.Context, agent uint64, ask *moriensv1.CellsAsk, take func(*moriensv1.CellsAnswer) error) error {
	a := s[agent]
	if a == nil || a.gone {
		return windows.ErrGone
	}
	var parts []*moriensv1.CellsAnswer
	if err := a.kept.Answer(proto.CloneOf(ask), func(p *moriensv1.CellsAnswer) error {
		parts = append(parts, proto.CloneOf(p))
		return nil
	}); err != nil {
		return err
	}
	for _, p := range parts {
		if err := take(p); err != nil {
			return err
		}
	}
	return nil
}

// FetchAll implements cells.Agents.
func (s keepingAgents) FetchAll(_ context.Context, processes ...uint64) (list []windows.Fetched) {
	for id, a := range s {
		f := windows.Fetched{Agent: id}
		if a.gone {
			f.Err = windows.ErrGone
		}
		for _, process := range processes {
			if messages := a.held[process]; !a.gone && len(messages) > 0 {
				part := &moriensv1.WindowPart{Process: process}
				for _, m := range encoded(messages) {
					part.Sections = append(part.Sections, m.GetSections()...)
				}
				f.Parts = append(f.Parts, part)
			}
		}
		list = append(list, f)
	}
	return list
}

// encoded is a copy of messages, with sections for what rings recorded: an agent's cells take messages of calls, marks,
// collectives and gaps, and a collector takes sections.
func encoded(messages []*moriensv1.ReportRequest) (list []*moriensv1.ReportRequest) {
	met := make(map[uint64][]section.Collective) // by ring, with rows of the ring
	for _, m := range messages {
		row := int64(0)
		for i, step := range m.GetCollectives().GetRow() {
			c := m.GetCollectives()
			row += step
			met[c.Ring] = append(met[c.Ring], section.Collective{Row: uint32(row), Comm: c.Comm[i], Root: c.Root[i], Ordinal: c.Ordinal[i], Sent: c.Sent[i], Received: c.Received[i]})
		}
	}
	for _, m := range messages {
		x := new(sectiontest.Rows)
		switch b := m.Body.(type) {
		case *moriensv1.ReportRequest_Calls:
			x = rowsOf(b.Calls)
			for _, c := range met[x.Ring] {
				if row := uint64(c.Row); row >= x.First && row < x.First+uint64(len(x.Function)) {
					c.Row -= uint32(x.First)
					x.Collectives = append(x.Collectives, c)
				}
			}
		case *moriensv1.ReportRequest_Marks:
			k, now, values := b.Marks, b.Marks.OriginTicks, b.Marks.Value
			x.Ring, x.FirstMark = k.Ring, k.First
			for i, what := range k.What {
				now += k.Ticks[i]
				mark := section.Mark{Ticks: now, What: section.MarkKind(what), Name: k.Name[i]}
				if what == moriensv1.Marks_WHAT_EVENT {
					mark.Value, values = values[0], values[1:]
				}
				x.Marks = append(x.Marks, mark)
			}
		case *moriensv1.ReportRequest_Gaps:
			x.Ring, x.GapsBefore, x.GapsInside = b.Gaps.Ring, b.Gaps.Before, b.Gaps.Inside
		case *moriensv1.ReportRequest_Collectives:
			continue // with their calls
		default:
			list = append(list, proto.CloneOf(m))
			continue
		}
		list = append(list, x.Message())
	}
	return list
}

// rowsOf are calls that have no polls and all counts.
func rowsOf(c *moriensv1.Calls) *sectiontest.Rows {
	x := &sectiontest.Rows{
		Ring: c.Ring, First: c.First, Origin: c.OriginTicks, Burst: c.BurstTicks, Call: c.CallTicks, Function: c.Function, Path: c.Path,
		NoBurst: c.NoBurst, Unfinished: c.Unfinished,
	}
	for _, counts := range c.Counts {
		x.Counts = append(x.Counts, counts.Value)
	}
	return x
}

// ringOf is the ring that a message is of; 0: of none.
func ringOf(m *moriensv1.ReportRequest) uint64 {
	s := new(section.Section)
	if _, err := s.Read(m.GetSections()); err == nil {
		return s.Ring
	}
	return m.GetCalls().GetRing() + m.GetMarks().GetRing() + m.GetCollectives().GetRing() + m.GetGaps().GetRing()
}

// keptBack has agents keep what those of a record have reported of calls, and report the rest.
func (r *record) keptBack(t fatal, random *rand.Rand, config keeping.Config) (store.Frozen, keepingAgents) {
	agents := make(keepingAgents)
	reported := &record{clocks: r.clocks}
	for _, x := range r.agents {
		a := &keepingAgent{held: make(map[uint64][]*moriensv1.ReportRequest)}
		var err error
		if a.kept, err = keeping.New(config); err != nil {
			t.Fatal(err)
		}
		rest := &agentRecord{hello: proto.CloneOf(x.hello)}
		rest.hello.Cells = "as agreed"
		processes := make(map[uint64]uint64) // by ring
		for _, m := range x.messages {
			a.kept.Add([]*moriensv1.ReportRequest{proto.CloneOf(m)})
			ring := ringOf(m)
			if b := m.GetRing(); b != nil {
				processes[b.Ring] = b.Process
			}
			if ring == 0 {
				rest.say(m)
				continue
			}
			a.held[processes[ring]] = append(a.held[processes[ring]], m)
		}
		agents[x.hello.Agent] = a
		reported.agents = append(reported.agents, rest)
	}
	return reported.frozen(t, random, func(int) bool { return true }), agents
}

// planted is a job of n ranks on two nodes: rank 3 computes four times as long as the others in one place, and the
// ranks of the second half more often in another.
func planted(t *testing.T, n, iterations int) *record {
	random := rand.New(rand.NewPCG(7, 7))
	r := new(record)
	raw := moriensv1.Clock_CLOCK_MONOTONIC_RAW
	end := 1e9 * float64(iterations)
	sample := func(ns float64) *moriensv1.ClockSample {
		return &moriensv1.ClockSample{Clock: raw, Ticks: uint64(ns), MonotonicNs: int64(ns), RealtimeNs: int64(ns), UncertaintyNs: 40, Identity: "kernel"}
	}
	r.clocks = []*moriensv1.ClockSample{sample(0), sample(end)}
	for i := range 2 {
		a := &agentRecord{hello: &moriensv1.Hello{Agent: uint64(i + 1), Host: fmt.Sprint("n", i), Cpus: 4}}
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: sample(0)}})
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
			Communicator: 1, Id: 70, Size: uint32(n), Peers: uint32(n), First: []int32{0}, Stride: []int32{1}, Count: []uint32{uint32(n)}}}})
		r.agents = append(r.agents, a)
	}
	allreduce, barrier := agenttest.Call(t, "MPI_Allreduce"), agenttest.Call(t, "MPI_Barrier")
	for rank := range n {
		a := r.agents[rank*2/n]
		process := uint64(rank + 11)
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
			Process: process, Rank: int32(rank), Size: int32(n), World: "w", Clock: raw, Host: a.hello.Host, Executable: "/opt/app", MpiLibrary: "Open MPI v4",
		}}})
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: process, Process: process}}})
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: process, Comm: 1, Communicator: 1, Rank: uint32(rank)}}})
		for path := range uint32(2) {
			a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{
				Process: process, Path: path + 1, Frames: []*moriensv1.Frame{{Module: "/opt/app", BuildId: []byte{1}, Offset: uint64(path + 1)}}}}})
		}
		now, first := uint64(1000), uint64(0)
		for window := range iterations / 10 {
			c := &moriensv1.Calls{Ring: process, First: first, OriginTicks: now}
			m := &moriensv1.Collectives{Ring: process}
			for i := range 10 {
				for call, function := range []uint32{allreduce, barrier} {
					burst := 4e5 * (1 + .01*random.Float64())
					switch {
					case call == 0 && rank == 3:
						burst *= 4
					case call == 1 && rank >= n/2:
						burst *= 2.5
					}
					c.BurstTicks, c.CallTicks = append(c.BurstTicks, uint64(burst)), append(c.CallTicks, 2000)
					c.Function, c.Path = append(c.Function, function), append(c.Path, uint32(call+1))
					now += uint64(burst) + 2000
					row := int64(first) + int64(2*i+call)
					if 2*i+call > 0 {
						row = 1 // after the one before
					}
					m.Row, m.Comm, m.Ordinal = append(m.Row, row), append(m.Comm, 1), append(m.Ordinal, uint64(20*window+2*i+call))
					m.Sent, m.Received, m.Root = append(m.Sent, 8), append(m.Received, 8), append(m.Root, -1)
				}
			}
			if window == 0 {
				c.NoBurst = []uint32{0}
			}
			first += 20
			a.say(calls(c))
			a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Collectives{Collectives: m}})
		}
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: process, Calls: first}}})
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: process}}})
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{Process: process, How: moriensv1.ProcessEnd_HOW_FINALIZED}}})
	}
	for _, a := range r.agents {
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: sample(end)}})
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}})
	}
	return r
}

func calls(c *moriensv1.Calls) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Calls{Calls: c}}
}
