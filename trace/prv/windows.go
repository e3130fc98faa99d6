package prv

import (
	"bufio"
	"fmt"

	"moriens/trace"
)

// stateDropped is the time of a thread whose detail was dropped. It lies beyond the numbers of Extrae's states and, but
// for runs of very many clusters, beyond the values of the cluster event, with which states share their colours.
const stateDropped = 1000

// Values of typeWindow: window i of the run is i + firstWindow.
const (
	windowEnd   = 0
	firstWindow = 1
)

// maxWindow bounds what a hostile trace can make a reader allocate.
const maxWindow = 1 << 16

// checkKept says what is wrong with the spans of a thread, if anything is.
func checkKept(run *trace.Run, t *trace.Thread) error {
	if run.Windows == nil {
		if len(t.Kept) > 0 {
			return fmt.Errorf("a part of it is kept, of a run without windows")
		}
		return nil
	}
	if len(run.Windows) > maxWindow {
		return fmt.Errorf("%d windows, more than %d", len(run.Windows), maxWindow)
	}
	lastNS := t.BeginNS
	for i, s := range t.Kept {
		switch {
		case s.Window < 0 || s.Window >= len(run.Windows):
			return fmt.Errorf("span %d: no window %d", i, s.Window)
		case s.EndNS < s.BeginNS:
			return fmt.Errorf("span %d ends at %d ns, before it begins at %d ns", i, s.EndNS, s.BeginNS)
		case s.BeginNS < lastNS:
			return fmt.Errorf("span %d begins at %d ns, before the thread does or the span before it ends, at %d ns", i, s.BeginNS, lastNS)
		case s.EndNS > t.EndNS:
			return fmt.Errorf("span %d ends at %d ns, after the thread, at %d ns", i, s.EndNS, t.EndNS)
		}
		lastNS = s.EndNS
	}
	if n := t.Calls.Len(); t.Calls.Unfinished && n > 0 && t.Calls.ExitNS[n-1] != t.EndNS {
		return fmt.Errorf("its last call is unfinished, but it goes on until %d ns", t.EndNS)
	}
	return nil
}

// checkDetail says what of a thread's calls and bursts is not in what it keeps, if anything is.
func checkDetail(run *trace.Run, t *trace.Thread) error {
	if run.Windows == nil {
		return nil
	}
	at := 0
	for i, beginNS := range t.Calls.EnterNS {
		if x := (item{isCall, i, beginNS, t.Calls.ExitNS[i]}); !keeps(t, &at, x.beginNS, x.endNS) {
			return fmt.Errorf("%s lies outside of what is kept", x)
		}
	}
	at = 0
	for i, beginNS := range t.Bursts.StartNS {
		if x := (item{isBurst, i, beginNS, beginNS + t.Bursts.DurationNS[i]}); !keeps(t, &at, x.beginNS, x.endNS) {
			return fmt.Errorf("%s lies outside of what is kept", x)
		}
	}
	return nil
}

// keeps reports whether a time of the thread is within one span. at is the span to look from: the times asked for come
// in their order.
func keeps(t *trace.Thread, at *int, beginNS, endNS int64) bool {
	for *at < len(t.Kept) && t.Kept[*at].EndNS < endNS {
		*at++
	}
	return *at < len(t.Kept) && t.Kept[*at].BeginNS <= beginNS
}

// appendWindows appends what distinguishes kept from dropped time. The begin of a window comes before all else of its
// time, the end behind; where spans touch, the begin of the next is the end.
func appendWindows(lines []markLine, run *trace.Run, thread int) []markLine {
	if run.Windows == nil {
		return lines
	}
	t := &run.Threads[thread]
	for i, s := range t.Kept {
		lines = append(lines, markLine{timeNS: s.BeginNS, thread: thread, eventType: typeWindow, value: int64(s.Window) + firstWindow, place: first})
		if i+1 == len(t.Kept) || t.Kept[i+1].BeginNS > s.EndNS {
			lines = append(lines, markLine{timeNS: s.EndNS, thread: thread, eventType: typeWindow, value: windowEnd})
		}
	}
	state := func(beginNS, endNS int64) {
		lines = append(lines, markLine{timeNS: beginNS, thread: thread, state: stateDropped, value: endNS})
	}
	if len(t.Kept) == 0 {
		state(t.BeginNS, t.EndNS) // though it have no length: by it a reader knows that there were windows
	} else {
		t.Dropped(state)
	}
	return lines
}

// writeWindowLabels names the windows: what for, where, and why.
func writeWindowLabels(out *bufio.Writer, run *trace.Run) {
	if run.Windows == nil {
		return
	}
	fmt.Fprintf(out, "\n\nEVENT_TYPE\n9    %d    moriens window\nVALUES\n%-4d Dropped\n", typeWindow, windowEnd)
	for i := range run.Windows {
		fmt.Fprintf(out, "%-4d %s\n", i+firstWindow, windowLabel(&run.Windows[i]))
	}
}
