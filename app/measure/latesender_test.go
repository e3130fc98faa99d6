package measure

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/conclude/retention"
	"moriens/internal/testenv"
	"moriens/trace/rundir"
)

// Numbers of MPI calls in Paraver's event 50000001.
const (
	prvSend, prvRecv, prvIsend, prvIrecv, prvWait, prvWaitall = 1, 2, 3, 4, 5, 6
)

// A prvCall is a call of a written trace, times in microseconds.
type prvCall struct{ rank, call, enter, exit int }

// A prvMessage has the times of sending, posting the receive and arriving.
type prvMessage struct{ from, sent, to, posted, arrived int }

// writtenTrace is a Paraver trace of two ranks, in microseconds, which compute between their calls.
func writtenTrace(calls []prvCall, messages []prvMessage) string {
	type line struct {
		at   int
		text string
	}
	var lines []line
	last := map[int]int{1: 0, 2: 0}
	for _, c := range calls {
		object := fmt.Sprintf("%d:1:%d:1", c.rank, c.rank)
		lines = append(lines,
			line{last[c.rank], fmt.Sprintf("1:%s:%d:%d:1", object, last[c.rank], c.enter)},
			line{c.enter, fmt.Sprintf("2:%s:%d:50000001:%d", object, c.enter, c.call)},
			line{c.exit, fmt.Sprintf("2:%s:%d:50000001:0", object, c.exit)})
		last[c.rank] = c.exit
	}
	end := max(last[1], last[2])
	for rank, at := range last {
		if at < end { // else its records would stop before those of the other
			lines = append(lines, line{at, fmt.Sprintf("1:%d:1:%d:1:%d:%d:1", rank, rank, at, end)})
		}
	}
	for i, m := range messages {
		lines = append(lines, line{m.arrived, fmt.Sprintf("3:%d:1:%d:1:%d:%d:%d:1:%d:1:%d:%d:8:%d", m.from, m.from, m.sent, m.sent, m.to, m.to, m.posted, m.arrived, i)})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	text := "#Paraver (04/03/2026 at 15:06):1000:1(2):1:2(1:1,1:1)\n"
	for _, l := range lines {
		text += l.text + "\n"
	}
	return text
}

// analyze reports how long receivers waited for late senders, as a measured run does; where it cannot be known it says
// so.
func TestAnalyzeLateSenders(t *testing.T) {
	const unknown = -1
	late := []prvCall{{1, prvSend, 40, 45}, {2, prvRecv, 10, 50}}
	for _, c := range []struct {
		name     string
		calls    []prvCall
		messages []prvMessage
		more     string // lines
		us       int
		note     string
	}{
		{name: "the receiver waits", calls: late, messages: []prvMessage{{1, 40, 2, 10, 50}}, us: 30},
		{name: "the sender was first", calls: []prvCall{{1, prvSend, 5, 45}, {2, prvRecv, 10, 50}}, messages: []prvMessage{{1, 5, 2, 10, 50}}, us: 0},
		{name: "posted early, waited for late", calls: []prvCall{{1, prvSend, 40, 45}, {2, prvIrecv, 5, 6}, {2, prvWait, 25, 50}},
			messages: []prvMessage{{1, 40, 2, 5, 50}}, us: 15},
		{name: "sent while the receiver computes", calls: []prvCall{{1, prvSend, 20, 22}, {2, prvIrecv, 5, 6}, {2, prvWait, 25, 30}},
			messages: []prvMessage{{1, 20, 2, 5, 30}}, us: 0},
		{name: "of several the latest", calls: []prvCall{{1, prvIsend, 30, 31}, {1, prvIsend, 44, 45}, {1, prvIsend, 60, 61},
			{2, prvIrecv, 5, 6}, {2, prvIrecv, 6, 7}, {2, prvIrecv, 8, 9}, {2, prvWaitall, 20, 70}},
			messages: []prvMessage{{1, 30, 2, 5, 70}, {1, 60, 2, 6, 70}, {1, 44, 2, 8, 70}}, us: 40},
		{name: "two calls wait, each by itself", calls: []prvCall{{1, prvSend, 40, 45}, {1, prvSend, 70, 71}, {2, prvRecv, 10, 50}, {2, prvRecv, 60, 75}},
			messages: []prvMessage{{1, 40, 2, 10, 50}, {1, 70, 2, 60, 75}}, us: 40},
		{name: "both wait for each other", calls: []prvCall{{1, prvRecv, 10, 30}, {1, prvSend, 50, 51}, {2, prvSend, 22, 23}, {2, prvRecv, 25, 52}},
			messages: []prvMessage{{2, 22, 1, 10, 30}, {1, 50, 2, 25, 52}}, us: 37},
		{name: "to itself", calls: []prvCall{{1, prvIsend, 10, 11}, {1, prvRecv, 20, 30}}, messages: []prvMessage{{1, 10, 1, 20, 30}}, us: 0},
		{name: "clocks that say that it was received before it was sent", calls: []prvCall{{1, prvSend, 60, 65}, {2, prvRecv, 10, 50}},
			messages: []prvMessage{{1, 60, 2, 10, 50}}, us: 40},
		{name: "there before the call that posted it ends", calls: late, messages: []prvMessage{{1, 40, 2, 10, 48}}, us: 30},
		{name: "a receive without a message beside it", calls: append(slices.Clone(late), prvCall{2, prvRecv, 60, 90}), messages: []prvMessage{{1, 40, 2, 10, 50}}, us: 30},
		{name: "no messages", calls: late, us: unknown},
		{name: "there while no call is", calls: []prvCall{{1, prvSend, 40, 45}, {2, prvIrecv, 10, 12}, {2, prvWait, 60, 70}},
			messages: []prvMessage{{1, 40, 2, 10, 50}}, us: unknown, note: "for 1 of 1 messages no call of the trace ends after their arrival"},
		{name: "skipped lines", calls: late, messages: []prvMessage{{1, 40, 2, 10, 50}}, more: "3:1:1\n", us: unknown, note: "skipped lines may have been messages"},
	} {
		a := analyzeText(t, writtenTrace(c.calls, c.messages)+c.more, func(c *AnalyzeConfig) { c.Lenient, c.Show = true, ShowLong })
		var incomplete *IncompleteError // where a line of a few was skipped
		if errors.As(a.err, &incomplete) != (c.more != "") || a.err != nil && incomplete == nil {
			t.Errorf("%s: %v", c.name, a.err)
			continue
		}
		m, err := rundir.ReadManifest(a.dir)
		if err != nil {
			t.Fatal(err)
		}
		got, us := float64(m.Messages.LateSenderSeconds), unknown
		if !math.IsNaN(got) {
			us = int(math.Round(got * 1e6))
		}
		if us != c.us || m.Messages.Matched != int64(len(c.messages)) {
			t.Errorf("%s: %d messages, late senders %d us, want %d", c.name, m.Messages.Matched, us, c.us)
		}
		notes := strings.Join(m.Notes, "\n")
		if noted := strings.Contains(notes, "late senders is not known: "+c.note); noted != (c.note != "") {
			t.Errorf("%s: notes %q, want %q", c.name, notes, c.note)
		}
		said := fmt.Sprintf("in total; receivers waited %d.0 us for late senders", c.us)
		if strings.Contains(a.stdout, "in total; receivers waited") != (c.us > 0) || c.us > 0 && !strings.Contains(a.stdout, said) {
			t.Errorf("%s: no %q, or one where nothing was, in\n%s", c.name, said, a.stdout)
		}
	}
}

// What all messages of real traces say, to the nanosecond, also where only windows of them are kept; these by
// themselves do not say it.
func TestAnalyzeLateSendersOfRealTraces(t *testing.T) {
	for file, ns := range map[string]float64{"epoch_2proc.prv.gz": 72_870_765, "epoch_4proc.prv.gz": 222_627_961} {
		a := analyzeFile(t, testenv.RealTrace(t, file), func(c *AnalyzeConfig) { c.Keep = retention.Options{Budget: 100_000, Outliers: -1} })
		a.figures(t)
		m, err := rundir.ReadManifest(a.dir)
		if err != nil || math.Round(float64(m.Messages.LateSenderSeconds)*1e9) != ns {
			t.Errorf("%s: %v: late senders %v s, want %v ns", file, err, m.Messages.LateSenderSeconds, ns)
		}
		if m.Kept.Bursts == m.Bursts {
			t.Errorf("%s: all is kept", file)
		}
		// Its trace has the messages of the windows alone, and says what it lacks.
		a = analyzeFile(t, filepath.Join(a.dir, rundir.TraceFile), nil)
		var incomplete *IncompleteError
		if !errors.As(a.err, &incomplete) {
			t.Errorf("%s: the trace of windows: %v, want an IncompleteError", file, a.err)
		}
		a.err = nil
		if notes := strings.Join(a.figures(t).Notes, "\n"); !strings.Contains(notes, "late senders is not known: the trace contains only messages within kept windows") {
			t.Errorf("%s: notes %s", file, notes)
		}
		if m, err = rundir.ReadManifest(a.dir); err != nil || !math.IsNaN(float64(m.Messages.LateSenderSeconds)) {
			t.Errorf("%s: %v: late senders of the windows %v s", file, err, m.Messages.LateSenderSeconds)
		}
	}
}
