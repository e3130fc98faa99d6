package moriens

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
)

// A kernelStub is a node with what its kernel has said of cores, and of ranks: seconds on a core and seconds without.
type kernelStub struct {
	host       string
	cores      uint32
	atOnce     uint32
	busy       uint64
	steal      uint64
	run, wait  []float64
	switches   uint64 // involuntary, of each rank
	speechless bool   // it does not say how long ranks wait
}

// scheduledBy plays agents to a store, and describes what they have told.
func scheduledBy(t *testing.T, nodes ...kernelStub) (*rundir.Scheduling, string) {
	t.Helper()
	s := store.New()
	w := &world{members: make(map[int32]*store.Process)}
	processes := uint64(0)
	for i, n := range nodes {
		f := newFeeder(t, s, uint64(i+1), n.host)
		f.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Scheduling{Scheduling: &moriensv1.Scheduling{BusyNs: 7e9, StealNs: 3e9}}}) // before the run
		for k := range n.run {
			processes++
			f.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
				Process: processes, Rank: int32(processes) - 1, Size: 4096, Host: n.host, Clock: moriensv1.Clock_CLOCK_TSC,
			}}})
			if n.speechless {
				continue
			}
			f.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Scheduling{Scheduling: &moriensv1.Scheduling{
				Process: []uint64{processes}, RunNs: []uint64{uint64(n.run[k] * 1e9)}, WaitNs: []uint64{uint64(n.wait[k] * 1e9)}, Voluntary: []uint64{5}, Involuntary: []uint64{n.switches},
			}}})
		}
		f.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Scheduling{Scheduling: &moriensv1.Scheduling{
			Cores: n.cores, AtOnce: n.atOnce, BusyNs: 7e9 + n.busy*1e9, StealNs: 3e9 + n.steal*1e9,
		}}})
	}
	f := s.Freeze()
	for _, p := range f.Processes {
		w.members[p.Info.Rank] = p
	}
	return describeScheduling([]*world{w}, f.Agents)
}

func times(n int, seconds float64) (list []float64) {
	for range n {
		list = append(list, seconds)
	}
	return list
}

// The line says who has lost how much to whom, and nothing where that is little.
func TestOvercommitted(t *testing.T) {
	quiet := kernelStub{host: "n1", cores: 2, atOnce: 2, busy: 20, run: times(2, 9.8), wait: times(2, .2), switches: 40}
	crowded := kernelStub{host: "n2", cores: 2, atOnce: 4, busy: 20, run: times(4, 5), wait: times(4, 5), switches: 12_028}
	beside := kernelStub{host: "n3", cores: 2, atOnce: 2, busy: 20, run: times(2, 6.9), wait: times(2, 3.1), switches: 500}
	stolen := kernelStub{host: "n4", cores: 2, atOnce: 2, busy: 15, steal: 5, run: times(2, 10), wait: times(2, 0)}
	speechless := kernelStub{host: "n5", cores: 2, atOnce: 6, busy: 20, run: times(6, 1), wait: times(6, 1), speechless: true}
	sleeping := kernelStub{host: "n6", cores: 2, atOnce: 6, busy: 20, run: times(6, 3), wait: times(6, .25)}
	started := kernelStub{host: "n7", cores: 2, atOnce: 2, busy: 1, run: times(2, .1), wait: times(2, .15)}
	const end = ": durations are not the program's"
	for name, tt := range map[string]struct {
		nodes []kernelStub
		want  string
	}{
		"a quiet machine":               {[]kernelStub{quiet}, ""},
		"more ranks than cores":         {[]kernelStub{crowded}, "ranks lost 50 % of the time in which they could run to other processes" + end + " (4 at once on 2 cores of n2; 48,112 involuntary switches)"},
		"others beside them":            {[]kernelStub{beside}, "ranks lost 31 % of the time in which they could run to other processes" + end + " (1,000 involuntary switches)"},
		"one node of three":             {[]kernelStub{quiet, crowded, quiet}, "4 of 8 ranks lost 50 % of the time in which they could run to other processes" + end + " (4 at once on 2 cores of n2; 48,112 involuntary switches)"},
		"two crowded nodes":             {[]kernelStub{crowded, crowded}, "ranks lost 50 % of the time in which they could run to other processes" + end + " (4 at once on 2 cores of n2, and 1 host like it; 96,224 involuntary switches)"},
		"a machine that is shared":      {[]kernelStub{stolen, quiet}, "host n4 lost 25 % of its cores' time to other machines on its hardware" + end},
		"both":                          {[]kernelStub{beside, stolen}, "2 of 4 ranks lost 31 % of the time in which they could run to other processes; host n4 lost 25 % of its cores' time to other machines on its hardware" + end + " (1,000 involuntary switches)"},
		"a kernel that does not say":    {[]kernelStub{speechless}, "ranks share cores, and how much they lost is not known" + end + " (6 at once on 2 cores of n5)"},
		"ranks that mostly sleep":       {[]kernelStub{sleeping}, ""},
		"a program that has just begun": {[]kernelStub{started}, ""},
	} {
		s, got := scheduledBy(t, tt.nodes...)
		if got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
		if s.Overcommitted != (tt.want != "") {
			t.Errorf("%s: overcommitted %v", name, s.Overcommitted)
		}
	}
	if s, text := scheduledBy(t); s != nil || text != "" {
		t.Errorf("of no agent: %+v, %q", s, text)
	}
}

