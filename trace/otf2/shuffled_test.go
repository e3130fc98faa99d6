package otf2

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"moriens/internal/testenv"
	"moriens/trace"
)

// A reread region is what a reader makes of an enter and a leave.
type reread struct {
	name           string
	cluster        string // of a burst
	beginNS, endNS int64
}

// pairShuffled reads a location as a tool does that collects events in any order, sorts them by time and pairs regions
// by a stack. Events of one time come in an order that the archive does not have. It returns the regions by begin, and
// the innermost region of each send and receive.
func pairShuffled(events []heard, random *rand.Rand) ([]reread, []string, error) {
	order := slices.Clone(events)
	slices.Reverse(order)
	tie := make(map[*heard]uint64)
	list := make([]*heard, len(order))
	for i := range order {
		list[i] = &order[i]
		tie[list[i]] = random.Uint64()
	}
	slices.SortFunc(list, func(a, b *heard) int { return cmp.Or(cmp.Compare(a.timeNS, b.timeNS), cmp.Compare(tie[a], tie[b])) })
	var open, done []reread
	var within []string
	for _, h := range list {
		switch h.kind {
		case "enter":
			open = append(open, reread{name: h.region, beginNS: h.timeNS})
		case "leave":
			n := len(open) - 1
			if n < 0 || open[n].name != h.region {
				return nil, nil, fmt.Errorf("leave of %s at %d, but %+v is open", h.region, h.timeNS, open)
			}
			open[n].endNS, open[n].cluster = h.timeNS, h.fields["cluster"]
			done, open = append(done, open[n]), open[:n]
		case "send", "isend", "recv", "irecv", "irecv request":
			name := ""
			if len(open) > 0 {
				name = open[len(open)-1].name
			}
			within = append(within, fmt.Sprintf("%s in %s", strings.TrimPrefix(strings.TrimSuffix(h.kind, " request"), "i"), name))
		}
	}
	if len(open) > 0 {
		return nil, nil, fmt.Errorf("%+v stay open", open)
	}
	slices.SortStableFunc(done, func(a, b reread) int { return cmp.Or(cmp.Compare(a.beginNS, b.beginNS), cmp.Compare(b.endNS, a.endNS)) })
	slices.Sort(within)
	return done, within, nil
}

// rereadShuffled reads the events of an archive in such an order, and looks for the bursts and calls of the run: as
// many, in their order, and where no more than a few nanoseconds are missing where they are. It returns by how many
// nanoseconds at most edges of bursts, and of calls, are off.
func rereadShuffled(t *testing.T, run *trace.Run, events map[uint64][]heard) (burstsNS, callsNS int64, moved int) {
	t.Helper()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	first, total := []int(nil), 0
	for _, w := range run.Worlds {
		first = append(first, total)
		total += w.Size
	}
	off := func(most *int64, where string, got reread, beginNS, endNS, room int64) {
		n := max(beginNS-got.beginNS, got.beginNS-beginNS, endNS-got.endNS, got.endNS-endNS)
		*most = max(*most, n)
		if n > room {
			t.Errorf("seed %d: %s: %+v is %d to %d ns in the run", seed, where, got, beginNS, endNS)
		}
	}
	for i := range run.Threads {
		th := &run.Threads[i]
		all := events[uint64(first[th.World]+th.Rank)|uint64(th.Thread)<<32]
		got, inOrder, err := pairShuffled(all, random)
		if err != nil {
			t.Errorf("seed %d: %s: %v", seed, th.Name(), err)
			continue
		}
		if _, asWritten, err := pairWritten(all); err != nil || !slices.Equal(asWritten, inOrder) {
			t.Errorf("seed %d: %s: %v: messages lie in other calls: %q, want %q", seed, th.Name(), err, inOrder, asWritten)
		}
		// No event of a location can be in the way of more than all others.
		room := int64(len(all))
		var bursts, calls []reread
		for _, r := range got {
			switch {
			case r.cluster != "":
				bursts = append(bursts, r)
			case r.name != "dropped":
				calls = append(calls, r)
			}
		}
		const far = 1000 // more than there are events at one place
		s := &stream{t: th}
		k, endNS := 0, int64(math.MinInt64/2)
		for b, start := range th.Bursts.StartNS {
			x := item{isBurst, b, start, start + th.Bursts.DurationNS[b]}
			if s.straddles(x) {
				continue
			}
			if k == len(bursts) || bursts[k].cluster != fmt.Sprint(th.Bursts.Cluster[b]) {
				t.Fatalf("seed %d: %s: burst %d is missing of %d", seed, th.Name(), b, len(bursts))
			}
			need := room
			if x.beginNS-endNS > min(room, far) && x.endNS-x.beginNS > min(room, far) {
				need = 0
			}
			if bursts[k].beginNS != x.beginNS || bursts[k].endNS != x.endNS {
				moved++
			}
			off(&burstsNS, th.Name(), bursts[k], x.beginNS, x.endNS, need)
			k, endNS = k+1, x.endNS
		}
		if k != len(bursts) || len(calls) != th.Calls.Len() {
			t.Errorf("seed %d: %s: %d bursts and %d calls, want %d and %d", seed, th.Name(), len(bursts), len(calls), k, th.Calls.Len())
			continue
		}
		for c, r := range calls {
			if name := oneLine(cmp.Or(run.CallPaths[th.Calls.Path[c]].Function, "unknown MPI call")); name != r.name {
				t.Errorf("seed %d: %s: call %d is %s, want %s", seed, th.Name(), c, r.name, name)
			}
			off(&callsNS, th.Name(), r, th.Calls.EnterNS[c], th.Calls.ExitNS[c], room)
		}
	}
	return burstsNS, callsNS, moved
}

// pairWritten pairs events in the order of the archive.
func pairWritten(events []heard) ([]reread, []string, error) {
	order := slices.Clone(events)
	for i := range order {
		order[i].timeNS = int64(i)
	}
	return pairShuffled(order, rand.New(rand.NewPCG(0, 0)))
}

// Of a real trace each burst is where it was, whatever the order in which its events are read, and so all times of
// computation; of calls a few nanoseconds at each edge are missing.
func TestPrintOfARealTraceShuffled(t *testing.T) {
	needWriter(t)
	for file, shorter := range map[string]int{"epoch_2proc.prv.gz": 2, "epoch_4proc.prv.gz": 8} {
		run, err := readTrace(testenv.RealTrace(t, file))
		if err != nil {
			t.Fatal(err)
		}
		held, out, _ := archived(t, run)
		bursts, calls, moved := rereadShuffled(t, held, listen(t, out).events)
		// Some calls between two bursts have no length, and only there a burst is shorter.
		if bursts != 3 || calls != 2 || moved != shorter {
			t.Errorf("%s: %d bursts are off, by %d ns at most, calls by %d ns; want %d, 3 ns, 2 ns", file, moved, bursts, calls, shorter)
		}
	}
}
