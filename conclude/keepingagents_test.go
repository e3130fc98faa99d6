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
	kept      *keeping.Store
	held      map[uint64][]said // by process: what its windows have
	gone      bool
	phaseless bool // its version knows nothing of phases
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
		p = proto.CloneOf(p)
		if m := p.GetSums(); m != nil && a.phaseless {
			p.Body = &moriensv1.CellsAnswer_Sums{Sums: &moriensv1.CellsSums{
				Ring: m.Ring, Call: m.Call, Path: m.Path, Function: m.Function, Label: m.Label, Kind: m.Kind, Count: m.Count, Records: m.Records, TotalNs: m.TotalNs,
				SquaresLow: m.SquaresLow, SquaresHigh: m.SquaresHigh, MinNs: m.MinNs, MaxNs: m.MaxNs, Read: m.Read, Counter: m.Counter,
				CounterSquaresLow: m.CounterSquaresLow, CounterSquaresHigh: m.CounterSquaresHigh, CounterMin: m.CounterMin, CounterMax: m.CounterMax,
			}}
		}
		parts = append(parts, p)
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
			if held := a.held[process]; !a.gone && len(held) > 0 {
				part := &moriensv1.WindowPart{Process: process}
				for _, m := range encoded(held) {
					part.Sections = append(part.Sections, m.GetSections()...)
				}
				f.Parts = append(f.Parts, part)
			}
		}
		list = append(list, f)
	}
	return list
}

// encoded is what was said, as a collector receives it.
func encoded(list []said) (messages []*moriensv1.ReportRequest) {
	for _, m := range list {
		if m.rows != nil {
			messages = append(messages, m.rows.Message())
		} else {
			messages = append(messages, proto.CloneOf(m.ReportRequest))
		}
	}
	return messages
}

// ring is the ring that something was recorded in; 0: in none.
func (m said) ring() uint64 {
	if m.rows != nil {
		return m.rows.Ring
	}
	s := new(section.Section)
	if _, err := s.Read(m.GetSections()); err != nil {
		return 0
	}
	return s.Ring
}

// keptBack has agents keep what those of a record have reported of calls, and report the rest.
func (r *record) keptBack(t fatal, random *rand.Rand, config keeping.Config) (store.Frozen, keepingAgents) {
	agents := make(keepingAgents)
	reported := &record{clocks: r.clocks}
	for _, x := range r.agents {
		a := &keepingAgent{held: make(map[uint64][]said)}
		var err error
		if a.kept, err = keeping.New(config); err != nil {
			t.Fatal(err)
		}
		rest := &agentRecord{hello: proto.CloneOf(x.hello)}
		rest.hello.Cells = "as agreed"
		processes := make(map[uint64]uint64) // by ring
		for _, m := range x.messages {
			if m.rows != nil {
				a.kept.Add(nil, []*section.Block{m.rows.Block()})
			} else {
				a.kept.Add([]*moriensv1.ReportRequest{proto.CloneOf(m.ReportRequest)}, nil)
			}
			ring := m.ring()
			if b := m.GetRing(); b != nil {
				processes[b.Ring] = b.Process
			}
			if ring == 0 {
				rest.say(m.ReportRequest)
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
			x := &sectiontest.Rows{Ring: process, First: first, Origin: now}
			for i := range 10 {
				for call, function := range []uint32{allreduce, barrier} {
					burst := 4e5 * (1 + .01*random.Float64())
					switch {
					case call == 0 && rank == 3:
						burst *= 4
					case call == 1 && rank >= n/2:
						burst *= 2.5
					}
					x.Add(function, uint32(call+1), uint64(burst), 2000)
					x.Meet(1, uint64(20*window+2*i+call), -1, 8, 8)
					now += uint64(burst) + 2000
				}
			}
			if window == 0 {
				x.NoBurst = []uint32{0}
			}
			first += 20
			a.record(x)
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
