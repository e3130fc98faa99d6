package store

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"moriens/internal/sums"
	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// Share is collective: the collectors of a run exchange their agents, so that each has the agents, processes and rings
// of all, in one order and with one numbering of call paths, names and clocks. Chunks, marks, transfers, collectives
// and gaps are kept at the collector that has them: of others' rings there are none. An agent has sent to one collector
// alone; else there is an error, at all of them.
func (f *Frozen) Share(t team.Team) error {
	if t.Size() == 1 {
		return nil
	}
	own, err := proto.Marshal(f.encode())
	if err := team.Agree(t, err); err != nil {
		return fmt.Errorf("send received data to the other collectors: %w", err)
	}
	all, err := t.AllGather(own)
	if err != nil {
		return fmt.Errorf("receive data from the other collectors: %w", err)
	}
	shares := make([]*moriensv1.Share, len(all))
	for i, raw := range all {
		shares[i] = new(moriensv1.Share)
		if err := proto.Unmarshal(raw, shares[i]); err != nil {
			return fmt.Errorf("data of collector %d: %w", i, err)
		}
	}
	return f.join(t.Rank(), shares)
}

// encode is what this collector has, with its own numbers.
func (f *Frozen) encode() *moriensv1.Share {
	f.store.mu.RLock()
	defer f.store.mu.RUnlock()
	t := f.Totals
	s := &moriensv1.Share{
		Names: f.store.names.list[1:], Restarts: uint64(f.Collector.Restarts), CutBytes: f.Collector.CutBytes, CpuNs: uint64(f.Collector.CPU),
		Totals: &moriensv1.ShareTotals{
			Agents: uint64(t.Agents), AgentsDone: uint64(t.AgentsDone), Processes: uint64(t.Processes), ProcessesEnded: uint64(t.ProcessesEnded),
			Calls: t.Calls, Bursts: t.Bursts, Dropped: t.Dropped, Abandoned: t.Abandoned, Paused: t.Paused, MarksInside: t.MarksInside,
			Duplicates: t.Duplicates, Refused: t.Refused, Transfers: t.Transfers,
		},
	}
	for _, p := range f.store.paths.list[1:] {
		path := &moriensv1.SharePath{Function: p.Function}
		for _, frame := range p.Frames {
			x := &moriensv1.ShareFrame{Module: frame.Module, BuildId: frame.BuildID, Offset: frame.Offset}
			x.Function, x.File, x.Line = frame.Function, frame.File, int64(frame.Line) // only of lines without an address
			path.Frames = append(path.Frames, x)
		}
		s.Paths = append(s.Paths, path)
	}
	for _, x := range f.store.paths.places {
		s.Places = append(s.Places, &moriensv1.ShareFrame{
			Module: x.Module, BuildId: x.BuildID, Offset: x.Offset, Function: x.Function, File: x.File, Line: int64(x.Line),
			FirstFile: x.FirstFile, FirstLine: uint32(x.FirstLine), Inlined: encodeScopes(x.Inlined),
		})
	}
	s.Links, s.Codes = f.Links, f.store.codes.encode()
	for _, c := range f.store.clocks {
		s.Clocks = append(s.Clocks, &moriensv1.ShareClock{Kind: c.Kind, Samples: c.Samples})
	}
	for _, a := range f.Agents {
		s.Agents = append(s.Agents, a.encode())
	}
	for _, p := range f.Processes {
		s.Processes = append(s.Processes, p.encode(f.Lacks(p)))
	}
	return s
}

func (a *Agent) encode() *moriensv1.ShareAgent {
	s := &moriensv1.ShareAgent{Hello: a.Hello, Messages: a.last, Faults: a.Faults, Done: a.Done, Refused: a.Refused, Notes: a.Notes, Spool: a.Spool}
	for _, kind := range slices.Sorted(maps.Keys(a.Samples)) {
		s.Samples = append(s.Samples, a.Samples[kind]...)
	}
	for _, kind := range slices.Sorted(maps.Keys(a.Exchanges)) {
		s.Exchanges = append(s.Exchanges, a.Exchanges[kind]...)
	}
	for _, number := range slices.Sorted(maps.Keys(a.communicators)) {
		s.Communicators = append(s.Communicators, a.communicators[number].Info)
	}
	if x, known := a.Scheduling(); known {
		s.Scheduling = &moriensv1.Scheduling{Cores: uint32(x.Cores), AtOnce: uint32(x.AtOnce), BusyNs: x.BusyNS, StealNs: x.StealNS}
	}
	return s
}

