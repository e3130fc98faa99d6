package rebuild

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"moriens/collector/store"
	"moriens/conclude/agenttest"
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

// scheduledBy plays agents to a store, and describes what they have reported.
func scheduledBy(t *testing.T, nodes ...kernelStub) *rundir.Scheduling {
	t.Helper()
	s := store.New()
	w := &World{members: make(map[int32]*store.Process)}
	processes := uint64(0)
	for i, n := range nodes {
		f := agenttest.New(t, s, uint64(i+1), n.host)
		f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Scheduling{Scheduling: &moriensv1.Scheduling{BusyNs: 7e9, StealNs: 3e9}}}) // before the run
		for k := range n.run {
			processes++
			f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
				Process: processes, Rank: int32(processes) - 1, Size: 4096, Host: n.host, Clock: moriensv1.Clock_CLOCK_TSC,
			}}})
			if n.speechless {
				continue
			}
			f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Scheduling{Scheduling: &moriensv1.Scheduling{
				Process: []uint64{processes}, RunNs: []uint64{uint64(n.run[k] * 1e9)}, WaitNs: []uint64{uint64(n.wait[k] * 1e9)}, Voluntary: []uint64{5}, Involuntary: []uint64{n.switches},
			}}})
		}
		f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Scheduling{Scheduling: &moriensv1.Scheduling{
			Cores: n.cores, AtOnce: n.atOnce, BusyNs: 7e9 + n.busy*1e9, StealNs: 3e9 + n.steal*1e9,
		}}})
	}
	f := s.Freeze()
	for _, p := range f.Processes {
		w.members[p.Info.Rank] = p
	}
	return Scheduling([]*World{w}, f.Agents)
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
	sleeping := kernelStub{host: "n6", cores: 2, atOnce: 6, busy: 20, run: times(6, 3), wait: times(6, .06)}
	lonely := kernelStub{host: "n9", cores: 2, atOnce: 1, busy: 20, run: times(1, 5), wait: times(1, 5)}
	twentieth := kernelStub{host: "n8", cores: 2, atOnce: 2, busy: 20, run: times(2, 9.4), wait: times(2, .6)}
	started := kernelStub{host: "n7", cores: 2, atOnce: 2, busy: 1, run: times(2, .1), wait: times(2, .15)}
	const off, end = " of runnable time off the core", "; medians, spreads, waiting times and kinds with few bursts are unreliable; order and number of calls, bytes and iterations are correct"
	for name, tt := range map[string]struct {
		nodes   []kernelStub
		want    string
		crowded bool // kinds are distinguished by order alone
	}{
		"a quiet machine":               {[]kernelStub{quiet}, "", false},
		"more ranks than cores":         {[]kernelStub{crowded}, "4 ranks share 2 cores: 50 %" + off + " (48,112 involuntary switches)" + end, true},
		"others beside them":            {[]kernelStub{beside}, "ranks share their cores with other processes: 31 %" + off + " (1,000 involuntary switches)" + end, true},
		"one node of three":             {[]kernelStub{quiet, crowded, quiet}, "4 ranks share 2 cores of n2: 50 %" + off + " (48,112 involuntary switches)" + end, true},
		"two crowded nodes":             {[]kernelStub{crowded, crowded}, "4 ranks share 2 cores of n2 (and 1 host like it): 50 %" + off + " (96,224 involuntary switches)" + end, true},
		"a machine that is shared":      {[]kernelStub{stolen, quiet}, "host n4 lost 25 % of its cores' time to other virtual machines" + end, true},
		"both":                          {[]kernelStub{beside, stolen}, "2 of 4 ranks share their cores with other processes: 31 %" + off + " (1,000 involuntary switches); host n4 lost 25 % of its cores' time to other virtual machines" + end, true},
		"crowded, and beside others":    {[]kernelStub{crowded, beside}, "4 ranks share 2 cores of n2, and 2 of 6 ranks share their cores with other processes: 44 %" + off + " (49,112 involuntary switches)" + end, true},
		"a kernel that does not say":    {[]kernelStub{speechless}, "6 ranks share 2 cores: time off the core is not known" + end, true},
		"ranks that mostly sleep":       {[]kernelStub{sleeping}, "6 ranks share 2 cores: 2 %" + off + end, false},
		"a program that has just begun": {[]kernelStub{started}, "", true},
		"one rank":                      {[]kernelStub{lonely}, "the rank shares its core with other processes: 50 %" + off + end, true},
		"a twentieth":                   {[]kernelStub{twentieth}, "ranks share their cores with other processes: 6 %" + off + end, true},
	} {
		s := scheduledBy(t, tt.nodes...)
		if s.Warning != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, s.Warning, tt.want)
		}
		if Crowded(s) != tt.crowded {
			t.Errorf("%s: crowded %v", name, !tt.crowded)
		}
		if s.Overcommitted != (tt.want != "") {
			t.Errorf("%s: overcommitted %v", name, s.Overcommitted)
		}
	}
	if s := scheduledBy(t); s != nil || Crowded(s) {
		t.Errorf("of no agent: %+v", s)
	}
}

// The figures are those of the kernel, of each rank and of each host in sum.
func TestSchedulingFigures(t *testing.T) {
	s := scheduledBy(t, kernelStub{host: "n1", cores: 2, atOnce: 2, busy: 12, steal: 4, run: []float64{3, 1}, wait: []float64{1, 0}, switches: 7},
		kernelStub{host: "n2", atOnce: 1, run: []float64{0}, wait: []float64{0}})
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"lost_share":0.2,"overcommitted":true,"warning":"1 of 3 ranks shares its core with other processes: 25 % of runnable time off the core (7 involuntary switches); host n1 lost 25 % of its cores' time to other virtual machines; medians, spreads, waiting times and kinds with few bursts are unreliable; order and number of calls, bytes and iterations are correct","hosts":[` +
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
	s := scheduledBy(t, nodes...)
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
	if want := "40 of 4,000 ranks share their cores with other processes: 50 % of runnable time off the core; medians, spreads, waiting times and kinds with few bursts are unreliable; order and number of calls, bytes and iterations are correct"; s.Warning != want {
		t.Errorf("%s\nwant\n%s", s.Warning, want)
	}
}
