package cells

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	keeping "moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/analysis/kinds/plant"
	"moriens/analysis/microcell"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
	"moriens/internal/relay"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	"moriens/internal/testenv"
	moriensv1 "moriens/proto/moriens/v1"
)

// planting is a planted run in the words of agents, and as bursts in one place.
type planting struct {
	agents  []*keeping.Store
	threads []Thread
	bursts  grouping.Bursts
	of      []int // burst by row of bursts: its thread
	row     []uint32
	// trouble, if not nil, may spoil an answer.
	trouble func(agent uint64, a *moriensv1.CellsAnswer)
}

func (p *planting) IDs() (ids []uint64) {
	for i := range p.agents {
		ids = append(ids, uint64(i+1))
	}
	return ids
}

// Ask implements Agents: each ask is made twice, as where its answer broke off.
func (p *planting) Ask(ctx context.Context, agent uint64, ask *moriensv1.CellsAsk, take func(*moriensv1.CellsAnswer) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := proto.Marshal(ask)
	if err != nil {
		return err
	}
	var parts []*moriensv1.CellsAnswer
	for range 2 {
		parts = nil
		again := new(moriensv1.CellsAsk)
		if err := proto.Unmarshal(text, again); err != nil {
			return err
		}
		if err := p.agents[agent-1].Answer(again, func(a *moriensv1.CellsAnswer) error {
			parts = append(parts, proto.CloneOf(a))
			return nil
		}); err != nil {
			return err
		}
		if ask.GetTeam() == nil {
			break
		}
	}
	for _, a := range parts {
		if p.trouble != nil {
			p.trouble(agent, a)
		}
		if err := take(a); err != nil {
			return err
		}
	}
	return nil
}

// Path implements Paths.
func (p *planting) Path(_ uint64, _, path uint32) uint32 { return path }

const plantedFunction = 7

// plantedAt spreads a run over so many agents, whose threads lose some bursts each.
func plantedAt(t testing.TB, r *plant.Run, agents, losses int, config keeping.Config, random *rand.Rand) *planting {
	t.Helper()
	p := &planting{}
	b := &p.bursts
	if r.Counters != nil {
		b.CounterNames, b.Counters = plant.CounterNames, make([][]int64, len(r.Counters))
	}
	threads := len(r.ThreadEnds)
	for i := range agents {
		k, err := keeping.New(config)
		if err != nil {
			t.Fatal(err)
		}
		p.agents = append(p.agents, k)
		clock := func(ticks uint64) *moriensv1.ReportRequest {
			return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{Ticks: ticks, MonotonicNs: int64(ticks)}}}
		}
		k.Add([]*moriensv1.ReportRequest{clock(0), clock(1 << 40), {Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
			Communicator: uint32(i + 3), Id: 99, Size: uint32(threads), Peers: uint32(threads), First: []int32{0}, Stride: []int32{1}, Count: []uint32{uint32(threads)},
		}}}}, nil)
	}
	begin := 0
	for thread, end := range r.ThreadEnds {
		agent := thread * agents / threads
		p.report(r, thread, begin, end, agent, losses, random)
		p.threads = append(p.threads, Thread{uint64(agent + 1), uint64(thread + 500)})
		b.Nodes = append(b.Nodes, int32(agent))
		begin = end
	}
	return p
}

