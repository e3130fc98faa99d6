package period_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/period"
)

// A piece is a program: letters, or a body that is done a number of times; with several, one after the other.
type piece struct {
	letter   byte
	body     []piece
	low, add int // trips: low … low+add
}

func (p piece) run(s *script, trip func(low, add int) int) {
	if p.body == nil {
		s.burst(uint32(p.letter), int64(1000+100*int(p.letter)))
		return
	}
	for range trip(p.low, p.add) {
		for _, q := range p.body {
			q.run(s, trip)
		}
	}
}

// A grammar makes programs of loops in loops whose letters all differ, so that there is one answer.
type grammar struct{ next byte }

func (g *grammar) letters(t *rapid.T, low, high int) []piece {
	var list []piece
	for range rapid.IntRange(low, high).Draw(t, "letters") {
		list = append(list, piece{letter: g.next})
		g.next++
	}
	return list
}

func (g *grammar) loop(t *rapid.T, depth, low, high int) piece {
	p := piece{low: rapid.IntRange(low, high).Draw(t, "trips")}
	p.body = g.letters(t, 2, 4)
	if depth > 0 && rapid.Bool().Draw(t, "inner") {
		inner := g.loop(t, depth-1, 3, 6)
		inner.add = rapid.IntRange(0, 3).Draw(t, "more")
		p.body = append(p.body, inner)
		p.body = append(p.body, g.letters(t, 1, 3)...)
	}
	return p
}

// rareOwn reports whether there is a loop with another within beside which it has next to nothing of its own, which is
// taken for what an iteration of the inner one does now and then.
func (p piece) rareOwn() bool {
	own, all := 0, 0
	for _, q := range p.body {
		if q.rareOwn() {
			return true
		}
		if q.body == nil {
			own++
		}
		all += q.bursts()
	}
	return p.body != nil && 100*own < 2*all
}

// bursts is how many at most.
func (p piece) bursts() int {
	if p.body == nil {
		return 1
	}
	n := 0
	for _, q := range p.body {
		n += q.bursts()
	}
	return n * (p.low + p.add)
}

// TestGrammar plants several phases of nested loops, with prologue, epilogue and what is between; all is found to the
// burst.
func TestGrammar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g grammar
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		trip := func(low, add int) int { return low + random.IntN(add+1) }
		s := new(script)
		anchored := rapid.Bool().Draw(t, "anchored")
		var wanted []period.Loop
		flush := func(low int) {
			for _, p := range g.letters(t, low, 3) {
				p.run(s, trip)
			}
		}
		flush(0)
		for range rapid.IntRange(1, 3).Draw(t, "phases") {
			p := g.loop(t, 2, 3, 12)
			for p.rareOwn() {
				p = g.loop(t, 2, 3, 12)
			}
			var l period.Loop
			if anchored {
				s.do("|", 1)
			}
			for range p.low {
				l.Begins = append(l.Begins, int32(len(s.Symbols)))
				for _, q := range p.body {
					q.run(s, trip)
				}
				if anchored {
					s.do("|", 1)
				}
			}
			l.Begins = append(l.Begins, int32(len(s.Symbols)))
			wanted = append(wanted, l)
			flush(1)
		}
		wanted = slices.DeleteFunc(wanted, func(l period.Loop) bool { // is less than a hundredth of the run
			begin, end := l.Begins[0], l.Begins[len(l.Begins)-1]
			ns, all := int64(0), int64(0)
			for i, d := range s.DurationNS {
				all += d
				if int32(i) >= begin && int32(i) < end {
					ns += d
				}
			}
			return 100*int(end-begin) < len(s.Symbols) && 100*ns < all
		})
		r, err := period.Find([]period.Thread{s.Thread}, period.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var found []period.Loop
		for _, p := range r.Phases {
			if p.Iterations > 0 {
				found = append(found, p.Threads[0])
			}
		}
		if len(found) != len(wanted) {
			t.Fatalf("%d phases of %d: %+v in %d", len(found), len(wanted), found, s.Symbols)
		}
		for i := range found {
			if !slices.Equal(found[i].Begins, wanted[i].Begins) {
				t.Fatalf("phase %d begins at %d, want %d, in %d", i, found[i].Begins, wanted[i].Begins, s.Symbols)
			}
		}
	})
}

// longestRepetition is the reference: the longest stretch that is three times something or more, by trying all.
func longestRepetition(s []uint32) (begin, end, lag int) {
	for l := 1; 3*l <= len(s); l++ {
		for b := 0; b+3*l <= len(s); b++ {
			e := b + l
			for e < len(s) && s[e] == s[e-l] {
				e++
			}
			if e-b >= 3*l && e-b > end-begin {
				begin, end, lag = b, e, l
			}
		}
	}
	return begin, end, lag
}

// plain reports whether a loop of this body has no other loop within, nor across its ends.
func plain(body []uint32) bool {
	_, _, inner := longestRepetition(slices.Concat(body, body))
	return inner == 0
}