// The figures are those of the kernel, of each rank and of each host in sum.
func TestSchedulingFigures(t *testing.T) {
	s, _ := scheduledBy(t, kernelStub{host: "n1", cores: 2, atOnce: 2, busy: 12, steal: 4, run: []float64{3, 1}, wait: []float64{1, 0}, switches: 7},
		kernelStub{host: "n2", atOnce: 1, run: []float64{0}, wait: []float64{0}})
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"lost_share":0.2,"overcommitted":true,"hosts":[` +
		`{"host":"n1","cores":2,"ranks_at_once":2,"run_seconds":4,"wait_seconds":1,"lost_share":0.2,"voluntary_switches":10,"involuntary_switches":14,"busy_seconds":12,"steal_seconds":4,"steal_share":0.25},` +
		`{"host":"n2","cores":4,"ranks_at_once":1,"run_seconds":0,"wait_seconds":0,"lost_share":null,"voluntary_switches":5,"involuntary_switches":0,"busy_seconds":0,"steal_seconds":0,"steal_share":null}],"ranks":[` +
		`{"world":0,"rank":0,"host":"n1","run_seconds":3,"wait_seconds":1,"lost_share":0.25,"voluntary_switches":5,"involuntary_switches":7},` +
		`{"world":0,"rank":1,"host":"n1","run_seconds":1,"wait_seconds":0,"lost_share":0,"voluntary_switches":5,"involuntary_switches":7},` +
		`{"world":0,"rank":2,"host":"n2","run_seconds":0,"wait_seconds":0,"lost_share":null,"voluntary_switches":5,"involuntary_switches":0}],"more_ranks":0}`
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Of ten thousand ranks those that lost most are named, in their order, and all count.
func TestSchedulingOfManyRanks(t *testing.T) {
	var nodes []kernelStub
	const each, hosts = 100, 40
	for i := range hosts {
		n := kernelStub{host: fmt.Sprintf("n%d", i), cores: each, atOnce: each, run: times(each, 10), wait: times(each, 0)}
		n.wait[17] = 10
		nodes = append(nodes, n)
	}
	s, text := scheduledBy(t, nodes...)
	if len(s.Ranks) != mostScheduled || s.MoreRanks != each*hosts-mostScheduled {
		t.Fatalf("%d ranks, and %d more", len(s.Ranks), s.MoreRanks)
	}
	lost, before := 0, -1
	for _, r := range s.Ranks {
		if r.Rank <= before {
			t.Fatalf("rank %d behind rank %d", r.Rank, before)
		}
		if before = r.Rank; r.WaitSeconds > 0 {
			lost++
		}
	}
	if lost != hosts || math.Abs(float64(s.LostShare)-1./(each+1)) > 1e-12 {
		t.Errorf("%d ranks that lost something, %v of the time of all", lost, s.LostShare)
	}
	if want := "40 of 4,000 ranks lost 50 % of the time in which they could run to other processes: durations are not the program's"; text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
}