func (p *Process) encode(lacking uint64) *moriensv1.ShareProcess {
	s := &moriensv1.ShareProcess{
		Info: p.Info, Agent: p.Agent.Hello.Agent, End: p.End, Notes: p.Notes, Unseen: p.Unseen, TransfersEnd: p.TransfersEnd,
		Transfers: p.Sums.Transfers, Counted: p.counted, Lacking: lacking, Sums: p.Sums.message(),
	}
	for _, number := range slices.Sorted(maps.Keys(p.Comms)) {
		m := p.Comms[number]
		s.Communicators = append(s.Communicators, &moriensv1.Member{
			Process: p.Info.Process, Comm: number, Communicator: m.Info.Communicator, Rank: uint32(m.Rank), Origin: m.Origin,
		})
	}
	for _, r := range p.Rings {
		s.Rings = append(s.Rings, &moriensv1.ShareRing{Info: r.Info, Calls: r.Calls, Marks: r.marks, OriginTicks: r.origin, Ticks: r.ticks, End: r.End})
	}
	if x := p.Scheduling; x != nil {
		s.Scheduling = &moriensv1.Scheduling{RunNs: []uint64{x.RunNS}, WaitNs: []uint64{x.WaitNS}, Voluntary: []uint64{x.Voluntary}, Involuntary: []uint64{x.Involuntary}}
	}
	return s
}

// join takes in what all collectors have, of which this one's own is here already.
func (f *Frozen) join(member int, shares []*moriensv1.Share) error {
	agents := make(map[uint64]*Agent)
	last := make(map[uint64]uint64) // messages of each
	own := make(map[uint64]*Agent)
	for _, a := range f.Agents {
		own[a.Hello.Agent] = a
	}
	f.member, f.Totals, f.Links = member, Totals{}, nil
	f.Collector.CPU = cpuOf(shares)
	holdings := make([]holding, len(shares))
	for i, s := range shares {
		var err error
		if holdings[i], err = holdingOf(s); err != nil {
			return fmt.Errorf("collector %d: %w", i, err)
		}
		f.Totals.add(s.Totals)
		f.Links = append(f.Links, s.Links...)
		f.Collector.Restarts = max(f.Collector.Restarts, int(s.Restarts)) // together
		if i != member {
			f.Collector.CutBytes += s.CutBytes
		}
		for _, x := range s.Agents {
			id := x.Hello.Agent
			if other := agents[id]; other != nil {
				if last[id] > 0 && x.Messages > 0 {
					return fmt.Errorf("agent %016x on %s has sent to collector %d and to collector %d", id, x.Hello.Host, other.Member, i)
				}
				f.Totals.Agents--
				if x.Messages == 0 {
					continue // it has arrived, and gone where it belongs
				}
			}
			a := own[id]
			if i != member {
				a = agentOf(x)
			}
			a.Member = i
			agents[id], last[id] = a, x.Messages
		}
	}
	paths := f.arrange(holdings)
	behind := len(f.tables.paths) // the numbers of this collector: those by which the others' are known
	for i := range f.CallPaths {
		f.tables.paths = append(f.tables.paths, uint32(i))
	}
	f.Agents = slices.Collect(maps.Values(agents))
	if err := f.adopt(shares, agents, behind, paths); err != nil {
		return err
	}
	f.sort()
	return nil
}

// cpuOf is the processor time of all collectors; 0: of one it is not known.
func cpuOf(shares []*moriensv1.Share) (sum time.Duration) {
	for _, s := range shares {
		if s.CpuNs == 0 {
			return 0
		}
		sum += time.Duration(s.CpuNs)
	}
	return sum
}

// adopt makes the processes and rings of other collectors.
func (f *Frozen) adopt(shares []*moriensv1.Share, agents map[uint64]*Agent, behind int, paths [][]uint32) error {
	f.rings = maps.Clone(f.rings)
	processes := make(map[uint64]int) // by id, the collector
	for i, s := range shares {
		for _, x := range s.Processes {
			id := x.Info.Process
			if other, twice := processes[id]; twice {
				return fmt.Errorf("process %016x on %s is at collector %d and at collector %d", id, x.Info.Host, other, i)
			}
			processes[id] = i
			if i == f.member {
				continue
			}
			p, err := processOf(x, agents[x.Agent], behind, paths[i])
			if err != nil {
				return fmt.Errorf("collector %d: %w", i, err)
			}
			for _, r := range p.Rings {
				if f.rings[r.Info.Ring] != nil {
					return fmt.Errorf("ring %016x is at several collectors, collector %d among them", r.Info.Ring, i)
				}
				f.rings[r.Info.Ring] = r
			}
			f.Processes = append(f.Processes, p)
		}
	}
	return nil
}

func (t *Totals) add(s *moriensv1.ShareTotals) {
	t.Agents += int(s.Agents)
	t.AgentsDone += int(s.AgentsDone)
	t.Processes += int(s.Processes)
	t.ProcessesEnded += int(s.ProcessesEnded)
	t.Calls += s.Calls
	t.Bursts += s.Bursts
	t.Dropped += s.Dropped
	t.Abandoned += s.Abandoned
	t.Paused += s.Paused
	t.MarksInside += s.MarksInside
	t.Duplicates += s.Duplicates
	t.Refused += s.Refused
	t.Transfers += s.Transfers
}

