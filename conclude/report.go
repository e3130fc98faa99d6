package conclude

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"syscall"

	"moriens/collector/store"
	"moriens/internal/team"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
)

// describeRun says what only the measurement knows; rundir adds what the run itself tells.
func describeRun(h *history, f store.Frozen, job Job) *rundir.Manifest {
	m := &rundir.Manifest{
		Moriens: job.Program, Run: job.Run, Command: job.Command, ExitStatus: job.ExitStatus,
		Started: job.Started, Ended: job.Ended, EndedBy: job.EndedBy,
		Notes:   slices.Concat(job.Notes, h.clocks.notes, h.notes),
		Dropped: int64(f.Totals.Dropped),
		Losses: rundir.Losses{
			RecordsDropped:   int64(f.Totals.Dropped),
			BatchesDuplicate: int64(f.Totals.Duplicates),
			MessagesRefused:  int64(f.Totals.Refused),

			CollectorRestarts: f.Collector.Restarts,
			JournalBytesCut:   int64(f.Collector.CutBytes),
		},
	}
	if m.Scheduling = describeScheduling(h.worlds, f.Agents); m.Scheduling != nil && m.Scheduling.Overcommitted {
		m.Notes = slices.Insert(m.Notes, 0, m.Scheduling.Warning)
	}
	if c := f.Collector; c.Restarts > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("the collector was killed and restarted, %s; cut off: %s not completely written, nothing acknowledged",
			units.Count(c.Restarts, "time"), units.Count(int64(c.CutBytes), "byte")))
	}
	m.Unseen, m.Absent, m.Losses.RanksUnrecorded = h.unseen, h.absent, h.unrecorded
	m.Losses.FilesUnreadable = unreadable(f)
	for _, a := range f.Agents {
		for _, fault := range a.Faults {
			m.Losses.FiguresDamaged += int64(fault.Figures)
		}
	}
	m.Losses.CallsAbandoned = int64(f.Totals.Abandoned)
	m.Losses.MarksInsideCalls = int64(f.Totals.MarksInside)
	m.Losses.PhaseEndsUnmatched, m.Losses.PhasesUnfinished = h.unbalanced.ends, h.unbalanced.never
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
	m.Agents = describeAgents(f.Agents)
	h.clocks.describe(m)
	for i, w := range h.worlds {
		for _, p := range w.ranks() {
			if runs(p) {
				m.Losses.RanksLeft++
			}
			describeEnd(m, i, p)
		}
	}
	if left := m.Losses.RanksLeft; left > 0 && job.EndedBy != "" {
		m.Notes = append(m.Notes, fmt.Sprintf("the run was ended by %s; ranks that continued unmeasured: %d", job.EndedBy, left))
	}
	describeMatching(m, h)
	m.Losses.CountersUnavailable = describeUnavailable(m, h.worlds)
	m.Notes = append(m.Notes, notes(f, func(p *store.Process) []string { return p.Notes })...)
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

// describeMatching says what of the messages has no counterpart, why, and what could not be told of requests.
func describeMatching(m *rundir.Manifest, h *history) {
	x := &m.Messages
	x.LateSenderSeconds = rundir.Number(math.NaN())
	if h.whole {
		x.LateSenderSeconds = rundir.Number(float64(h.matching.lateSenderNS) / 1e9)
	}
	for _, why := range slices.Sorted(maps.Keys(h.matching.unpaired)) {
		t := h.matching.unpaired[why]
		if t.sends+t.receives == 0 {
			continue
		}
		x.Unmatched = append(x.Unmatched, rundir.Unmatched{Why: why, Sends: t.sends, Receives: t.receives})
	}
	for i := range h.processes {
		e := h.processes[i].TransfersEnd
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
func describeUnavailable(m *rundir.Manifest, worlds []*world) []string {
	events := make(map[string]map[string]bool) // by reason
	ranks := make(map[string]int)
	all := 0
	for _, w := range worlds {
		for _, p := range w.ranks() {
			all++
			here := make(map[string]bool) // reasons
			for _, line := range p.Info.Unavailable {
				name, reason, told := strings.Cut(line, ": ")
				if !told {
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
	ranks := make(map[absentee]int)
	for _, a := range absentees(f) {
		ranks[absentee{host: a.host, reason: a.reason}]++
	}
	for x, n := range ranks {
		notes = append(notes, fmt.Sprintf("host %s: ranks that could not record: %d: %s", x.host, n, x.reason))
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

// ofMemory says whether it is for its shared memory that a rank goes unrecorded.
func ofMemory(fault *moriensv1.Fault) bool { return fault.Corrupt == "" && fault.Errno != 0 }

const adviseBefore = "put libmoriens.so first in LD_PRELOAD, or remove the other tool; `moriens doctor` checks the order"

// pastAdvice is what to do about programs that find MPI by dlopen.
const pastAdvice = "open the MPI library with RTLD_GLOBAL and look up its functions in the process (Python: keep CDLL(\"libmpi.so\", mode=RTLD_GLOBAL), call through CDLL(None)); see docs/limits.md"

// directAdvice is what to do about programs that call PMPI_Init themselves.
const directAdvice = "let the program call MPI_Init instead of PMPI_Init, or build it without wrappers that call PMPI_Init; see docs/limits.md"

// whyEmpty is collective: it says why there is no burst, and what to do where that is known here; "" if there are bursts.
func whyEmpty(h *history, f store.Frozen) (why, advice string, err error) {
	bursts, err := team.Any(h.team, slices.ContainsFunc(h.own, func(i int) bool { return h.run.Threads[i].Bursts.Len() > 0 }))
	if bursts || err != nil {
		return "", "", err
	}
	switch {
	case len(f.Agents) == 0:
		return "no agent reached the collector", "is `moriens agent` running on the job's nodes, with --dir set to this run directory?", nil
	case h.unrecorded > 0:
		for _, a := range f.Agents {
			for _, fault := range a.Faults {
				if fault.Before != "" {
					return "no rank could record: " + store.Why(fault), adviseBefore, nil
				}
			}
		}
		for _, a := range f.Agents {
			for _, fault := range a.Faults {
				switch {
				case fault.Past != "" && fault.Reason != "":
					return "no rank could record: " + store.Why(fault), directAdvice, nil
				case fault.Past != "":
					return "no rank could record: " + store.Why(fault), pastAdvice, nil
				}
			}
		}
		// What the node's agent says of it, it has said with its own advice.
		if of := slices.IndexFunc(f.Agents, func(a *store.Agent) bool { return slices.ContainsFunc(a.Faults, ofMemory) }); of < 0 {
			return "no rank could record: " + h.absent[0].Reason, "see the agents' messages on stderr", nil
		}
		return "no rank could record", "free shared memory (/dev/shm, or the directory of --shm; df shows its usage)", nil
	case unreadable(f) > 0:
		return "the ranks' records cannot be read", "see the notes in manifest.json for the files", nil
	case len(f.Processes) == 0:
		return "no process of the job called MPI under moriens", "", nil
	}
	if len(hidden(f)) > 0 {
		return "no rank made two MPI calls through libmoriens.so, so there are no bursts between them", adviseBefore, nil
	}
	return "no rank made two MPI calls, so there are no bursts between them", "is this the right program, and did it reach its computation?", nil
}
