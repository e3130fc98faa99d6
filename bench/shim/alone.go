package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"moriens/bench/timing"
)

// ringCost times the ring without MPI, clock and call paths.
func (b *benchmark) ringCost() error {
	app := filepath.Join(b.work, "ring")
	source := filepath.Join(b.root, "cshim")
	if _, err := timing.Output(nil, "gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-I", source+"/include", "-I", source+"/src",
		"-o", app, filepath.Join(b.root, "bench/shim/programs/ring.c"), source+"/src/ring.c", source+"/src/os.c", source+"/src/os_process.c"); err != nil {
		return err
	}
	f, err := medians(nil, app)
	if err != nil {
		return err
	}
	fmt.Fprintln(b.out, "| the ring alone | ns |")
	fmt.Fprintln(b.out, "|---|---|")
	for _, k := range f.kinds {
		fmt.Fprintf(b.out, "| %s | %.1f |\n", k, f.median(k))
	}
	return nil
}

// aloneCost times what the library takes of a call beside its two readings of the clock: in processes of one rank
// without an agent, by differences chunk by chunk.
func (b *benchmark) aloneCost() error {
	fmt.Fprintln(b.out, "| MPI | call | plain, ns | two readings of the clock, ns | left, ns | quartiles | least, ns |")
	fmt.Fprintln(b.out, "|---|---|---|---|---|---|---|")
	for _, m := range libraries {
		app, err := b.build(m, "alone")
		if err != nil {
			return err
		}
		var all figures
		for range b.runs {
			shm, err := os.MkdirTemp("/dev/shm", "moriens-bench-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(shm)
			text, err := timing.Output([]string{"LD_PRELOAD=" + filepath.Join(b.bin, "libmoriens.so"), "MORIENS_RUN=bench", "MORIENS_SHM=" + shm,
				"MORIENS_CALLPATH=1", "MORIENS_DRAIN=0"}, app, strconv.Itoa(50*b.rounds))
			if err != nil {
				return err
			}
			all.add(text)
		}
		for _, k := range all.kinds {
			v := all.values[k]
			_, plain, _ := timing.Quartiles(v[0])
			_, clock, _ := timing.Quartiles(differences(v[0], v[1]))
			low, left, high := timing.Quartiles(differences(v[1], v[2]))
			fmt.Fprintf(b.out, "| %s | %s | %.1f | %.1f | %.1f | %.1f … %.1f | %.1f |\n", m.name, k, plain, clock, left, low, high, slices.Min(v[2])-slices.Min(v[1]))
		}
	}
	return nil
}

// memoryCost compares the resident memory of ranks with and without the library: of a rank with one thread, and of each
// further thread that calls MPI.
func (b *benchmark) memoryCost() error {
	fmt.Fprintln(b.out, "| MPI | memory of | plain, MiB | added, MiB |")
	fmt.Fprintln(b.out, "|---|---|---|---|")
	worst := 0.0
	for _, m := range libraries {
		app, err := b.build(m, "memory")
		if err != nil {
			return err
		}
		plain, err := medians(nil, m.job(app)...)
		if err != nil {
			return err
		}
		shm, err := os.MkdirTemp("/dev/shm", "moriens-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(shm)
		with, err := medians([]string{"MORIENS_RUN=bench", "MORIENS_SHM=" + shm}, m.job("env", "LD_PRELOAD="+filepath.Join(b.bin, "libmoriens.so"), app)...)
		if err != nil {
			return err
		}
		for _, k := range plain.kinds {
			added := with.median(k) - plain.median(k)
			fmt.Fprintf(b.out, "| %s | %s | %.2f | %.2f |\n", m.name, k, plain.median(k), added)
			worst = max(worst, added)
		}
	}
	b.budgets = append(b.budgets, budget{"memory of a thread", "MiB", 4, worst})
	return nil
}

// startCost times /bin/true with and without the library.
func (b *benchmark) startCost() error {
	var plain, added []float64
	start := func(preload string) (float64, error) {
		cmd := exec.Command("/bin/true")
		cmd.Env = []string{"LD_PRELOAD=" + preload}
		begin := time.Now()
		err := cmd.Run()
		return float64(time.Since(begin).Microseconds()) / 1000, err
	}
	for range 20 * b.runs {
		without, err := start("")
		if err != nil {
			return err
		}
		with, err := start(filepath.Join(b.bin, "libmoriens.so"))
		if err != nil {
			return err
		}
		plain = append(plain, without)
		added = append(added, with-without)
	}
	low, mid, high := timing.Quartiles(added)
	_, base, _ := timing.Quartiles(plain)
	fmt.Fprintln(b.out, "| start of /bin/true, ms | added, ms | quartiles |")
	fmt.Fprintln(b.out, "|---|---|---|")
	fmt.Fprintf(b.out, "| %.2f | %.2f | %.2f … %.2f |\n", base, mid, low, high)
	b.budgets = append(b.budgets, budget{"start of /bin/true", "ms", 0.5, mid})
	return nil
}
