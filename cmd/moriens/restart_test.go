package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"moriens/agent/spool"
	"moriens/agent/uplink"
	"moriens/internal/rendezvous"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
)

// restartRows is how many calls each message of the agents below has.
const restartRows = 50

// A testAgent has one rank of a world, whose calls it sends until it is stopped.
type testAgent struct {
	up     *uplink.Uplink
	outbox *spool.Outbox
	sent   int          // messages of calls
	stop   func() error // ends the uplink
}

// newTestAgent makes the agent of a rank, for the collector of a run directory. That one knows of it then: it would end
// the run when all agents are done that it knows of.
func newTestAgent(t *testing.T, out, run string, rank, size int) *testAgent {
	t.Helper()
	s, err := spool.Open(spool.Config{Dir: t.TempDir(), Run: run, Shm: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	outbox, err := s.Outbox()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outbox.Close(); s.Close() })
	find := func() (rendezvous.Rendezvous, error) { return rendezvous.Read(out) }
	u := uplink.New(find, &moriensv1.Hello{Run: run, Agent: uint64(rank + 1), Host: "n" + string(rune('0'+rank))}, outbox, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- u.Run(ctx) }()
	t.Cleanup(cancel)
	stop := func() error {
		cancel()
		return <-done
	}
	a := &testAgent{up: u, outbox: outbox, stop: stop}
	id := uint64(rank + 1)
	a.commit(t, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
		Process: id, Rank: int32(rank), Size: int32(size), World: "w", Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW,
	}}})
	a.commit(t, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: id, Process: id}}})
	if err := a.flush(); err != nil {
		t.Fatalf("rank %d: %v", rank, err)
	}
	return a
}

// flush waits until the collector holds all that was committed.
func (a *testAgent) flush() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return a.up.Flush(ctx)
}

func (a *testAgent) commit(t *testing.T, m *moriensv1.ReportRequest) {
	if err := a.outbox.Commit(spool.Transaction{Messages: []*moriensv1.ReportRequest{m}}); err != nil {
		t.Error(err)
	}
}

func (a *testAgent) sample(t *testing.T, at uint64) {
	a.commit(t, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
		Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW, Ticks: at, MonotonicNs: int64(at), RealtimeNs: int64(at), Identity: "one",
	}}})
}

func (a *testAgent) send(t *testing.T, rank int) {
	c := &sectiontest.Rows{Ring: uint64(rank + 1), First: uint64(a.sent * restartRows), Origin: uint64(a.sent) * restartRows * 1100}
	for range restartRows {
		c.Add(1, 0, 1000, 100)
	}
	if a.sent == 0 {
		c.Burst[0], c.NoBurst = 0, []uint32{0}
	}
	a.commit(t, c.Message())
	a.sent++
}

func (a *testAgent) end(t *testing.T, rank int) {
	id := uint64(rank + 1)
	a.sample(t, uint64(a.sent)*restartRows*1100)
	a.commit(t, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: id, Calls: uint64(a.sent * restartRows)}}})
	a.commit(t, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{Process: id, How: moriensv1.ProcessEnd_HOW_FINALIZED}}})
	a.commit(t, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}})
	if err := errors.Join(a.flush(), a.stop()); err != nil {
		t.Errorf("rank %d: %v", rank, err)
	}
}

func kill(cmd *exec.Cmd) {
	cmd.Process.Kill()
	cmd.WaitDelay = time.Millisecond // children of its own may hold its output open
	cmd.Wait()
}

// meetAgain waits for the collector to listen, and returns its rendezvous.
func meetAgain(t *testing.T, out string, cmd *exec.Cmd, output *strings.Builder) rendezvous.Rendezvous {
	t.Helper()
	r, err := rendezvous.Wait(out, 2*time.Minute, nil)
	if err != nil {
		kill(cmd)
		t.Fatalf("%v\n%s", err, output)
	}
	return r
}

// sendUntil has an agent for each of so many ranks send again and again, with a pause between, and end when stop is
// closed. senders waits for all.
func sendUntil(t *testing.T, stop <-chan bool, senders *sync.WaitGroup, out, run string, ranks int, pause time.Duration) []*testAgent {
	t.Helper()
	agents := make([]*testAgent, ranks)
	for rank := range agents {
		a := newTestAgent(t, out, run, rank, ranks)
		agents[rank] = a
		a.sample(t, 0)
		senders.Go(func() {
			for {
				select {
				case <-stop:
					a.end(t, rank)
					return
				case <-time.After(pause):
					a.send(t, rank)
				}
			}
		})
	}
	return agents
}

