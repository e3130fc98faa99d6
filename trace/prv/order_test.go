package prv

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"moriens/internal/testenv"
	"moriens/trace"
)

// hybrid is a trace of ranks with an OpenMP thread each, whose header takes 1,857,922 ns for the end, as records in the
// order of time. In a step of 4 ms each thread computes 3 ms; the first one of a rank is in MPI_Allreduce then, the
// other is idle.
type hybrid struct {
	ranks, steps   int
	gapFrom, gapTo int // steps in between have no records; 0, 0 = none
}

const (
	hybridHeader = "#Paraver (25/11/2026 at 10:00):1857922_ns:1(4):1:2(2:1,2:1),3\nc:1:1:2:1:2\nc:1:2:1:1\nc:1:3:1:2\n"
	stepNS       = 4_000_000
	computeNS    = 3_000_000
)

func (h hybrid) records() []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for step := range h.steps {
		if step >= h.gapFrom && step < h.gapTo {
			continue
		}
		from := step * stepNS
		to, end := from+computeNS, from+stepNS
		for rank := 1; rank <= h.ranks; rank++ {
			add("1:%d:1:%d:1:%d:%d:1", 2*rank-1, rank, from, to)
			add("1:%d:1:%d:2:%d:%d:1", 2*rank, rank, from, to)
		}
		for rank := 1; rank <= h.ranks; rank++ {
			add("2:%d:1:%d:1:%d:42000050:%d:42000059:%d:50000002:10", 2*rank-1, rank, to, 6_000_000+step%7, computeNS)
			add("1:%d:1:%d:1:%d:%d:13", 2*rank-1, rank, to, end)
			add("2:%d:1:%d:2:%d:42000050:%d:42000059:%d", 2*rank, rank, to, 5_000_000+step%7, computeNS)
			add("1:%d:1:%d:2:%d:%d:0", 2*rank, rank, to, end)
		}
		for rank := 1; rank <= h.ranks; rank++ {
			add("2:%d:1:%d:1:%d:50000002:0", 2*rank-1, rank, end)
		}
	}
	return list
}

// closing are the lines with which a tracer closes the threads at the end that the header names.
func (h hybrid) closing(form string) []string {
	var list []string
	for rank := 1; rank <= h.ranks; rank++ {
		for thread := 1; thread <= 2; thread++ {
			object := fmt.Sprintf("%d:1:%d:%d", 2*rank-2+thread, rank, thread)
			list = append(list, strings.NewReplacer("OBJECT", object, "LAST", fmt.Sprint(h.steps*stepNS)).Replace(form))
		}
	}
	return list
}

func hybridText(records ...[]string) string {
	return hybridHeader + strings.Join(slices.Concat(records...), "\n") + "\n"
}

// The records decide where the run ends, and what goes back to the header's end is left out and counted; nothing is
// skipped.
func TestHeaderEndIsWrong(t *testing.T) {
	h := hybrid{ranks: 2, steps: 3250}
	for _, c := range []struct{ form, why string }{
		{"2:OBJECT:1857922:40000001:0", leftOutTexts[reasonLate]},
		{"1:OBJECT:1857922:1857922:0", leftOutTexts[reasonLate]},
		{"1:OBJECT:1857922:LAST:0", leftOutTexts[reasonLate]},
		{"1:OBJECT:LAST:1857922:0", leftOutTexts[reasonBackwards]},
		{"1:OBJECT:LAST:1857922:1", leftOutTexts[reasonBackwards]},
	} {
		records := h.records()
		r, err := Read(strings.NewReader(hybridText(records, h.closing(c.form))), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.form, err)
			continue
		}
		x := &r.Reading
		if r.Skipped != 0 || len(x.LeftOut) != 1 || x.LeftOut[0] != (LeftOut{c.why, 4, 5 + len(records)}) || x.Records != int64(len(records)+4) {
			t.Errorf("%s: %d records, left out %+v, %d skipped", c.form, x.Records, x.LeftOut, r.Skipped)
		}
		if x.HeaderEndNS != 1857922 || x.LastNS != 13_000_000_000 || r.Run.DurationNS != x.LastNS || len(x.Missing) != 0 || x.Sorted != 0 {
			t.Errorf("%s: %+v, run of %d ns", c.form, x, r.Run.DurationNS)
		}
		if r.Run.Bursts() != 4*3250 || r.Run.Calls() != 2*3250 || len(r.Run.Threads) != 4 || r.Run.Worlds[0].Size != 2 {
			t.Errorf("%s: %d bursts, %d calls, %d threads", c.form, r.Run.Bursts(), r.Run.Calls(), len(r.Run.Threads))
		}
		if want := (Callless{Threads: 2, Ranks: 2, Bursts: 2 * 3250, ComputingNS: 2 * 3250 * computeNS}); x.Callless != want {
			t.Errorf("%s: threads without MPI calls %+v, want %+v", c.form, x.Callless, want)
		}
		if want := []int64{6_000_003, computeNS}; r.Run.Threads[0].Bursts.Counters[0][3] != want[0] || r.Run.Threads[2].Bursts.Counters[1][3249] != want[1] {
			t.Errorf("%s: counters %v", c.form, r.Run.Threads[0].Bursts.Counters[0][:5])
		}
	}
}

