//go:build !quick

package sched

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseSchedstat(t *testing.T) {
	for text, want := range map[string][2]uint64{
		"1187563010 70344812 431\n":  {1187563010, 70344812},
		"0 512 1\n":                  {0, 512}, // has waited and never run
		"0 0 0\n":                    {},       // a kernel that does not keep it
		"":                           {},
		"1187563010 70344812\n":      {},
		"-1 5 7\n":                   {},
		"18446744073709551615 0 1\n": {},
		"a b c\n":                    {},
	} {
		run, wait, ok := parseSchedstat([]byte(text))
		if (want != [2]uint64{run, wait}) || ok != (want != [2]uint64{}) {
			t.Errorf("%q: %d, %d, %v", text, run, wait, ok)
		}
	}
}

// statusText is /proc/PID/status of a process in a container, as far as it matters, among what does not.
const statusText = `Name:	planted: NSpid:	7
Umask:	0022
Pid:	4711
NSpid:	4711	93	12
Cpus_allowed:	13
Cpus_allowed_list:	0-1,4
Mems_allowed_list:	0
voluntary_ctxt_switches:	1501
nonvoluntary_ctxt_switches:	48112
`

func TestParseStatus(t *testing.T) {
	s := parseStatus([]byte(statusText))
	if s.voluntary != 1501 || s.involuntary != 48112 || s.innermost != 12 || !slices.Equal(s.cpus, []int{0, 1, 4}) {
		t.Errorf("%+v", s)
	}
	if s := parseStatus([]byte("nonsense\nNSpid:\nCpus_allowed_list:\nvoluntary_ctxt_switches: x\n")); s.voluntary != 0 || s.innermost != 0 || s.cpus != nil {
		t.Errorf("%+v", s)
	}
}