// report reports one thread.
func (p *planting) report(r *plant.Run, thread, begin, end, agent, losses int, random *rand.Rand) {
	process, ring := uint64(thread+100), uint64(thread+500)
	k, b := p.agents[agent], &p.bursts
	head := &moriensv1.Process{Process: process, Rank: int32(thread), Size: int32(len(r.ThreadEnds)), Events: b.CounterNames}
	messages := []*moriensv1.ReportRequest{
		{Body: &moriensv1.ReportRequest_Process{Process: head}},
		{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: ring, Process: process}}},
		{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: process, Comm: 4, Communicator: uint32(agent + 3)}}},
	}
	paths := slices.Concat(r.Before[begin:end], r.After[begin:end])
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		messages = append(messages, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{
			Process: process, Path: path, Frames: []*moriensv1.Frame{{Module: "/opt/app", BuildId: []byte{1}, Offset: uint64(path)}},
		}}})
	}
	k.Add(messages, nil)
	lost := make(map[int]bool)
	for range losses {
		lost[begin+1+random.IntN(end-begin-1)] = true
	}
	x := &sectiontest.Rows{Ring: ring, NoBurst: []uint32{0}, Counts: make([][]int64, len(r.Counters))}
	x.Add(plantedFunction, r.Before[begin], 0, 5)
	first, row := b.Len(), uint32(0)
	place := []int{0}
	var gaps []int32
	anchors := []sequence.Anchor(nil)
	if r.Anchors != nil {
		anchors = r.Anchors[thread]
	}
	flush := func() {
		if len(x.Counts) > 0 {
			x.NoCounts = x.NoBurst
		}
		k.Add(nil, []*section.Block{x.Block()})
		x = &sectiontest.Rows{Ring: ring, First: x.First + uint64(len(x.Function)), Counts: make([][]int64, len(r.Counters))}
	}
	for i := begin; i < end; i++ {
		row++
		x.Add(plantedFunction, r.After[i], uint64(r.DurationNS[i]), 5)
		if lost[i] {
			x.NoBurst = append(x.NoBurst, uint32(len(x.Function)-1))
			gaps = append(gaps, int32(b.Len()-first))
		} else {
			b.DurationNS, b.Before, b.After = append(b.DurationNS, r.DurationNS[i]), append(b.Before, r.Before[i]), append(b.After, r.After[i])
			for e, column := range r.Counters {
				b.Counters[e] = append(b.Counters[e], column[i])
				x.Counts[e] = append(x.Counts[e], column[i])
			}
			p.of, p.row = append(p.of, thread), append(p.row, row)
		}
		place = append(place, b.Len()-first)
		for len(anchors) > 0 && anchors[0].At == i-begin+1 {
			x.Meet(4, anchors[0].Event, -1, 0, 0)
			anchors = anchors[1:]
		}
		if len(x.Function) == 700 {
			flush()
		}
	}
	flush()
	if r.Anchors != nil {
		var own []sequence.Anchor
		for _, a := range r.Anchors[thread] {
			own = append(own, sequence.Anchor{At: place[a.At], Event: a.Event})
		}
		b.Anchors = append(b.Anchors, own)
	}
	slices.Sort(gaps)
	b.Gaps = append(b.Gaps, slices.Compact(gaps))
	b.ThreadEnds = append(b.ThreadEnds, b.Len())
}

var (
	logDuration = []space.Dim{{Num: space.Duration, Scale: space.Log}}
	byCounters  = []space.Dim{{Num: "PAPI_TOT_INS", Scale: space.Log}, {Num: "PAPI_TOT_INS", Den: "PAPI_TOT_CYC"}}
)

