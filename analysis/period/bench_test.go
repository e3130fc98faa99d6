package period_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"moriens/analysis/period"
)

// halo writes what one rank of a halo program does: a prologue, steps of a solver with a varying number of trips that
// ends with a collective call, and every 100th step output.
func halo(bursts int, seed uint64, noise float64) *script {
	s := new(script)
	s.do("XYZ|", 1)
	for step := 0; len(s.Symbols) < bursts; step++ {
		s.do("ABC", 3+step*7%5).do("DE|", 1)
		if step%100 == 99 {
			s.do("F", 1)
		}
	}
	if noise > 0 {
		return noisy(s, seed, noise, 0, 0)
	}
	return s
}

// cpuMS is the processor time of this process, which other processes disturb less than the clock.
func cpuMS(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(time.Duration(u.Utime.Nano()+u.Stime.Nano())) / float64(time.Millisecond)
}

func BenchmarkFind(b *testing.B) {
	for _, c := range []struct{ threads, bursts int }{
		{100, 100_000}, {1_000, 1_000_000}, {1, 1_000_000}, {10_000, 10_000_000}, {1, 10_000_000},
	} {
		for _, noise := range []float64{0, 0.02} {
			list := make([]period.Thread, c.threads)
			for t := range list {
				list[t] = halo(c.bursts/c.threads, uint64(t), noise).Thread
			}
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("bursts=%d/threads=%d/noise=%g/workers=%d", c.bursts, c.threads, noise, workers), func(b *testing.B) {
					b.ReportAllocs()
					before := cpuMS(b)
					for b.Loop() {
						r, err := period.Find(list, period.Options{Workers: workers})
						if err != nil {
							b.Fatal(err)
						}
						if len(r.Phases) < 2 {
							b.Fatalf("%d phases", len(r.Phases))
						}
					}
					b.ReportMetric((cpuMS(b)-before)/float64(b.N), "cpu-ms/op")
				})
			}
		}
	}
}
