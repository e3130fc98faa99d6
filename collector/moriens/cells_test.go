package moriens

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	keeping "moriens/agent/cells"
	"moriens/analysis/partition"
	"moriens/analysis/space"
	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/internal/retention"
	"moriens/internal/stage"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// stayers are agents that keep what their ranks do.
type stayers map[uint64]*stayer

type stayer struct {
	keeper *keeping.Keeper
	held   map[uint64][]*moriensv1.ReportRequest // by process: what its windows have
	gone   bool
}

// IDs implements cells.Agents.
func (s stayers) IDs() (list []uint64) {
	for id, a := range s {
		if !a.gone {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// Ask implements cells.Agents: what is said goes over a wire.
func (s stayers) Ask(_ context.Context, agent uint64, ask *moriensv1.CellsAsk, take func(*moriensv1.CellsAnswer) error) error {
	a := s[agent]
	if a == nil || a.gone {
		return windows.ErrGone
	}
	var parts []*moriensv1.CellsAnswer
	if err := a.keeper.Answer(proto.CloneOf(ask), func(p *moriensv1.CellsAnswer) error {
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

// FetchAll implements CellsAgents.
func (s stayers) FetchAll(_ context.Context, processes ...uint64) (list []windows.Fetched) {
	for id, a := range s {
		f := windows.Fetched{Agent: id}
		if a.gone {
			f.Err = windows.ErrGone
		}
		for _, process := range processes {
			if messages := a.held[process]; !a.gone && len(messages) > 0 {
				part := &moriensv1.WindowPart{Process: process}
				for _, m := range messages {
					part.Messages = append(part.Messages, proto.CloneOf(m))
				}
				f.Parts = append(f.Parts, part)
			}
		}
		list = append(list, f)
	}
	return list
}

// stays has agents keep what those of a record have said of calls, and tell the rest.
func (r *record) stays(t fatal, random *rand.Rand, config keeping.Config) (store.Frozen, stayers) {
	agents := make(stayers)
	told := &record{clocks: r.clocks}
	for _, x := range r.agents {
		a := &stayer{held: make(map[uint64][]*moriensv1.ReportRequest)}
		var err error
		if a.keeper, err = keeping.New(config); err != nil {
			t.Fatal(err)
		}
		rest := &telling{hello: proto.CloneOf(x.hello)}
		rest.hello.Cells = "as agreed"
		processes := make(map[uint64]uint64) // by ring
		for _, m := range x.messages {
			a.keeper.Add([]*moriensv1.ReportRequest{proto.CloneOf(m)})
			ring := m.GetCalls().GetRing() + m.GetMarks().GetRing() + m.GetTransfers().GetRing() + m.GetCollectives().GetRing() + m.GetGaps().GetRing()
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
		told.agents = append(told.agents, rest)
	}
	return told.frozen(t, random, func(int) bool { return true }), agents
}

// fixed are options that say what a neighbourhood is, and micro-cells that allow for it.
func fixed(eps float64, minPts int) (partition.Options, keeping.Config) {
	dims, _ := space.Parse("duration:log")
	o := partition.Options{Dims: dims, By: partition.ByCalls, Fixed: &partition.Density{Eps: eps, MinPts: minPts}, Workers: 1}
	return o, keeping.Config{Dims: dims, By: partition.ByCalls, Side: eps / 4.001}
}

// Where everything of all ranks is fetched in the end it is the run that it is when the bursts come as usual: the same clusters, the same labels, the same figures.
func TestCellsOfADrawnRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		for _, a := range r.agents { // what is sent twice is held once, and all count the same
			for _, m := range a.messages {
				if p := m.GetProcess(); p != nil {
					p.Events = []string{"PAPI_TOT_INS"}
				}
			}
			a.messages = slices.DeleteFunc(a.messages, func(m *moriensv1.ReportRequest) bool { return m.GetTransfers() != nil })
			for _, m := range a.kept {
				if m.GetTransfers() != nil {
					at := slices.IndexFunc(a.messages, func(o *moriensv1.ReportRequest) bool {
						return o.GetRingEnd().GetRing() == m.GetTransfers().Ring && o.GetRingEnd() != nil
					})
					a.messages = slices.Insert(a.messages, at, m)
				}
			}
		}
		seed := rapid.Uint64().Draw(t, "order")
		o, config := fixed(.4, 3)
		all := retention.Options{All: true}
		want, err := Conclude(t.Context(), End{Frozen: r.frozen(t, rand.New(rand.NewPCG(seed, 1)), func(int) bool { return true }), Options: o, Keep: all, Stages: stage.New(0)})
		if err != nil {
			t.Fatal(err)
		}
		f, agents := r.stays(t, rand.New(rand.NewPCG(seed, 1)), config)
		got, err := Conclude(t.Context(), End{Frozen: f, Options: o, Keep: all, Stages: stage.New(0), Cells: &CellsOptions{Agents: agents}})
		if err != nil {
			t.Fatal(err)
		}
		want.Describe()
		got.Describe()
		for i := range want.Run.Threads {
			x, y := &want.Run.Threads[i].Bursts, &got.Run.Threads[i].Bursts
			if d := cmp.Diff(ways(want.Run, x), ways(got.Run, y)); d != "" {
				t.Fatalf("the ways of bursts through the refinement differ (-as usual +cells):\n%s", d)
			}
			x.Lineage, y.Lineage = nil, nil // they are numbered as they come
		}
		if d := cmp.Diff(want.Run.Threads, got.Run.Threads, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("threads differ (-as usual +cells):\n%s", d)
		}
		sameClusters(t, want, got)
	})
}

// ways are those of bursts through the refinement.
func ways(run *trace.Run, b *trace.Bursts) (list []string) {
	for _, k := range b.Lineage {
		list = append(list, run.Lineages[k])
	}
	return list
}

// sameClusters compares what two runs say of clusters and of all ranks.
func sameClusters(t rapid.TB, want, got *Result) {
	approximately := cmp.Comparer(func(a, b rundir.Number) bool {
		d := float64(a - b)
		return a == b || a != a && b != b || max(d, -d) <= 1e-9*max(float64(a), float64(b))
	})
	x, y := *want.Clusters, *got.Clusters
	y.Algorithm, y.Cells, y.Resolution = x.Algorithm, nil, x.Resolution
	if d := cmp.Diff(&x, &y, approximately); d != "" {
		t.Fatalf("clusters.json differs (-as usual +cells):\n%s", d)
	}
	m, n := want.Manifest, got.Manifest
	for _, pair := range [][2]any{
		{m.Ranks, n.Ranks}, {m.MPICalls, n.MPICalls}, {m.Bursts, n.Bursts}, {m.Dropped, n.Dropped}, {m.Hosts, n.Hosts}, {m.Worlds, n.Worlds}, {m.Losses, n.Losses},
		{m.ComputingSeconds, n.ComputingSeconds}, {m.Messages.Sends, n.Messages.Sends}, {m.Empty, n.Empty},
	} {
		if d := cmp.Diff(pair[0], pair[1], approximately); d != "" {
			t.Fatalf("manifest.json differs (-as usual +cells):\n%s", d)
		}
	}
}

func (f *stayer) String() string { return fmt.Sprint(f.keeper.Stats()) }

var (
	_ = errors.New
	_ = filepath.Join
	_ = strings.Join
	_ = units.Bytes(0)
	_ = trace.NoCount
	_ = parquet.ProfileMPI
)