// kindsOf has the agents find kinds.
func (p *planting) kindsOf(t testing.TB, o grouping.Options) (*Coordinator, *microcell.Set, *microcell.Result, error) {
	t.Helper()
	c := New(p, slog.New(slog.DiscardHandler))
	set, err := c.Survey(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	o.Dims = set.Dims
	r, err := c.Kinds(t.Context(), *set, p.threads, o, func(x relay.Calls) int64 { return int64(x.Before[1])<<32 | int64(x.After[1]) })
	return c, set, r, err
}

// What agents find together, each with the bursts of its ranks, is burst by burst what one process finds that has all.
func TestKindsOfAgents(t *testing.T) {
	was := givenTogether
	defer func() { givenTogether = was }()
	givenTogether = 1 << 12
	seed := testenv.Seed(t)
	for _, tt := range []struct {
		name   string
		run    plant.Params
		by     grouping.By
		o      grouping.Options
		agents []int
		losses int
	}{
		{"a slow rank", plant.FourKinds(seed, 100, plant.Load4), grouping.ByCalls, grouping.Options{}, []int{1, 2, 3, 4, 5}, 0},
		{"losses", plant.FourKinds(seed+1, 80, plant.Load20), grouping.ByCalls, grouping.Options{}, []int{3}, 4},
		{"classes of ranks", plant.Classes(seed+2, 150, plant.Quiet), grouping.ByCalls, grouping.Options{}, []int{2}, 0},
		{"all calls together", plant.FourKinds(seed+3, 60, plant.Load4), grouping.ByNone, grouping.Options{}, []int{2}, 2},
		{"counters", plant.ByCounters(seed+4, 60, plant.Load20), grouping.ByNone, grouping.Options{}, []int{1, 4}, 2},
		{"density", plant.FourKinds(seed+5, 60, plant.Load4), grouping.ByCalls, grouping.Options{Kinds: grouping.KindsByDensity}, []int{2}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.run.Anchors = tt.name != "all calls together"
			run := tt.run.Run()
			o := tt.o
			o.Dims, o.By, o.JobThreads, o.Workers = logDuration, tt.by, len(run.ThreadEnds), 2
			if run.Counters != nil {
				o.Dims = byCounters
			}
			for _, agents := range tt.agents {
				p := plantedAt(t, run, agents, tt.losses, keeping.Config{Dims: o.Dims, By: o.By, Kinds: true}, rand.New(rand.NewPCG(seed, 9)))
				want, err := grouping.Compute(p.bursts, o)
				if err != nil {
					t.Fatal(err)
				}
				c, set, got, err := p.kindsOf(t, o)
				if err != nil {
					t.Fatal(err)
				}
				p.compare(t, c, want, got)
				p.compareSums(t, c, set, want)
			}
		})
	}
}

