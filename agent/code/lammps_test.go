package code

import (
	"context"
	"debug/elf"
	"os"
	"syscall"
	"testing"
)

// lammps is Debian's library: large, stripped, in C++.
const lammps = "/usr/lib/x86_64-linux-gnu/liblammps.so.0"

func openLammps(b *testing.B) *elf.File {
	b.Helper()
	if _, err := os.Stat(lammps); err != nil {
		b.Skip(err)
	}
	f, err := elf.Open(lammps)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f
}

// returnsOf lists the return addresses of all calls of every nth function, and how many bytes of machine code these
// functions have.
func returnsOf(b *testing.B, f *elf.File, nth int) (returns []uint64, size int) {
	b.Helper()
	im, fault := newImage(f, nil)
	if fault != "" {
		b.Fatal(fault)
	}
	for i := 0; i < len(im.frames); i += nth {
		x := &im.frames[i]
		t := im.decodeSpan(context.Background(), span{start: x.start, end: x.end})
		if calls := callsOf([]*text{t}); len(calls) > 0 {
			returns = append(returns, calls...)
			size += len(t.code)
		}
	}
	return returns, size
}

// used is the processor time of this process, in seconds.
func used(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkLammps reads all functions of LAMMPS that make calls, and of 25 of them one: about 500.
func BenchmarkLammps(b *testing.B) {
	f := openLammps(b)
	for _, x := range []struct {
		name string
		nth  int
	}{{"all", 1}, {"some", 25}} {
		returns, size := returnsOf(b, f, x.nth)
		b.Run(x.name, func(b *testing.B) {
			var list []Function
			begin := used(b)
			for b.Loop() {
				list = read(context.Background(), f, nil, returns)
			}
			b.ReportMetric((used(b)-begin)/float64(b.N), "cpu-s/op")
			refused, loops, sites, follows := 0, 0, 0, 0
			for i := range list {
				if list[i].Refused != "" {
					refused++
					b.Logf("%#x: %s", list[i].Entry, list[i].Refused)
				}
				loops += len(list[i].Code.Loops)
				sites += len(list[i].Code.Sites)
				for _, m := range list[i].Code.Follows {
					follows += len(m)
				}
			}
			b.ReportMetric(float64(len(list)), "functions")
			b.ReportMetric(float64(size)/1e6, "MB")
			b.ReportMetric(float64(refused), "refused")
			b.ReportMetric(float64(loops), "loops")
			b.ReportMetric(float64(sites), "calls")
			b.ReportMetric(float64(follows)/1024, "KiB-follows")
		})
	}
}
