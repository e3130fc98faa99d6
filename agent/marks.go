package agent

import (
	"moriens/agent/ring"
	moriensv1 "moriens/proto/moriens/v1"
)

// sendNames sends names of phases and events that a process has defined.
func (a *Process) sendNames(names []ring.Name) {
	for _, name := range names {
		if name.Number == 0 || a.log.names[name.Number] {
			continue
		}
		a.log.names[name.Number] = true
		a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_MarkName{MarkName: &moriensv1.MarkName{
			Process: a.process.ID, Name: name.Number, Text: name.Text,
		}}})
	}
}