// A state that ends before it begins is a fault where the header does not explain it.
func TestBackwardsState(t *testing.T) {
	const text = "#Paraver (x):100_ns:1(1):1:1(1:1)\n1:1:1:1:1:0:10:1\n"
	if _, err := Read(strings.NewReader(text+"1:1:1:1:1:90:80:1\n"), Options{}); err == nil || !strings.Contains(err.Error(), "line 3: state ends at 80, before it begins at 90") {
		t.Errorf("within the header's time: %v", err)
	}
	if r, err := Read(strings.NewReader(text+"1:1:1:1:1:101:80:1\n"), Options{}); err != nil || r.Run.Bursts() != 1 || len(r.Reading.LeftOut) != 1 {
		t.Errorf("behind it: %v, %+v", err, r)
	}
}

// A time that is far behind the header's end, and behind nearly all others, is damage: an error, or skipped.
func TestFarTime(t *testing.T) {
	lines := hybrid{ranks: 2, steps: 1000}.records()
	header := strings.Replace(hybridHeader, "1857922_ns", "4000000000_ns", 1)
	far := slices.Insert(slices.Clone(lines), 7000, "1:1:1:1:1:2000000000:900000000000000000:5")
	text := header + strings.Join(far, "\n") + "\n"
	if _, err := Read(strings.NewReader(text), Options{}); err == nil || err.Error() != "line 7005: a time far behind the header's end and nearly all other records" {
		t.Errorf("error %v", err)
	}
	r, err := Read(strings.NewReader(text), Options{Lenient: true})
	if err != nil || r.Skipped != 1 || r.Reading.LastNS != 4_000_000_000 || r.Run.DurationNS != 4_000_000_000 || r.Run.Bursts() != 4000 {
		t.Errorf("%v: %+v", err, r)
	}
	if _, err := Read(io.MultiReader(strings.NewReader(text)), Options{Lenient: true}); err == nil || !strings.Contains(err.Error(), "line 7005: a time far behind") {
		t.Errorf("a stream: error %v", err)
	}
	// One of a thousand and more: the header is wrong.
	for range 14 {
		far = append(far, "1:1:1:1:1:8000000001:8000000002:5")
	}
	if r, err := Read(strings.NewReader(header+strings.Join(far, "\n")+"\n"), Options{}); err != nil || r.Reading.LastNS != 900000000000000000 {
		t.Errorf("%v: %+v", err, r)
	}
}

// Open states end with the records where these go on behind the header's end, else with the header, if that is not far
// behind them.
func TestOpenStates(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"the header is late", "1:1:1:1:1:20:-1:1\n2:1:1:1:1:50:42000050:7\n", "20+80 [7] 0 ?-?"},
		{"the header is far too late", "1:1:1:1:1:20:-1:1\n2:1:1:1:1:49:42000050:7\n", "20+29 [7] 0 ?-?"},
		{"the header is early", "1:1:1:1:1:20:-1:1\n2:1:1:1:1:150:42000050:7\n3:1:1:1:1:5:5:1:1:1:1:5:170:1:1\n", "20+150 [7] 0 ?-?"},
	} {
		r, err := Read(strings.NewReader("#Paraver (x):100_ns:1(1):1:1(1:1)\n"+c.body), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := print(r.Run); got != c.want || r.Run.Threads[0].EndNS != r.Run.DurationNS {
			t.Errorf("%s: %s in %d of %d ns, want %s", c.name, got, r.Run.Threads[0].EndNS, r.Run.DurationNS, c.want)
		}
	}
}

// sameResult compares two results that differ in nothing but how they were read.
func sameResult(t *testing.T, what string, a, b *Result) {
	t.Helper()
	x, y := a.Reading, b.Reading
	x.Sorted, y.Sorted = 0, 0
	if fmt.Sprintf("%+v", x) != fmt.Sprintf("%+v", y) {
		t.Errorf("%s: reading\n%+v, want\n%+v", what, y, x)
	}
	diff(t, a.Run, b.Run)
}

