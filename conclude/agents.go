package conclude

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"moriens/collector/store"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// describeSpool adds what it has cost that an agent's spool had no room. What there was of it is known of agents that
// did not finish too.
func describeSpool(m *rundir.Manifest, a *store.Agent) {
	took, dropped := a.Spool.GetFullNs(), a.Spool.GetDropped()
	if d := a.Done; d != nil {
		took, dropped = d.SpoolFullNs, d.SpoolFullDropped
	}
	l := &m.Losses
	l.SpoolFullSeconds += rundir.Number(time.Duration(took).Seconds())
	l.SpoolFullDropped += int64(dropped)
	if a.Done != nil {
		return
	}
	l.RecordsUnkept += int64(a.Spool.GetUnkept())
	switch s := a.Spool; {
	case s.GetUnkept() > 0:
		m.Notes = append(m.Notes, fmt.Sprintf("host %s: the agent ended with a full spool; MPI calls and marks left in the ring buffers of %s: %d: %s",
			a.Hello.Host, units.Count(int64(s.UnkeptProcesses), "rank"), s.Unkept, s.Error))
	case s.GetFull():
		m.Notes = append(m.Notes, fmt.Sprintf("host %s: at the agent's last message its spool was full: %s",
			a.Hello.Host, cmp.Or(s.Error, "data not yet sent to the collector took all of it")))
	}
}

// overheadOf is the processor time that measuring has taken; how many calls it is for, the run itself shows.
func overheadOf(f *store.Frozen) *rundir.Overhead {
	o := &rundir.Overhead{CollectorSeconds: rundir.Number(math.NaN())}
	if cpu := f.Collector.CPU; cpu > 0 {
		o.CollectorSeconds = rundir.Number(cpu.Seconds())
	}
	for _, a := range f.Agents {
		cpu := a.CPU()
		switch {
		case a.Shared():
			o.Shared = true
		case cpu == 0:
			o.AgentSeconds = rundir.Number(math.NaN())
		default:
			o.AgentSeconds += rundir.Number(cpu.Seconds())
		}
	}
	return o
}

// describeAgents says what the agents that finished have used.
func describeAgents(agents []*store.Agent) []rundir.Agent {
	var list []rundir.Agent
	for _, a := range agents {
		d := a.Done
		if d == nil {
			continue
		}
		list = append(list, rundir.Agent{
			Host: a.Hello.Host, Restarts: int(d.Restarts), CPUSeconds: rundir.Number(time.Duration(d.CpuNs).Seconds()), PeakBytes: int64(d.PeakBytes),
			Shared: d.Shared, SpoolPeakBytes: int64(d.SpoolPeakBytes), SpoolFullSeconds: rundir.Number(time.Duration(d.SpoolFullNs).Seconds()),
			SpoolFullDropped: int64(d.SpoolFullDropped), SpoolCutBytes: int64(d.SpoolCutBytes),
		})
	}
	return list
}
