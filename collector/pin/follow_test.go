package pin

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"moriens/collector/store"
	"moriens/internal/anchor"
)

// ample is how much of a job is as good as without a limit.
const ample = 10 * time.Hour

// rounds has a job go on for so many rounds with ample credit, a second each, and returns what is pinned.
func (j *job) rounds(p *Pins, n, kind int) (list []wish) {
	for range n {
		j.second(kind)
		list = append(list, p.round(ample)...)
	}
	return list
}

func kindsOf(list []wish) (n int) {
	for _, x := range list {
		if strings.HasPrefix(x.reason, "represents") {
			n++
		}
	}
	return n
}

// Iterations that are known take no search, on any rank. Those of another kind have their pin when they occur: of other
// calls, and of the same calls with other durations; and only once.
func TestLaterKinds(t *testing.T) {
	s := store.New()
	j := newJob(t, s, 3, 4000)
	p := New(s, nil, asRun, quiet)
	if n := kindsOf(j.rounds(p, 8, 0)); n != 1 {
		t.Fatalf("%d kinds at first", n)
	}
	quietly := func(when string, kind int) {
		t.Helper()
		for range 4 {
			if list := j.rounds(p, 1, kind); len(list) > 0 || p.searched > 0 {
				t.Errorf("%s: searched for %v: %+v", when, p.searched, list)
			}
		}
	}
	quietly("the first kind", 0)
	if n := kindsOf(j.rounds(p, 6, 3)); n != 1 {
		t.Errorf("%d kinds of other calls", n)
	}
	quietly("the second kind", 3)
	quietly("the first kind again", 0)
	j.rate /= 2
	if n := kindsOf(j.rounds(p, 6, 0)); n != 1 {
		t.Errorf("%d kinds of other durations", n)
	}
	quietly("the slow kind", 0)
}

// An iteration that takes long is pinned wherever it is in what was received, on each rank, without a search.
func TestLongIterations(t *testing.T) {
	s := store.New()
	j := newJob(t, s, 2, 4000)
	p := New(s, nil, asRun, quiet)
	j.rounds(p, 6, 0)
	before := j.ranks[0].ordinal // two in each iteration
	for n, r := range j.ranks {
		for i := range 3000 {
			if i == 40+1000*n {
				r.call("MPI_Irecv", 50_000_000)
			}
			j.iterate(r, 0)
		}
		r.flush()
	}
	list := p.round(ample)
	if len(list) != 2 || p.searched > 0 {
		t.Fatalf("searched for %v: %+v", p.searched, list)
	}
	for n, x := range list {
		want := anchor.After(before + 2*uint64(40+1000*n))
		if !strings.HasPrefix(x.reason, "an iteration of 5") || !strings.Contains(x.reason, fmt.Sprintf("on rank %d, median", n)) || !slices.Contains(x.windows, want) {
			t.Errorf("%+v, want window %v", x, want)
		}
	}
}

// Messages say when their calls began: what a rank did between two of them, and did not record, is time of an
// iteration.
func TestTimeBetweenMessages(t *testing.T) {
	s := store.New()
	j := newJob(t, s, 1, 4000)
	p := New(s, nil, asRun, quiet)
	j.rounds(p, 6, 0)
	j.ranks[0].calls.Origin += 70_000_000
	if list := j.rounds(p, 1, 0); len(list) != 1 || !strings.HasPrefix(list[0].reason, "an iteration of 7") {
		t.Errorf("%+v", list)
	}
}

// Without credit nothing is searched, and calls for which there is no time are left out; with credit again what does
// not fit is searched.
func TestCredit(t *testing.T) {
	s := store.New()
	j := newJob(t, s, 1, 4000)
	p := New(s, nil, asRun, quiet)
	for range 20 {
		j.second(0)
		p.budget = budget{search: -time.Hour, burstTime: firstBurstTime, bursts: fewBursts}
		if list := p.round(time.Second); list != nil || p.searched > 0 {
			t.Fatalf("%+v", list)
		}
	}
	for _, f := range p.followers {
		if f.at.row < 70_000 {
			t.Errorf("it waits at row %d", f.at.row)
		}
	}
	p.budget.compare = -time.Hour
	if list := p.round(time.Second); list != nil {
		t.Errorf("%+v", list)
	}
	p.budget = newBudget()
	if n := kindsOf(j.rounds(p, 2, 0)); n != 1 {
		t.Errorf("%d kinds", n)
	}
}

