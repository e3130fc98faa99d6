package dbscan_test

import (
	"fmt"
	"math"
	"testing"

	"moriens/analysis/cell"
	"moriens/analysis/dbscan"
)

// benchmarkWeighted clusters cells of bursts with ten Eps, from the least that cells of a side are meant for to thirty
// times that.
func benchmarkWeighted(b *testing.B, points, dims int, side float64) {
	cells := cellsOf(b, points, dims, side)
	for step := range 10 {
		eps := 4 * side * math.Sqrt(float64(dims)) * math.Pow(30, float64(step)/9)
		b.Run(fmt.Sprintf("step=%d", step+1), func(b *testing.B) {
			questions, clusters := 0, 0
			for b.Loop() {
				w, err := dbscan.Weighted(dims, cells, eps, points/200, 2)
				if err != nil {
					b.Fatal(err)
				}
				questions, clusters = len(w.Questions), w.Clusters
			}
			b.ReportMetric(float64(len(cells)), "cells")
			b.ReportMetric(float64(questions), "questions")
			b.ReportMetric(float64(clusters), "clusters")
		})
	}
}

func BenchmarkWeighted1D100k(b *testing.B) { benchmarkWeighted(b, 1_000_000, 1, 5e-6) }
func BenchmarkWeighted2D100k(b *testing.B) { benchmarkWeighted(b, 300_000, 2, .0002) }

// The curve of cells, as the automatic Eps asks for it.
func BenchmarkWeightedCurve2D100k(b *testing.B) {
	cells := cellsOf(b, 300_000, 2, .0002)
	for b.Loop() {
		if _, err := dbscan.WeightedCurve(2, cells, 1500, 0, 2); err != nil {
			b.Fatal(err)
		}
	}
}

func cellsOf(b *testing.B, points, dims int, side float64) []cell.Cell {
	set, err := cell.NewSet(dims, side)
	if err != nil {
		b.Fatal(err)
	}
	if err := set.Add(burstLike(points, dims).Coords); err != nil {
		b.Fatal(err)
	}
	return set.Cells()
}
