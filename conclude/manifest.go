package conclude

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"moriens/collector/store"
	"moriens/conclude/rebuild"
	"moriens/conclude/retention"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
)

// manifestOf says what only the measurement knows; rundir adds what follows from the run itself.
func manifestOf(r *rebuild.Rebuilt, f store.Frozen, job Job) *rundir.Manifest {
	m := &rundir.Manifest{
		Moriens: job.Program, Run: job.Run, Command: job.Command, ExitStatus: job.ExitStatus,
		Started: job.Started, Ended: job.Ended, EndedBy: job.EndedBy,
		Notes:   slices.Concat(job.Notes, r.Notes),
		Dropped: int64(f.Totals.Dropped),
		Losses: rundir.Losses{
			RecordsDropped:   int64(f.Totals.Dropped),
			BatchesDuplicate: int64(f.Totals.Duplicates),
			MessagesRefused:  int64(f.Totals.Refused),

			CollectorRestarts: f.Collector.Restarts,
			JournalBytesCut:   int64(f.Collector.CutBytes),
		},
	}
	if m.Scheduling = r.Scheduling; m.Scheduling != nil && m.Scheduling.Overcommitted {
		m.Notes = slices.Insert(m.Notes, 0, m.Scheduling.Warning)
	}
	if c := f.Collector; c.Restarts > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("the collector was killed and restarted, %s; cut off: %s not completely written, nothing acknowledged",
			units.Count(c.Restarts, "time"), units.Count(int64(c.CutBytes), "byte")))
	}
	m.Unseen, m.Absent, m.Losses.RanksUnrecorded = r.Unseen, r.Absent, r.Refused
	m.Losses.FilesUnreadable = unreadable(f)
	for _, a := range f.Agents {
		for _, fault := range a.Faults {
			m.Losses.FiguresDamaged += int64(fault.Figures)
		}
	}
	m.Losses.CallsAbandoned = int64(f.Totals.Abandoned)
	m.Losses.MarksInsideCalls = int64(f.Totals.MarksInside)
	m.Losses.PhaseEndsUnmatched, m.Losses.PhasesUnfinished, m.Losses.PhasesTooDeep = r.Marks.Ends, r.Marks.Unfinished, r.Marks.Deep
	m.Paused.Calls = int64(f.Totals.Paused)
	for _, a := range f.Agents {
		for _, why := range a.Refused {
			m.Notes = append(m.Notes, fmt.Sprintf("host %s: a message was refused: %s", a.Hello.Host, why))
		}
		for _, text := range a.Notes {
			m.Notes = append(m.Notes, fmt.Sprintf("host %s: %s", a.Hello.Host, text))
		}
		m.Losses.BatchesResent += int64(a.Done.GetResent())
		describeWindows(m, a)
		describeSpool(m, a)
	}
	for _, a := range f.Unfinished() {
		m.Notes = append(m.Notes, fmt.Sprintf("the agent on %s did not finish: the end of its ranks may be missing", a.Hello.Host))
		m.Losses.AgentsUnfinished = append(m.Losses.AgentsUnfinished, a.Hello.Host)
	}
	m.Agents, m.Overhead = describeAgents(f.Agents), overheadOf(&f)
	m.Clocks, m.Order = r.Clocks, r.Order
	m.Notes = append(m.Notes, r.ClockNotes...)
	for i, w := range r.Worlds {
		for _, p := range w.Ranks() {
			if runs(p) {
				m.Losses.RanksLeft++
			}
			describeEnd(m, i, p)
		}
	}
	if left := m.Losses.RanksLeft; left > 0 && job.EndedBy != "" {
		m.Notes = append(m.Notes, fmt.Sprintf("the run was ended by %s; ranks that continued unmeasured: %d", job.EndedBy, left))
	}
	describeMatching(m, r)
	m.Losses.CountersUnavailable = describeUnavailable(m, r.Worlds)
	nameless, rest := namelessPcontrol(f)
	m.Notes = append(append(m.Notes, nameless...), notes(f, rest)...)
	m.Losses.Hidden = hidden(f)
	m.Notes = append(m.Notes, faults(f)...)
	return m
}

// describeWindows says what a node could not keep of its ranks' full detail.
func describeWindows(m *rundir.Manifest, a *store.Agent) {
	w := a.Done.GetWindows()
	m.Losses.WindowsEvicted += int64(w.GetEvictedWindows())
	m.Losses.SpoolEvictedBytes += int64(w.GetEvictedBytes())
	if w.GetEvictedWindows() > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("host %s had space for %.3g %% of the windows in full detail, chosen by the same hash on all hosts",
			a.Hello.Host, 100*float64(w.Below)/math.MaxUint64))
	}
	if w.GetError() != "" {
		m.Notes = append(m.Notes, fmt.Sprintf("host %s: full detail is missing: %s", a.Hello.Host, w.Error))
	}
}

