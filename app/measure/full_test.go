package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/uplink"
	"moriens/collector"
	"moriens/collector/health"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/rendezvous"
	"moriens/internal/shmabi"
	"moriens/internal/testenv"
)

// ahead writes calls that begin so many requests, all of them pending at once, and calls that end them if end is set.
func (p *planter) ahead(requests int, end bool) {
	if !p.moves {
		panic("the planter moves nothing")
	}
	for i := range requests {
		for p.ring.Free() < slotsOfCall {
			time.Sleep(100 * time.Microsecond)
		}
		enter, handle := p.at+20, uint64(i+1)<<20
		call := mpicall.Isend
		if end {
			call = mpicall.Wait
		}
		p.ring.Enter(call, p.paths[i%len(p.paths)], enter)
		if end {
			ringwriter.Add(p.ring, shmabi.Request{Kind: shmabi.SlotRequest, Event: shmabi.RequestCompleted, Request: handle, Source: -1, Tag: -1})
			p.moved++
		} else {
			ringwriter.Add(p.ring, shmabi.Transfer{Kind: shmabi.SlotSent, Bytes: uint64(i), Request: handle, Peer: 0, Tag: int32(i)})
		}
		p.ring.Exit(enter + 5)
		p.enter, p.exit, p.at = append(p.enter, enter), append(p.exit, enter+5), enter+5
	}
}

// TestStateLargerThanTheSpool has a process of two threads with so many pending requests that its state alone is more
// than the spool may take, and kills the agent in that time. The restarted agent reads on, everything arrives, and it
// ends.
func TestStateLargerThanTheSpool(t *testing.T) {
	const requests = 60_000 // of 25 bytes of state and more
	dir := t.TempDir()
	c := startRun(t, "00000000000000ae", "127.0.0.1:0")
	meet := c.Rendezvous()
	if err := rendezvous.Write(dir, meet); err != nil {
		t.Fatal(err)
	}
	shm := filepath.Join(dir, "shm")
	if err := os.Mkdir(shm, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(spoolMaxEnv, "1MiB")
	planters := plant(t, ring.DirectoryPath(shm, os.Getuid(), meet.Run), 1<<12)
	for _, p := range planters {
		p.moves, p.patient = true, true
	}
	written := make(chan struct{})
	agent := child(t, agentEnv, dir)
	go func() {
		defer close(written)
		planters[1].ahead(requests, false)
		stop := make(chan struct{})
		close(stop)
		planters[1].ahead(requests, true)
		write(planters, stop, 10) // of the other threads, and the end
	}()
	for outbox := int64(1 << 20); bytesBelow(t, dir, "outbox") < outbox; time.Sleep(time.Millisecond) {
		select {
		case <-written:
			t.Fatalf("the outbox has no more than %d bytes", bytesBelow(t, dir, "outbox"))
		default:
		}
	}
	for range 3 {
		agent.Process.Signal(syscall.SIGSTOP)
		time.Sleep(100 * time.Millisecond)
		agent.Process.Kill()
		agent.Wait()
		agent = child(t, agentEnv, dir)
		time.Sleep(300 * time.Millisecond)
	}
	<-written
	if err := agent.Wait(); err != nil {
		t.Errorf("the last agent: %v", err)
	}
	f := stopped(c)
	if len(f.Agents) != 1 || f.Agents[0].Done.GetRestarts() == 0 {
		t.Errorf("%d agents, done: %v", len(f.Agents), f.Agents[0].Done)
	}
	compare(t, f, planters)
}

// A smallDisk is a file system in memory, which the test fills.
type smallDisk struct {
	t    *testing.T
	path string
}

func newDisk(t *testing.T, size string) *smallDisk {
	t.Helper()
	testenv.NeedRoot(t)
	d := &smallDisk{t, t.TempDir()}
	if err := syscall.Mount("none", d.path, "tmpfs", 0, "size="+size); err != nil {
		testenv.Lacking(t, "no mounting here: "+err.Error())
	}
	t.Cleanup(func() { syscall.Unmount(d.path, syscall.MNT_DETACH) })
	return d
}

// fill leaves no byte free.
func (d *smallDisk) fill() {
	d.t.Helper()
	f, err := os.OpenFile(filepath.Join(d.path, "ballast"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 64<<10); err == nil; {
		_, err = f.Write(chunk)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatal(err)
	}
}

func (d *smallDisk) free() {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.path, "ballast")); err != nil {
		d.t.Fatal(err)
	}
}

// awaitPage waits until the collector's page is as it should be.
func awaitPage(t *testing.T, c *collector.Collector, is func(p *health.Page) bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		p := c.Page()
		if is(&p) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the page remains %+v", p)
		}
	}
}

