// Package agenttest plays agents to a store, for the tests of the end of a run.
package agenttest

import (
	"testing"

	"moriens/collector/store"
	"moriens/internal/mpicall"
	"moriens/internal/section/sectiontest"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Feeder plays an agent to a store.
type Feeder struct {
	Agent *store.Agent
	t     testing.TB
	store *store.Store
	next  uint64
}

// New greets a store as an agent.
func New(t testing.TB, s *store.Store, id uint64, host string) *Feeder {
	a, _, err := s.Greet(&moriensv1.Hello{Agent: id, Host: host, Cpus: 4})
	if err != nil {
		t.Fatal(err)
	}
	return &Feeder{t: t, store: s, Agent: a}
}

// Send sends one message.
func (f *Feeder) Send(m *moriensv1.ReportRequest) {
	f.t.Helper()
	f.next++
	m.Sequence = f.next
	if _, err := f.store.Apply(f.Agent, m); err != nil {
		f.t.Fatal(err)
	}
}

// Fault reports a rank that goes unrecorded.
func (f *Feeder) Fault(x *moriensv1.Fault) {
	f.t.Helper()
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: x}})
}

// Process announces a process.
func (f *Feeder) Process(p *moriensv1.Process) {
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: p}})
}

// Ring announces a thread's ring.
func (f *Feeder) Ring(r *moriensv1.Ring) {
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: r}})
}

// Rows sends calls and what belongs to them.
func (f *Feeder) Rows(x *sectiontest.Rows) {
	f.t.Helper()
	f.Send(x.Message())
}

// Sums are what a process has counted.
func (f *Feeder) Sums(process uint64, rows ...sums.Row) {
	x := sums.Encode(rows)
	x.Process = process
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Sums{Sums: x}})
}

// Clock sends a sample of the TSC.
func (f *Feeder) Clock(ticks uint64, ns int64) {
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
		Clock: moriensv1.Clock_CLOCK_TSC, Ticks: ticks, MonotonicNs: ns, RealtimeNs: ns + 1_000_000, UncertaintyNs: 40,
	}}})
}

// End says how a process ended.
func (f *Feeder) End(process uint64, how moriensv1.ProcessEnd_How) {
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{Process: process, How: how}}})
}

// Call is the number of an MPI function.
func Call(t testing.TB, name string) uint32 {
	call, ok := mpicall.ByName(name)
	if !ok {
		t.Fatalf("no call %s", name)
	}
	return uint32(call)
}