// callsOf counts the calls that a run directory has, and those that agents have sent.
func callsOf(m manifest, agents []*testAgent) (calls, sent int) {
	for _, n := range m.MPICalls {
		calls += n
	}
	for _, a := range agents {
		sent += a.sent * restartRows
	}
	return calls, sent
}

// A collector that is killed again and again, while agents send and while it writes the results, loses nothing that it
// has acknowledged: an agent would not send that again. Nothing is there twice.
func TestCollectorIsKilled(t *testing.T) {
	t.Parallel()
	const ranks, rounds = 3, 30
	random := rand.New(rand.NewPCG(5, 4))
	out := filepath.Join(t.TempDir(), "run")
	args := []string{"collect", "--keep-bursts", "all", "--moriens-timeout", "10m", "--out", out, "--keep-work", "--log", "error"}
	collect, output := start(t, args...)
	meet := meetAgain(t, out, collect, output)

	stop := make(chan bool)
	var senders sync.WaitGroup
	agents := sendUntil(t, stop, &senders, out, meet.Run, ranks, 500*time.Microsecond)
	var last rendezvous.Rendezvous
	for round := range rounds {
		// Every other one has begun to work when it is killed.
		waitFor(t, "the collector", func() bool {
			now, err := rendezvous.Read(out)
			return round%2 == 1 || err == nil && !now.Equal(last)
		})
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		kill(collect)
		last, _ = rendezvous.Read(out)
		collect, output = start(t, args...)
	}
	close(stop)
	senders.Wait()

	// Once more, when the first results are there and the manifest is not.
	for deadline := time.Now().Add(2 * time.Minute); ; {
		if _, err := os.Stat(filepath.Join(out, rundir.ClustersFile)); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("no results\n%s", output)
		}
		time.Sleep(100 * time.Microsecond)
	}
	kill(collect)
	if _, err := os.Stat(filepath.Join(out, rundir.ManifestFile)); err == nil {
		t.Log("the results were there before the kill")
	} else {
		collect, output = start(t, args...)
		if err := collect.Wait(); err != nil || !strings.Contains(output.String(), "the run had ended; analysing it") {
			t.Fatalf("%v\n%s", err, output)
		}
	}

	m := readManifest(t, out)
	calls, want := callsOf(m, agents)
	if m.Ranks != ranks || calls != want || m.Bursts != want-ranks || m.Losses.MessagesRefused != 0 || len(m.Losses.RanksDied) != 0 {
		t.Errorf("%d ranks, %d calls and %d bursts, want %d, %+v, notes %q", m.Ranks, calls, m.Bursts, want, m.Losses, m.Notes)
	}
	// Killed before it had begun to work, it does not count.
	if n := m.Losses.CollectorRestarts; n < rounds/2 || n > rounds+1 {
		t.Errorf("%d restarts of %d", n, rounds)
	}
	t.Logf("%d calls, %d restarts, %d bytes cut, %d duplicates", calls, m.Losses.CollectorRestarts, m.Losses.JournalBytesCut, m.Losses.BatchesDuplicate)
	if o := execute(t, nil, append([]string{binary(t)}, args...)...); o.status != 1 || !strings.Contains(o.stderr, "is not empty") {
		t.Errorf("results are collected again: status %d\n%s", o.status, o.stderr)
	}
}

// The second collector of a run is refused, and disturbs nothing.
func TestSecondCollector(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	collect, output := start(t, "collect", "--out", out)
	before := meetAgain(t, out, collect, output)
	o := execute(t, nil, binary(t), "collect", "--out", out)
	if o.status != 1 || !strings.Contains(o.stderr, "another collector is working on this run") || !strings.Contains(o.stderr, "hint: ") {
		t.Errorf("status %d\n%s", o.status, o.stderr)
	}
	o = execute(t, nil, binary(t), "run", "--keep-bursts", "all", "--out", out, "--", "true")
	if o.status != 1 || !strings.Contains(o.stderr, "holds an unfinished run") || !strings.Contains(o.stderr, "moriens collect --out "+out) {
		t.Errorf("status %d\n%s", o.status, o.stderr)
	}
	if now, err := rendezvous.Read(out); err != nil || !now.Equal(before) {
		t.Errorf("the rendezvous is %v, %v, was %v", now, err, before)
	}
	a := newTestAgent(t, out, before.Run, 0, 1)
	a.sample(t, 0)
	a.send(t, 0)
	a.end(t, 0)
	if err := collect.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if _, err := os.Stat(filepath.Join(out, rundir.JournalDir)); err == nil {
		t.Error("the journal is left")
	}
}

