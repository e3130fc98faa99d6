package window_test

import (
	"testing"

	moriensv1 "moriens/proto/moriens/v1"
)

// BenchmarkAppend takes iterations of 20 sends and a collective from four ranks, with two counters a call: what a call
// costs to keep, and how much room it takes, sorting included.
func BenchmarkAppend(b *testing.B) {
	s := open(b, b.TempDir(), 0)
	defer s.Close()
	j := &job{ranks: 4}
	if err := s.Append(1, j.introduce()); err != nil {
		b.Fatal(err)
	}
	const iterations = 50 // 1,050 calls of each rank
	calls, transaction := 0, uint64(1)
	var next []*moriensv1.ReportRequest
	for b.Loop() {
		b.StopTimer()
		next = j.iterate(iterations, 20, -1)
		b.StartTimer()
		transaction++
		if err := s.Append(transaction, next); err != nil {
			b.Fatal(err)
		}
		calls += 4 * 21 * iterations
	}
	if err := s.Settle(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(calls), "ns/call")
	b.ReportMetric(float64(s.Stats().Bytes)/float64(calls), "B/call")
}
