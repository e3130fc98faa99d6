package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"moriens/analysis/dbscan"
)

// insert measures incremental insertion: 10 M points in batches, of which the second half is timed.
func (b *bench) insert(ctx context.Context, only string) error {
	t := task{"2-D 10 M incremental", 2, 10_000_000, .004, ""}
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
	const batch = 10_000
	fmt.Printf("| points | second half, M points/s (least – most) |\n|---|---|\n")
	var rates []float64
	for range b.repeats {
		x, err := dbscan.NewIncremental(t.dims, t.eps, minPts)
		if err != nil {
			return err
		}
		var start time.Time
		for i := 0; i < t.points; i += batch {
			if i == t.points/2 {
				start = time.Now()
			}
			if err := x.Insert(dbscan.Points{Dims: t.dims, Coords: coords[i*t.dims : (i+batch)*t.dims]}); err != nil {
				return err
			}
		}
		rates = append(rates, float64(t.points/2)/time.Since(start).Seconds()/1e6)
	}
	slices.Sort(rates)
	fmt.Printf("| %s | %.1f (%.1f – %.1f) |\n", t.name, rates[len(rates)/2], rates[0], rates[len(rates)-1])
	return nil
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
