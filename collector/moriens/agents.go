package moriens

import (
	"time"

	"moriens/collector/store"
	"moriens/trace/rundir"
)

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
			SpoolCutBytes: int64(d.SpoolCutBytes),
		})
	}
	return list
}
