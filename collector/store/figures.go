package store

import (
	"fmt"
	"strings"

	moriensv1 "moriens/proto/moriens/v1"
)

// What an agent can count at most, of anything, whatever its ranks do: more is damage.
const (
	maxCount   = 1 << 48 // sums over 32,767 processes fit into an int64
	maxAmount  = 1 << 60 // of bytes, and of nanoseconds
	maxThreads = 1 << 20
	maxErrno   = 4095
)

// figures are numbers of one message.
type figures struct{ wrong []string }

func (f *figures) check(name string, value *uint64, limit uint64) {
	if *value > limit {
		f.wrong = append(f.wrong, fmt.Sprintf("%s is %d", name, *value))
		*value = 0
	}
}

func (f *figures) counts(names string, values ...*uint64) {
	for i, name := range strings.Fields(names) {
		f.check(name, values[i], maxCount)
	}
}

func (f *figures) amounts(names string, values ...*uint64) {
	for i, name := range strings.Fields(names) {
		f.check(name, values[i], maxAmount)
	}
}

// weigh takes figures that cannot be true out of what a message says of losses and costs, so that no result has them,
// and remembers that as a fault of its agent: the rest of the message counts.
func (s *Store) weigh(a *Agent, m *moriensv1.ReportRequest) {
	var f figures
	var of string
	rank := int32(-1)
	from := func(process uint64) {
		if p := s.processes[process]; p != nil {
			rank = p.Info.Rank
		}
		of = fmt.Sprintf("process %016x", process)
	}
	switch b := m.Body.(type) {
	case *moriensv1.ReportRequest_RingEnd:
		e := b.RingEnd
		if r := s.rings[e.Ring]; r != nil {
			from(r.Process.Info.Process)
		}
		f.counts("dropped abandoned paused marks_inside", &e.Dropped, &e.Abandoned, &e.Paused, &e.MarksInside)
	case *moriensv1.ReportRequest_ProcessEnd:
		e := b.ProcessEnd
		from(e.Process)
		f.counts("unrecorded paths_lost names_lost", &e.Unrecorded, &e.PathsLost, &e.NamesLost)
		if e.ThreadsFailed > maxThreads {
			f.wrong = append(f.wrong, fmt.Sprintf("threads_failed is %d", e.ThreadsFailed))
			e.ThreadsFailed = 0
		}
		if e.Fault < 0 || e.Fault > maxErrno {
			f.wrong = append(f.wrong, fmt.Sprintf("fault is %d", e.Fault))
			e.Fault = 0
		}
	case *moriensv1.ReportRequest_TransfersEnd:
		e := b.TransfersEnd
		from(e.Process)
		f.counts("ends_unknown starts_unknown requests_lost requests_unfollowed requests_open handles_shared cancelled late comms_lost",
			&e.EndsUnknown, &e.StartsUnknown, &e.RequestsLost, &e.RequestsUnfollowed, &e.RequestsOpen, &e.HandlesShared, &e.Cancelled, &e.Late, &e.CommsLost)
	case *moriensv1.ReportRequest_Done:
		d := b.Done
		of = "the agent"
		f.counts("resent spool_full_dropped", &d.Resent, &d.SpoolFullDropped)
		f.amounts("cpu_ns peak_bytes spool_peak_bytes spool_full_ns spool_cut_bytes", &d.CpuNs, &d.PeakBytes, &d.SpoolPeakBytes, &d.SpoolFullNs, &d.SpoolCutBytes)
		if w := d.Windows; w != nil {
			f.counts("evicted_windows unusual pinned", &w.EvictedWindows, &w.Unusual, &w.Pinned)
			f.amounts("bytes evicted_bytes", &w.Bytes, &w.EvictedBytes)
		}
	}
	if len(f.wrong) > 0 {
		a.Faults = append(a.Faults, &moriensv1.Fault{Rank: rank, Figures: uint32(len(f.wrong)), Corrupt: fmt.Sprintf("%s contains impossible values: %s", of, strings.Join(f.wrong, ", "))})
	}
}

// soundSpool takes out of what an agent says of its spool what cannot be true. That is reported again each second, so
// no fault is made of it.
func soundSpool(m *moriensv1.Spool) {
	var f figures
	f.amounts("full_ns", &m.FullNs)
	f.counts("dropped unkept", &m.Dropped, &m.Unkept)
}
