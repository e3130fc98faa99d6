package measure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/uplink"
	"moriens/collector"
	"moriens/collector/store"
	"moriens/internal/mpix"
	"moriens/internal/rendezvous"
	"moriens/internal/ticks"
	moriensv1 "moriens/proto/moriens/v1"
)

// A collectors is the collectors of one run, in this process.
type collectors struct {
	t       *testing.T
	journal string
	clocks  []ticks.Clocks // by rank; nil: the machine's
	members []*collector.Collector
	team    []mpix.Transport
	meet    atomic.Pointer[rendezvous.Rendezvous] // nil: there is none
}

func newCollectors(t *testing.T) *collectors {
	return &collectors{t: t, journal: filepath.Join(t.TempDir(), "journal")}
}

// all does the same at all members at once.
func (c *collectors) all(do func(rank int, member *collector.Collector)) {
	var done sync.WaitGroup
	for rank, member := range c.members {
		done.Go(func() { do(rank, member) })
	}
	done.Wait()
}

// start starts so many collectors.
func (c *collectors) start(members int) {
	c.t.Helper()
	c.team, c.members = mpix.Local(members), make([]*collector.Collector, members)
	c.all(func(rank int, _ *collector.Collector) {
		var err error
		var clocks ticks.Clocks
		if c.clocks != nil {
			clocks = c.clocks[rank]
		}
		c.members[rank], err = collector.Start(collector.Config{
			Clocks: clocks, Team: c.team[rank], Journal: c.journal, Run: "run1", Listen: "127.0.0.1:0", Web: "127.0.0.1:0", Log: quiet, Options: byDuration, Linger: time.Hour,
		})
		if err != nil {
			c.t.Error(err)
		}
	})
	if c.t.Failed() {
		c.t.FailNow()
	}
	meet := c.members[0].Rendezvous()
	c.meet.Store(&meet)
	c.all(func(_ int, member *collector.Collector) { member.Join() })
}

// kill ends all collectors without a word.
func (c *collectors) kill() {
	c.meet.Store(nil)
	c.team[len(c.team)-1].Abort(1)
	c.all(func(_ int, member *collector.Collector) { member.Close(collector.Outcome{}) })
}

func (c *collectors) find() (rendezvous.Rendezvous, error) {
	if meet := c.meet.Load(); meet != nil {
		return *meet, nil
	}
	return rendezvous.Rendezvous{}, fs.ErrNotExist
}

// freeze ends the run once all agents are done.
func (c *collectors) freeze() []store.Frozen {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := c.members[0].WaitAgents(ctx); err != nil {
		c.t.Fatal(err)
	}
	frozen := make([]store.Frozen, len(c.members))
	c.all(func(rank int, member *collector.Collector) { frozen[rank] = member.Freeze("") })
	return frozen
}

// close lets the agents go, and ends the collectors when these have left.
func (c *collectors) close(agents ...<-chan error) {
	c.t.Helper()
	c.all(func(_ int, member *collector.Collector) { member.Release() })
	for _, done := range agents {
		if err := <-done; err != nil {
			c.t.Error(err)
		}
	}
	c.all(func(_ int, member *collector.Collector) { member.Close(collector.Outcome{}) })
}

func doneOf(nodes []*plantedNode) (list []<-chan error) {
	for _, n := range nodes {
		list = append(list, n.done)
	}
	return list
}

// A planted node writes rings that an agent reads.
type plantedNode struct {
	planters      []*planter
	node          *agent.Node
	stop, written chan struct{}
	done          chan error
}

func (c *collectors) plant() *plantedNode {
	c.t.Helper()
	shm := c.t.TempDir()
	n := &plantedNode{stop: make(chan struct{}), written: make(chan struct{}), done: make(chan error, 1)}
	n.planters = plant(c.t, ring.DirectoryPath(shm, os.Getuid(), "run1"), 1<<12)
	var err error
	n.node, err = agent.New(agent.Config{Run: "run1", Shm: shm, Find: c.find, Spool: c.t.TempDir(), Log: quiet})
	if err != nil {
		c.t.Fatal(err)
	}
	go func() { n.done <- n.node.Run(context.Background()) }()
	go func() { write(n.planters, n.stop, 20); close(n.written) }()
	return n
}

