package faults

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"moriens/trace/parquet"
)

var (
	rounds  = flag.Int("rounds", 180, "rounds with written rings")
	mpiRuns = flag.Int("mpi-rounds", 20, "rounds with real MPI")
)

// atOnce is how many rounds run at a time: most of a round is waiting.
const atOnce = 8

var moriens string // the program

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "rank" {
		r, err := rankOf(os.Args[2:])
		if err == nil {
			err = r.run()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "rank:", err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "moriens-faults-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		moriens = filepath.Join(dir, "moriens")
		if out, err := exec.Command("go", "build", "-o", moriens, "moriens/cmd/moriens").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// seen counts what the rounds met, to show that the test meets what it is there for.
var seen struct {
	rounds, calls, dropped, lost, restarts atomic.Int64
	incidents                              [faults]atomic.Int64
}

func TestRounds(t *testing.T) {
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for seed := range *rounds {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			t.Run(strconv.Itoa(seed), func(t *testing.T) { writtenRound(t, uint64(seed)) })
		})
	}
	all.Wait()
	whole := seen.rounds.Load() >= 180 // not a few of them, picked by name
	t.Logf("%d calls, %d dropped, %d sends lost, %d restarts", seen.calls.Load(), seen.dropped.Load(), seen.lost.Load(), seen.restarts.Load())
	for f := range faults {
		n := seen.incidents[f].Load()
		t.Logf("%v: %d", f, n)
		if n == 0 && whole {
			t.Errorf("no round has tried: %v", f)
		}
	}
	if whole && seen.dropped.Load() == 0 {
		t.Error("no round has lost a call: they are too easy")
	}
}

// writtenRound lets ranks write rings while what is planned happens, and checks the outcome.
func writtenRound(t *testing.T, seed uint64) {
	p := planOf(seed)
	r := startRound(t, moriens, p.has(fillDisk) && os.Geteuid() == 0)
	var ranks []*exec.Cmd
	for i := range p.ranks {
		rank := rank{Dir: r.rings, Truth: r.truth, Rank: i, Size: p.ranks, Threads: p.threads, Calls: p.calls, Seed: seed}
		cmd := exec.Command(os.Args[0], rank.args()...)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ranks = append(ranks, cmd)
	}
	start := time.Now()
	for _, i := range p.incidents {
		time.Sleep(i.at - time.Since(start))
		r.happen(p, i, ranks)
		seen.incidents[i.fault].Add(1)
	}
	killed := map[int]bool{}
	for _, i := range p.incidents {
		if i.fault == killRank {
			killed[i.rank] = true
		}
	}
	for i, cmd := range ranks {
		if err := cmd.Wait(); err != nil && !killed[i] {
			t.Errorf("rank %d: %v", i, err)
		}
	}
	r.end()
	r.check(p, killed)
	seen.rounds.Add(1)
	seen.restarts.Add(int64(r.agent.starts + r.collector.starts - 2))
	if t.Failed() {
		t.Logf("%v\n%s\n%s", p, r.agent.text(), r.collector.text())
	}
}

// check compares the run directory with what the ranks did.
func (r *round) check(p plan, killed map[int]bool) {
	run, err := parquet.ReadFile(filepath.Join(r.out, "bursts.parquet"))
	if err != nil {
		r.t.Error(err)
		return
	}
	kept := make(map[string][]int64) // instructions of the bursts by thread
	for _, thread := range run.Threads {
		name := fmt.Sprintf("%d.%d", thread.Rank, thread.Thread)
		for i := range thread.Bursts.Len() {
			kept[name] = append(kept[name], thread.Bursts.Counters[0][i])
		}
	}
	sent := r.transfers()
	calls, dropped, open, lost := 0, 0, 0, 0
	for rank := range p.ranks {
		for thread := range p.threads {
			name := fmt.Sprintf("%d.%d", rank, thread)
			truth, err := readTruth(filepath.Join(r.truth, name))
			if err != nil {
				r.t.Error(err)
				continue
			}
			if !killed[rank] && truth.ended != p.calls {
				r.t.Errorf("thread %s made %d calls of %d", name, truth.ended, p.calls)
			}
			calls += truth.ended - len(truth.dropped)
			dropped += len(truth.dropped)
			seen.calls.Add(int64(truth.ended))
			seen.dropped.Add(int64(len(truth.dropped)))
			open += truth.begun - truth.ended
			r.checkThread(name, truth, kept[name])
			delete(kept, name)
			lost += r.checkSends(name, truth, sent[name])
			delete(sent, name)
		}
	}
	for name := range maps.Keys(kept) {
		r.t.Errorf("thread %s was never there", name)
	}
	for name := range maps.Keys(sent) {
		r.t.Errorf("thread %s was never there to send", name)
	}
	seen.lost.Add(int64(lost))
	r.checkManifest(calls, dropped, open, lost)
}