// A collector that resumes a run has the options with which the run began, except those that are given again.
func TestOptionsOutliveTheCollector(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "run")
	collect, output := start(t, "collect", "--out", out, "--by", "none", "--dbscan", "0.25,3", "--min-duration=0", "--keep", "1000001B", "--outliers=3")
	meet := meetAgain(t, out, collect, output)
	kill(collect)
	refused := execute(t, nil, binary(t), "collect", "--out", out, "--freeze", "0.5")
	if refused.status != 2 || !strings.Contains(refused.stderr, "--dbscan fixes Eps and MinPts") || !strings.Contains(refused.stderr, "as the run was started: --by=none --dbscan=0.25,3") {
		t.Errorf("status %d\n%s", refused.status, refused.stderr)
	}
	collect, output = start(t, "collect", "--out", out, "--dbscan=0.5,2", "--min-duration=0", "--windows", "7")
	a := newTestAgent(t, out, meet.Run, 0, 1)
	a.sample(t, 0)
	a.send(t, 0)
	a.end(t, 0)
	if err := collect.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, line := range []string{
		"moriens: --dbscan=0.5,2; the run was started with --dbscan=0.25,3\n",
		"moriens: --windows=7; the run was started without\n",
		"moriens: as the run was started: --by=none --keep=1000001 --outliers=3\n",
	} {
		if !strings.Contains(output.String(), line) {
			t.Errorf("no %q in\n%s", line, output)
		}
	}
	if strings.Contains(output.String(), "--min-duration") {
		t.Errorf("what is given as before is a difference\n%s", output)
	}
	c, err := rundir.ReadClusters(out)
	if err != nil {
		t.Fatal(err)
	}
	m, err := rundir.ReadManifest(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Clusters) != 1 || c.By != "none" || c.Clusters[0].Eps != 0.5 || c.Clusters[0].MinPts != 2 || m.Reduction.BudgetBytes == nil || *m.Reduction.BudgetBytes != 1_000_001 {
		t.Errorf("by %s, %+v, %+v", c.By, c.Clusters, m.Kept)
	}
}

// A `moriens run` that is killed leaves what its agent has sent, and `moriens collect` makes the results of it.
func TestRunIsKilled(t *testing.T) {
	out, tmp := filepath.Join(t.TempDir(), "run"), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	job := []string{"sh", "-c", `while [ -e "$0" ]; do sleep 0.1; done`, t.TempDir()} // until the test is over
	run, output := start(t, append([]string{"run", "--keep-bursts", "all", "--out", out, "--shm", t.TempDir(), "--"}, job...)...)
	lock := filepath.Join(out, rundir.JournalDir, "lock")
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(lock); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("no journal: %v\n%s", err, output)
		}
	}
	segments := filepath.Join(out, rundir.JournalDir, "00000001.seg")
	for size := int64(0); size < 300; time.Sleep(time.Millisecond) { // the begin
		if info, err := os.Stat(segments); err == nil {
			size = info.Size()
		}
	}
	kill(run)
	filepath.WalkDir(tmp, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSocket != 0 {
			t.Errorf("its socket remains: %s, %v", path, err)
		}
		return nil
	})
	collect, output := start(t, "collect", "--out", out)
	meet := meetAgain(t, out, collect, output)
	a := newTestAgent(t, out, meet.Run, 0, 1)
	a.sample(t, 0)
	a.send(t, 0)
	a.end(t, 0)
	if err := collect.Wait(); err != nil || !strings.Contains(output.String(), "resuming run "+meet.Run) {
		t.Fatalf("%v\n%s", err, output)
	}
	m := readManifest(t, out)
	text, _ := json.Marshal(m.Notes)
	if m.Bursts != restartRows-1 || !strings.Contains(string(text), "the moriens process that started it was killed") || !slices.Equal(m.Command, job) {
		t.Errorf("%+v", m)
	}
}
