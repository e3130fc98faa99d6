package agent

import (
	"moriens/agent/ring"
	"moriens/agent/sched"
	moriensv1 "moriens/proto/moriens/v1"
)

// procDir is where the kernel says how it schedules.
const procDir = "/proc"

// watchScheduling has the kernel's figures of a process read from now on.
func (n *Node) watchScheduling(p *ring.Process) {
	n.scheduling.Add(p.ID, p.PID, ring.ProcessFile(p.ID))
}

// sendScheduling reports what has been read since the last report.
func (n *Node) sendScheduling() {
	r, news := n.scheduling.Take()
	if !news {
		return
	}
	for id, f := range r.Processes {
		if a := n.agents[id]; a != nil && !a.out.ended {
			a.send(scheduled(id, f))
		}
	}
	n.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Scheduling{Scheduling: &moriensv1.Scheduling{
		Cores: uint32(r.Node.Cores), AtOnce: uint32(r.Node.AtOnce), BusyNs: r.Node.BusyNS, StealNs: r.Node.StealNS,
	}}})
}

// endScheduling says what is known last of a process.
func (n *Node) endScheduling(a *Process) {
	if f, news := n.scheduling.End(a.process.ID); news {
		a.send(scheduled(a.process.ID, f))
	}
}

func scheduled(process uint64, f sched.Figures) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Scheduling{Scheduling: &moriensv1.Scheduling{
		Process: []uint64{process}, RunNs: []uint64{f.RunNS}, WaitNs: []uint64{f.WaitNS}, Voluntary: []uint64{f.Voluntary}, Involuntary: []uint64{f.Involuntary},
	}}}
}