// spoolFull reports whether the page reports a spool that has no room now.
func spoolFull(p *health.Page) bool {
	return len(p.Agents) > 0 && p.Agents[0].Spool != nil && p.Agents[0].Spool.Full && p.Losses.SpoolFullSeconds > 0
}

// much has planters write far more than the spool has on a disk that was filled when it held next to nothing, and
// returns how many records they have written.
func much(planters []*planter) (written int) {
	for _, p := range planters {
		for k := range 12_000 {
			p.at += uint64(k * 7 % 20_000)
			p.call()
		}
		written += len(p.enter) + int(p.marks)
	}
	return written
}

// TestFullDisk fills the disk of a spool while ranks run, kills the agent and starts it again there: it waits for room,
// the page says so, and when there is room everything arrives.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir, disk := t.TempDir(), newDisk(t, "8m")
	c := startRun(t, "00000000000000af", "127.0.0.1:0")
	meet := c.Rendezvous()
	if err := rendezvous.Write(dir, meet); err != nil {
		t.Fatal(err)
	}
	shm := filepath.Join(dir, "shm")
	if err := os.Mkdir(shm, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(disk.path, filepath.Join(dir, "spool")); err != nil {
		t.Fatal(err)
	}
	planters := plant(t, ring.DirectoryPath(shm, os.Getuid(), meet.Run), 1<<16)
	for _, p := range planters {
		p.call()
		p.call()
	}
	agent := child(t, agentEnv, dir)
	awaitPage(t, c, func(p *health.Page) bool { return p.Calls == uint64(2*len(planters)) })
	disk.fill()
	much(planters)
	awaitPage(t, c, spoolFull)
	awaitPage(t, c, func(p *health.Page) bool { return p.Losses.SpoolFullSeconds > 6 })
	agent.Process.Kill()
	agent.Wait()
	disk.fill() // an agent that ends may have given something back
	agent = child(t, agentEnv, dir)
	awaitPage(t, c, func(p *health.Page) bool {
		return len(p.Agents) > 0 && p.Agents[0].Connected && spoolFull(p) && p.Losses.SpoolFullSeconds < 6
	})
	disk.free()
	awaitPage(t, c, func(p *health.Page) bool { return !spoolFull(p) })
	stop := make(chan struct{})
	close(stop)
	write(planters, stop, 0)
	if err := agent.Wait(); err != nil {
		t.Errorf("the last agent: %v", err)
	}
	f := stopped(c)
	if d := f.Agents[0].Done; d.GetRestarts() != 1 || d.SpoolFullNs == 0 || d.SpoolFullDropped != 0 {
		t.Errorf("done: %v", d)
	}
	compare(t, f, planters)
}

// TestFullDiskToTheEnd keeps the disk full when the job has ended: the agent ends nevertheless, and reports how much it
// leaves, to the user and to the collector.
func TestFullDiskToTheEnd(t *testing.T) {
	t.Parallel()
	disk := newDisk(t, "8m")
	c := startCollector(t, "127.0.0.1:0")
	shm := t.TempDir()
	rings := ring.DirectoryPath(shm, os.Getuid(), "run1")
	planters := plant(t, rings, 1<<16)
	node, err := agent.New(agent.Config{Run: "run1", Shm: shm, Find: uplink.At(c.Rendezvous()), Spool: disk.path, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- node.Run(context.Background()) }()
	for _, p := range planters {
		p.call()
	}
	awaitPage(t, c, func(p *health.Page) bool { return p.Calls == uint64(len(planters)) })
	disk.fill()
	stop := make(chan struct{})
	close(stop)
	written := much(planters)
	write(planters, stop, 0)
	node.Hurry()
	err = <-done
	arrived := int(c.Page().Calls)
	page := c.Page()
	f := stopped(c)
	for _, p := range f.Processes {
		for _, r := range p.Rings {
			for _, m := range r.Marks {
				arrived += len(m.What)
			}
		}
	}
	s := f.Agents[0].Spool
	if err == nil || s == nil || arrived+int(s.Unkept) != written || s.UnkeptProcesses == 0 || !errors.Is(err, syscall.ENOSPC) ||
		!strings.Contains(err.Error(), fmt.Sprintf("%s: %d:", rings, s.GetUnkept())) || page.Losses.RecordsUnkept != s.Unkept || f.Agents[0].Done != nil {
		t.Errorf("%v; the collector has %d of %d, and receives %v", err, arrived, written, s)
	}
	t.Log(err)
}
