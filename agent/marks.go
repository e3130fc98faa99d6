package agent

import (
	"moriens/agent/ring"
	moriensv1 "moriens/proto/moriens/v1"
)

// sendNames sends names of phases and events that a process has defined.
func (a *Process) sendNames(names []ring.Name) {
	for _, name := range names {
		if name.Number == 0 || a.names[name.Number] {
			continue
		}
		a.names[name.Number] = true
		a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_MarkName{MarkName: &moriensv1.MarkName{
			Process: a.process.ID, Name: name.Number, Text: name.Text,
		}}})
	}
}

// sendMarks sends marks. A name that the log does not define, because it was full or is corrupt, becomes an unknown
// one.
func (a *Process) sendMarks(m *moriensv1.Marks) {
	for i, name := range m.Name {
		if name != 0 && !a.names[name] {
			m.Name[i] = 0
			a.nameless++
		}
	}
	a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Marks{Marks: m}})
}
