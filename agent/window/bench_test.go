package window_test

import (
	"testing"
)

// BenchmarkAppend takes iterations of 20 sends and a collective from four ranks: what a call costs to keep with
// what it moved, and how much room it takes.
func BenchmarkAppend(b *testing.B) {
	s := openAt(b, b.TempDir(), 0, 0)
	defer s.Close()
	j := &job{ranks: 4, sends: 20, skip: 1}
	if _, err := s.Append(j.introduce()); err != nil {
		b.Fatal(err)
	}
	const iterations = 50 // 1,050 calls of each rank
	calls, number := 0, uint64(1)
	for b.Loop() {
		b.StopTimer()
		number++
		x := j.iterate(number, iterations)
		b.StartTimer()
		if _, err := s.Append(x); err != nil {
			b.Fatal(err)
		}
		calls += 4 * 21 * iterations
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(calls), "ns/call")
	b.ReportMetric(float64(s.Stats().Bytes)/float64(calls), "B/call")
}