// TestRepetitionAmongOthers compares with the reference where one repetition is all there is: a loop of few letters,
// which may come several times in it but not three times in a row, among others that take much longer.
func TestRepetitionAmongOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOfN(rapid.Uint32Range(0, 3), 2, 9).Filter(plain).Draw(t, "body")
		times := rapid.IntRange(6, 20).Draw(t, "times")
		s := new(script)
		letter := uint32(10)
		other := func() {
			for range rapid.IntRange(0, 4).Draw(t, "others") {
				s.burst(letter, 20_000)
				letter++
			}
		}
		other()
		for range times {
			for _, x := range body {
				s.burst(x, 2000)
			}
		}
		other()
		begin, end, lag := longestRepetition(s.Symbols)
		r, err := period.Find([]period.Thread{s.Thread}, period.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var found []period.Phase
		for _, p := range r.Phases {
			if p.Iterations > 0 {
				found = append(found, p)
			}
		}
		if len(found) != 1 {
			t.Fatalf("%d phases in %d", len(found), s.Symbols)
		}
		l := found[0].Threads[0]
		if int(l.From) != begin || int(l.To) != end || l.Period != lag || found[0].Iterations != (end-begin)/lag {
			t.Fatalf("%d iterations of %d in %d to %d, want %d of %d in %d to %d: %d", found[0].Iterations, l.Period, l.From, l.To, (end-begin)/lag, lag, begin, end, s.Symbols)
		}
	})
}

// TestReportedIterationsExist checks any sequence at all, among them Fibonacci words: counted iterations agree as much
// as is reported, and there are three at least.
func TestReportedIterationsExist(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := new(script)
		if rapid.Bool().Draw(t, "Fibonacci") {
			a, b := "A", "AB"
			for range rapid.IntRange(3, 14).Draw(t, "generation") {
				a, b = b, b+a
			}
			s.do(b, 1)
		} else {
			for _, x := range rapid.SliceOfN(rapid.Uint32Range(0, 3), 0, 200).Draw(t, "symbols") {
				s.burst(x, 1000)
			}
		}
		r, err := period.Find([]period.Thread{s.Thread}, period.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Phases {
			if p.Iterations == 0 {
				continue
			}
			l := p.Threads[0]
			if p.Iterations < 3 || l.Agreement < 11./12 {
				t.Fatalf("%d iterations that agree by %g", p.Iterations, l.Agreement)
			}
			if len(l.Inner) > 0 {
				continue
			}
			// Without loops inside, agreement is of multisets of symbols.
			first := slices.Sorted(slices.Values(s.Symbols[l.Begins[0]:l.Begins[1]]))
			same := true
			for k := range p.Iterations {
				same = same && slices.Equal(first, slices.Sorted(slices.Values(s.Symbols[l.Begins[k]:l.Begins[k+1]])))
			}
			if same != (l.Agreement == 1) {
				t.Fatalf("iterations are the same: %v, agreement %g: %v in %d", same, l.Agreement, l.Begins, s.Symbols)
			}
		}
	})
}

// someRun is a run of a few threads, noisy and different.
func someRun(t *rapid.T) []period.Thread {
	var list []*script
	seed := rapid.Uint64().Draw(t, "seed")
	for i := range rapid.IntRange(1, 5).Draw(t, "threads") {
		s := new(script).do("XY|", 1)
		body := rapid.SampledFrom([]string{"ABC|", "ABABABCD|", "ABC", "AAB|B|"}).Draw(t, "body")
		s.do(body, rapid.IntRange(0, 60).Draw(t, "times"))
		s.do("DEF|", rapid.IntRange(0, 60).Draw(t, "times"))
		list = append(list, noisy(s, seed+uint64(i), .02, .01, .01))
	}
	return threads(list...)
}

func TestWorkersDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := someRun(t)
		var first *period.Result
		for _, workers := range []int{0, 1, 2, 7} {
			r, err := period.Find(list, period.Options{Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			forgetNaN(r)
			if first == nil {
				first = r
			} else if !reflect.DeepEqual(first, r) {
				t.Fatalf("%d workers find something else:\n%+v\n%+v", workers, first, r)
			}
		}
	})
}

func TestNumbersOfSymbolsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := someRun(t)
		r, err := period.Find(list, period.Options{})
		if err != nil {
			t.Fatal(err)
		}
		numbers := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "numbers"), 0)).Perm(300)
		for i := range list {
			list[i].Symbols = slices.Clone(list[i].Symbols)
			for k, x := range list[i].Symbols {
				list[i].Symbols[k] = uint32(numbers[x])
			}
		}
		again, err := period.Find(list, period.Options{})
		if err != nil {
			t.Fatal(err)
		}
		forgetNaN(r)
		forgetNaN(again)
		if !reflect.DeepEqual(r, again) {
			t.Fatalf("other numbers, other phases:\n%+v\n%+v", r, again)
		}
	})
}

// forgetNaN makes results comparable.
func forgetNaN(r *period.Result) {
	for i := range r.Phases {
		if p := &r.Phases[i]; p.Correlation != p.Correlation {
			p.Correlation = -2
		}
	}
}

func TestPhasesCoverEveryRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := someRun(rt)
		r, err := period.Find(list, period.Options{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		checkPartition(t, list, r)
	})
}