func readSorting(t *testing.T, text string, lenient bool) (*Result, error) {
	t.Helper()
	l, _ := readLabels(nil)
	n, _ := readNames(nil)
	return readOnce(strings.NewReader(text), Options{Lenient: lenient}, l, n, pass{sorting: true})
}

// Records that move by less than the window, in whatever way, are read as if they lay in order.
func TestSorts(t *testing.T) {
	seed := testenv.Seed(t)
	random := rand.New(rand.NewPCG(seed, seed))
	h := hybrid{ranks: 2, steps: 1000}
	lines := h.records()
	want, err := Read(strings.NewReader(hybridText(lines)), Options{})
	if err != nil || want.Reading.Sorted != 0 {
		t.Fatalf("%v, sorted %d", err, want.Reading.Sorted)
	}
	// Steps change places in pairs; within one, lines stay as they are: those of one time keep their order.
	const perStep = 14
	swapped := slices.Clone(lines)
	moved := 0
	for from := 0; from+2*perStep <= len(lines); from += 2 * perStep {
		if random.IntN(2) == 0 {
			continue
		}
		moved++
		copy(swapped[from:], lines[from+perStep:from+2*perStep])
		copy(swapped[from+perStep:], lines[from:from+perStep])
	}
	// The end of a step and the begin of the next are one time, and which line comes first is all that distinguishes them:
	// the order that counts is that of the file.
	got, err := Read(strings.NewReader(hybridText(swapped)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if moved > 0 && got.Reading.Sorted == 0 || len(got.Reading.LeftOut) > 0 {
		t.Errorf("%d moves, %d sorted, left out %+v", moved, got.Reading.Sorted, got.Reading.LeftOut)
	}
	if got.Run.Bursts() != want.Run.Bursts() || got.Run.Calls() != want.Run.Calls() {
		t.Errorf("%d bursts and %d calls, want %d and %d", got.Run.Bursts(), got.Run.Calls(), want.Run.Bursts(), want.Run.Calls())
	}
	for i := range want.Run.Threads {
		if !slices.Equal(got.Run.Threads[i].Bursts.StartNS, want.Run.Threads[i].Bursts.StartNS) ||
			!slices.Equal(got.Run.Threads[i].Bursts.Counters[0], want.Run.Threads[i].Bursts.Counters[0]) ||
			!slices.Equal(got.Run.Threads[i].Calls.ExitNS, want.Run.Threads[i].Calls.ExitNS) {
			t.Errorf("thread %d differs", i)
		}
	}
	// Threads among each other may lie in any order at all.
	apart := slices.Clone(lines)
	slices.SortStableFunc(apart, func(a, b string) int { return strings.Compare(object(a), object(b)) })
	got, err = Read(strings.NewReader(hybridText(apart)), Options{})
	if err != nil || got.Reading.Sorted != 0 {
		t.Fatalf("%v, sorted %d", err, got.Reading.Sorted)
	}
	sameResult(t, "thread by thread", want, got)
}

func object(line string) string { return strings.Join(strings.SplitN(line, ":", 6)[2:5], ":") }

// Just within the window a record is sorted, one record further it is left out.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		header         string
		between        int
		sorted, leftBy int64
	}{
		{"1:1(1:1)", windowRecords - 1, 1, 0},
		{"1:1(1:1)", windowRecords, 1, 0},
		{"1:1(1:1)", windowRecords + 1, 0, 1},
		{"1:1(1000000:1)", windowLeast, 1, 0},
		{"1:1(1000000:1)", windowLeast + 1, 0, 1},
	} {
		var b strings.Builder
		b.WriteString("#Paraver (x):9_ns:1(1):" + c.header + "\n2:1:1:1:1:5:42000050:1\n")
		for i := range c.between {
			fmt.Fprintf(&b, "2:1:1:1:1:%d:42000050:1\n", 10+i)
		}
		b.WriteString("2:1:1:1:1:7:42000050:1\n")
		r, err := Read(strings.NewReader(b.String()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		left := int64(0)
		for _, l := range r.Reading.LeftOut {
			left += l.Records
		}
		if r.Reading.Sorted != c.sorted || left != c.leftBy {
			t.Errorf("%s, %d records between: %d sorted, %d left out, want %d and %d", c.header, c.between, r.Reading.Sorted, left, c.sorted, c.leftBy)
		}
	}
}

// Sorting changes nothing where nothing is out of order, and a stream that cannot be read again is sorted at once.
func TestSortingChangesNothing(t *testing.T) {
	text := hybridText(hybrid{ranks: 2, steps: 500}.records())
	want, err := Read(strings.NewReader(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := readSorting(t, text, false)
	if err != nil {
		t.Fatal(err)
	}
	sameResult(t, "sorting", want, got)
	streamed, err := Read(io.MultiReader(strings.NewReader(text)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	sameResult(t, "a stream", want, streamed)
	late := hybrid{ranks: 2, steps: 500}.closing("2:OBJECT:1:40000001:0")
	a, err := Read(strings.NewReader(text+strings.Join(late, "\n")+"\n"), Options{})
	b, streamErr := Read(io.MultiReader(strings.NewReader(text+strings.Join(late, "\n")+"\n")), Options{})
	if err != nil || streamErr != nil {
		t.Fatal(err, streamErr)
	}
	sameResult(t, "a stream with late lines", a, b)
	for _, e := range epochs {
		path := testenv.RealTrace(t, e.file)
		r, err := ReadFile(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if x := &r.Reading; x.Sorted != 0 || len(x.LeftOut) != 0 || len(x.Missing) != 0 || x.Callless.Threads != 0 || x.LastNS != x.HeaderEndNS {
			t.Errorf("%s: %+v", e.file, x)
		}
	}
}

// A fault of a line that was held keeps its line, and --lenient skips it there as well.
func TestFaultsWhileSorting(t *testing.T) {
	text := hybridText(hybrid{ranks: 2, steps: 3}.records(), []string{"2:1:1:1:1:1:40000001:0", "2:1:1:1:1:12000000:90000001:-1", "1:1:1:1:1:7"})
	_, err := Read(strings.NewReader(text), Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "line 49: a field is missing") {
		t.Errorf("error %v", err)
	}
	text = strings.TrimSuffix(text, "1:1:1:1:1:7\n")
	_, err = Read(strings.NewReader(text), Options{})
	if err == nil || err.Error() != "line 48: cluster event of value -1" {
		t.Errorf("error %v", err)
	}
	r, err := Read(strings.NewReader(text), Options{Lenient: true})
	if err != nil || r.Skipped != 1 || fmt.Sprint(r.FirstSkipped) != "line 48: cluster event of value -1" || r.Run.Bursts() != 12 || r.Reading.Sorted == 0 {
		t.Errorf("%v: %+v", err, r)
	}
}

// Stretches without records, or without tracing, are reported as what they are.
func TestMissingStretches(t *testing.T) {
	h := hybrid{ranks: 2, steps: 1000, gapFrom: 400, gapTo: 500}
	gapNS := int64(100 * stepNS)
	with := func(lines ...string) []string {
		list := h.records()
		return slices.Insert(list, 400*14, lines...)
	}
	at := func(step int) int { return step * stepNS }
	for _, c := range []struct {
		name    string
		lines   []string
		what    string
		ns      int64
		flushNS int64
	}{
		{"nothing is said", with(), MissingRecords, 2 * gapNS, 0},
		{"the thread is idle", with(fmt.Sprintf("1:1:1:1:1:%d:%d:0", at(400), at(500)), fmt.Sprintf("1:3:1:2:1:%d:%d:0", at(400), at(500))), "", 0, 0},
		{"a call that long", with(fmt.Sprintf("2:1:1:1:1:%d:50000002:8", at(400)), fmt.Sprintf("2:3:1:2:1:%d:50000002:8", at(400)),
			fmt.Sprintf("2:1:1:1:1:%d:50000002:0", at(500)), fmt.Sprintf("2:3:1:2:1:%d:50000002:0", at(500))), "", 0, 0},
		{"a state says disabled", with(fmt.Sprintf("1:1:1:1:1:%d:%d:14", at(400), at(500)), fmt.Sprintf("1:3:1:2:1:%d:%d:14", at(400), at(500))), MissingOff, 2 * gapNS, 0},
		{"events say disabled", with(fmt.Sprintf("2:1:1:1:1:%d:40000012:0", at(400)), fmt.Sprintf("2:3:1:2:1:%d:40000012:0", at(400)),
			fmt.Sprintf("2:1:1:1:1:%d:40000012:1", at(500)), fmt.Sprintf("2:3:1:2:1:%d:40000012:1", at(500))), MissingOff, 2 * gapNS, 0},
		{"both do, once", with(fmt.Sprintf("1:1:1:1:1:%d:%d:14", at(400), at(500)), fmt.Sprintf("2:1:1:1:1:%d:40000012:0", at(400)),
			fmt.Sprintf("1:3:1:2:1:%d:%d:0", at(400), at(500)), fmt.Sprintf("2:1:1:1:1:%d:40000012:1", at(500))), MissingOff, gapNS, 0},
		{"the tracer writes", with(fmt.Sprintf("2:1:1:1:1:%d:40000003:1", at(400)), fmt.Sprintf("2:3:1:2:1:%d:40000003:1", at(400)),
			fmt.Sprintf("2:1:1:1:1:%d:40000003:0", at(500)), fmt.Sprintf("2:3:1:2:1:%d:40000003:0", at(500))), "", 0, 2 * gapNS},
		{"detail was dropped", with(fmt.Sprintf("1:1:1:1:1:%d:%d:1000", at(400), at(500)), fmt.Sprintf("1:3:1:2:1:%d:%d:1000", at(400), at(500))), MissingDetail, 2 * gapNS, 0},
	} {
		r, err := Read(strings.NewReader(hybridText(c.lines)), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		x := &r.Reading
		if x.FlushNS != float64(c.flushNS) || x.MissingNS != float64(c.ns) || x.ThreadNS != float64(2*h.steps*stepNS) {
			t.Errorf("%s: %+v", c.name, x)
		}
		if c.ns == 0 && len(x.Missing) == 0 {
			continue
		}
		longest := trace.Stretch{BeginNS: int64(at(400)), EndNS: int64(at(500))}
		if want := (Missing{c.what, int(c.ns / gapNS), float64(c.ns), longest, 0, 0}); len(x.Missing) != 1 || x.Missing[0] != want {
			t.Errorf("%s: %+v, want %+v", c.name, x.Missing, want)
		}
	}
	// Calls without states are no gaps, whether their end comes before the state or behind it.
	for _, line := range []string{"2:1:1:1:1:B:50000001:0\n1:1:1:1:1:B:C:1\n", "1:1:1:1:1:B:C:1\n2:1:1:1:1:B:50000001:0\n"} {
		var b strings.Builder
		b.WriteString("#Paraver (x):9_ns:1(1):1:1(1:1)\n")
		for i := range 20 {
			length := 5
			if i == 7 {
				length = 500
			}
			b.WriteString(strings.NewReplacer("A", fmt.Sprint(1000*i), "B", fmt.Sprint(1000*i+length), "C", fmt.Sprint(1000*i+1000)).Replace("2:1:1:1:1:A:50000001:1\n" + line))
		}
		if r, err := Read(strings.NewReader(b.String()), Options{}); err != nil || len(r.Reading.Missing) != 0 || r.Run.Calls() != 20 {
			t.Errorf("%q: %v: %+v", line, err, r)
		}
	}
	// A trace that knows no state but running, and no calls, leaves a gap behind each; none of them is missing.
	var b strings.Builder
	b.WriteString("#Paraver (x):9_ns:1(1):1:1(1:1)\n")
	for i := range 20 {
		fmt.Fprintf(&b, "1:1:1:1:1:%d:%d:1\n", 10*i, 10*i+5)
	}
	if r, err := Read(strings.NewReader(b.String()), Options{}); err != nil || len(r.Reading.Missing) != 0 {
		t.Errorf("%v: %+v", err, r)
	}
}

// Threads of OpenMP are reported where others of their rank call MPI; where no thread does they are all there is.
func TestThreadsWithoutCalls(t *testing.T) {
	const header = "#Paraver (x):100_ns:1(4):1:2(2:1,1:1)\n"
	for _, c := range []struct {
		body string
		want Callless
	}{
		{"1:0:1:1:1:0:10:1\n1:0:1:1:2:0:20:1\n2:0:1:1:1:10:50000001:1\n2:0:1:1:1:20:50000001:0\n", Callless{1, 1, 1, 20, false}},
		{"1:0:1:1:1:0:10:1\n1:0:1:2:1:0:20:1\n2:0:1:1:1:10:50000001:1\n2:0:1:1:1:20:50000001:0\n", Callless{}},
		{"1:0:1:1:1:0:10:1\n1:0:1:1:2:0:20:1\n", Callless{2, 1, 2, 30, true}},
	} {
		r, err := Read(strings.NewReader(header+c.body), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Reading.Callless != c.want {
			t.Errorf("%q: %+v, want %+v", c.body, r.Reading.Callless, c.want)
		}
	}
}
