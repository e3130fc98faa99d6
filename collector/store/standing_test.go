package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

func TestStand(t *testing.T) {
	s := newStub(t)
	s.must(process(1, 3, 4))
	s.must(ring(11, 1))
	s.must(callPath(1, 5, &moriensv1.Frame{File: "/home/x/solver.py", Line: 12, Function: "step"}))
	other, _, err := s.store.Greet(&moriensv1.Hello{Agent: 2, Host: "n2"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(9, 0)
	message := func(change func(*moriensv1.Standing)) *moriensv1.Standing {
		m := &moriensv1.Standing{
			Ring: []uint64{99, 11}, Rows: []uint64{0, 2}, Ticks: []uint64{5, 60}, State: []moriensv1.Standing_State{0, moriensv1.Standing_STATE_INSIDE}, Enter: []uint64{0, 50}, Exit: []uint64{0, 0},
			Function: []uint32{0, uint32(mpicall.Recv)}, Path: []uint32{0, 5},
		}
		change(m)
		return m
	}
	view := func() StandingView {
		list := s.store.Standings()
		if len(list) != 1 {
			t.Fatal(list)
		}
		return list[0]
	}
	stand := func(a *Agent, change func(*moriensv1.Standing)) error { return s.store.Stand(a, message(change), now) }
	if err := stand(other, func(*moriensv1.Standing) {}); err != nil || !view().Standing.At.IsZero() {
		t.Errorf("an agent speaks for the ring of another: %v", err)
	}
	for name, wrong := range map[string]func(*moriensv1.Standing){
		"a short column":  func(m *moriensv1.Standing) { m.Exit = m.Exit[:1] },
		"a short sum":     func(m *moriensv1.Standing) { m.Until = []uint64{1} },
		"more than rings": func(m *moriensv1.Standing) { m.Ring = m.Ring[:1] },
	} {
		if stand(s.agent, wrong) == nil {
			t.Errorf("%s is taken", name)
		}
	}
	for name, odd := range map[string]func(*moriensv1.Standing){
		"a time of the future": func(m *moriensv1.Standing) { m.Ticks[1] = 1 << 63 },
		"an entry of it":       func(m *moriensv1.Standing) { m.Enter[1] = 1 << 63 },
		"a large function":     func(m *moriensv1.Standing) { m.Function[1] = 1 << 20 },
	} {
		if err := stand(s.agent, odd); err != nil || !view().Standing.At.IsZero() {
			t.Errorf("%s counts: %v", name, err)
		}
	}
	want := Standing{At: now, Rows: 2, Ticks: 60, State: moriensv1.Standing_STATE_INSIDE, Enter: 50, Call: mpicall.Recv, Place: "solver.py:12"}
	if err := stand(s.agent, func(*moriensv1.Standing) {}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, view().Standing); d != "" {
		t.Error(d)
	}
	want.Place = "main.c:7"
	if err := stand(s.agent, func(m *moriensv1.Standing) { m.Longest, m.Place = 11, "main.c:7" }); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, view().Standing); d != "" {
		t.Error(d)
	}
	// A call that this version does not know is none.
	if err := stand(s.agent, func(m *moriensv1.Standing) { m.Function[1] = 9999 }); err != nil || view().Standing.Enter != 0 {
		t.Errorf("%v, %+v", err, view().Standing)
	}

	// Sums are taken once; those that cannot be are none.
	sums := func(x Sums) error {
		return stand(s.agent, func(m *moriensv1.Standing) {
			m.Begin, m.Until, m.Computing, m.Mpi = []uint64{0, x.Begin}, []uint64{0, x.Until}, []uint64{0, x.Computing}, []uint64{0, x.MPI}
		})
	}
	good := []Sums{{10, 20, 5, 5}, {10, 30, 12, 8}}
	for _, x := range []Sums{good[0], {10, 25, 15, 1}, {10, 25, 16, 0}, {26, 25, 0, 0}, {0, 1 << 63, 0, 0}, good[1], good[1]} {
		if err := sums(x); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(good, view().Sums); d != "" {
		t.Error(d)
	}
	if v := view(); v.Sums != nil {
		t.Errorf("%v are taken twice", v.Sums)
	}
	for i := range uint64(3 * maxSums) {
		if err := sums(Sums{10, 100 + i, i, 0}); err != nil {
			t.Fatal(err)
		}
	}
	if got := view().Sums; len(got) != maxSums || got[maxSums-1].Computing != 3*maxSums-1 {
		t.Errorf("%d sums wait", len(got))
	}
	s.store.Freeze()
	if err := stand(s.agent, func(m *moriensv1.Standing) { m.Ticks[1] = 77 }); err != nil || view().Standing.Ticks == 77 {
		t.Errorf("after the end of the run: %v", err)
	}
}
