package pairing

import (
	"reflect"
	"testing"

	"moriens/analysis/pairs"
	"moriens/conclude/blame"
	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
	"moriens/trace"
)

// partOf is a run as a member has it: with the columns of its own threads alone.
func partOf(run *trace.Run, of []int32, rank int) *trace.Run {
	part := *run
	part.Threads = make([]trace.Thread, len(run.Threads))
	for i := range run.Threads {
		t := run.Threads[i]
		if of[i] != int32(rank) {
			t.Calls, t.Bursts, t.Transfers, t.Collectives = trace.Calls{}, trace.Bursts{}, trace.Transfers{}, trace.Collectives{}
		}
		part.Threads[i] = t
	}
	return &part
}

// However the threads of a run are distributed, the first member finds what one process finds; of messages that are
// known one by one, and of sums.
func TestMembersDoNotMatter(t *testing.T) {
	r := random(t)
	m := newMachine(8, 4)
	halo(m, 4, 2, 50, r, func(rank, _ int) int64 { return r.Int64N(200_000) })
	whole := m.run(t)
	alone := measured(t, whole, blame.Options{})
	sums := *whole
	counted(&sums, alone, 20, 2, func() bool { return r.IntN(2) == 0 })
	for _, run := range []*trace.Run{whole, &sums} {
		measure := func(x *trace.Run, owners team.Threads) (*Pairing, error) {
			b, err := blame.Measure(x, owners, blame.Options{Workers: 2})
			if err != nil {
				return nil, err
			}
			return Measure(x, owners, Options{Blame: b, Workers: 2})
		}
		want, err := measure(run, team.Threads{})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			of := make([]int32, len(run.Threads))
			for i := range of {
				of[i] = r.Int32N(3)
			}
			found, err := mpixtest.Run(3, func(m team.Team) (*Pairing, error) {
				return measure(partOf(run, of, m.Rank()), team.Threads{Team: m, Of: of})
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := found[0]; text(t, got) != text(t, want) || !reflect.DeepEqual(got.Rows, want.Rows) {
				t.Fatalf("threads of members %d:\n%s\none process:\n%s", of, text(t, got), text(t, want))
			}
		}
	}
}

// A receive that one thread of a rank posts and another completes is completed, whichever members these belong to.
func TestMembersShareARank(t *testing.T) {
	calls := func(enter ...int64) (c trace.Calls) {
		for _, ns := range enter {
			c.EnterNS, c.ExitNS, c.Path = append(c.EnterNS, ns), append(c.ExitNS, ns+10), append(c.Path, 0)
		}
		return c
	}
	whole := &trace.Run{
		Threads:  []trace.Thread{{Calls: calls(100)}, {Rank: 1, Calls: calls(50)}, {Rank: 1, Thread: 1, Calls: calls(20, 105)}, {Rank: 2}},
		Messages: []trace.Message{{From: 0, To: 1, SendNS: 100, RecvNS: 50, PhysicalRecvNS: 115}, {From: 0, To: 1, SendNS: 100, RecvNS: 50, PhysicalRecvNS: 60}},
	}
	want := []pairs.Place{{Thread: 2, Row: 1}, {Thread: 1, Row: 0}}
	for _, of := range [][]int32{{0, 0, 0, 0}, {0, 0, 1, 1}, {1, 1, 0, 0}, {0, 1, 1, 0}, {0, 1, 2, 0}} {
		found, err := mpixtest.Run(3, func(m team.Team) ([]pairs.Place, error) {
			return completing(partOf(whole, of, m.Rank()), team.Threads{Team: m, Of: of})
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range want {
			if got := found[of[x.Thread]][i]; got != x {
				t.Errorf("threads of members %d, message %d: %+v, want %+v", of, i, got, x)
			}
		}
	}
}
