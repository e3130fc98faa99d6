// Package sched measures how the kernel schedules the ranks of a node: how long they ran on a core, and how long they
// were ready to run while others had it.
//
// In come process numbers and the node's /proc. Out come sums in nanoseconds, for each process and for the node.
//
// The kernel keeps both times for each thread in nanoseconds (sched_info, which the kernels of all distributions have).
// Reading them costs the ranks nothing and the agent some 35 µs of processor time per thread, so that it reads them
// less and less often. For a process that has died the last reading counts.
package sched

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// Readings are pauseFirst apart when a process has arrived, and then twice as long each time.
	pauseFirst = 250 * time.Millisecond
	pauseLast  = time.Minute
)

// Figures are of all threads of a process, since it began; of those that have ended, up to the last reading.
type Figures struct {
	RunNS, WaitNS          uint64
	Voluntary, Involuntary uint64
}

func (f *Figures) add(o Figures) {
	f.RunNS += o.RunNS
	f.WaitNS += o.WaitNS
	f.Voluntary += o.Voluntary
	f.Involuntary += o.Involuntary
}

// A Node is what is true of all its processes together.
type Node struct {
	Cores  int // that its processes may run on, together; 0 = not known
	AtOnce int // most processes at a time
	// Since the node's boot, of all cores.
	BusyNS, StealNS uint64
}

// A Report is what has changed since the one before.
type Report struct {
	Processes map[uint64]Figures
	Node      Node
}

// A Watch reads processes. All methods may be called concurrently.
type Watch struct {
	proc string // /proc

	mu        sync.Mutex
	processes map[uint64]*process
	cores     map[int]bool
	atOnce    int
	node      Node
	news      bool
	changed   map[uint64]Figures
	wake      chan struct{}
}

type process struct {
	id   uint64
	pid  int    // as it knows it itself
	file string // that it alone has mapped, except this process

	mu      sync.Mutex
	dir     string // in /proc; empty = not found yet
	missing bool   // it is not to be found
	threads map[int]Figures
	gone    Figures // of threads whose number another one has now
}

// New returns a watch without processes.
func New(proc string) *Watch {
	return &Watch{proc: proc, processes: make(map[uint64]*process), cores: make(map[int]bool), changed: make(map[uint64]Figures), wake: make(chan struct{}, 1)}
}

// Add takes a process, by the number that it knows itself by and the name of a file that it has mapped: in a container
// the number means another one.
func (w *Watch) Add(id uint64, pid int, file string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.processes[id] = &process{id: id, pid: pid, file: file, threads: make(map[int]Figures)}
	w.atOnce = max(w.atOnce, len(w.processes))
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// End takes a last reading of a process, if it is still there, and leaves it. It returns what Take has not: false if
// that is nothing.
func (w *Watch) End(id uint64) (Figures, bool) {
	w.mu.Lock()
	p := w.processes[id]
	delete(w.processes, id)
	w.mu.Unlock()
	if p != nil {
		w.read(p, true)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f, news := w.changed[id]
	delete(w.changed, id)
	return f, news
}

// Run reads all processes again and again until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	for pause := pauseFirst; ; pause = min(2*pause, pauseLast) {
		w.Read()
		select {
		case <-time.After(pause):
		case <-w.wake:
			pause = pauseFirst / 2
		case <-ctx.Done():
			return
		}
	}
}

// Read reads all processes, and the node.
func (w *Watch) Read() {
	w.mu.Lock()
	list := make([]*process, 0, len(w.processes))
	for _, p := range w.processes {
		list = append(list, p)
	}
	w.mu.Unlock()
	w.find(list)
	for _, p := range list {
		w.read(p, false)
	}
	text, err := os.ReadFile(filepath.Join(w.proc, "stat"))
	if err != nil {
		return
	}
	busy, steal, ok := parseStat(text)
	w.mu.Lock()
	defer w.mu.Unlock()
	if ok {
		w.node.BusyNS, w.node.StealNS = busy, steal
	}
	w.news = true
}

// Take returns what is new; false if nothing is.
func (w *Watch) Take() (Report, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.news && len(w.changed) == 0 {
		return Report{}, false
	}
	r := Report{Processes: w.changed, Node: w.node}
	r.Node.Cores, r.Node.AtOnce = len(w.cores), w.atOnce
	w.changed, w.news = make(map[uint64]Figures), false
	return r, true
}

// find looks where in /proc the processes are that have not been looked for.
func (w *Watch) find(list []*process) {
	var others map[int][]string // directories, by the innermost number of their processes
	for _, p := range list {
		p.mu.Lock()
		if p.dir == "" && !p.missing {
			if dir := filepath.Join(w.proc, strconv.Itoa(p.pid)); maps(dir, p.file) {
				p.dir = dir
			} else {
				if others == nil {
					others = w.innermost()
				}
				if i := slices.IndexFunc(others[p.pid], func(dir string) bool { return maps(dir, p.file) }); i >= 0 {
					p.dir = others[p.pid][i]
				}
			}
			p.missing = p.dir == ""
		}
		p.mu.Unlock()
	}
}

// maps reports whether a process of ours has mapped a file of that name; this process maps it too.
func maps(dir, file string) bool {
	if filepath.Base(dir) == strconv.Itoa(os.Getpid()) {
		return false
	}
	text, err := os.ReadFile(filepath.Join(dir, "maps"))
	return err == nil && bytes.Contains(text, []byte("/"+file))
}

// innermost sorts the processes of this user that are in containers by the number that they know themselves by.
func (w *Watch) innermost() map[int][]string {
	list := make(map[int][]string)
	dirs, _ := filepath.Glob(filepath.Join(w.proc, "[1-9]*", "status"))
	for _, path := range dirs {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if n := parseStatus(text).innermost; n > 0 {
			list[n] = append(list[n], filepath.Dir(path))
		}
	}
	return list
}

// read takes a reading of a process that is watched, or ends.
func (w *Watch) read(p *process, ending bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == "" {
		return
	}
	tasks, err := os.ReadDir(filepath.Join(p.dir, "task"))
	if err != nil {
		return // it has ended
	}
	var cpus []int
	read := false
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		now, allowed, err := readThread(filepath.Join(p.dir, "task", task.Name()))
		if err != nil {
			continue
		}
		if before := p.threads[tid]; now.RunNS < before.RunNS || now.WaitNS < before.WaitNS { // another thread
			p.gone.add(before)
		}
		p.threads[tid] = now
		cpus, read = append(cpus, allowed...), true
	}
	if !read {
		return
	}
	sum := p.gone
	for _, f := range p.threads {
		sum.add(f)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.processes[p.id] != nil || ending {
		w.changed[p.id] = sum
	}
	for _, cpu := range cpus {
		w.cores[cpu] = true
	}
}

func readThread(dir string) (f Figures, cpus []int, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "schedstat"))
	if err != nil {
		return f, nil, err
	}
	var ok bool
	if f.RunNS, f.WaitNS, ok = parseSchedstat(text); !ok {
		return f, nil, fmt.Errorf("%s: the kernel does not report how long threads waited", dir)
	}
	if text, err = os.ReadFile(filepath.Join(dir, "status")); err != nil {
		return f, nil, err
	}
	s := parseStatus(text)
	f.Voluntary, f.Involuntary = s.voluntary, s.involuntary
	return f, s.cpus, nil
}