// describeMatching says what of the messages has no counterpart, why, and what could not be found out about requests.
func describeMatching(m *rundir.Manifest, r *rebuild.Rebuilt) {
	x := &m.Messages
	x.LateSenderSeconds = rundir.Number(math.NaN())
	if r.Whole {
		x.LateSenderSeconds = rundir.Number(float64(r.LateSenderNS) / 1e9)
	}
	for _, why := range slices.Sorted(maps.Keys(r.Unpaired)) {
		t := r.Unpaired[why]
		if t.Sends+t.Receives == 0 {
			continue
		}
		x.Unmatched = append(x.Unmatched, rundir.Unmatched{Why: string(why), Sends: t.Sends, Receives: t.Receives})
	}
	for i := range r.Processes {
		e := r.Processes[i].TransfersEnd
		x.Requests.EndsUnknown += int64(e.GetEndsUnknown())
		x.Requests.StartsUnknown += int64(e.GetStartsUnknown())
		x.Requests.Lost += int64(e.GetRequestsLost())
		x.Requests.Unfollowed += int64(e.GetRequestsUnfollowed())
		x.Requests.Open += int64(e.GetRequestsOpen())
		x.Requests.HandlesShared += int64(e.GetHandlesShared())
		x.Requests.Cancelled += int64(e.GetCancelled())
		x.Requests.Late += int64(e.GetLate())
		m.Losses.CommunicatorsLost += int64(e.GetCommsLost())
	}
}

// hidden says which calls another tool has made past the shim.
func hidden(f store.Frozen) []string {
	return notes(f, func(p *store.Process) []string { return p.Unseen })
}

// notes is what the shim had to say, each text once.
func notes(f store.Frozen, of func(*store.Process) []string) []string {
	ranks := make(map[string]int)
	for _, p := range f.Processes {
		for _, text := range of(p) {
			ranks[text]++
		}
	}
	var list []string
	for _, text := range slices.Sorted(maps.Keys(ranks)) {
		if ranks[text] < len(f.Processes) {
			list = append(list, fmt.Sprintf("%s (%d of %d ranks)", text, ranks[text], len(f.Processes)))
			continue
		}
		list = append(list, text)
	}
	return list
}

// pcontrolNote is the shim's note of the calls of MPI_Pcontrol that were to mark a phase and had no name:
// cshim/src/regions.c.
var pcontrolNote = regexp.MustCompile(`^MPI_Pcontrol: calls that gave no readable name and marked no phase: (\d+)$`)

// namelessPcontrol makes one note of those that count such calls, whose numbers differ from rank to rank, and gives
// each process's other notes.
func namelessPcontrol(f store.Frozen) (sum []string, rest func(*store.Process) []string) {
	var calls, ranks int64
	for _, p := range f.Processes {
		found := false
		for _, text := range p.Notes {
			if m := pcontrolNote.FindStringSubmatch(text); m != nil {
				n, _ := strconv.ParseInt(m[1], 10, 64)
				calls += n
				found = true
			}
		}
		if found {
			ranks++
		}
	}
	if ranks > 0 {
		sum = []string{fmt.Sprintf("MPI_Pcontrol: %s on %s gave no readable name and marked no phase", units.Count(calls, "call"), units.Count(ranks, "rank"))}
	}
	return sum, func(p *store.Process) []string {
		return slices.DeleteFunc(slices.Clone(p.Notes), pcontrolNote.MatchString)
	}
}

// runs says whether a process still ran when it was last heard of.
func runs(p *store.Process) bool {
	return p.End.GetHow() == moriensv1.ProcessEnd_HOW_RUNS
}

// describeEnd counts what a process could not record, and says how it ended if not by MPI_Finalize.
func describeEnd(m *rundir.Manifest, world int, p *store.Process) {
	e := p.End
	how, cutOff := "still ran when the job had ended", false
	switch e.GetHow() {
	case moriensv1.ProcessEnd_HOW_UNSPECIFIED:
		how, cutOff = "the agent on "+p.Info.Host+" did not finish", true
	case moriensv1.ProcessEnd_HOW_FINALIZED:
		how = ""
	case moriensv1.ProcessEnd_HOW_ABORTED:
		how = "MPI_Abort"
	case moriensv1.ProcessEnd_HOW_DIED:
		how = "ended without MPI_Finalize"
	}
	if how != "" && !(m.EndedBy != "" && runs(p)) {
		m.Losses.RanksDied = append(m.Losses.RanksDied, rundir.RankDied{World: world, Rank: int(p.Info.Rank), How: how, CutOff: cutOff})
	}
	m.Losses.ThreadsUnrecorded += int64(e.GetThreadsFailed())
	m.Losses.CallsUnrecorded += int64(e.GetUnrecorded())
	m.Losses.CallPathsLost += int64(e.GetPathsLost())
	m.Losses.MarksNameless += int64(e.GetNamesLost())
	if e.GetThreadsFailed() > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("rank %d on %s: %s could not record: %s",
			p.Info.Rank, p.Info.Host, units.Count(int64(e.ThreadsFailed), "thread"), syscall.Errno(e.Fault)))
	}
}

