package trace

// A Window is a part of a run that is kept in full detail: a stretch of time of some of its threads.
//
// A Run that has windows holds only calls, bursts, transfers and collectives of which all the time lies in a Span of
// their thread, and messages of which both ends do. Clusters, CallPaths, Counters and Communicators are those of the
// whole run, with its numbering.
type Window struct {
	BeginNS, EndNS int64 // over all of its threads
	Threads        []int // indices into Run.Threads, ascending: whose detail is here
	Phase          int   // number of the phase of the run, from 0, in which iterations were looked for; -1 = none
	Why            Why
	Reason         string // in words and figures, e.g. "iterations 412-413 of phase 1: nearest its median (1.003 of the median time)"
}

// Why says for what a Window was chosen.
type Why uint8

// What windows are chosen for.
const (
	Representative Why = iota + 1 // it stands for its phase
	Anomaly                       // something in it differs from all the rest
	Outlier                       // its ranks differ from their class
	Peer                          // its ranks exchange messages with chosen ones
	Fallback                      // nothing repeats; it explains most for its size
	CriticalPath                  // the critical path of the run is on its ranks
)

var whys = [...]string{"", "representative", "anomaly", "outlier", "peer", "fallback", "critical path"}

// String returns the lower-case word that files have for it; empty for none.
func (w Why) String() string {
	if int(w) < len(whys) {
		return whys[w]
	}
	return ""
}

// Dropped hands out the stretches of the thread's time that lie outside of what is kept of it, one after the other.
func (t *Thread) Dropped(each func(beginNS, endNS int64)) {
	fromNS := t.BeginNS
	for _, s := range t.Kept {
		if fromNS < s.BeginNS {
			each(fromNS, s.BeginNS)
		}
		fromNS = max(fromNS, s.EndNS)
	}
	if fromNS < t.EndNS {
		each(fromNS, t.EndNS)
	}
}

// A Span is time of a thread that is kept in full detail. What happened outside of all spans was dropped: the thread
// was not idle.
type Span struct {
	BeginNS, EndNS int64
	Window         int // index into Run.Windows
}
