package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"moriens/analysis/dbscan"
)

// many measures ten Eps on the same points: one clustering after the other, and through an index.
func (b *bench) many(ctx context.Context, only string, threads []int) error {
	tasks := []task{{"2-D 1 M, ten Eps", 2, 1_000_000, .006, ""}, {"3-D 1 M, ten Eps", 3, 1_000_000, .012, ""}}
	fmt.Printf("\n| points | threads | one by one, s | through an index, s | ratio |\n|---|---|---|---|---|\n")
	for _, t := range tasks {
		if !strings.Contains(t.name, only) {
			continue
		}
		raw, _, err := b.generate(ctx, t)
		if err != nil {
			return err
		}
		coords, err := readRaw(raw)
		if err != nil {
			return err
		}
		p := dbscan.Points{Dims: t.dims, Coords: coords}
		for _, n := range threads {
			var apart, together []float64
			for range b.repeats {
				if err := timed(&apart, t.eps, func(eps float64) error {
					_, err := dbscan.Cluster(p, eps, minPts, n)
					return err
				}); err != nil {
					return err
				}
				var x *dbscan.Index
				if err := timed(&together, t.eps, func(eps float64) (err error) {
					if x == nil {
						if x, err = dbscan.NewIndex(p, n); err != nil {
							return err
						}
					}
					_, err = x.Cluster(eps, minPts)
					return err
				}); err != nil {
					return err
				}
			}
			one, all := spreadOf(apart), spreadOf(together)
			fmt.Printf("| %s | %d | %s | %s | %.2f |\n", t.name, n, one, all, one.median/all.median)
		}
	}
	return nil
}

// timed appends the seconds that ten Eps take, from the least to four times that.
func timed(seconds *[]float64, least float64, ask func(eps float64) error) error {
	start := time.Now()
	for i := range 10 {
		if err := ask(least * (1 + float64(i)/3)); err != nil {
			return err
		}
	}
	*seconds = append(*seconds, time.Since(start).Seconds())
	return nil
}

func spreadOf(s []float64) spread {
	slices.Sort(s)
	return spread{s[0], s[len(s)/2], s[len(s)-1]}
}
