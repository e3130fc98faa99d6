package page

import "moriens/trace/rundir"

// addEfficiency passes on efficiency.json without what the page has elsewhere: the times of each thread.
func (b *builder) addEfficiency() {
	e := b.source.Efficiency
	if e == nil || len(e.Runs) != 1 {
		return
	}
	r := e.Runs[0]
	r.Threads = nil
	b.doc.Efficiency = &rundir.Efficiency{Format: e.Format, Within: e.Within, Runs: []rundir.EfficiencyRun{r}}
}
