package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"moriens/collector/journal"
	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
)

// A team is the journals of a run's collectors, as many as there are each time.
type team struct {
	*rapid.T
	base  string
	had   int // journals
	begin *moriensv1.JournalBegin
	open  []*journal.Journal // by collector
	where map[uint64]int     // collectors, by the agents that they have
}

func (c *team) path(i int) string {
	if i == 0 {
		return c.base
	}
	return filepath.Join(c.base, strconv.Itoa(i))
}

// start has so many collectors open the existing journals.
func (c *team) start(members int) {
	c.open, c.where = make([]*journal.Journal, members), make(map[uint64]int)
	for m := range c.open {
		run := journal.Run{Run: "0123456789abcdef", Version: "1", Like: c.begin}
		for i := members; i < c.had; i++ {
			if i%members == m {
				run.TakeOver = append(run.TakeOver, c.path(i))
			}
		}
		var err error
		if c.open[m], err = journal.Open(c.path(m), run, quiet); err != nil {
			c.Fatal(err)
		}
		c.begin = c.open[0].Begin()
		ids, _ := c.open[m].Store().AgentIDs(0)
		for _, id := range ids {
			if other, twice := c.where[id]; twice {
				c.Fatalf("collectors %d and %d both have agent %d", other, m, id)
			}
			c.where[id] = m
		}
	}
	c.had = max(c.had, members)
}

// stop ends all collectors; that of the first holds the others.
func (c *team) stop(how func(*journal.Journal) error) {
	for _, j := range slices.Backward(c.open) {
		if err := how(j); err != nil {
			c.Fatal(err)
		}
	}
}

// send has an agent's next message taken, and waits until that is safe.
func (c *team) send(agent, sequence uint64, collector int) {
	j := c.open[collector]
	a, err := j.Greet(&moriensv1.Hello{Agent: agent, Host: "n"}, func(uint64) {})
	if err != nil {
		c.Fatal(err)
	}
	defer j.Store().Leave(a)
	if held := j.Store().Held(a); held != sequence-1 {
		c.Fatalf("agent %d: %d messages are held, %d were", agent, held, sequence-1)
	}
	// Compared with the counter that its collector has now, by the number that this has in the agent's journal.
	m := &moriensv1.ReportRequest{Sequence: sequence, Body: &moriensv1.ReportRequest_ClockExchange{ClockExchange: &moriensv1.ClockExchange{
		Clock: 1, Collector: j.Clock(a), SentTicks: sequence, ReturnedTicks: sequence,
	}}}
	record, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, journal.HeadBytes), m)
	if err != nil {
		c.Fatal(err)
	}
	safe := make(chan uint64, 1)
	if err := j.Take(c.Context(), a, m, record, func(held uint64) { safe <- held }); err != nil {
		c.Fatal(err)
	}
	if held := <-safe; held != sequence {
		c.Fatalf("agent %d: %d messages are safe, want %d", agent, held, sequence)
	}
}

// However many collectors take a run's journals over, one after the other, each agent is at one of them, with all that
// was acknowledged to it; what it has compared with a collector's counter is compared with that one; and counts are
// counted once.
func TestVolumes(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		c := &team{T: t, base: filepath.Join(dir, "journal")}
		sent := make(map[uint64]uint64)       // messages, by agent
		compared := make(map[uint64][]string) // identities of the collectors' counters, by agent
		for start, members := range rapid.SliceOfN(rapid.IntRange(1, 4), 1, 5).Draw(t, "collectors") {
			if start > 0 {
				c.stop((*journal.Journal).Close)
			}
			c.start(members)
			if len(c.where) != len(sent) {
				t.Fatalf("%d agents are there, %d were", len(c.where), len(sent))
			}
			hosts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), members, members).Draw(t, "hosts")
			for m, j := range c.open {
				j.Start(&moriensv1.ClockSample{Clock: 1, Identity: hosts[m], Ticks: uint64(start), MonotonicNs: int64(start)})
			}
			for range rapid.IntRange(0, 8).Draw(t, "messages") {
				id := rapid.Uint64Range(1, 6).Draw(t, "agent")
				m, known := c.where[id]
				if !known {
					m = rapid.IntRange(0, members-1).Draw(t, "comes to")
					c.where[id] = m
				}
				sent[id]++
				compared[id] = append(compared[id], hosts[m])
				c.send(id, sent[id], m)
			}
		}
		refused := uint64(0)
		for _, j := range c.open {
			for range rapid.IntRange(0, 3).Draw(t, "refused") {
				j.Store().Refuse()
				refused++
			}
			frozen, err := j.Finish(t.Context(), nil, "")
			if err != nil {
				t.Fatal(err)
			}
			c.check(frozen, compared)
		}
		c.stop((*journal.Journal).Close)
		c.start(1)
		frozen, err := c.open[0].Finish(t.Context(), nil, "")
		if err != nil || frozen.Totals.Refused != refused || frozen.Totals.Agents != len(sent) || c.open[0].End() == nil {
			t.Fatalf("%v, %+v, want %d refused and %d agents", err, frozen.Totals, refused, len(sent))
		}
		c.check(frozen, compared)
		c.stop((*journal.Journal).Remove)
		if _, err := os.Stat(c.base); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the journals are still there: %v", err)
		}
	})
}

func (c *team) check(frozen store.Frozen, compared map[uint64][]string) {
	for _, a := range frozen.Agents {
		var identities []string
		for _, e := range a.Exchanges[1] {
			identities = append(identities, frozen.Clocks[frozen.Clock(a, e.Collector)].Samples[0].Identity)
		}
		if want := compared[a.Hello.Agent]; !slices.Equal(identities, want) {
			c.Fatalf("agent %d was compared with %v, want %v", a.Hello.Agent, identities, want)
		}
	}
	for _, k := range frozen.Clocks {
		if !slices.IsSortedFunc(k.Samples, func(a, b *moriensv1.ClockSample) int { return int(a.MonotonicNs - b.MonotonicNs) }) {
			c.Fatalf("samples of a counter are in no order: %v", k.Samples)
		}
	}
}

// A journal of another run is not taken over.
func TestVolumeOfAnotherRun(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "1")
	j, err := journal.Open(other, journal.Run{Run: "b"}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "0")
	if _, err := journal.Open(mine, journal.Run{Run: "a", TakeOver: []string{other}}, quiet); err == nil {
		t.Error("it is taken over")
	}
	if journal.Exists(mine) || !journal.Exists(other) {
		t.Error("the directories are not as they were")
	}
}
