package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"moriens/analysis/dbscan"
)

const incrementalDims = 2

// insert measures incremental insertion: 5 M points after as many others, which still find new places, and then the
// first ones once more, which do not. Rates are per second of processor time, so that other work on the machine counts
// less.
func (b *bench) insert(ctx context.Context, only string) error {
	t := task{"2-D 10 M incremental", incrementalDims, 10_000_000, .004, ""}
	if !strings.Contains(t.name, only) {
		return nil
	}
	raw, _, err := b.generate(ctx, t)
	if err != nil {
		return err
	}
	coords, err := readRaw(raw)
	if err != nil {
		return err
	}
	half := len(coords) / 2
	var others, again []float64
	for range b.repeats {
		x, err := dbscan.NewIncremental(t.dims, t.eps, minPts)
		if err != nil {
			return err
		}
		if _, err := rate(x, coords[:half]); err != nil {
			return err
		}
		for _, part := range []struct {
			coords []float64
			rates  *[]float64
		}{{coords[half:], &others}, {coords[:half], &again}} {
			r, err := rate(x, part.coords)
			if err != nil {
				return err
			}
			*part.rates = append(*part.rates, r)
		}
	}
	fmt.Printf("| points | second half, M points/s (least – most) | first half again |\n|---|---|---|\n")
	show := func(s spread) string { return fmt.Sprintf("%.1f (%.1f – %.1f)", s.median, s.least, s.most) }
	fmt.Printf("| %s | %s | %s |\n", t.name, show(spreadOf(others)), show(spreadOf(again)))
	return nil
}

// rate inserts points in batches and returns how many million of them a second of processor time takes.
func rate(x *dbscan.Incremental, coords []float64) (float64, error) {
	const batch = 10_000
	runtime.GC() // what earlier runs left
	start, err := processorTime()
	if err != nil {
		return 0, err
	}
	points := 0
	for len(coords) > 0 {
		n := min(len(coords), batch*incrementalDims)
		if err := x.Insert(dbscan.Points{Dims: incrementalDims, Coords: coords[:n]}); err != nil {
			return 0, err
		}
		coords = coords[n:]
		points += n / incrementalDims
	}
	end, err := processorTime()
	return float64(points) / (end - start).Seconds() / 1e6, err
}

// processorTime is that of this process so far.
func processorTime() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

func readRaw(path string) ([]float64, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	coords := make([]float64, len(raw)/8)
	for i := range coords {
		coords[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return coords, nil
}
