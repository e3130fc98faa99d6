package rebuild

import (
	"slices"
	"strings"
	"testing"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
)

// launched is a process as the test plants it.
type launched struct {
	name          string
	world, parent string
	rank, size    int32
	start         int64
}

func TestAssembleWorlds(t *testing.T) {
	tests := []struct {
		name      string
		processes []launched
		want      string // worlds separated by |, ranks in order
	}{
		{"one named world", []launched{{"a0", "w1", "p", 0, 2, 5}, {"a1", "w1", "p", 1, 2, 6}}, "a0 a1"},
		{"two programs of a script, named", []launched{
			{"a0", "w1", "p", 0, 2, 5}, {"a1", "w1", "p", 1, 2, 6},
			{"b0", "w2", "q", 0, 2, 9}, {"b1", "w2", "q", 1, 2, 8},
		}, "a0 a1|b0 b1"},
		{"one name used twice, one after the other", []launched{
			{"a0", "w1", "p", 0, 2, 5}, {"a1", "w1", "p", 1, 2, 6},
			{"b0", "w1", "p", 0, 2, 9}, {"b1", "w1", "p", 1, 2, 8},
		}, "a0 a1|b0 b1"},
		{"one name, another size: spawned", []launched{
			{"a0", "w1", "p", 0, 1, 5}, {"b0", "w1", "p", 0, 2, 9}, {"b1", "w1", "p", 1, 2, 8},
		}, "a0|b0 b1"},
		{"no name, two launches side by side", []launched{
			{"a0", "", "p", 0, 2, 5}, {"b1", "", "q", 1, 2, 6}, {"b0", "", "q", 0, 2, 7}, {"a1", "", "p", 1, 2, 8},
		}, "a0 a1|b0 b1"},
		{"no name, one parent twice", []launched{
			{"a0", "", "p", 0, 1, 5}, {"b0", "", "p", 0, 1, 9}, {"c0", "", "p", 0, 1, 12},
		}, "a0|b0|c0"},
		{"no name, a parent on each node", []launched{
			{"a0", "", "n1/7", 0, 4, 5}, {"a1", "", "n1/7", 1, 4, 6}, {"a2", "", "n2/9", 2, 4, 7}, {"a3", "", "n2/9", 3, 4, 4},
		}, "a0 a1 a2 a3"},
		{"no name, a parent on each node, twice", []launched{
			{"a0", "", "n1/7", 0, 2, 5}, {"a1", "", "n2/9", 1, 2, 4}, {"b0", "", "n1/17", 0, 2, 15}, {"b1", "", "n2/19", 1, 2, 14},
		}, "a0 a1|b0 b1"},
		{"no name, several programs in one launch", []launched{{"a0", "", "p", 0, 2, 5}, {"b1", "", "p", 1, 2, 6}}, "a0 b1"},
		{"no name, halves of launches that never met", []launched{{"a0", "", "p", 0, 2, 5}, {"b1", "", "q", 1, 2, 500}}, "a0|b1"},
		{"a rank is missing", []launched{{"a0", "w1", "p", 0, 3, 5}, {"a2", "w1", "p", 2, 3, 5}}, "a0 a2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var processes []*store.Process
			span := map[*store.Process]interval{}
			for i, l := range tt.processes {
				p := &store.Process{Info: &moriensv1.Process{
					Process: uint64(i), Rank: l.rank, Size: l.size, World: l.world, Parent: l.parent, Executable: "/opt/" + l.name, Host: l.name,
				}}
				processes = append(processes, p)
				span[p] = interval{l.start, l.start + 3}
			}
			for range 2 { // whatever the order of arrival
				var worlds []string
				for _, w := range assembleWorlds(processes, span) {
					var names []string
					for _, p := range w.Ranks() {
						names = append(names, p.Info.Host)
					}
					worlds = append(worlds, strings.Join(names, " "))
				}
				if got := strings.Join(worlds, "|"); got != tt.want {
					t.Errorf("worlds %s, want %s", got, tt.want)
				}
				slices.Reverse(processes)
			}
		})
	}
}

func TestTimeline(t *testing.T) {
	sample := func(ticks uint64, mono, real int64) *moriensv1.ClockSample {
		return &moriensv1.ClockSample{Ticks: ticks, MonotonicNs: mono, RealtimeNs: real, UncertaintyNs: 30}
	}
	// 2.5 ticks a nanosecond; the wall clock is stepped back by a second in the middle.
	line, length, err := newTimeline([]*moriensv1.ClockSample{
		sample(1<<62, 1_000, 5_000_000_000_000),
		sample(1<<62+25_000, 11_000, 4_999_000_010_000),
		sample(1<<62+25_000_000_000, 10_000_001_000, 5_009_000_000_000),
	})
	if err != nil {
		t.Fatal(err)
	}
	if length != 25_000_000_000 {
		t.Errorf("a baseline of %d ticks", length)
	}
	for _, tt := range []struct {
		ticks uint64
		want  int64
	}{{1 << 62, 5_000_000_000_000}, {1<<62 + 25_000_000_000, 5_010_000_000_000}, {1<<62 - 25, 4_999_999_999_990}, {1<<62 + 5, 5_000_000_000_002}} {
		if got := line.at(tt.ticks); got != tt.want {
			t.Errorf("at(%d) = %d, want %d", tt.ticks, got, tt.want)
		}
	}
	for _, bad := range [][]*moriensv1.ClockSample{nil, {sample(1, 1, 1)}, {sample(1, 1, 1), sample(1, 2, 2)}, {sample(1, 5, 1), sample(2, 5, 2)}} {
		if _, _, err := newTimeline(bad); err == nil {
			t.Errorf("newTimeline(%v) gave no error", bad)
		}
	}
}

// Where an agent died after one sample, its clock runs at the rate of another node's.
func TestTimelinesBorrowRates(t *testing.T) {
	tsc := moriensv1.Clock_CLOCK_TSC
	agent := func(host string, samples ...*moriensv1.ClockSample) *store.Agent {
		return &store.Agent{Hello: &moriensv1.Hello{Host: host}, Samples: map[moriensv1.Clock][]*moriensv1.ClockSample{tsc: samples}}
	}
	a := agent("a", &moriensv1.ClockSample{Ticks: 0, MonotonicNs: 0, RealtimeNs: 10}, &moriensv1.ClockSample{Ticks: 400, MonotonicNs: 100, RealtimeNs: 110})
	b := agent("b", &moriensv1.ClockSample{Ticks: 8000, MonotonicNs: 7, RealtimeNs: 50})
	process := &store.Process{Agent: b, Info: &moriensv1.Process{Clock: tsc}}
	c := readClocks(store.Frozen{Agents: []*store.Agent{a, b}})
	if _, line, fitted := c.local(process); !fitted || line.at(8400) != 150 {
		t.Errorf("b at 8400 = %d, want 150", line.at(8400))
	}
	if len(c.notes) != 1 || !strings.Contains(c.notes[0], "host b") {
		t.Errorf("notes %q", c.notes)
	}
	c = readClocks(store.Frozen{Agents: []*store.Agent{b}})
	if _, line, fitted := c.local(process); fitted {
		t.Errorf("a rate out of nowhere: %+v", line)
	}
}
