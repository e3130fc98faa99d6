package period_test

import (
	"math/rand/v2"
	"testing"

	"moriens/analysis/period"
)

// A script writes what one thread does: letters are symbols, '|' is an anchor.
type script struct {
	period.Thread
	nowNS int64
}

// do writes the letters times over. Each burst takes 1 us times its letter's place in the alphabet.
func (s *script) do(letters string, times int) *script {
	for range times {
		for _, c := range letters {
			if c == '|' {
				s.Anchors = append(s.Anchors, int32(len(s.Symbols)))
				continue
			}
			s.burst(uint32(c-'A'), 1000*int64(c-'A'+1))
		}
	}
	return s
}

func (s *script) burst(symbol uint32, durationNS int64) *script {
	s.Symbols = append(s.Symbols, symbol)
	s.BeginNS = append(s.BeginNS, s.nowNS)
	s.DurationNS = append(s.DurationNS, durationNS)
	s.nowNS += durationNS + 100
	return s
}

// meet is a collective call: all wait for the last.
func meet(list []*script) {
	last := int64(0)
	for _, s := range list {
		last = max(last, s.nowNS)
	}
	for _, s := range list {
		s.nowNS = last
		s.do("|", 1)
	}
}

func threads(list ...*script) []period.Thread {
	var all []period.Thread
	for _, s := range list {
		all = append(all, s.Thread)
	}
	return all
}

func find(t *testing.T, list ...*script) *period.Result {
	t.Helper()
	return findThreads(t, threads(list...))
}

func findThreads(t *testing.T, list []period.Thread) *period.Result {
	t.Helper()
	r, err := period.Find(list, period.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	checkPartition(t, list, r)
	checkTeam(t, list, period.Options{Workers: 2}, inTurns(len(list), 3), 3, r)
	return r
}

// checkPartition checks what holds for every result: phases cover every burst of every thread once, in order, and
// iterations lie within.
func checkPartition(t *testing.T, list []period.Thread, r *period.Result) {
	t.Helper()
	for i := range list {
		at := int32(0)
		for n, p := range r.Phases {
			l := p.Threads[i]
			if l.From != at || l.To < l.From {
				t.Fatalf("phase %d of thread %d: bursts %d to %d after %d", n, i, l.From, l.To, at)
			}
			at = l.To
			if len(l.Begins) == 0 {
				continue
			}
			if len(l.Begins) != p.Iterations+1 || l.Begins[0] < l.From || l.Begins[p.Iterations] > l.To {
				t.Fatalf("phase %d of thread %d: %d begins of %d iterations, in %d to %d: %v", n, i, len(l.Begins), p.Iterations, l.From, l.To, l.Begins)
			}
			for k := 1; k < len(l.Begins); k++ {
				if l.Begins[k] < l.Begins[k-1] {
					t.Fatalf("phase %d of thread %d: iteration %d begins at %d, the one before at %d", n, i, k, l.Begins[k], l.Begins[k-1])
				}
			}
		}
		if int(at) != len(list[i].Symbols) {
			t.Fatalf("phases cover %d of %d bursts of thread %d", at, len(list[i].Symbols), i)
		}
	}
}

// A want is a phase as it should be on one thread.
type want struct {
	from, to   int32
	iterations int
	period     int
}

func checkPhases(t *testing.T, r *period.Result, thread int, wanted ...want) {
	t.Helper()
	var got []want
	for _, p := range r.Phases {
		l := p.Threads[thread]
		got = append(got, want{l.From, l.To, p.Iterations, l.Period})
	}
	if len(got) != len(wanted) {
		t.Errorf("thread %d: phases %+v, want %+v", thread, got, wanted)
		return
	}
	for i := range got {
		if got[i] != wanted[i] {
			t.Errorf("thread %d: phase %d is %+v, want %+v", thread, i, got[i], wanted[i])
		}
	}
}

// noisy changes bursts of the thread at random: a share gets another label, a share is lost, and after a share comes
// one more.
func noisy(s *script, seed uint64, other, lost, more float64) *script {
	random := rand.New(rand.NewPCG(seed, 1))
	var out script
	anchor := 0
	for i, symbol := range s.Symbols {
		for anchor < len(s.Anchors) && int(s.Anchors[anchor]) == i {
			out.Anchors = append(out.Anchors, int32(len(out.Symbols)))
			anchor++
		}
		x := random.Float64()
		switch {
		case x < other:
			out.burst(symbol+100, s.DurationNS[i])
		case x < other+lost:
			out.nowNS += s.DurationNS[i]
		default:
			out.burst(symbol, s.DurationNS[i])
		}
		if random.Float64() < more {
			out.burst(200, 500)
		}
	}
	for ; anchor < len(s.Anchors); anchor++ {
		out.Anchors = append(out.Anchors, int32(len(out.Symbols)))
	}
	return &out
}