func holdingOf(s *moriensv1.Share) (holding, error) {
	h := holding{paths: make([]trace.CallPath, 1), places: make(places), names: slices.Concat([]string{unknownName}, s.Names), codes: make(codes)}
	for _, p := range s.Paths {
		path := trace.CallPath{Function: p.Function}
		for _, x := range p.Frames {
			path.Frames = append(path.Frames, trace.Frame{
				Module: x.Module, BuildID: x.BuildId, Offset: x.Offset, Function: x.Function, File: x.File, Line: int(x.Line),
			})
		}
		h.paths = append(h.paths, path)
	}
	for _, x := range s.Places {
		h.places.add(trace.Frame{
			Module: x.Module, BuildID: x.BuildId, Offset: x.Offset, Function: x.Function, File: x.File, Line: int(x.Line),
			FirstFile: x.FirstFile, FirstLine: int(x.FirstLine), Inlined: scopesOf(x.Inlined),
		})
	}
	for _, c := range s.Clocks {
		h.clocks = append(h.clocks, Clock{Kind: c.Kind, Samples: c.Samples})
	}
	for _, m := range s.Codes {
		list, err := codeOf(m)
		if err != nil {
			return h, fmt.Errorf("machine code of %q: %w", m.Module, err)
		}
		for i := range list {
			h.codes.add(list[i])
		}
	}
	return h, nil
}

func agentOf(s *moriensv1.ShareAgent) *Agent {
	a := &Agent{
		Hello: s.Hello, Samples: make(map[moriensv1.Clock][]*moriensv1.ClockSample), Exchanges: make(map[moriensv1.Clock][]*moriensv1.ClockExchange),
		Faults: s.Faults, Done: s.Done, Refused: s.Refused, Notes: s.Notes, Spool: s.Spool, last: s.Messages, communicators: make(map[uint32]*Communicator),
	}
	for _, x := range s.Samples {
		a.Samples[x.Clock] = append(a.Samples[x.Clock], x)
	}
	for _, x := range s.Exchanges {
		a.Exchanges[x.Clock] = append(a.Exchanges[x.Clock], x)
	}
	for _, c := range s.Communicators {
		a.communicators[c.Communicator] = &Communicator{Info: c}
	}
	if s.Scheduling != nil {
		a.scheduling = [2]*moriensv1.Scheduling{{}, s.Scheduling}
	}
	return a
}

// processOf makes another collector's process. The call paths of its sums have the numbers there.
func processOf(s *moriensv1.ShareProcess, a *Agent, behind int, paths []uint32) (*Process, error) {
	if a == nil {
		return nil, fmt.Errorf("process %016x of unknown agent %016x", s.Info.Process, s.Agent)
	}
	p := &Process{
		Agent: a, Info: s.Info, End: s.End, Notes: s.Notes, Unseen: s.Unseen, TransfersEnd: s.TransfersEnd, counted: s.Counted, lacking: s.Lacking,
		Sums: ProcessSums{Transfers: s.Transfers},
	}
	if x := s.Scheduling; x != nil {
		p.Scheduling = &Scheduling{RunNS: x.RunNs[0], WaitNS: x.WaitNs[0], Voluntary: x.Voluntary[0], Involuntary: x.Involuntary[0]}
	}
	for _, m := range s.Communicators {
		if p.Comms == nil {
			p.Comms = make(map[uint32]Member)
		}
		p.Comms[m.Comm] = Member{a.communicators[m.Communicator], int(m.Rank), m.Origin}
	}
	for _, x := range s.Rings {
		p.Rings = append(p.Rings, &Ring{Process: p, Info: x.Info, Calls: x.Calls, marks: x.Marks, origin: x.OriginTicks, ticks: x.Ticks, End: x.End})
	}
	rows, err := sums.Decode(s.Sums)
	if err != nil {
		return nil, fmt.Errorf("process %016x, sums: %w", s.Info.Process, err)
	}
	for i := range rows {
		r := &rows[i]
		if !r.HasPath() {
			continue
		}
		if int(r.Path()) >= len(paths) {
			return nil, fmt.Errorf("process %016x names call path %d of %d", s.Info.Process, r.Path(), len(paths))
		}
		r.Key = r.At(uint32(behind) + paths[r.Path()])
	}
	p.Sums.rows = sums.Pack(rows)
	if s.Sums.GetPartners() == nil {
		return p, nil
	}
	partners, err := sums.DecodePartners(s.Sums.Partners)
	if err != nil {
		return nil, fmt.Errorf("process %016x, partners: %w", s.Info.Process, err)
	}
	for i := range partners {
		r := &partners[i]
		if int(r.Path) >= len(paths) {
			return nil, fmt.Errorf("process %016x names call path %d of %d", s.Info.Process, r.Path, len(paths))
		}
		r.Path = uint32(behind) + paths[r.Path]
	}
	p.Sums.partners = sums.PackPartners(sums.EncodePartners(partners))
	return p, nil
}
