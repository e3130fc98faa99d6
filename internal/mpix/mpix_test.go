package mpix

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"moriens/internal/hint"
	"moriens/internal/team"
)

// each has all members do something at once, and returns their errors by rank.
func each(members []Transport, do func(m Transport) error) []error {
	failed := make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() { failed[i] = do(m) })
	}
	all.Wait()
	return failed
}

func TestLocal(t *testing.T) {
	for n := 1; n <= 8; n++ {
		members := Local(n)
		for _, p := range properties {
			if err := errors.Join(each(members, p.hold)...); err != nil {
				t.Fatalf("%d members: %s: %v", n, p.name, err)
			}
		}
		if err := errors.Join(each(members, Transport.Close)...); err != nil {
			t.Errorf("%d members: close: %v", n, err)
		}
	}
}

func TestLocalProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, seed, steps := rapid.IntRange(1, 8).Draw(t, "members"), rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 20).Draw(t, "calls")
		members := Local(n)
		if err := errors.Join(each(members, func(m Transport) error { return errors.Join(program(m, seed, steps), m.Close()) })...); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOpenAlone(t *testing.T) {
	for _, name := range sizes {
		t.Setenv(name, "")
	}
	m, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range properties {
		if err := p.hold(m); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
	if err := errors.Join(m.Close(), m.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
}

// Where members go different ways, none waits for ever: all get an error. Under MPI too: TestUnderMPI.
var failures = []struct {
	name string
	do   func(m Transport) error
	want string // in the error of members but 0
}{
	{"different calls", func(m Transport) error {
		if m.Rank() == 0 {
			return m.Barrier()
		}
		_, err := m.AllGather(nil)
		return err
	}, "calls Barrier, where another calls AllGather"},
	{"different operations", func(m Transport) error { return m.AllReduce([]int64{1}, team.Op(min(m.Rank(), 1))) }, "a member calls AllReduce of sums, where another calls AllReduce of minima"},
	{"different numbers of values", func(m Transport) error { return m.AllReduce(make([]int64, 2+min(m.Rank(), 1)), team.Sum) }, "with 2 values, where another has 3"},
	{"closed, and a call", func(m Transport) error {
		if m.Rank() == 0 {
			return m.Close()
		}
		return m.Barrier()
	}, "a member has closed, where another calls Barrier"},
	{"closed, and a message awaited", func(m Transport) error {
		if m.Rank() == 0 {
			return errors.Join(m.Send(1, []byte("last")), m.Close())
		}
		if m.Rank() == 1 {
			if last, err := m.Recv(0); string(last) != "last" || err != nil {
				return fmt.Errorf("received %q, %w", last, err)
			}
		}
		_, err := m.Recv(0)
		return errors.Join(err, m.Barrier()) // which is where member 0 gets its error from
	}, "member 0 has closed, and sends no more messages"},
	{"a message too many", func(m Transport) error {
		if m.Rank() == 0 {
			for to := 1; to < m.Size(); to++ {
				if err := m.Send(to, []byte("unexpected")); err != nil {
					return nil
				}
			}
		}
		err := m.Close()
		if m.Rank() == 0 && err == nil {
			err = errors.New("none, as it should be")
		}
		return err
	}, "a message of member 0 has not been received"},
}

func TestFailures(t *testing.T) {
	for _, f := range failures {
		for _, n := range []int{2, 5} {
			members := Local(n)
			for i, err := range each(members, f.do) {
				if err == nil || i > 0 && !strings.Contains(err.Error(), f.want) {
					t.Errorf("%s: member %d of %d: error %v, want %q", f.name, i, n, err, f.want)
				}
			}
		}
	}
}

// Calls after a failure return that failure, and calls after the end an error.
func TestAfterwards(t *testing.T) {
	members := Local(3)
	var waiting sync.WaitGroup
	for _, m := range members[1:] {
		waiting.Go(func() {
			if err := m.Barrier(); err == nil || !strings.Contains(err.Error(), "member 0 has ended the job with status 7") {
				t.Errorf("a member that waits gets %v", err)
			}
		})
	}
	members[0].Abort(7)
	waiting.Wait()
	for _, m := range members {
		_, recv := m.Recv(0)
		for _, err := range []error{m.Barrier(), m.Send(1, nil), recv, m.Close()} {
			if err == nil || !strings.Contains(err.Error(), "status 7") {
				t.Errorf("afterwards: %v", err)
			}
		}
	}
	m := Local(1)[0]
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	_, recv := m.Recv(0)
	for _, err := range []error{m.Barrier(), m.Send(0, nil), recv} {
		if !errors.Is(err, errClosed) {
			t.Errorf("after the end: %v", err)
		}
	}
}

// A barrier holds every member until all have arrived.
func TestBarrierWaits(t *testing.T) {
	var mu sync.Mutex
	come := 0
	failed := each(Local(6), func(m Transport) error {
		for round := 1; round <= 50; round++ {
			mu.Lock()
			come++
			mu.Unlock()
			if err := m.Barrier(); err != nil {
				return err
			}
			mu.Lock()
			n := come
			mu.Unlock()
			if n < 6*round {
				return fmt.Errorf("left round %d when %d had come", round, n)
			}
		}
		return nil
	})
	if err := errors.Join(failed...); err != nil {
		t.Error(err)
	}
}

func TestLaunched(t *testing.T) {
	for _, c := range []struct {
		name, value string
		refused     bool
	}{
		{"OMPI_COMM_WORLD_SIZE", "4", true}, {"PMI_SIZE", "2", true}, {"SLURM_STEP_NUM_TASKS", "16", true}, {"MV2_COMM_WORLD_SIZE", "2", true},
		{"OMPI_COMM_WORLD_SIZE", "1", false}, {"PMI_SIZE", "many", false}, {"SLURM_NTASKS", "4", false},
	} {
		for _, name := range sizes {
			t.Setenv(name, "")
		}
		t.Setenv(c.name, c.value)
		err := launched()
		if (err != nil) != c.refused {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.name+"="+c.value) || !strings.Contains(hint.Of(err), "moriens-mpi")) {
			t.Errorf("%v\nhint: %s", err, hint.Of(err))
		}
	}
}

func TestMain(m *testing.M) {
	if part := os.Getenv("MPIX_TEST"); part != "" {
		os.Exit(act(part))
	}
	os.Exit(m.Run())
}
