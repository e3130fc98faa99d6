package rundir

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"moriens/internal/units"
)

// An Absence is why a rank has no record.
type Absence struct {
	World  int    // of the manifest's
	Rank   int    // -1 = its number is not known
	Host   string // empty = not known
	Reason string
	Died   bool // before there was anything to record
}

// Texts for ranks that have no record and of which no reason was reported.
const (
	nothingReported = "no data from them: no library or no agent where they run"
	noneInTrace     = "the trace has no record of them"
	hostsNamed      = 4 // in a sentence
	missingNamed    = 8 // of what the analysis lacks
)

// unseen are the worlds of which no rank has reported anything: all that is known of them is that they were there.
func (m *Manifest) unseen() []World {
	list := slices.Clone(m.Unseen)
	for i := range list {
		w := &list[i]
		w.Unseen, w.MissingRanks = true, make([]int, w.Size)
		for rank := range w.MissingRanks {
			w.MissingRanks[rank] = rank
		}
	}
	return list
}

// Traced is how many worlds are in the other files of a run directory.
func (m *Manifest) Traced() int {
	n := 0
	for _, w := range m.Worlds {
		if !w.Unseen {
			n++
		}
	}
	return n
}

// explain has the worlds say why ranks have no record. Every rank that is missing is in one of their groups.
func (m *Manifest) explain() {
	for i := range m.Worlds {
		m.Worlds[i].explain(i, m.Absent, m.Trace != "")
	}
}

func (w *World) explain(world int, absent []Absence, ofTrace bool) {
	w.Unrecorded = nil
	type cause struct {
		host, reason string
		died         bool
	}
	groups := make(map[cause]int) // index into Unrecorded
	group := func(why cause) *Unrecorded {
		at, known := groups[why]
		if !known {
			at = len(w.Unrecorded)
			groups[why] = at
			w.Unrecorded = append(w.Unrecorded, Unrecorded{List: []int{}, Host: why.host, Reason: why.reason, Died: why.died})
		}
		return &w.Unrecorded[at]
	}
	missing := make(map[int]bool, len(w.MissingRanks)) // of these no reason was reported
	for _, rank := range w.MissingRanks {
		missing[rank] = true
	}
	for _, a := range absent {
		if a.World == world && missing[a.Rank] {
			delete(missing, a.Rank)
			g := group(cause{a.Host, a.Reason, a.Died})
			g.Ranks++
			g.List = append(g.List, a.Rank)
		}
	}
	rest := len(missing)
	for _, a := range absent {
		if a.World == world && a.Rank < 0 && rest > 0 {
			rest--
			group(cause{a.Host, a.Reason, a.Died}).Ranks++
		}
	}
	if rest > 0 {
		why := nothingReported
		if ofTrace {
			why = noneInTrace
		}
		g := group(cause{reason: why})
		g.Ranks = rest
		if rest == len(missing) { // else it is not known which of them these are
			for rank := range missing {
				g.List = append(g.List, rank)
			}
		}
	}
	for i := range w.Unrecorded {
		slices.Sort(w.Unrecorded[i].List)
	}
	slices.SortFunc(w.Unrecorded, func(a, b Unrecorded) int {
		return cmp.Or(b.Ranks-a.Ranks, strings.Compare(a.Host, b.Host), strings.Compare(a.Reason, b.Reason))
	})
}

// Unmeasured reports whether ranks of a measured run have no record though they did something, or whether the analysis
// has failed or given up a stage: what moriens then ends with is not success. Less than that, such as calls that a full
// ring could not take, is for Incomplete to say. A trace that was analysed lacks so much where Reading.Partial says it.
// Ranks of which nothing can be read are in no world where that holds for all of them.
func (m *Manifest) Unmeasured() bool {
	unread := len(m.Worlds) == 0 && m.Losses.FilesUnreadable > 0
	return m.Reading.Partial() != "" || m.Trace == "" && (unread || m.Unclustered != "" || len(m.Reduction.GivenUp) > 0 || slices.ContainsFunc(m.Worlds, func(w World) bool {
		return slices.ContainsFunc(w.Unrecorded, func(u Unrecorded) bool { return !u.Died })
	}))
}

// Nobody says that no rank was recorded: the directory has manifest.json alone, which says why.
func (m *Manifest) Nobody() bool { return m.Ranks == 0 && m.Empty != "" && m.Trace == "" }

// DiedFirst is how many ranks have died before there was anything to record.
func (m *Manifest) DiedFirst() (ranks int) {
	for _, w := range m.Worlds {
		for _, u := range w.Unrecorded {
			if u.Died {
				ranks += u.Ranks
			}
		}
	}
	return ranks
}

// Unexplained is how many ranks have no record and no reported reason, or their worlds do not say.
func (m *Manifest) Unexplained() int {
	ranks := m.Losses.RanksMissing
	for _, w := range m.Worlds {
		for _, u := range w.Unrecorded {
			if u.Reason != nothingReported {
				ranks -= u.Ranks
			}
		}
	}
	return max(ranks, 0)
}