// compare compares clusters, and the labels of the rows.
func (p *planting) compare(t *testing.T, c *Coordinator, want *grouping.Result, got *microcell.Result) {
	t.Helper()
	if len(got.Clusters) != len(want.Clusters) || fmt.Sprint(got.Speed) != fmt.Sprint(want.Speed) {
		t.Fatalf("%d clusters, speeds %v: want %d, %v", len(got.Clusters), got.Speed, len(want.Clusters), want.Speed)
	}
	labels := p.labels(t, c, len(got.Clusters))
	p.renumber(t, want, labels)
	for i := range got.Clusters {
		x, y := &got.Clusters[i], &want.Clusters[i]
		if x.Bursts != y.Bursts || x.Kind != y.Kind || x.MedianNS != y.MedianNS || x.Core != y.Core || x.Why != y.Why || math.Abs(float64(x.TimeNS-y.TimeNS)) > .001*float64(y.TimeNS) ||
			fmt.Sprint(x.Predicted, x.Disturbed.Bursts, x.Before, x.After) != fmt.Sprint(y.Predicted, y.Disturbed.Bursts, y.Before, y.After) {
			t.Errorf("cluster %d:\n%+v\nwant\n%+v", i+1, x, y)
		}
	}
	differ := 0
	for i, thread := range p.of {
		if x := labels[thread][p.row[i]]; x.Cluster != want.Labels[i] || x.Kind != want.Kinds[i] {
			differ++
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d bursts have another cluster or kind, %d in question", differ, len(p.of), got.Certificate.Bursts)
	}
}

// labels are the agents' labels of all rows, by thread.
func (p *planting) labels(t *testing.T, c *Coordinator, clusters int) [][]Labelled {
	t.Helper()
	labels := make([][]Labelled, len(p.threads))
	for i, x := range p.threads {
		rings, err := c.Rows(t.Context(), x.Agent, []uint64{x.Ring}, clusters)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range rings[x.Ring] {
			for range l.Rows {
				labels[i] = append(labels[i], l)
			}
		}
	}
	return labels
}

// renumber gives clusters the numbers that they have at the agents. Clusters are numbered by their time, which agents
// know to a thousandth: two of nearly the same time may have each other's number, no others.
func (p *planting) renumber(t *testing.T, r *grouping.Result, labels [][]Labelled) {
	t.Helper()
	n := len(r.Clusters)
	together := make([]map[int32]int, n+1) // by cluster: bursts by the agents' number
	for i, thread := range p.of {
		of := r.Labels[i]
		if of < 1 {
			continue
		}
		if together[of] == nil {
			together[of] = make(map[int32]int)
		}
		together[of][labels[thread][p.row[i]].Cluster]++
	}
	to, taken := make([]int32, n+1), make([]bool, n+1)
	for k := 1; k <= n; k++ {
		to[k] = int32(k)
		for number, bursts := range together[k] {
			if number > 0 && 2*bursts > r.Clusters[k-1].Bursts {
				to[k] = number
			}
		}
		x, y := &r.Clusters[k-1], &r.Clusters[to[k]-1]
		if taken[to[k]] || math.Abs(float64(x.TimeNS-y.TimeNS)) > .001*float64(x.TimeNS) {
			t.Fatalf("cluster %d of %d ns is number %d, as one of %d ns would be", k, x.TimeNS, to[k], y.TimeNS)
		}
		taken[to[k]] = true
	}
	number := func(k int32) int32 {
		if k < 1 {
			return k
		}
		return to[k]
	}
	clusters := slices.Clone(r.Clusters)
	for i := range clusters {
		x := clusters[i]
		x.ID, x.Kind, x.Other = number(x.ID), number(x.Kind), number(x.Other)
		x.Why = clusterInWords.ReplaceAllStringFunc(x.Why, func(text string) string {
			at := strings.LastIndexByte(text, ' ') + 1
			k, err := strconv.Atoi(text[at:])
			if err != nil {
				t.Fatal(err)
			}
			return text[:at] + strconv.Itoa(int(number(int32(k))))
		})
		r.Clusters[x.ID-1] = x
	}
	for i := range r.Labels {
		r.Labels[i], r.Kinds[i] = number(r.Labels[i]), number(r.Kinds[i])
	}
}

// clusterInWords is how the reasons for a kind name a cluster.
var clusterInWords = regexp.MustCompile(`(variant of|in place of|separate from) \d+`)

// compareSums compares sums by cluster and kind with those of the bursts: all are there, and each cluster has its own
// time to a thousandth.
func (p *planting) compareSums(t *testing.T, c *Coordinator, set *microcell.Set, want *grouping.Result) {
	t.Helper()
	bursts, timeNS, both := make(map[int32]uint64), make(map[int32]uint64), make(map[[2]int32]int)
	if err := c.Sums(t.Context(), func(_ uint64, m *moriensv1.CellsSums) error {
		for i, label := range m.Label {
			if !m.Call[i] {
				bursts[label] += m.Count[i]
				both[[2]int32{label, m.Kind[i]}] += int(m.Count[i])
				timeNS[label] += m.TotalNs[i]
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	wantBoth := make(map[[2]int32]int)
	for i, label := range want.Labels {
		wantBoth[[2]int32{label, want.Kinds[i]}]++
	}
	if d := cmp.Diff(wantBoth, both); d != "" {
		t.Errorf("bursts by cluster and kind: %s", d)
	}
	sum := uint64(0)
	for _, x := range want.Clusters {
		if off := math.Abs(float64(timeNS[x.ID]) - float64(x.TimeNS)); bursts[x.ID] != uint64(x.Bursts) || off > .001*float64(x.TimeNS) {
			t.Errorf("cluster %d has %d bursts of %d ns: want %d of %d", x.ID, bursts[x.ID], timeNS[x.ID], x.Bursts, x.TimeNS)
		}
	}
	for _, ns := range timeNS {
		sum += ns
	}
	if sum != uint64(set.TimeNS) {
		t.Errorf("sums are of %d ns: want %d", sum, set.TimeNS)
	}
}

// An agent that fails on the way, or says what does not fit, is left out, and the others' kinds can be found without
// it.
func TestTeamWithoutAnAgent(t *testing.T) {
	seed := testenv.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	params := plant.FourKinds(seed, 30, plant.Quiet)
	params.Anchors = true
	run := params.Run()
	for name, spoil := range map[string]func(c *moriensv1.CellsCall){
		"another call":  func(c *moriensv1.CellsCall) { c.Op = c.Op%6 + 1 },
		"cut off":       func(c *moriensv1.CellsCall) { c.Data = append(c.Data, 255) },
		"nothing known": func(c *moriensv1.CellsCall) { c.Op = 77 },
		"an end":        func(c *moriensv1.CellsCall) { c.Op = moriensv1.CellsCall_OP_DONE },
		"no call":       func(c *moriensv1.CellsCall) { c.Op = moriensv1.CellsCall_OP_UNSPECIFIED },
	} {
		t.Run(name, func(t *testing.T) {
			o := grouping.Options{Dims: logDuration, JobThreads: 8, Workers: 1}
			p := plantedAt(t, run, 3, 0, keeping.Config{Dims: o.Dims, By: o.By, Kinds: true}, random)
			calls, at := 0, random.IntN(30)
			p.trouble = func(agent uint64, a *moriensv1.CellsAnswer) {
				if c := a.GetCall(); c != nil && agent == 2 {
					if calls++; calls == at+1 {
						spoil(c)
					}
				}
			}
			c, _, _, err := p.kindsOf(t, o)
			if err == nil || !strings.Contains(err.Error(), ErrLeft.Error()) || len(c.Left()) != 1 || c.Left()[0].Agent != 2 {
				t.Fatalf("%v, left: %v, at call %d", err, c.Left(), at)
			}
			p.trouble = nil
			if _, _, r, err := p.kindsOf(t, o); err != nil || len(r.Clusters) == 0 {
				t.Errorf("once it is sound again: %v", err)
			}
		})
	}
}

// FuzzTeam has an agent send anything that can arrive over the network while kinds are found: there is an answer or an
// error.
func FuzzTeam(f *testing.F) {
	params := plant.FourKinds(5, 6, plant.Quiet)
	params.Anchors, params.Ranks = true, 2
	o := grouping.Options{Dims: logDuration, By: grouping.ByNone, JobThreads: 2, Workers: 1}
	p := plantedAt(f, params.Run(), 1, 0, keeping.Config{Dims: o.Dims, By: o.By, Kinds: true}, rand.New(rand.NewPCG(1, 1)))
	var session bytes.Buffer
	p.trouble = func(_ uint64, a *moriensv1.CellsAnswer) {
		if _, err := protodelim.MarshalTo(&session, a); err != nil {
			f.Fatal(err)
		}
	}
	c, _, r, err := p.kindsOf(f, o)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := c.Rows(f.Context(), 1, []uint64{500}, len(r.Clusters)); err != nil {
		f.Fatal(err)
	}
	f.Add(session.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		answers := new(tape)
		for from := bytes.NewReader(data); ; {
			a := new(moriensv1.CellsAnswer)
			if protodelim.UnmarshalFrom(from, a) != nil {
				break
			}
			*answers = append(*answers, a)
		}
		c := New(answers, quiet)
		set, err := c.Survey(t.Context(), p)
		if err != nil {
			return
		}
		own := o
		own.Dims = set.Dims
		r, err := c.Kinds(t.Context(), *set, p.threads, own, func(relay.Calls) int64 { return 0 })
		if err != nil {
			return
		}
		for _, x := range r.Clusters {
			if x.Bursts < 0 || x.Kind < 1 || int(x.Kind) > len(r.Clusters) {
				t.Errorf("%+v", x)
			}
		}
		c.Rows(t.Context(), 1, []uint64{500}, len(r.Clusters))
	})
}