// awaitAgents waits until so many agents have connected to all collectors together.
func (c *collectors) awaitAgents(agents int) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		n := 0
		for _, m := range c.members {
			n += m.Journal().Store().Totals().Agents
		}
		if n == agents {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%d agents connected, want %d", n, agents)
		}
	}
}

// Agents are spread evenly over the collectors of a run. When these are killed, any number of others resume, and each
// record that was written is at one of them, once.
func TestTeam(t *testing.T) {
	t.Parallel()
	const nodes = 5
	for _, sizes := range [][]int{{2}, {3, 2}, {2, 1, 3}, {1, 2, 1}} {
		t.Run(strings.Trim(strings.ReplaceAll(fmt.Sprint(sizes), " ", " then "), "[]"), func(t *testing.T) {
			t.Parallel()
			c := newCollectors(t)
			var planted []*plantedNode
			for range nodes {
				planted = append(planted, c.plant())
			}
			for i, size := range sizes {
				if i > 0 {
					c.kill()
				}
				c.start(size)
				c.awaitAgents(nodes)
				if i == 0 {
					for rank, m := range c.members {
						if n := m.Journal().Store().Totals().Agents; n != nodes/size && n != nodes/size+1 {
							t.Errorf("collector %d of %d has %d agents of %d", rank, size, n, nodes)
						}
					}
				}
				time.Sleep(300 * time.Millisecond)
			}
			for _, n := range planted {
				close(n.stop)
				<-n.written
			}
			awaitEnds(t, 2*nodes, c.members...)
			for _, n := range planted {
				n.node.JobOver()
			}
			frozen := c.freeze()
			agents := 0
			for _, f := range frozen {
				agents += len(f.Agents)
				if f.Collector.Restarts != len(sizes)-1 && len(f.Agents) > 0 && len(sizes) < 3 {
					t.Errorf("%d restarts", f.Collector.Restarts)
				}
			}
			if agents != nodes {
				t.Errorf("%d agents at all collectors, want %d", agents, nodes)
			}
			for _, n := range planted {
				n.compare(t, frozen)
			}
			page := c.members[0].Page()
			again := page.Redirected > nodes/2 && len(page.Refused) > 0 // an agent without time to identify itself connects again
			if len(page.Agents) != nodes || page.Ranks.Recorded != 2*nodes || len(sizes) == 1 && (len(page.Members) != 2 || page.Redirected != nodes/2 && !again) {
				t.Errorf("the page is %+v", page)
			}
			c.close(doneOf(planted)...)
		})
	}
}

// compare checks that one collector has all that a node has written.
func (n *plantedNode) compare(t *testing.T, frozen []store.Frozen) {
	t.Helper()
	for _, f := range frozen {
		r := f.Ring(n.planters[0].ring.ID())
		if r == nil {
			continue
		}
		its := f
		its.Processes = slices.DeleteFunc(slices.Clone(f.Processes), func(p *store.Process) bool { return p.Agent != r.Process.Agent })
		compare(t, its, n.planters)
		return
	}
	t.Errorf("no collector has ring %016x", n.planters[0].ring.ID())
}