// assess finds out what is missing of what the ranks did. What the program has left out itself is not: pauses, calls
// that it left by longjmp, marks inside of calls; and neither is what was lost on the way and sent again.
func (m *Manifest) assess() {
	m.Incomplete, m.timeless = nil, nil
	also := func(format string, args ...any) { m.Incomplete = append(m.Incomplete, fmt.Sprintf(format, args...)) }
	say := func(format string, args ...any) { // of what a rank's computing time and its time in MPI lack
		also(format, args...)
		m.timeless = append(m.timeless, m.Incomplete[len(m.Incomplete)-1])
	}
	l, q := &m.Losses, &m.Messages.Requests
	countedBy := func(say func(string, ...any), n int64, what, why string) {
		if n > 0 {
			say("%s %s", units.Count(n, what), why)
		}
	}
	counted := func(n int64, what, why string) { countedBy(say, n, what, why) }
	beside := func(n int64, what, why string) { countedBy(also, n, what, why) }
	if m.Unclustered != "" {
		also("the bursts are in no cluster: %s", m.Unclustered)
	}
	m.sayUnrecorded(say)
	if m.EndedBy != "" {
		say("the run was ended by %s; %s continued unmeasured", m.EndedBy, units.Count(l.RanksLeft, "rank"))
	} else {
		counted(int64(l.RanksLeft), "rank", "still ran when the job had ended and continued unmeasured")
	}
	for _, what := range l.Hidden {
		say("%s", what)
	}
	cutOff := 0
	for _, d := range l.RanksDied {
		if d.CutOff {
			cutOff++
		}
	}
	if n := len(l.AgentsUnfinished); n > 0 {
		say("%s did not finish, on %s: %s cut off", units.Count(n, "agent"), hosts(l.AgentsUnfinished), units.Count(cutOff, "rank"))
	} else {
		counted(int64(cutOff), "rank", "cut off: the end was not received")
	}
	why := "of MPI calls and marks dropped: the ring buffer in shared memory was full"
	if l.SpoolFullDropped > 0 {
		why += fmt.Sprintf(", %s of them because the spool was full", units.Count(l.SpoolFullDropped, "record"))
	}
	counted(l.RecordsDropped, "record", why)
	if text := m.Deaths(); text != "" { // of which nothing is missing that can be recorded
		m.timeless = append(m.timeless, text)
	}
	counted(l.RecordsUnkept, "record", "of MPI calls and marks left in the ring buffers: the spool was full until the end")
	if l.ThreadsUnrecorded > 0 {
		say("%s could not record: %s", units.Count(l.ThreadsUnrecorded, "thread"), units.Count(l.CallsUnrecorded, "MPI call"))
	}
	counted(int64(l.FilesUnreadable), "file", "with records cannot be read")
	counted(l.FiguresDamaged, "figure", "kept by ranks damaged and left out")
	counted(l.MessagesRefused, "message", "of agents refused: calls are missing")
	beside(l.TransfersLost, "transfer", "known as totals only")
	beside(q.Unfollowed, "request", "not tracked: too many were pending at once")
	beside(q.Late, "event", "of requests read too late for ordering")
	beside(l.CallPathsLost, "call path", "without a name: the table was full")
	beside(l.CommunicatorsLost, "communicator", "without a name: the table was full")
	beside(l.MarksNameless, "mark", "without a name: the table was full")
	counted(int64(l.LinesSkipped), "malformed line", "of the trace skipped")
	m.Reading.assess(say)
	if m.Cells != nil {
		counted(int64(len(m.Cells.Unanswered)), "agent", "did not report its ranks' bursts")
		counted(m.Cells.LostBursts, "burst", "lost when an agent was restarted")
	}
	for i, what := range m.Reduction.Missing {
		if i == missingNamed {
			also("%d more parts of the analysis are missing: see reduction.missing", len(m.Reduction.Missing)-i)
			break
		}
		also("%s", what)
	}
	m.Complete = len(m.Incomplete) == 0
}

// Deaths says which ranks died by themselves, and what is not known of them because of that; empty: none.
func (m *Manifest) Deaths() string {
	n, first := 0, ""
	for _, d := range m.Losses.RanksDied {
		if d.CutOff {
			continue
		}
		if n++; n == 1 {
			first = fmt.Sprintf("rank %d: %s", d.Rank, d.How)
			if len(m.Worlds) > 1 {
				first = fmt.Sprintf("world %d rank %d: %s", d.World, d.Rank, d.How)
			}
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 rank died (%s): what it computed after its last MPI call is not known", first)
	}
	return fmt.Sprintf("%d ranks died (%s, and %d more): what they computed after their last MPI calls is not known", n, first, n-1)
}

// sayUnrecorded says how many ranks have no record, reason by reason over all worlds and hosts.
func (m *Manifest) sayUnrecorded(say func(format string, args ...any)) {
	ranks := make(map[string]int)
	on := make(map[string][]string)
	var reasons []string
	all := 0
	for _, w := range m.Worlds {
		all += w.Size
		for _, u := range w.Unrecorded {
			if ranks[u.Reason] == 0 {
				reasons = append(reasons, u.Reason)
			}
			ranks[u.Reason] += u.Ranks
			if u.Host != "" && !slices.Contains(on[u.Reason], u.Host) {
				on[u.Reason] = append(on[u.Reason], u.Host)
			}
		}
	}
	if all == 0 && m.Trace == "" {
		say("no rank was recorded: %s", m.Empty)
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return ranks[b] - ranks[a] })
	for _, reason := range reasons {
		where := ""
		if len(on[reason]) > 0 {
			where = " on " + hosts(on[reason])
		}
		say("%d of %s not recorded%s: %s", ranks[reason], units.Count(all, "rank"), where, reason)
	}
}

// hosts names hosts, or some of them where they are many.
func hosts(names []string) string {
	if len(names) > hostsNamed {
		return fmt.Sprintf("%s and %d more hosts", strings.Join(names[:hostsNamed], ", "), len(names)-hostsNamed)
	}
	return strings.Join(names, ", ")
}