// What is not used is kept for one search and one look; what was used beyond the credit is waited for.
func TestBudget(t *testing.T) {
	b := newBudget()
	if !b.affords(fewBursts) || b.affords(4*fewBursts) {
		t.Errorf("the first search: %+v", b)
	}
	b.grow(time.Hour)
	if want := b.searchTakes(recentBursts); b.search != want && b.search != time.Hour/time.Second*searching || b.compare != 3600*comparing {
		t.Errorf("%+v, want %v", b, want)
	}
	b = newBudget()
	b.searched(1000, 8*time.Millisecond)
	if b.burstTime != 8*time.Microsecond || b.affords(1) {
		t.Errorf("%+v", b)
	}
	for range 1000 {
		b.grow(5 * time.Second)
	}
	if !b.affords(recentBursts) || b.affords(2*recentBursts) || b.compare != 2*5*comparing {
		t.Errorf("%+v", b)
	}
	if got := b.rows(); got != 150_000 {
		t.Errorf("%d rows", got)
	}
}

// Rows are found wherever they are, and the windows of rows are the same whether all meetings are known or the latest.
func TestFollower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := store.New()
		r := newRank(new(testing.T), s, 0)
		f := new(follower)
		var ring *store.Ring
		rowsThere := uint32(0)
		for range rapid.IntRange(1, 12).Draw(t, "messages") {
			for range rapid.IntRange(1, 3000).Draw(t, "calls") {
				r.call(rapid.SampledFrom([]string{"MPI_Send", "MPI_Allreduce"}).Draw(t, "call"), 1000)
				rowsThere++
			}
			r.flush()
			v, _ := s.Ring(0)
			ring = v.Ring
			if got := rows(&v, f.at); got != rowsThere {
				t.Fatalf("%d rows, want %d", got, rowsThere)
			}
			from := uint32(rapid.IntRange(int(f.at.row)-min(int(f.at.row), 2*recentBursts), int(rowsThere)-1).Draw(t, "from"))
			at := move(&v, f.at, from)
			row := at.row
			for row -= uint32(at.k); at.chunk > 0; {
				at.chunk--
				row -= uint32(v.Chunks[at.chunk].Rows)
			}
			if row != 0 || at.row != from {
				t.Fatalf("row %d is at %+v", from, at)
			}
			all, _ := s.Meetings(ring, store.Met{}, nil)
			recent := f.meetings(s, ring, from, nil)
			if len(recent) > len(all) || !slices.Equal(all[len(all)-len(recent):], recent) {
				t.Fatalf("from row %d %d meetings, not the last of %d", from, len(recent), len(all))
			}
			if len(all) == 0 {
				continue
			}
			behind := from + 1 + uint32(rapid.IntRange(0, int(rowsThere-from)-1).Draw(t, "rows"))
			if want := windowsOf(all, from, behind); len(recent) > 0 && !slices.Equal(want, windowsOf(recent, from, behind)) {
				t.Fatalf("rows %d to %d: windows %v, by the latest meetings %v", from, behind, want, windowsOf(recent, from, behind))
			}
			f.at = move(&v, f.at, rowsThere)
		}
	})
}

// When the end of the run takes the calls out of the store, nothing is read there any more.
func TestFinish(t *testing.T) {
	s := store.New()
	j := newJob(t, s, 2, 4000)
	p := New(s, nil, asRun, quiet)
	j.rounds(p, 3, 0)
	j.second(1)
	frozen := s.Freeze()
	p.Finish()
	for _, process := range frozen.Processes {
		for _, r := range process.Rings {
			frozen.Take(r)
		}
	}
	if list := p.round(ample); list != nil {
		t.Errorf("%+v", list)
	}
}