// An agent that asks a collector to which it does not belong is redirected, by way of the first, and reaches its own;
// however it is redirected, that does not loop.
func TestRedirect(t *testing.T) {
	t.Parallel()
	c := newCollectors(t)
	c.start(3)
	c.awaitAgents(0)
	meet := c.members[0].Rendezvous()
	if len(meet.Members) != 3 || meet.Members[0] != meet.Address {
		t.Fatalf("the rendezvous is %+v", meet)
	}
	// What an agent takes for the first collector is the last one: addresses change hands when collectors are started
	// again.
	swapped := meet
	swapped.Address = meet.Members[2]
	send := func(meet rendezvous.Rendezvous, id uint64) *uplink.Uplink {
		outbox := openOutbox(t)
		u := uplink.New(uplink.At(meet), &moriensv1.Hello{Run: "run1", Agent: id, Host: "n1"}, outbox, quiet)
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		go u.Run(ctx)
		sendRingOf(t, outbox, 10*id, 3)
		return u
	}
	for i, want := range []uint64{0, 1, 1, 0} {
		u := send(meet, uint64(i)+1)
		flush(t, u)
		if s := u.Stats(); s.Redirected != want {
			t.Errorf("agent %d was sent on %d times, want %d", i+1, s.Redirected, want)
		}
	}
	u := send(swapped, 9) // the fewest agents are at the second
	flush(t, u)
	if s := u.Stats(); s.Redirected != 2 {
		t.Errorf("by a wrong address it was sent on %d times", s.Redirected)
	}
	for rank, want := range []int{2, 2, 1} {
		if n := c.members[rank].Journal().Store().Totals().Agents; n != want {
			t.Errorf("collector %d has %d agents, want %d", rank, n, want)
		}
	}
	// Every address is that of a collector that is not its own: it tries again, in its own time.
	astray := meet
	astray.Address = meet.Members[1]
	astray.Members = []string{meet.Members[1], meet.Members[1], meet.Members[1]}
	u = send(astray, 11)
	for deadline := time.Now().Add(patience); u.Stats().Redirected <= 6; time.Sleep(10 * time.Millisecond) { // more than once
		if time.Now().After(deadline) {
			t.Fatalf("astray it was sent on %d times", u.Stats().Redirected)
		}
	}
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	if err := u.Flush(expired); err == nil || !strings.Contains(err.Error(), "redirected 3 times") {
		t.Errorf("astray: %v", err)
	}
	c.kill()
}

// The first collector ends the run for all of them: agents of each send what their ranks have recorded, and leave these
// running. Its page shows the ranks of all, their clusters, and what they did.
func TestTeamFinish(t *testing.T) {
	t.Parallel()
	c := newCollectors(t)
	c.start(2)
	var planted []*plantedNode
	for range 4 {
		planted = append(planted, c.plant())
	}
	c.awaitAgents(4)
	first := c.members[0]
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		p, live := first.Page(), pageOf(t, first.Rendezvous())
		of := make(map[int32]int) // collectors: they number threads apart
		for _, p := range live.Points {
			of[p.Thread%2]++
		}
		both := len(p.Members) == 2 && p.Members[1].Bursts > 0 && p.Clusters.Bursts > int(p.Members[0].Bursts) && of[0] > 0 && of[1] > 0
		if both && p.Ranks.Running == 8 && p.Clusters.Count > 0 && len(live.Profile.Seconds) > 0 && len(live.Clusters) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the page is %+v, with %v points by collector, %d bins, %d clusters", p, of, len(live.Profile.Seconds), len(live.Clusters))
		}
	}
	first.Finish()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := first.WaitFinished(ctx); err != nil {
		t.Fatal(err)
	}
	frozen := c.freeze()
	for rank, f := range frozen {
		if len(f.Agents) != 2 || f.Totals.AgentsDone != 2 || f.Totals.Calls == 0 {
			t.Errorf("collector %d: %+v", rank, f.Totals)
		}
	}
	if by, err := c.members[1].Verdict(); by != "" || err != nil {
		t.Errorf("ended by %q, %v", by, err)
	}
	c.close(doneOf(planted)...)
	for _, n := range planted {
		close(n.stop)
		<-n.written
	}
}

// Where one collector cannot start, none does, and no files remain of a run that has not begun.
func TestTeamStartsTogether(t *testing.T) {
	t.Parallel()
	team := mpix.Local(3)
	dir := filepath.Join(t.TempDir(), "journal")
	errs := make([]error, len(team))
	var done sync.WaitGroup
	for rank := range team {
		done.Go(func() {
			listen := "127.0.0.1:0"
			if rank == 1 {
				listen = "nowhere:0"
			}
			_, errs[rank] = collector.Start(collector.Config{Team: team[rank], Journal: dir, Run: "run1", Listen: listen, Log: quiet})
		})
	}
	done.Wait()
	for rank, err := range errs {
		if err == nil {
			t.Errorf("collector %d has started", rank)
		}
	}
	if !strings.Contains(fmt.Sprint(errs[1]), "nowhere") {
		t.Errorf("the error is %v", errs[1])
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the journal is there: %v", err)
	}
}
