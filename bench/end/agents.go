package main

import (
	"context"
	"fmt"
	"slices"

	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// exchangeNS is how long a probe of the collector's clock takes, either way.
const exchangeNS = 50_000

// A sender is what the agent of one node says.
type sender struct {
	store    *store.Store
	agent    *store.Agent
	sequence uint64
}

func (s *sender) send(m *moriensv1.ReportRequest) error {
	s.sequence++
	m.Sequence = s.sequence
	_, err := s.store.Apply(s.agent, m)
	return err
}

// fill has a store hold all that the agents of a job's nodes send while it runs: calls and meetings. Sends and receives
// are kept on the nodes.
func (j job) fill(s *store.Store) error {
	for _, sample := range j.samples() {
		s.AddClock(sample)
	}
	for node := range j.nodes() {
		agent, _, err := s.Greet(j.hello(node))
		if err != nil {
			return err
		}
		if err := j.node(&sender{store: s, agent: agent}, node); err != nil {
			return fmt.Errorf("node %d: %w", node, err)
		}
	}
	return nil
}

// samples are of a counter whose ticks are nanoseconds.
func (j job) samples() []*moriensv1.ClockSample {
	var list []*moriensv1.ClockSample
	for _, at := range [2]uint64{0, j.beginNS(j.iterations) + 1_000_000_000} {
		list = append(list, &moriensv1.ClockSample{
			Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW, Ticks: at, MonotonicNs: int64(at), RealtimeNs: 1.7e18 + int64(at), Identity: "reference",
		})
	}
	return list
}

func (j job) node(s *sender, node int) error {
	var list []*moriensv1.ReportRequest
	for _, sample := range j.samples() {
		sample.Identity = fmt.Sprint("node ", node)
		at := sample.Ticks
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: sample}},
			&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockExchange{ClockExchange: &moriensv1.ClockExchange{
				Clock: sample.Clock, SentTicks: at, ReceivedTicks: at + exchangeNS, RepliedTicks: at + exchangeNS, ReturnedTicks: at + 2*exchangeNS,
			}}})
	}
	list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
		Communicator: 1, Id: 41, Size: uint32(j.ranks), Peers: uint32(j.ranks), First: []int32{0}, Stride: []int32{1}, Count: []uint32{uint32(j.ranks)},
	}}})
	for _, m := range list {
		if err := s.send(m); err != nil {
			return err
		}
	}
	m := new(maker)
	for rank := node * ranksOfNode; rank < min((node+1)*ranksOfNode, j.ranks); rank++ {
		if err := j.rank(s, m, node, rank); err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
	}
	return s.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}})
}

func (j job) rank(s *sender, m *maker, node, rank int) error {
	process := &moriensv1.Process{
		Process: j.process(rank), Rank: int32(rank), Size: int32(j.ranks), World: "end", Host: fmt.Sprintf("n%04d", node),
		Executable: "/opt/stencil", MpiLibrary: "none", Pid: uint32(rank%ranksOfNode + 1), Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW,
	}
	if j.counters {
		process.Events = []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}
	}
	list := []*moriensv1.ReportRequest{
		{Body: &moriensv1.ReportRequest_Process{Process: process}},
		{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: j.ring(rank), Process: j.process(rank)}}},
		{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: j.process(rank), Comm: worldComm, Communicator: 1, Rank: uint32(rank)}}},
	}
	for path := range 2 * len(kinds[1]) {
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{
			Process: j.process(rank), Path: uint32(path + 1), Frames: []*moriensv1.Frame{{Module: "/opt/stencil", Offset: uint64(64 * (path + 1))}},
		}}})
	}
	for i, name := range j.phaseNames() {
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_MarkName{MarkName: &moriensv1.MarkName{Process: j.process(rank), Name: uint32(i + 1), Text: name}}})
	}
	calls := uint64(0)
	step := messageCalls / len(kinds[1]) // iterations
	for first := 0; first < j.iterations; first += step {
		j.from(&m.block, rank, first, min(first+step, j.iterations))
		sections := slices.Clone(m.encoder.Calls(nil, &m.block)) // as long as what it holds, as from the wire
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Sections{Sections: sections}})
		calls += uint64(m.block.Rows)
	}
	transfers := uint64(0)
	if j.peers > 0 {
		transfers = uint64(2 * j.peers * peerMessages)
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Sums{Sums: j.sums(rank)}})
	}
	list = append(list,
		&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: j.ring(rank), Calls: calls, Marks: uint64(j.marks(j.iterations))}}},
		&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: j.process(rank), Transfers: transfers}}},
		&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{Process: j.process(rank), How: moriensv1.ProcessEnd_HOW_FINALIZED}}},
	)
	for _, m := range list {
		if err := s.send(m); err != nil {
			return err
		}
	}
	return nil
}

// Fetch has no transfers that are asked for without windows.
func (j job) Fetch(context.Context, []anchor.ID, ...uint64) []windows.Fetched { return nil }

// FetchCalls answers for all nodes: each has its ranks' windows whole.
func (j job) FetchCalls(ctx context.Context, calls []windows.Calls) []windows.Fetched {
	answers := make([]windows.Fetched, j.nodes())
	for node := range answers {
		answers[node].Agent = uint64(node + 1)
	}
	sent, m := make(map[windows.Key]bool), new(maker)
	for _, c := range calls {
		rank := int(c.Ring>>8) - 1
		a := &answers[rank/ranksOfNode]
		for row := c.First; row < c.Behind; row++ {
			w := windows.Key{Process: j.process(rank), Window: anchor.After(uint64(j.iterationOf(int(row))))}
			if a.Err = ctx.Err(); a.Err == nil && !sent[w] {
				sent[w] = true
				a.Parts = append(a.Parts, j.window(m, rank, w.Window)...)
			}
		}
	}
	return answers
}

// window is what the node of a rank has of a window; nothing where that is after the last meeting.
func (j job) window(m *maker, rank int, w anchor.ID) []*moriensv1.WindowPart {
	first := int(w.Anchors())
	behind := first
	for behind < j.iterations && anchor.After(uint64(behind)) == w {
		behind++
	}
	if first == behind {
		return nil
	}
	firstRow, behindRow := j.rows(first, behind)
	return []*moriensv1.WindowPart{{
		Process: j.process(rank), Window: uint64(w), Ring: []uint64{j.ring(rank)}, FirstRow: []uint64{uint64(firstRow)}, BehindRow: []uint64{uint64(behindRow)},
		Sections: j.moves(m, rank, first, behind),
	}}
}