// transfers are the bytes that were sent by each thread.
func (r *round) transfers() map[string][]int64 {
	sent := make(map[string][]int64)
	f, err := os.Open(filepath.Join(r.out, "transfers.parquet"))
	if errors.Is(err, fs.ErrNotExist) { // there are none
		return sent
	}
	if err != nil {
		r.t.Error(err)
		return sent
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = parquet.ReadTransfers(f, info.Size(), func(x parquet.Transfer) error {
			name := fmt.Sprintf("%d.%d", x.Rank, x.Thread)
			sent[name] = append(sent[name], x.Bytes)
			return nil
		})
	}
	if err != nil {
		r.t.Error(err)
	}
	return sent
}

// checkSends says how many sends of a thread's calls are not there; none is that was not made, or is there already. The
// call in which a rank was killed may have sent.
func (r *round) checkSends(name string, truth record, got []int64) (lost int) {
	found := make(map[int]int)
	for _, bytes := range got {
		found[int(bytes)-1]++
	}
	for k := range truth.ended {
		switch n := found[k]; {
		case truth.dropped[k] && n > 0, n > 1:
			r.t.Errorf("thread %s: call %d has sent %d times, dropped: %t", name, k, n, truth.dropped[k])
		case !truth.dropped[k] && n == 0:
			lost++
		}
		delete(found, k)
	}
	if truth.begun > truth.ended && found[truth.ended] == 1 {
		delete(found, truth.ended)
	}
	if len(found) > 0 {
		r.t.Errorf("thread %s: calls %v have sent that were never made", name, slices.Sorted(maps.Keys(found)))
	}
	return lost
}

// checkThread compares the bursts of a thread: the one before call k is there if calls k-1 and k are, once and in its
// place. The call in which a rank was killed may be there.
func (r *round) checkThread(name string, truth record, got []int64) {
	var want []int64
	for k := 1; k < truth.ended; k++ {
		if !truth.dropped[k] && !truth.dropped[k-1] {
			want = append(want, int64(k))
		}
	}
	if truth.begun > truth.ended && len(got) == len(want)+1 && got[len(got)-1] == int64(truth.ended) {
		got = got[:len(got)-1]
	}
	if slices.Equal(got, want) {
		return
	}
	found := make(map[int64]int)
	for _, k := range got {
		found[k]++
	}
	var missing, twice []int64
	for _, k := range want {
		switch n := found[k]; {
		case n == 0:
			missing = append(missing, k)
		case n > 1:
			twice = append(twice, k)
		}
		delete(found, k)
	}
	r.t.Errorf("thread %s, %d calls, %d dropped: %d bursts, want %d; missing %v, more than once %v, never made %v",
		name, truth.ended, len(truth.dropped), len(got), len(want), head(missing), head(twice), head(slices.Sorted(maps.Keys(found))))
}

func head(list []int64) string {
	if len(list) > 6 {
		return fmt.Sprintf("%v… (%d)", list[:6], len(list))
	}
	return fmt.Sprint(list)
}

// A manifest is what is compared of manifest.json.
type manifest struct {
	MPICalls map[string]int `json:"mpi_calls"`
	Dropped  int            `json:"dropped"`
	Messages struct{ Sends int }
	Losses   struct {
		TransfersLost int `json:"transfers_lost"`
	}
}

// checkManifest compares the counts; a few calls may be open, in which ranks were killed.
func (r *round) checkManifest(calls, dropped, open, lost int) {
	data, err := os.ReadFile(filepath.Join(r.out, "manifest.json"))
	var m manifest
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		r.t.Error(err)
		return
	}
	got := m.MPICalls["MPI_Allreduce"]
	if got < calls || got > calls+open || len(m.MPICalls) > 1 {
		r.t.Errorf("calls %v, want %d and at most %d more", m.MPICalls, calls, open)
	}
	if m.Dropped < dropped || m.Dropped > dropped+open {
		r.t.Errorf("dropped %d, want %d and at most %d more", m.Dropped, dropped, open)
	}
	if n := m.Messages.Sends; n < calls || n > calls+open {
		r.t.Errorf("%d sends, want %d and at most %d more", n, calls, open)
	}
	if n := m.Losses.TransfersLost; n < lost || n > lost+open {
		r.t.Errorf("%d sends are counted as lost, want %d and at most %d more", n, lost, open)
	}
}
