package faults

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

var (
	soakRounds = flag.Int("soak", 0, "rounds of make soak")
	soakFirst  = flag.Int("soak-seed", 0, "number of the first of them")
	soakGuard  = flag.Duration("soak-guard", 5*time.Minute, "how long what must end in a round may take")
	soakTable  = flag.String("soak-table", "", "file for the table")
)

// A tally adds up rounds.
type tally struct {
	rounds, made, recorded, counted, stated int
	kinds                                   map[string]int // rounds in which something of a kind was
}

func (t *tally) add(o outcome) {
	t.rounds++
	t.made += o.made
	t.recorded += o.recorded
	t.counted += o.counted
	t.stated += o.stated
	for kind := range o.faults {
		t.kinds[kind]++
	}
}

// soaked is the result of the rounds of make soak.
type soaked struct {
	mu        sync.Mutex
	tallies   [cells + 1]tally // the last is of all
	incidents [allFaults][ways]int
	failed    map[int]outcome
	begun     time.Time
	commit    string
	root      string // of the repository, which the table does not name
}

// TestSoak is for make soak alone: real jobs, of 1 to 3 threads a rank, in all ways and under both MPI libraries, to
// which all of what can happen does.
func TestSoak(t *testing.T) {
	if *soakRounds == 0 {
		t.Skip("it is for make soak")
	}
	var apps []string
	for _, mpi := range libraries {
		testenv.Need(t, mpi.CC, mpi.Launcher)
		apps = append(apps, mpi.App(t, "crowd"))
	}
	library := filepath.Join(filepath.Dir(mpitest.Program(t)), "libmoriens.so")
	base := filepath.Join(mpitest.Root(t), "build", "soak")
	all := &soaked{failed: map[int]outcome{}, begun: time.Now(), commit: commit(), root: mpitest.Root(t)}
	for i := range all.tallies {
		all.tallies[i].kinds = map[string]int{}
	}
	slots := make(chan struct{}, jobsAtOnce)
	var running sync.WaitGroup
	for seed := *soakFirst; seed < *soakFirst+*soakRounds; seed++ {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			t.Run(strconv.Itoa(seed), func(t *testing.T) {
				p := soakPlanOf(uint64(seed))
				o := soakOne(t, p, apps[p.mpi], library, filepath.Join(base, strconv.Itoa(seed)), *soakGuard)
				t.Logf("%v: %d calls made, %d recorded, %d counted as lost, %d stated", &p, o.made, o.recorded, o.counted, o.stated)
				all.add(t, p, o)
			})
		})
	}
	running.Wait()
	t.Logf("\n%s", all.table())
}

// add adds a round, and writes the result so far.
func (s *soaked) add(t *testing.T, p soakPlan, o outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tallies[int(p.seed)%cells].add(o)
	s.tallies[cells].add(o)
	for _, i := range p.incidents {
		s.incidents[i.fault][p.way]++
	}
	if len(o.faults) > 0 {
		s.failed[int(p.seed)] = o
	}
	if *soakTable != "" {
		if err := os.WriteFile(*soakTable, []byte(s.table()), 0o666); err != nil {
			t.Error(err)
		}
	}
}

// table is docs/soak.md.
func (s *soaked) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Rounds of faults round real jobs

    make soak ROUNDS=%d

on %s, commit %s, %d cores, in %s. Each round is a job of 1 to 3 ranks of which
every thread calls MPI (testdata/miniapp/crowd.c), with a ring and a spool of another size, on a
disk of 4 to 16 MiB or one with room, and to which 0 to 4 of the incidents below happen; all of it
follows from the round's number. `+"`go test ./app/faults -run Soak -soak 1 -soak-seed N`"+` repeats round
N.

*Counted* are calls that the results count as lost one by one. *Stated* are those that are missing
from results which say that they are not complete. The other columns are rounds with: a process that
does not end in %v; calls that are missing though nothing says so; calls that are there twice;
something left in shared memory, in the temporary directory, in the run directory, or a process;
another result or exit status of the program than without moriens; statements in the results that
contradict each other or the program, or an error of agent or collector.

| way | MPI | threads | rounds | calls | recorded | counted | stated | hangs | silent losses | duplicates | leftovers | program | statements |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`, *soakRounds, s.begun.Format(time.DateOnly), s.commit, runtime.NumCPU(), time.Since(s.begun).Round(time.Second), *soakGuard)
	row := func(name string, t *tally) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |", name, t.rounds, t.made, t.recorded, t.counted, t.stated)
		for _, kind := range kinds {
			fmt.Fprintf(&b, " %d |", t.kinds[kind])
		}
		b.WriteString("\n")
	}
	for w := range ways {
		for mpi, library := range libraries {
			for threads := range soakThreads {
				if t := &s.tallies[int(w)+int(ways)*(mpi+2*threads)]; t.rounds > 0 {
					row(fmt.Sprintf("%v | %s | %d", w, library.Name, threads+1), t)
				}
			}
		}
	}
	row("all | | ", &s.tallies[cells])
	b.WriteString("\n| incident |")
	for w := range ways {
		fmt.Fprintf(&b, " %v |", w)
	}
	b.WriteString("\n|---|---|---|---|\n")
	for f := range allFaults {
		fmt.Fprintf(&b, "| %v | %d | %d | %d |\n", f, s.incidents[f][byRun], s.incidents[f][byParts], s.incidents[f][byPreload])
	}
	b.WriteString("\nWith `moriens run` agent and collector are one process; under a plain preload \"kill the collector\"\n" +
		"kills the agent's parent too. Such a run is then concluded with `moriens collect` and\n" +
		"`moriens agent`.\n")
	if len(s.failed) > 0 {
		b.WriteString("\n| round | |\n|---|---|\n")
		var seeds []int
		for seed := range s.failed {
			seeds = append(seeds, seed)
		}
		slices.Sort(seeds)
		for _, seed := range seeds {
			for _, kind := range kinds {
				for _, text := range s.failed[seed].faults[kind] {
					first, _, _ := strings.Cut(strings.ReplaceAll(text, s.root+"/", ""), "\n")
					fmt.Fprintf(&b, "| %d | %s: %s |\n", seed, kind, strings.ReplaceAll(first, "|", "/"))
				}
			}
		}
	}
	return b.String()
}

// commit names what was tested.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
