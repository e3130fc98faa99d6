package measure

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"moriens/agent"
	"moriens/agent/uplink"
	"moriens/collector"
	"moriens/collector/store"
	"moriens/conclude"
	"moriens/conclude/retention"
	"moriens/internal/mpitest"
	"moriens/internal/mpix"
	"moriens/internal/section/sectiontest"
	"moriens/internal/segment"
	"moriens/internal/stage"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// A recorded run is what a collector's journal has of one, in order.
type recorded struct {
	clocks []*moriensv1.ClockSample
	agents []*moriensv1.Hello // by number
	said   []utterance
}

type utterance struct {
	agent int
	*moriensv1.ReportRequest
}

// jobLimit is how long a job may take: Open MPI 4.1.4 was seen to hang in MPI_Dist_graph_create, each of two ranks in
// the agreement on a communicator's number. A job that is ended has been recorded up to there, which is a record as
// good as another.
const jobLimit = 3 * time.Minute

// recordJobs runs real jobs on two nodes, each with a directory for shared memory and an agent of its own, and returns
// what their collector's journal has of them: a halo exchange, and ranks that mark phases, in the middle of
// bursts and round pauses too, and make communicators.
func recordJobs(t *testing.T) *recorded {
	dir := t.TempDir()
	journal := filepath.Join(dir, "journal")
	c, err := collector.Start(collector.Config{
		Journal: journal, Run: "run1", Listen: "127.0.0.1:0", Log: quiet, Options: byDuration, Linger: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	shms := [2]string{t.TempDir(), t.TempDir()}
	nodes := make([]*agent.Node, len(shms))
	ended := make([]error, len(shms))
	for i, shm := range shms {
		nodes[i], err = agent.New(agent.Config{Run: "run1", Shm: shm, Find: uplink.At(c.Rendezvous()), Spool: t.TempDir(), Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		done.Go(func() { ended[i] = nodes[i].Run(context.Background()) })
	}
	mpi := mpitest.OpenMPI
	library := mpitest.Library(t)
	job := func(ranks int, program ...string) {
		var args []string
		for i, shm := range shms {
			if i > 0 {
				args = append(args, ":")
			}
			args = append(args, "-n", fmt.Sprint(ranks), "-x", "LD_PRELOAD="+library, "-x", "MORIENS_SHM="+shm)
			args = append(args, program...)
		}
		ctx, cancel := context.WithTimeout(t.Context(), jobLimit)
		defer cancel()
		cmd := exec.CommandContext(ctx, mpi.Launcher, append([]string{"--oversubscribe"}, args...)...)
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = time.Minute
		cmd.Env = mpitest.Environ("MORIENS_RUN=run1", "MORIENS_EVENTS=sw:page-faults", "MINIAPP_OUT="+t.TempDir(), "OMPI_MCA_mpi_yield_when_idle=1")
		switch out, err := cmd.CombinedOutput(); {
		case ctx.Err() != nil && t.Context().Err() == nil:
			t.Logf("%v: ended after %v", cmd, jobLimit)
		case err != nil:
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	job(1, mpi.App(t, "halo"), "-r", "16", "-c", "64", "-i", "80")
	job(1, mpi.App(t, "annotate", "-I"+filepath.Join(mpitest.Root(t), "cshim", "include")), "nest", "12")
	planted := mpi.App(t, "phases", "-I"+filepath.Join(mpitest.Root(t), "cshim", "include"))
	job(1, planted, "borders", "12")
	job(1, planted, "pause", "4")
	job(1, mpi.App(t, "communicators"))
	for _, n := range nodes {
		n.JobOver()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.WaitFinished(ctx); err != nil {
		t.Fatal(err)
	}
	c.Release()
	done.Wait()
	c.Close(collector.Outcome{})
	if err := errors.Join(ended...); err != nil {
		t.Fatal(err)
	}
	return readJournal(t, journal)
}

// readJournal reads a journal as docs/format/journal.md describes it.
func readJournal(t *testing.T, dir string) *recorded {
	r := new(recorded)
	log, err := segment.Open(dir, "journal", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	err = log.Read(segment.Position{}, func(_ segment.Position, record []byte) error {
		switch record[0] {
		case 2:
			var s moriensv1.JournalStart
			if err := proto.Unmarshal(record[1:], &s); err != nil {
				return err
			}
			r.clocks = append(r.clocks, s.Clock)
		case 3:
			h := new(moriensv1.Hello)
			r.agents = append(r.agents, h)
			return proto.Unmarshal(record[1:], h)
		case 4:
			m := new(moriensv1.ReportRequest)
			r.said = append(r.said, utterance{int(binary.LittleEndian.Uint32(record[1:])), m})
			return proto.Unmarshal(record[5:], m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// apart makes the second node one of another name, with a clock of its own that is seconds ahead.
func (r *recorded) apart() *recorded {
	const ahead = 7_000_000_123
	with := &recorded{clocks: r.clocks}
	for i, h := range r.agents {
		h = proto.CloneOf(h)
		h.Host = fmt.Sprint("node", i)
		with.agents = append(with.agents, h)
	}
	for _, s := range r.said {
		m := proto.CloneOf(s.ReportRequest)
		if s.agent == 1 {
			switch {
			case m.GetProcess() != nil:
				m.GetProcess().Host = "node1"
			case m.GetClockSample() != nil:
				m.GetClockSample().Ticks += ahead
				m.GetClockSample().Identity = "another"
			case m.GetClockExchange() != nil:
				m.GetClockExchange().SentTicks += ahead
				m.GetClockExchange().ReturnedTicks += ahead
			case m.GetSections() != nil:
				sectiontest.Shift(m.GetSections(), ahead)
			case m.GetMember().GetOrigin().GetHow() > moriensv1.Origin_HOW_DERIVED:
				m.GetMember().Origin.Began += ahead
				m.GetMember().Origin.Ended += ahead
			}
		}
		with.said = append(with.said, utterance{s.agent, m})
	}
	return with
}

// frozen is what a collector has to which some of the agents connected.
func (r *recorded) frozen(t *testing.T, of func(agent int) bool) store.Frozen {
	s := store.New()
	for _, c := range r.clocks {
		s.AddClock(proto.CloneOf(c))
	}
	agents := make([]*store.Agent, len(r.agents))
	for _, said := range r.said {
		if !of(said.agent) {
			continue
		}
		if agents[said.agent] == nil {
			var err error
			if agents[said.agent], _, err = s.Greet(proto.CloneOf(r.agents[said.agent])); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Apply(agents[said.agent], proto.CloneOf(said.ReportRequest)); err != nil {
			t.Fatal(err)
		}
	}
	return s.Freeze()
}

// concluded is the run directory that as many collectors write as agents are spread over, by name: a member of each
// agent.
func (r *recorded) concluded(t *testing.T, members int, at []int, keep retention.Options) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	errs := make([]error, members)
	var all sync.WaitGroup
	for rank, x := range mpix.Local(members) {
		frozen := r.frozen(t, func(agent int) bool { return at[agent] == rank })
		all.Go(func() {
			defer x.Close()
			result, err := conclude.Conclude(t.Context(), conclude.End{
				Frozen: frozen, Job: conclude.Job{Run: "run1"}, Options: byDuration, Keep: keep, Stages: stage.Shared(0, x), Team: x,
			})
			if err == nil && rank == 0 {
				_, err = rundir.Write(&result.Content, dir)
			}
			errs[rank] = err
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	rundirtest.CheckWaits(t, dir)
	rundirtest.CheckPairs(t, dir)
	rundirtest.CheckPhases(t, dir)
	files := make(map[string]string)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// One recorded run is the same run directory to the byte, whether one collector concludes it or several, with or
// without one to which no agent connected. The runs are real jobs of two nodes, as they were and as if each node had a
// clock of its own; windows are kept, or everything.
func TestReplayByTeams(t *testing.T) {
	plain := recordJobs(t)
	for name, r := range map[string]*recorded{"one clock": plain, "a clock each": plain.apart()} {
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, all=%t", name, all), func(t *testing.T) {
				keep := retention.Options{All: all, Budget: 600 * units.Bytes(1<<10), Workers: 2}
				want := r.concluded(t, 1, []int{0, 0}, keep)
				for _, workers := range []int{1, 5} {
					with := keep
					with.Workers = workers
					for file, text := range r.concluded(t, 1, []int{0, 0}, with) {
						if want[file] != text {
							t.Errorf("%d workers: %s differs (-2 workers):\n%.3000s", workers, file, cmp.Diff(want[file], text))
						}
					}
				}
				for _, spread := range [][]int{{0, 1}, {1, 0}, {2, 0}} {
					members := max(2, slices.Max(spread)+1)
					got := r.concluded(t, members, spread, keep)
					for file, text := range want {
						if got[file] != text {
							t.Errorf("%d collectors, agents at %v: %s differs (-one +team):\n%.3000s", members, spread, file, cmp.Diff(text, got[file]))
						}
					}
					if len(got) != len(want) {
						t.Errorf("%d files of one collector, %d of %d", len(want), len(got), members)
					}
				}
				m := new(rundir.Manifest)
				if err := json.Unmarshal([]byte(want[rundir.ManifestFile]), m); err != nil {
					t.Fatal(err)
				}
				if len(m.Worlds) < 3 || m.Ranks < 6 || m.Bursts < 1000 {
					t.Errorf("%d worlds, %d ranks, %d bursts", len(m.Worlds), m.Ranks, m.Bursts)
				}
				checkVaried(t, want)
			})
		}
	}
}

// checkVaried checks that a run directory has what phases can differ by: bursts that are cut at borders, phases in
// phases, pauses in them, and iterations that were found.
func checkVaried(t *testing.T, files map[string]string) {
	t.Helper()
	profile, instances := strings.NewReader(files[rundir.ProfileFile]), strings.NewReader(files[rundir.InstancesFile])
	p, err := parquet.ReadProfile(profile, profile.Size())
	if err != nil {
		t.Fatal(err)
	}
	in, err := parquet.ReadInstances(instances, instances.Size())
	if err != nil {
		t.Fatal(err)
	}
	cut, nested, paused, found := false, false, false, false
	for i := range p.Rows {
		r := &p.Rows[i]
		cut = cut || r.EstimatedNS > 0
		nested = nested || r.Kind == parquet.ProfilePhase && r.Phase == "solve/iteration/halo"
		paused = paused || r.Kind == parquet.ProfilePaused && r.Phase == "whole/within"
	}
	for i := range in.Rows {
		found = found || in.Rows[i].Iterations >= 0
	}
	if !cut || !nested || !paused || !found {
		t.Errorf("bursts are cut: %t, phases in phases: %t, pauses in phases: %t, iterations found: %t", cut, nested, paused, found)
	}
}
