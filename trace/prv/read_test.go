package prv

import (
	"fmt"
	"strings"
	"testing"

	"moriens/trace"
)

// Bursts formed by hand: start+duration, counters, cluster, calls round them.
func TestHowBurstsAreRead(t *testing.T) {
	const header = "#Paraver (x):1000_ns:1(1):1:1(1:1)\n"
	for _, c := range []struct{ name, body, want string }{
		{
			"counters at the end and strictly inside, not at the begin",
			"1:1:1:1:1:10:50:1\n2:1:1:1:1:10:42000050:1000\n2:1:1:1:1:30:42000050:5\n2:1:1:1:1:50:42000050:7:50000001:1\n2:1:1:1:1:60:42000050:2000:50000001:0\n",
			"10+40 [12] 0 ?-MPI_Send",
		}, {
			"state after the events of its begin",
			"2:1:1:1:1:10:50000001:1\n2:1:1:1:1:20:50000001:0:42000050:9\n1:1:1:1:1:20:30:1\n2:1:1:1:1:30:42000050:4\n",
			"20+10 [4] 0 MPI_Send-?",
		}, {
			"a call of zero length: all that is read at a burst's end is the burst's",
			"1:1:1:1:1:0:20:1\n1:1:1:1:1:20:20:4\n2:1:1:1:1:20:42000050:3:50000001:1\n1:1:1:1:1:20:40:1\n2:1:1:1:1:20:42000050:100:50000001:0\n2:1:1:1:1:40:42000050:5\n",
			"0+20 [103] 0 ?-MPI_Send, 20+20 [5] 0 MPI_Send-?",
		}, {
			"touching bursts without a call",
			"1:1:1:1:1:0:20:1\n1:1:1:1:1:20:40:1\n2:1:1:1:1:20:42000050:3\n2:1:1:1:1:40:42000050:4\n",
			"0+20 [3] 0 ?-?, 20+20 [4] 0 ?-?",
		}, {
			"no counter at the end",
			"1:1:1:1:1:0:20:1\n2:1:1:1:1:20:42000050:3\n1:1:1:1:1:30:40:1\n2:1:1:1:1:40:50000003:31\n",
			"0+20 [3] 0 ?-MPI_Init, 30+10 [none] 0 ?-MPI_Init",
		}, {
			"a change of the counter set ends the reading",
			"2:1:1:1:1:0:41999999:1\n1:1:1:1:1:0:20:1\n2:1:1:1:1:5:42000050:3\n2:1:1:1:1:10:42000050:4:41999999:2:42000050:50\n2:1:1:1:1:20:42000050:60\n",
			"0+20 [7] 0 ?-?",
		}, {
			"clusters: noise, filtered, missing, number 3",
			"1:1:1:1:1:0:1:1\n2:1:1:1:1:0:90000001:5\n2:1:1:1:1:1:90000001:0\n1:1:1:1:1:2:3:1\n2:1:1:1:1:2:90000001:3\n1:1:1:1:1:4:5:1\n2:1:1:1:1:4:90000001:1\n2:1:1:1:1:6:90000001:8\n1:1:1:1:1:6:7:1\n",
			"0+1 [] -1 ?-?, 2+1 [] -2 ?-?, 4+1 [] -3 ?-?, 6+1 [] 3 ?-?",
		}, {
			"a burst of zero length whose begin carries counters",
			"1:1:1:1:1:10:10:1\n2:1:1:1:1:10:90000001:6:42000050:99\n2:1:1:1:1:10:90000001:0:42000050:4\n",
			"10+0 [4] 1 ?-?",
		}, {
			"callers on a line of their own at the call's entry, and one that is none of a call",
			"1:1:1:1:1:0:20:1\n2:1:1:1:1:10:70000001:3\n2:1:1:1:1:20:50000001:1\n2:1:1:1:1:20:42000050:5:70000001:3\n2:1:1:1:1:25:70000001:4\n2:1:1:1:1:30:50000001:0\n1:1:1:1:1:30:40:1\n",
			"0+20 [5] 0 ?-MPI_Send@sweep, 30+10 [none] 0 MPI_Send@sweep-?",
		}, {
			"open state",
			"1:1:1:1:1:900:-1:1\n",
			"900+100 [] 0 ?-?",
		}, {
			"comments and record 4 are passed over",
			"# x\n4:whatever\n1:1:1:1:1:0:1:1\n",
			"0+1 [] 0 ?-?",
		},
	} {
		r, err := Read(strings.NewReader(header+c.body), Options{
			Labels: strings.NewReader("EVENT_TYPE\n0 70000001 Caller at level 1\nVALUES\n3 sweep\n4 other\n"),
		})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := print(r.Run); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func print(run *trace.Run) string {
	var all []string
	b := &run.Threads[0].Bursts
	name := func(p uint32) string {
		if p == 0 {
			return "?"
		}
		return run.CallPaths[p].String()
	}
	for k := range b.StartNS {
		counts := make([]string, len(b.Counters))
		for i := range counts {
			counts[i] = fmt.Sprint(b.Counters[i][k])
			if b.Counters[i][k] == trace.NoCount {
				counts[i] = "none"
			}
		}
		all = append(all, fmt.Sprintf("%d+%d %v %d %s-%s", b.StartNS[k], b.DurationNS[k], counts, b.Cluster[k], name(b.Before[k]), name(b.After[k])))
	}
	return strings.Join(all, ", ")
}

func TestMicroseconds(t *testing.T) {
	for _, unit := range []string{"", "_us"} {
		r, err := Read(strings.NewReader("#Paraver (x):1000"+unit+":1(1):1:1(1:1)\r\n1:1:1:1:1:10:50:1\r\n"), Options{Own: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := print(r.Run); got != "10000+40000 [] 0 ?-?" || r.Run.DurationNS != 1_000_000 {
			t.Errorf("unit %q: %s of %d ns", unit, got, r.Run.DurationNS)
		}
	}
}

// Two types may have one label; their columns have names of their own.
func TestCountersOfOneLabel(t *testing.T) {
	const text = "#Paraver (x):9_ns:1(1):1:1(1:1)\n1:1:1:1:1:0:5:1\n2:1:1:1:1:5:42000050:1:44000001:2:44000002:3\n"
	const labels = "EVENT_TYPE\n7 44000001 PAPI_TOT_INS\n7 44000002 PAPI_TOT_INS#44000001\n"
	r, err := Read(strings.NewReader(text), Options{Labels: strings.NewReader(labels)})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range r.Run.Counters {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "PAPI_TOT_INS PAPI_TOT_INS#44000001 PAPI_TOT_INS#44000001#44000002" {
		t.Errorf("counters %s", got)
	}
}

func TestNames(t *testing.T) {
	const text = "#Paraver (x):9_ns:1(1):1:1(1:1)\n1:1:1:1:1:0:5:1\n2:1:1:1:1:5:42000050:1:42001047:2:44000007:3:50000003:77:50000001:0\n2:1:1:1:1:6:50000002:8\n"
	const labels = "EVENT_TYPE\n9   50000002    MPI Collective Comm\nVALUES\n8   MPI_Barrier_of_ours\n0   Outside MPI\n\n\nEVENT_TYPE\n7  42001047 RESOURCE_STALLS [Cycles of something]\n7 44000007 hw::L3:MISS [x y] [misses]\n"
	const names = "LEVEL NODE SIZE 1\nalpha\n\nLEVEL APPL SIZE 1\n/opt/app\n"
	_, err := Read(strings.NewReader(strings.Replace(text, ":50000001:0", "", 1)), Options{})
	if err == nil || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("a call inside a call: %v", err)
	}
	body := strings.Replace(text, "2:1:1:1:1:6", "2:1:1:1:1:6:50000003:0\n2:1:1:1:1:6", 1)
	body = strings.Replace(body, ":50000001:0", "", 1)
	for _, with := range []bool{false, true} {
		o := Options{}
		want := "[PAPI_TOT_INS 42001047 44000007] [ MPI call 50000003:77 MPI_Barrier]   "
		if with {
			o = Options{Labels: strings.NewReader(labels), Names: strings.NewReader(names)}
			want = "[PAPI_TOT_INS RESOURCE_STALLS hw::L3:MISS [x y]] [ MPI call 50000003:77 MPI_Barrier_of_ours] alpha /opt/app misses"
		}
		r, err := Read(strings.NewReader(body), o)
		if err != nil {
			t.Fatal(err)
		}
		var counters, calls []string
		for _, c := range r.Run.Counters {
			counters = append(counters, c.Name)
		}
		for _, p := range r.Run.CallPaths {
			calls = append(calls, p.Function)
		}
		got := fmt.Sprintf("%v %v %s %s %s", counters, calls, r.Run.Nodes[0].Name, r.Run.Worlds[0].Executable, r.Run.Counters[2].Unit)
		if got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
}