func TestParseList(t *testing.T) {
	for text, want := range map[string][]int{
		"0": {0}, "0-3": {0, 1, 2, 3}, "5,7-8": {5, 7, 8}, "": nil, "-1": nil, "3-1": nil, "0-99999999999": nil, "1,": nil, "0-65536": nil,
	} {
		if got := parseList(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestParseStat(t *testing.T) {
	busy, steal, ok := parseStat([]byte("cpu  100 20 30 99999 88888 4 5 60 7 8\ncpu0 1 1 1 1 1 1 1 1 1 1\n"))
	if want := uint64(100+20+30+4+5) * tickNS; busy != want || steal != 60*tickNS || !ok {
		t.Errorf("%d, %d, %v", busy, steal, ok)
	}
	for _, text := range []string{"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8 9 10\n", "cpu 1 2 3 4 5 6 7 -8\n", "cpu 99999999999999 2 3 4 5 6 7 8\n"} {
		if _, _, ok := parseStat([]byte(text)); ok {
			t.Errorf("%q passed", text)
		}
	}
}

// A tree is a /proc that the test writes.
type tree struct {
	t   *testing.T
	dir string
}

func newTree(t *testing.T) *tree {
	x := &tree{t, t.TempDir()}
	x.put("stat", "cpu  0 0 0 0 0 0 0 0 0 0\n")
	return x
}

func (x *tree) put(name, text string) {
	x.t.Helper()
	path := filepath.Join(x.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
}

// process has mapped a file, and knows itself by another number.
func (x *tree) process(pid, innermost int, file string) {
	x.put(fmt.Sprintf("%d/maps", pid), "7f00-7f01 r--p 00000000 00:00 0\n7f01-7f02 rw-s 00000000 00:19 7 /dev/shm/moriens-0-run/"+file+"\n")
	x.put(fmt.Sprintf("%d/status", pid), fmt.Sprintf("NSpid:\t%d\t%d\n", pid, innermost))
}

func (x *tree) thread(pid, tid int, run, wait, voluntary, involuntary uint64, cpus string) {
	x.put(fmt.Sprintf("%d/task/%d/schedstat", pid, tid), fmt.Sprintf("%d %d 9\n", run, wait))
	x.put(fmt.Sprintf("%d/task/%d/status", pid, tid), fmt.Sprintf("Cpus_allowed_list:\t%s\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n", cpus, voluntary, involuntary))
}

func (x *tree) take(w *Watch) Report {
	x.t.Helper()
	w.Read()
	r, news := w.Take()
	if !news {
		x.t.Fatal("nothing new")
	}
	return r
}

// All threads of a process count, those that have ended as they were read last, and one that has the number of another
// besides that one.
func TestThreads(t *testing.T) {
	x := newTree(t)
	x.process(100, 100, "a.process")
	x.thread(100, 100, 1000, 100, 1, 10, "0")
	x.thread(100, 101, 2000, 200, 2, 20, "1")
	w := New(x.dir)
	w.Add(7, 100, "a.process")
	if r := x.take(w); r.Processes[7] != (Figures{3000, 300, 3, 30}) || r.Node.Cores != 2 || r.Node.AtOnce != 1 {
		t.Errorf("%+v", r)
	}
	os.RemoveAll(filepath.Join(x.dir, "100/task/101"))
	x.thread(100, 100, 1500, 150, 1, 15, "0")
	if r := x.take(w); r.Processes[7] != (Figures{3500, 350, 3, 35}) {
		t.Errorf("a thread has ended: %+v", r)
	}
	x.thread(100, 101, 5, 50, 0, 1, "0") // another one of that number
	if r := x.take(w); r.Processes[7] != (Figures{3505, 400, 3, 36}) || r.Node.Cores != 2 {
		t.Errorf("and another has begun: %+v", r)
	}
	if _, news := w.Take(); news {
		t.Error("news of nothing")
	}
}

// The last figures of a process are reported when it ends, whether or not it is still there.
func TestEnd(t *testing.T) {
	x := newTree(t)
	for pid := 100; pid < 103; pid++ {
		x.process(pid, pid, fmt.Sprintf("%d.process", pid))
		x.thread(pid, pid, 1000, 100, 1, 10, "0-1")
	}
	w := New(x.dir)
	for pid := 100; pid < 103; pid++ {
		w.Add(uint64(pid), pid, fmt.Sprintf("%d.process", pid))
	}
	w.Read()
	x.thread(100, 100, 4000, 400, 4, 40, "0-1")
	if f, news := w.End(100); !news || f != (Figures{4000, 400, 4, 40}) {
		t.Errorf("one that is there: %+v, %v", f, news)
	}
	os.RemoveAll(filepath.Join(x.dir, "101"))
	if f, news := w.End(101); !news || f != (Figures{1000, 100, 1, 10}) {
		t.Errorf("one that has died: %+v, %v", f, news)
	}
	r, _ := w.Take()
	if len(r.Processes) != 1 || r.Node.AtOnce != 3 {
		t.Errorf("of the one that is left: %+v", r)
	}
	os.RemoveAll(filepath.Join(x.dir, "102"))
	if f, news := w.End(102); news {
		t.Errorf("reported twice: %+v", f)
	}
	if f, news := w.End(99); news {
		t.Errorf("of an unknown process: %+v", f)
	}
}

// In a container a process knows itself by a number that is another's here: the file that it has mapped says which it
// is. What is not to be found is not reported.
func TestContainers(t *testing.T) {
	x := newTree(t)
	x.process(12, 12, "stranger.process")
	x.thread(12, 12, 9, 9, 9, 9, "0")
	for i, pid := range []int{500, 501} { // two containers, in each of which it is number 12
		x.process(pid, 12, fmt.Sprintf("%d.process", i))
		x.thread(pid, pid, uint64(pid), 1, 2, 3, "0")
	}
	x.process(os.Getpid(), 12, "2.process") // this process has mapped all of them
	x.thread(os.Getpid(), os.Getpid(), 1, 1, 1, 1, "0")
	w := New(x.dir)
	for i := range 3 {
		w.Add(uint64(i), 12, fmt.Sprintf("%d.process", i))
	}
	r := x.take(w)
	if len(r.Processes) != 2 || r.Processes[0].RunNS != 500 || r.Processes[1].RunNS != 501 || r.Node.AtOnce != 3 {
		t.Errorf("%+v", r)
	}
}

// A kernel that does not show how long threads wait, or does not let us look, costs nothing but the figures.
func TestFiguresThatCannotBeRead(t *testing.T) {
	x := newTree(t)
	x.process(100, 100, "a.process")
	x.thread(100, 100, 0, 0, 1, 1, "0")
	x.put("100/task/100/schedstat", "0 0 0\n")
	w := New(x.dir)
	w.Add(1, 100, "a.process")
	w.Add(2, 4_000_000, "b.process")
	if r := x.take(w); len(r.Processes) > 0 || r.Node.Cores != 0 || r.Node.AtOnce != 2 {
		t.Errorf("%+v", r)
	}
	none := New(filepath.Join(x.dir, "none"))
	none.Add(1, 100, "a.process")
	none.Read()
	if r, news := none.Take(); news {
		t.Errorf("%+v", r)
	}
}

// Steal and use of the node's cores are reported as they are since its boot.
func TestNode(t *testing.T) {
	x := newTree(t)
	x.put("stat", "cpu  100 0 0 5 0 0 0 40 0 0\n")
	w := New(x.dir)
	if r := x.take(w); r.Node.BusyNS != 100*tickNS || r.Node.StealNS != 40*tickNS {
		t.Errorf("%+v", r)
	}
}

// Of two programs that want one core for themselves the kernel says that both wait, and that it takes the core away
// from both.
func TestTwoOnOneCore(t *testing.T) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !set.IsSet(cpu) {
		cpu++
	}
	w := New("/proc")
	for id := range uint64(2) {
		cmd := exec.Command("sh", "-c", "echo; while :; do :; done")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { cmd.Process.Kill(); cmd.Wait() }()
		out.Read(make([]byte, 1)) // it runs
		var one unix.CPUSet
		one.Set(cpu)
		if err := unix.SchedSetaffinity(cmd.Process.Pid, &one); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/maps")
		if err != nil {
			t.Fatal(err)
		}
		_, path, _ := strings.Cut(string(text), "/")
		path, _, _ = strings.Cut(path, "\n")
		w.Add(id, cmd.Process.Pid, filepath.Base(path))
	}
	latest := make(map[uint64]Figures)
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		w.Read()
		r, _ := w.Take()
		for id, f := range r.Processes {
			if b := latest[id]; f.RunNS < b.RunNS || f.WaitNS < b.WaitNS || f.Involuntary < b.Involuntary {
				t.Fatalf("%+v became %+v", b, f)
			}
			latest[id] = f
		}
		a, b := latest[0], latest[1]
		if min(a.RunNS, a.WaitNS, a.Involuntary, b.RunNS, b.WaitNS, b.Involuntary) > 0 {
			if r.Node.Cores != 1 || r.Node.AtOnce != 2 {
				t.Errorf("%+v", r.Node)
			}
			return
		}
	}
	t.Errorf("%+v", latest)
}
