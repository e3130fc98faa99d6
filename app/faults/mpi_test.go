package faults

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// mpiRanks is how many ranks a real job has: more would wait for each other's processor.
const mpiRanks = 2

// jobsAtOnce is how many jobs run at a time: much of a round is waiting, but jobs are slow beside each other.
const jobsAtOnce = 2

// TestMPIRounds is TestRounds with real jobs, under both MPIs in turn.
func TestMPIRounds(t *testing.T) {
	libraries := []mpitest.MPI{mpitest.OpenMPI, mpitest.MPICH}
	var apps, results []string
	for _, mpi := range libraries {
		testenv.Need(t, mpi.CC, mpi.Launcher)
		app := mpi.App(t, "halo")
		out, err := job(mpi, app, "", nil).Output()
		if err != nil {
			t.Fatal(err)
		}
		apps, results = append(apps, app), append(results, resultOf(string(out)))
	}
	library := mpitest.Library(t)
	slots := make(chan struct{}, jobsAtOnce)
	var all sync.WaitGroup
	for seed := range *mpiRuns {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			t.Run(strconv.Itoa(seed), func(t *testing.T) {
				i := seed % len(libraries)
				mpiRound(t, uint64(seed), libraries[i], apps[i], library, results[i])
			})
		})
	}
	all.Wait()
}

// job is a halo exchange of something over a second.
func job(mpi mpitest.MPI, app, library string, env []string) *exec.Cmd {
	args := mpi.Args(mpiRanks, library, app, "-r", "64", "-c", "256", "-i", "6000")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = mpitest.Environ(env...)
	return cmd
}

// resultOf is what the program has worked out.
func resultOf(out string) string {
	_, result, _ := strings.Cut(out, "result ")
	return strings.TrimSpace(result)
}

func mpiRound(t *testing.T, seed uint64, mpi mpitest.MPI, app, library, result string) {
	p := planOf(seed + 1<<32)
	random := rand.New(rand.NewPCG(seed, 0x3317))
	for i := range p.incidents { // the job takes longer than written rings do
		p.incidents[i].at = p.incidents[i].at*2 + 200*time.Millisecond
		p.incidents[i].rank = random.IntN(mpiRanks)
	}
	r := startRound(t, moriens, p.has(fillDisk) && os.Geteuid() == 0)
	var stdout, stderr bytes.Buffer
	cmd := job(mpi, app, library, []string{"MORIENS_RUN=" + r.meet.Run, "MORIENS_SHM=" + r.shm, "MINIAPP_OUT=" + r.truth})
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for _, i := range p.incidents {
		time.Sleep(i.at - time.Since(start))
		if i.fault == killRank {
			waitForRecords(t, r.truth, mpiRanks, nil)
			signalOne(t, r.truth, i.rank, syscall.SIGKILL)
		} else {
			r.happen(p, i, nil)
		}
	}
	err := cmd.Wait()
	killed := p.has(killRank)
	if !killed && (err != nil || resultOf(stdout.String()) != result) {
		t.Errorf("the program ends with %v and %q, want %s\n%s", err, stdout.String(), result, stderr.String())
	}
	r.end()
	r.checkCounts(killed)
	if t.Failed() {
		t.Logf("%s, %v\n%s\n%s", mpi.Name, p, r.agent.text(), r.collector.text())
	}
}

// shared lists the counts of processes that share them, one file for each.
func shared(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "shared.*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// madeBy are the calls that one process has made, by name.
func madeBy(t *testing.T, file string) (made map[string]int, total int) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	made = make(map[string]int)
	for ; len(data) >= 64 && data[0] != 0; data = data[64:] {
		name, n := string(data[:bytes.IndexByte(data, 0)]), int(binary.LittleEndian.Uint64(data[56:]))
		made[name] += n
		total += n
	}
	return made, total
}

// waitForRecords waits until all ranks have recorded: one goes into its second call when its first has its record. An
// agent without a rank does not know that the job is over, and one that only knows a killed rank takes the job for over
// before another rank has connected.
func waitForRecords(t *testing.T, dir string, ranks int, ended <-chan struct{}) {
	for deadline := time.Now().Add(roundTime); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		select {
		case <-ended: // the job is over
			return
		default:
		}
		recorded := 0
		for _, file := range shared(t, dir) {
			if _, total := madeBy(t, file); total > 1 {
				recorded++
			}
		}
		if recorded == ranks {
			return
		}
	}
	t.Error("not every rank has come out of MPI_Init")
}

// signalOne sends a signal to a process of the job, if it has begun.
func signalOne(t *testing.T, dir string, which int, s syscall.Signal) {
	files := shared(t, dir)
	if which >= len(files) {
		return
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(files[which]), "."))
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(pid, s) // that it has ended is no error
}

// made are the calls that all processes of the job have made, by name.
func (r *round) made() (made map[string]int, total, processes int) {
	made = make(map[string]int)
	files := shared(r.t, r.truth)
	for _, path := range files {
		own, n := madeBy(r.t, path)
		for name, n := range own {
			made[name] += n
		}
		total += n
	}
	return made, total, len(files)
}

// checkCounts compares the calls in the manifest with those that the ranks made. A killed rank may not have entered the
// last call that it counted.
func (r *round) checkCounts(killed bool) {
	made, total, processes := r.made()
	data, err := os.ReadFile(filepath.Join(r.out, "manifest.json"))
	if err != nil {
		r.t.Error(err)
		return
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		r.t.Error(err)
		return
	}
	uncertain := 0
	if killed {
		uncertain = processes
	}
	recorded := 0
	for name, n := range m.MPICalls {
		recorded += n
		if n > made[name] || n < made[name]-m.Dropped-uncertain {
			r.t.Errorf("%d calls of %s recorded, %d made, %d dropped", n, name, made[name], m.Dropped)
		}
	}
	if sum := recorded + m.Dropped; sum > total || sum < total-uncertain {
		r.t.Errorf("%d calls recorded and %d dropped, %d made (%s)", recorded, m.Dropped, total, fmt.Sprint(m.MPICalls))
	}
}
