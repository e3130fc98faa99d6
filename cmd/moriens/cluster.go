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
	"moriens/app/points"
	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/internal/mpix"
	"moriens/internal/team"
)

type clusterCommand struct {
	Points    string  `arg:"" help:"Points, one per row: CSV, or .npy with float32 or float64."`
	Eps       float64 `required:"" help:"Radius of the neighbourhood, in units of the coordinates." placeholder:"E"`
	MinPoints int     `required:"" help:"Minimum number of points in the neighbourhood of a core point, including itself." placeholder:"K"`
	Out       string  `required:"" help:"File for the labels, one per line in the order of the points: clusters from 0, noise -1." placeholder:"LABELS"`
	Threads   int     `help:"Number of threads (default: all CPUs)." placeholder:"N"`
}

// clustering is what the command prints.
type clustering struct {
	Points   int     `json:"points"`
	Clusters int     `json:"clusters"`
	Noise    int     `json:"noise"`
	Seconds  float64 `json:"seconds"` // of clustering alone
}

func (c *clusterCommand) Run(*slog.Logger) error { return inStep(c.cluster) }

// cluster is the command at one member of a team, of which each has as many of the points as the others, in their
// order.
func (c *clusterCommand) cluster(m mpix.Transport) error {
	if err := team.Agree(m, c.check()); err != nil {
		return err
	}
	mine, err := readShare(m, c.Points)
	if err != nil {
		return err
	}
	if mine.Dims > dbscan.MaxDims {
		return hint.With(fmt.Errorf("%s: %d dimensions: want at most %d", c.Points, mine.Dims, dbscan.MaxDims), "leave columns out")
	}
	start := time.Now()
	shared, err := dbscan.NewShared(m, dbscan.Points{Dims: mine.Dims, Coords: mine.Coords}, c.Threads)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Points, err)
	}
	r, err := shared.Cluster(c.Eps, c.MinPoints)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Points, err)
	}
	seconds := time.Since(start).Seconds()
	parts := make([][]int32, m.Size())
	parts[0] = r.Labels
	all, err := team.Exchange(m, parts)
	if err != nil || m.Rank() > 0 {
		return err
	}
	return c.report(all, r.Clusters, seconds)
}

func (c *clusterCommand) check() error {
	switch {
	case !(c.Eps >= 0) || math.IsInf(c.Eps, 0):
		return usage(fmt.Errorf("--eps %v: want a number of at least 0", c.Eps), "for example --eps 0.1")
	case c.MinPoints < 1:
		return usage(fmt.Errorf("--min-points %d: want an integer of at least 1", c.MinPoints), "for example --min-points 4")
	case c.Threads < 0:
		return usage(errors.New("--threads must be at least 0"), "leave the option out for all CPUs")
	case c.Threads == 0:
		c.Threads = runtime.NumCPU()
	}
	if files.Same(c.Points, c.Out) {
		return usage(fmt.Errorf("--out %s is the file of points", c.Out), "name another file: the labels would overwrite the points")
	}
	return nil
}

// report writes the labels of all points, member by member, and a summary of them.
func (c *clusterCommand) report(labels [][]int32, clusters int, seconds float64) error {
	said := clustering{Clusters: clusters, Seconds: seconds}
	for _, part := range labels {
		said.Points += len(part)
		for _, label := range part {
			if label == dbscan.Noise {
				said.Noise++
			}
		}
	}
	if err := writeLabels(c.Out, labels); err != nil {
		return hint.With(err, "choose another file with --out")
	}
	return json.NewEncoder(os.Stdout).Encode(said)
}

// readShare returns a member's share of the points of a file: their rows by rank, one after the other. Of a .npy file
// each reads its own; any other is read by member 0 for all.
func readShare(m mpix.Transport, path string) (points.Matrix, error) {
	if m.Size() == 1 {
		return points.ReadFile(path)
	}
	rows, err := points.OpenRows(path)
	if err == nil {
		defer rows.Close()
	}
	whole := []int64{0}
	if m.Rank() == 0 && errors.Is(err, points.ErrWhole) {
		whole[0] = 1
	}
	if err := m.AllReduce(whole, team.Max); err != nil {
		return points.Matrix{}, err
	}
	if whole[0] != 0 {
		return handOut(m, path)
	}
	if err := team.Agree(m, err); err != nil {
		return points.Matrix{}, err
	}
	shape := []int64{int64(rows.Count), -int64(rows.Count), int64(rows.Dims), -int64(rows.Dims)}
	if err := m.AllReduce(shape, team.Max); err != nil {
		return points.Matrix{}, err
	}
	if shape[0] != -shape[1] || shape[2] != -shape[3] {
		return points.Matrix{}, hint.With(fmt.Errorf("%s is not the same file on all hosts", path), "name a file on a file system that all hosts share")
	}
	mine, err := rows.Read(share(rows.Count, m.Rank(), m.Size()), share(rows.Count, m.Rank()+1, m.Size()))
	return mine, team.Agree(m, err)
}

// share is where the rows of a member begin.
func share(rows, rank, size int) int { return int(int64(rows) * int64(rank) / int64(size)) }

// handOut has member 0 read a file, and give each member its share.
func handOut(m mpix.Transport, path string) (points.Matrix, error) {
	var all points.Matrix
	var err error
	if m.Rank() == 0 {
		all, err = points.ReadFile(path)
	}
	if err := team.Agree(m, err); err != nil {
		return all, err
	}
	dims := []int64{int64(all.Dims)}
	if err := m.AllReduce(dims, team.Max); err != nil {
		return all, err
	}
	parts := make([][]float64, m.Size())
	for i := 0; i < len(parts) && m.Rank() == 0; i++ {
		parts[i] = all.Coords[share(all.Rows(), i, len(parts))*all.Dims : share(all.Rows(), i+1, len(parts))*all.Dims]
	}
	shares, err := team.Exchange(m, parts)
	if err != nil {
		return all, err
	}
	return points.Matrix{Dims: int(dims[0]), Coords: shares[0]}, nil
}

func writeLabels(path string, labels [][]int32) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for _, part := range labels {
		for _, label := range part {
			line = append(strconv.AppendInt(line[:0], int64(label), 10), '\n')
			w.Write(line) // Flush returns errors
		}
	}
	err = errors.Join(w.Flush(), f.Close())
	if info, statErr := os.Stat(path); err != nil && statErr == nil && info.Mode().IsRegular() {
		os.Remove(path) // a part of the labels would pass for all of them
	}
	return err
}
