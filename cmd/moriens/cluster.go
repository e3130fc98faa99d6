package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"
	"strconv"
	"time"

	"moriens/analysis/dbscan"
	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/internal/points"
)

type clusterCommand struct {
	Points    string  `arg:"" help:"Points, one a row: CSV, or .npy with float32 or float64."`
	Eps       float64 `required:"" help:"Radius of a neighbourhood, in units of the points." placeholder:"E"`
	MinPoints int     `required:"" help:"Points in the neighbourhood of a core point, itself included." placeholder:"K"`
	Out       string  `required:"" help:"File for the labels, one a line in the order of the points: clusters from 0, -1 noise." placeholder:"LABELS"`
	Threads   int     `help:"Threads to compute with (default: all CPUs)." placeholder:"N"`
}

// clustering is what the command prints.
type clustering struct {
	Points   int     `json:"points"`
	Clusters int     `json:"clusters"`
	Noise    int     `json:"noise"`
	Seconds  float64 `json:"seconds"` // of clustering alone
}

func (c *clusterCommand) Run(*slog.Logger) error {
	switch {
	case !(c.Eps >= 0) || math.IsInf(c.Eps, 0):
		return usage(fmt.Errorf("--eps %v: want a number from 0 up", c.Eps), "for example --eps 0.1")
	case c.MinPoints < 1:
		return usage(fmt.Errorf("--min-points %d: want a whole number from 1 up", c.MinPoints), "for example --min-points 4")
	case c.Threads < 0:
		return usage(errors.New("--threads is a number from 0 up"), "leave the option out for all CPUs")
	case c.Threads == 0:
		c.Threads = runtime.NumCPU()
	}
	if files.Same(c.Points, c.Out) {
		return usage(fmt.Errorf("--out %s is the file of points", c.Out), "name another file: the labels would take the points' place")
	}
	m, err := points.ReadFile(c.Points)
	if err != nil {
		return err
	}
	if m.Dims > dbscan.MaxDims {
		return hint.With(fmt.Errorf("%s: %d dimensions: want at most %d", c.Points, m.Dims, dbscan.MaxDims), "leave columns out")
	}
	start := time.Now()
	r, err := dbscan.Cluster(dbscan.Points{Dims: m.Dims, Coords: m.Coords}, c.Eps, c.MinPoints, c.Threads)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Points, err)
	}
	said := clustering{Points: m.Rows(), Clusters: r.Clusters, Seconds: time.Since(start).Seconds()}
	for _, label := range r.Labels {
		if label == dbscan.Noise {
			said.Noise++
		}
	}
	if err := writeLabels(c.Out, r.Labels); err != nil {
		return hint.With(err, "choose another file with --out")
	}
	return json.NewEncoder(os.Stdout).Encode(said)
}

func writeLabels(path string, labels []int32) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for _, label := range labels {
		line = append(strconv.AppendInt(line[:0], int64(label), 10), '\n')
		w.Write(line) // Flush tells of errors
	}
	err = errors.Join(w.Flush(), f.Close())
	if info, statErr := os.Stat(path); err != nil && statErr == nil && info.Mode().IsRegular() {
		os.Remove(path) // a part of the labels would pass for all of them
	}
	return err
}
