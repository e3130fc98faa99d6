package prv

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/trace"
)

// Traces in which a thread is running inside MPI are read and written like others.
func TestRunningInsideMPI(t *testing.T) {
	const header = "#Paraver (x):1000_ns:1(1):1:1(1:1)\n"
	for _, c := range []struct{ name, body, want string }{
		{
			"a call inside a burst",
			"1:1:1:1:1:10:50:1\n2:1:1:1:1:20:50000001:1\n2:1:1:1:1:30:50000001:0\n2:1:1:1:1:50:42000050:7:50000001:2\n2:1:1:1:1:60:50000001:0\n",
			"10+40 [7] 0 MPI_Send-MPI_Recv",
		}, {
			"a burst inside a call",
			"2:1:1:1:1:10:50000001:1\n1:1:1:1:1:20:30:1\n2:1:1:1:1:30:42000050:7\n2:1:1:1:1:60:50000001:0\n",
			"20+10 [7] 0 MPI_Send-?",
		}, {
			"both end at once",
			"1:1:1:1:1:10:50:1\n2:1:1:1:1:20:50000001:1\n2:1:1:1:1:50:42000050:7\n2:1:1:1:1:50:50000001:0\n1:1:1:1:1:50:60:1\n2:1:1:1:1:60:42000050:9\n",
			"10+40 [7] 0 MPI_Send-?, 50+10 [9] 0 MPI_Send-?",
		},
	} {
		r, err := Read(strings.NewReader(header+c.body), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := print(r.Run); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if got := print(roundTrip(t, r.Run)); got != c.want {
			t.Errorf("%s, written and read again:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestOverlapsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		intervals := func(what string) (begin, end []int64) {
			now := int64(0)
			for range rapid.IntRange(0, 6).Draw(t, what) {
				now += rapid.Int64Range(0, 3).Draw(t, "gap")
				begin = append(begin, now)
				now += rapid.Int64Range(1, 4).Draw(t, "length")
				end = append(end, now)
			}
			return begin, end
		}
		run := &trace.Run{
			DurationNS: 100, Nodes: []trace.Node{{Name: "n", CPUs: 1}}, Worlds: []trace.World{{Executable: "a", Size: 1}},
			CallPaths: []trace.CallPath{{}, {Function: "MPI_Send"}}, Counters: []trace.Counter{{Name: "PAPI_TOT_INS"}},
		}
		var th trace.Thread
		th.Calls.EnterNS, th.Calls.ExitNS = intervals("calls")
		th.Calls.Path = slices.Repeat([]uint32{1}, th.Calls.Len())
		begin, end := intervals("bursts")
		b := &th.Bursts
		b.StartNS, b.Counters = begin, [][]int64{nil}
		for i := range begin {
			b.DurationNS = append(b.DurationNS, end[i]-begin[i])
			b.Cluster = append(b.Cluster, int32(rapid.IntRange(-3, 3).Draw(t, "cluster")))
			b.Counters[0] = append(b.Counters[0], rapid.Int64Range(0, 9).Draw(t, "count"))
		}
		b.Before, b.After = make([]uint32, len(begin)), make([]uint32, len(begin))
		if th.Calls.Len()+b.Len() == 0 {
			return
		}
		run.Threads = []trace.Thread{th}
		once := roundTrip(t, run)
		got := &once.Threads[0]
		for _, x := range []struct {
			what      string
			want, got any
		}{
			{"starts", b.StartNS, got.Bursts.StartNS}, {"durations", b.DurationNS, got.Bursts.DurationNS}, {"clusters", b.Cluster, got.Bursts.Cluster},
			{"entries", th.Calls.EnterNS, got.Calls.EnterNS}, {"exits", th.Calls.ExitNS, got.Calls.ExitNS},
		} {
			if d := cmp.Diff(x.want, x.got); d != "" {
				t.Fatalf("%s:\n%s", x.what, d)
			}
		}
		if b.Len() > 0 {
			if d := cmp.Diff(b.Counters, got.Bursts.Counters); d != "" {
				t.Fatalf("counters:\n%s", d)
			}
		}
		diff(t, once, roundTrip(t, once))
	})
}
