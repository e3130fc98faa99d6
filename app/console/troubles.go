package console

import (
	"fmt"
	"math"
	"strings"

	"moriens/internal/plain"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// A Trouble is something that the user should know of, and what to do about it.
type Trouble struct{ Text, Hint string }

// Troubles says what is wrong with a run. emptyHint is the advice where nothing was recorded.
func Troubles(m *rundir.Manifest, emptyHint string) []Trouble {
	m = plain.Of(m)
	var list []Trouble
	l := &m.Losses
	silent := min(l.RanksMissing-l.RanksUnrecorded-m.DiedFirst(), m.Unexplained()) // of others line 2 of the summary says why
	if m.Empty != "" {
		list = append(list, Trouble{"no bursts: " + m.Empty, plain.Line(emptyHint)})
	}
	switch {
	case l.RanksMissing > 0 && m.Trace != "":
		list = append(list, Trouble{
			fmt.Sprintf("%d of %d ranks have no record in the trace", l.RanksMissing, m.Ranks),
			"was the trace cut from a longer one?",
		})
	case silent > 0:
		list = append(list, Trouble{
			fmt.Sprintf("%d of %d ranks sent nothing", silent, m.Ranks),
			"moriens run measures ranks on its own host. Ranks on other hosts are measured only if the collector and one agent per node are started separately (docs/nodes.md); docs/limits.md lists programs that bypass the library",
		})
	}
	if l.RanksUnrecorded > 0 && m.Empty == "" { // else that says it
		hint := "see the notes and worlds in manifest.json; if shared memory is full, free some (/dev/shm, or the directory of --shm)"
		if tool := toolBefore(m); tool != "" {
			hint = tool + beforeLibrary + ": put libmoriens.so first in LD_PRELOAD, or link the program without this tool"
		} else if reason := past(m); reason != "" {
			hint = reason + ": see docs/limits.md"
		}
		list = append(list, Trouble{fmt.Sprintf("%d of %d ranks could not record", l.RanksUnrecorded, m.Ranks), hint})
	}
	list = append(list, diedTroubles(l.RanksDied, toolBefore(m))...)
	list = append(list, clockTroubles(m)...)
	if text := spoolFull(l); text != "" {
		list = append(list, Trouble{
			"while a collector was unreachable or a disk was full, " + text,
			"raise --spool-max, and make sure that the spool's disk has space (--spool, TMPDIR)",
		})
	}
	if l.RecordsUnkept > 0 {
		list = append(list, Trouble{
			were(int(l.RecordsUnkept), "MPI call or mark") + " not kept: the spool was full until the end",
			"free space on its disk, or name a directory on another disk with --spool",
		})
	}
	if l.RecordsDropped > l.SpoolFullDropped {
		list = append(list, Trouble{
			were(int(l.RecordsDropped), "MPI call") + " not recorded: the ring buffer in shared memory was full",
			"raise MORIENS_RING_MAX (bytes per thread, for example MORIENS_RING_MAX=268435456), or leave a core free for the agent",
		})
	}
	if l.MessagesRefused > 0 {
		list = append(list, Trouble{
			fmt.Sprintf("%s of agents refused as inconsistent with earlier ones; calls are missing", units.Counted(int(l.MessagesRefused), "message")),
			"was a spool removed while its agent was down? See the notes in manifest.json",
		})
	}
	return list
}

// beforeLibrary is how notes and reasons say that a tool is called in our place: cshim/src/stack.c, agent/scan.go.
const beforeLibrary = " comes before libmoriens.so"

// toolBefore is such a tool, by its path; empty: there is none.
func toolBefore(m *rundir.Manifest) string {
	for _, w := range m.Worlds {
		for _, u := range w.Unrecorded {
			if tool, _, found := strings.Cut(u.Reason, beforeLibrary); found {
				return tool
			}
		}
	}
	for _, note := range m.Notes {
		if tool, _, found := strings.Cut(note, beforeLibrary); found && strings.HasPrefix(tool, "/") {
			return tool
		}
	}
	return ""
}

// past is why a rank has called MPI past the library: cshim/src/past.c, collector/store. Empty: none has.
func past(m *rundir.Manifest) string {
	for _, w := range m.Worlds {
		for _, u := range w.Unrecorded {
			if strings.HasPrefix(u.Reason, "MPI was initialized without ") || strings.HasPrefix(u.Reason, "an MPI library was loaded by dlopen") {
				return u.Reason
			}
		}
	}
	return ""
}

// clockTrouble is an error in the times of different hosts that hides who waited for whom in most programs, in
// nanoseconds.
const clockTrouble = 1e6

// clockTroubles says where times of different hosts cannot be compared well.
func clockTroubles(m *rundir.Manifest) []Trouble {
	var list []Trouble
	unknown, worst := 0, rundir.Clock{}
	for _, c := range m.Clocks {
		switch u := float64(c.UncertaintyNS); {
		case math.IsNaN(u) || math.IsInf(u, 0):
			unknown++
		case c.UncertaintyNS > worst.UncertaintyNS:
			worst = c
		}
	}
	const hint = "times within a host and all durations are exact; see docs/clocks.md for synchronising hosts"
	if unknown > 0 {
		list = append(list, Trouble{fmt.Sprintf("the clock offset of %s is not known", units.Counted(unknown, "host")), hint})
	}
	if worst.UncertaintyNS > clockTrouble {
		list = append(list, Trouble{
			fmt.Sprintf("times on %s are uncertain by %s relative to other hosts", worst.Host, Duration(float64(worst.UncertaintyNS))), hint,
		})
	}
	if m.Order.LargestNS > clockTrouble {
		list = append(list, Trouble{
			fmt.Sprintf("%s returned, by the hosts' clocks, up to %s before the message was sent: moved after the send",
				units.Counted(m.Order.CallsMoved, "MPI call"), Duration(float64(m.Order.LargestNS))), hint,
		})
	}
	return list
}