// describeUnavailable names the events that could not be counted, each once, and adds a note for each
// reason. The ranks of a job mostly lack the same.
func describeUnavailable(m *rundir.Manifest, worlds []*rebuild.World) []string {
	events := make(map[string]map[string]bool) // by reason
	ranks := make(map[string]int)
	all := 0
	for _, w := range worlds {
		for _, p := range w.Ranks() {
			all++
			here := make(map[string]bool) // reasons
			for _, line := range p.Info.Unavailable {
				name, reason, found := strings.Cut(line, ": ")
				if !found {
					reason = "reason not recorded"
				}
				if events[reason] == nil {
					events[reason] = make(map[string]bool)
				}
				events[reason][name], here[reason] = true, true
			}
			for reason := range here {
				ranks[reason]++
			}
		}
	}
	var names []string
	for _, reason := range slices.Sorted(maps.Keys(events)) {
		of := slices.Sorted(maps.Keys(events[reason]))
		names = append(names, of...)
		where := ""
		if ranks[reason] < all {
			where = fmt.Sprintf(" on %d of %d ranks", ranks[reason], all)
		}
		m.Notes = append(m.Notes, fmt.Sprintf("not counted%s: %s: %s", where, strings.Join(of, ", "), reason))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// faults says which ranks could not record and whose records could not be read: one note per host and reason.
func faults(f store.Frozen) []string {
	var notes []string
	for _, a := range f.Agents {
		for _, fault := range a.Faults {
			if fault.Figures > 0 {
				notes = append(notes, fmt.Sprintf("host %s: loss counters are damaged and taken as 0: %s", a.Hello.Host, fault.Corrupt))
				continue
			}
			if fault.Corrupt != "" {
				notes = append(notes, fmt.Sprintf("host %s: the records of a rank cannot be read: %s", a.Hello.Host, fault.Corrupt))
			}
		}
	}
	ranks := make(map[rebuild.Absentee]int)
	for _, a := range rebuild.Unrecorded(f) {
		ranks[rebuild.Absentee{Host: a.Host, Reason: a.Reason}]++
	}
	for x, n := range ranks {
		notes = append(notes, fmt.Sprintf("host %s: ranks that could not record: %d: %s", x.Host, n, x.Reason))
	}
	for _, p := range f.Processes {
		for _, r := range p.Rings {
			if r.End.GetCorrupt() != "" {
				notes = append(notes, fmt.Sprintf("rank %d on %s: a thread's records end early: %s", p.Info.Rank, p.Info.Host, r.End.Corrupt))
			}
		}
	}
	slices.Sort(notes)
	return notes
}

// unreadable counts the files of which not all can be read that ranks have left.
func unreadable(f store.Frozen) int {
	n := 0
	for _, a := range f.Agents {
		for _, fault := range a.Faults {
			if fault.Corrupt != "" && fault.Figures == 0 {
				n++
			}
		}
	}
	for _, p := range f.Processes {
		for _, r := range p.Rings {
			if r.End.GetCorrupt() != "" {
				n++
			}
		}
	}
	return n
}

// A described is a run with its manifest, and how much of it is to be kept.
type described struct {
	*Result
	keep retention.Options
}

// describe is collective: it says in the manifest what is known before the run is reduced.
func describe(e *End, f frozen, r *rebuild.Rebuilt, c clustered) (d described, broken error) {
	m := manifestOf(r, e.Frozen, e.Job)
	retention.DescribeFunctions(m, e.functions)
	d.keep, d.Result = e.Keep, &Result{Content: rundir.Content{Run: r.Run, Team: r.Team, Manifest: m, Clusters: c.Clusters}}
	m.Notes = append(m.Notes, f.missing...)
	if e.Keep.All {
		for _, p := range e.Frozen.Processes {
			m.Losses.TransfersLost += int64(e.Frozen.Lacks(p))
		}
	}
	m.Reduction.Missing, m.Reduction.GivenUp = r.Missing, slices.Clone(r.Missing)
	if d.keep.Unclustered = c.err != nil; c.err != nil {
		m.Unclustered = c.why
		m.Notes = append(m.Notes, "the bursts are in no clusters: "+c.why)
	}
	m.Filtered, m.Speed = c.Filtered, c.Speed
	if m.Empty, d.Advice, broken = whyEmpty(r, e.Frozen); broken != nil {
		return d, broken
	}
	if f.cells != nil {
		d.keep.Sums = f.cells.Describe(r, c.located, &d.Content)
		if bursts, why, advice := f.cells.Empty(); bursts || m.Empty != "" && why != "" {
			m.Empty, d.Advice = why, advice
		}
	}
	if m.Empty != "" {
		d.keep.All = true
	} else {
		m.Notes = append(m.Notes, c.Notes...)
	}
	return d, nil
}
