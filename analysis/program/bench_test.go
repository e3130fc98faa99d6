package program_test

import (
	"syscall"
	"testing"
	"time"

	"moriens/analysis/program"
	"moriens/analysis/program/thesis"
)

// Ten million calls of a hundred ranks that do the same, and of a hundred of which each does something else: what the
// program costs, what each other reading adds to it, and all of them as at the end of a run.
func BenchmarkBuild(b *testing.B) {
	for _, x := range []struct {
		name  string
		alike bool
	}{{"alike", true}, {"apart", false}} {
		in := program.PlantedInput(100, 100_000, x.alike)
		built, err := program.Build(in)
		if err != nil {
			b.Fatal(err)
		}
		code := func() error {
			s, err := program.Build(in)
			if err == nil {
				s.Solve()
			}
			return err
		}
		order := func() error {
			s, err := built.ByOrder()
			if err == nil {
				s.Solve()
			}
			return err
		}
		published := func() error {
			_, err := thesis.Find(in)
			return err
		}
		for _, y := range []struct {
			name string
			make []func() error
		}{{"code", []func() error{code}}, {"order", []func() error{order}}, {"thesis", []func() error{published}}, {"all", []func() error{code, order, published}}} {
			b.Run(x.name+"/"+y.name, func(b *testing.B) {
				b.ReportAllocs()
				before := userTime(b)
				for range b.N {
					for _, f := range y.make {
						if err := f(); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric((userTime(b)-before).Seconds()/float64(b.N), "user-s/op")
				b.ReportMetric(float64(in.Calls()), "calls")
			})
		}
	}
}

// userTime is what the process has computed, on all cores: on a machine that is shared it says more than what a clock
// shows.
func userTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano())
}
