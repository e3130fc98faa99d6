package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/protobuf/proto"

	"moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/bench/timing"
	"moriens/internal/wire"
	moriensv1 "moriens/proto/moriens/v1"
)

// A crowd is the agents of a job, in this process. Their answers are encoded and decoded as on the network. One is
// asked at a time, and the others wait while the Coordinator handles an answer: so each second belongs to one of them.
type crowd struct {
	stores []*cells.Store
	mu     sync.Mutex
	work   work // since it was last taken
}

// A work is what agents have done, and what has travelled, in a stage.
type work struct {
	Seconds, Largest float64 // of all agents, and of the one that took longest
	Compressed       int64   // bytes up, as they travel
	CompressSeconds  float64 // of agents
	Entries, Labels  int64   // hashes up, and labels down
	Sequences, Runs  int64   // up
	Units, Rows      int64   // up, of surveys and splits, and of sums
	SplitUnits       int64   // down
	byAgent          map[uint64]float64
}

// newCrowd has agents keep what the ranks of a job did.
func newCrowd(j job, config cells.Config) (*crowd, error) {
	c := &crowd{}
	for agent := range j.Agents {
		k, err := cells.New(config)
		if err != nil {
			return nil, err
		}
		k.Add(j.node()[:2], nil)
		for rank := agent * j.Ranks; rank < (agent+1)*j.Ranks; rank++ {
			messages := j.rank(rank)
			if rank == agent*j.Ranks {
				messages = slices.Insert(messages, 1, j.node()[2:]...)
			}
			k.Add(messages, j.calls(rank))
		}
		if s := k.Stats(); s.Refused > 0 || s.Lost > 0 || s.Bursts != uint64(j.Ranks*j.bursts()) {
			return nil, fmt.Errorf("agent %d has %d bursts, %d are lost, %d messages refused: want %d", agent, s.Bursts, s.Lost, s.Refused, j.Ranks*j.bursts())
		}
		c.stores = append(c.stores, k)
	}
	return c, nil
}

// config is that of all agents; what a run has by default, but for the side of a cell and the memory for points.
func (o *options) config() cells.Config {
	return cells.Config{By: grouping.ByAuto, Side: o.Side, PointsMax: o.Points}
}

func (c *crowd) IDs() []uint64 {
	var list []uint64
	for i := range c.stores {
		list = append(list, uint64(i+1))
	}
	return list
}

func (c *crowd) Ask(ctx context.Context, agent uint64, ask *moriensv1.CellsAsk, take func(*moriensv1.CellsAnswer) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	c.work.Labels += int64(len(ask.GetRelabel().GetUnit()))
	c.work.SplitUnits += int64(len(ask.GetSplit().GetUnit()))
	var parts [][]byte
	began, err := timing.CPU()
	if err != nil {
		return err
	}
	if err := c.stores[agent-1].Answer(ask, func(a *moriensv1.CellsAnswer) error {
		bytes, err := proto.Marshal(a)
		parts = append(parts, bytes)
		return err
	}); err != nil {
		return err
	}
	ended, err := timing.CPU()
	if err != nil {
		return err
	}
	c.work.took(agent, ended-began)
	for _, bytes := range parts {
		if err := c.work.compress(bytes); err != nil {
			return err
		}
	}
	if began, err = timing.CPU(); err != nil {
		return err
	}
	c.work.CompressSeconds += began - ended
	for _, bytes := range parts {
		a := new(moriensv1.CellsAnswer)
		if err := proto.Unmarshal(bytes, a); err != nil {
			return err
		}
		c.work.count(a)
		if err := take(a); err != nil {
			return err
		}
	}
	return nil
}

// add adds what was done later.
func (w *work) add(o work) {
	w.Seconds += o.Seconds
	w.CompressSeconds += o.CompressSeconds
	for agent, seconds := range o.byAgent {
		if w.byAgent == nil {
			w.byAgent = make(map[uint64]float64)
		}
		w.byAgent[agent] += seconds
		w.Largest = max(w.Largest, w.byAgent[agent])
	}
	w.Compressed += o.Compressed
	w.Entries += o.Entries
	w.Labels += o.Labels
	w.Sequences += o.Sequences
	w.Runs += o.Runs
	w.Units += o.Units
	w.Rows += o.Rows
	w.SplitUnits += o.SplitUnits
}

func (w *work) took(agent uint64, seconds float64) {
	w.add(work{Seconds: seconds, byAgent: map[uint64]float64{agent: seconds}})
}

func (w *work) count(a *moriensv1.CellsAnswer) {
	w.Entries += int64(len(a.GetHashes().GetSegment()))
	w.Sequences += int64(len(a.GetSequences().GetRuns()))
	w.Runs += int64(len(a.GetSequences().GetLabel()))
	w.Units += int64(len(a.GetUnits().GetUnit()))
	w.Rows += int64(len(a.GetSums().GetRing()))
}

// compress counts what a message takes as agents send it.
func (w *work) compress(message []byte) error {
	n := new(counter)
	to, err := encoding.GetCompressor(wire.Name).Compress(n)
	if err != nil {
		return err
	}
	if _, err := to.Write(message); err != nil {
		return err
	}
	err = to.Close()
	w.Compressed += int64(*n)
	return err
}

type counter int64

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}

// taken is what was done since it was last taken.
func (c *crowd) taken() work {
	w := c.work
	c.work = work{}
	return w
}
