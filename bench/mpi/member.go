package main

import (
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"time"

	"moriens/analysis/dbscan"
	"moriens/bench/timing"
	"moriens/internal/mpix"
	"moriens/internal/team"
)

const minPts = 10

// A result is what a run has taken and found.
type result struct {
	Seconds, Processor float64 // the latter of all members
	Clusters, Noise    int
	Stages             []stage
}

// A stage is a part of the work.
type stage struct {
	Name    string
	Seconds float64 // of the member that took longest, waiting for others included
	Calls   int     // collective ones
	Bytes   int64   // sent by all members
}

// asMember is one process of a job. The first one says what the job has taken.
func asMember(out io.Writer, t task) error {
	m, err := mpix.Open()
	if err != nil {
		return err
	}
	r, err := run(m, t, true)
	if err == nil && m.Rank() == 0 {
		err = json.NewEncoder(out).Encode(r)
	}
	return errors.Join(err, m.Close())
}

// asMembers is all members, as goroutines of this process.
func asMembers(out io.Writer, t task, n int) error {
	var first result
	err := mpix.Each(n, func(m mpix.Transport) error {
		r, err := run(m, t, m.Rank() == 0)
		if m.Rank() == 0 {
			first = r
		}
		return err
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(first)
}

// run is one member's part. process says that it speaks for its process: its processor time counts.
func run(m mpix.Transport, t task, process bool) (r result, err error) {
	p := share(t.points, m.Rank(), m.Size())
	runtime.GC() // what making them has left
	if err := m.Barrier(); err != nil {
		return r, err
	}
	before, err := timing.CPU()
	if err != nil {
		return r, err
	}
	start := time.Now()
	shared, err := dbscan.NewShared(m, p, 1)
	if err != nil {
		return r, err
	}
	found, err := shared.Cluster(t.eps, minPts)
	if err != nil {
		return r, err
	}
	if err := m.Barrier(); err != nil {
		return r, err
	}
	r.Seconds, r.Clusters = time.Since(start).Seconds(), found.Clusters
	costs := shared.Costs()
	sums, seconds := make([]int64, 2+len(costs)), make([]int64, len(costs))
	if process {
		after, err := timing.CPU()
		if err != nil {
			return r, err
		}
		sums[0] = int64(1e9 * (after - before))
	}
	for _, label := range found.Labels {
		if label == dbscan.Noise {
			sums[1]++
		}
	}
	for i, c := range costs {
		sums[2+i], seconds[i] = c.Bytes, int64(c.Seconds*1e9)
	}
	if err := errors.Join(m.AllReduce(sums, team.Sum), m.AllReduce(seconds, team.Max)); err != nil {
		return r, err
	}
	r.Processor, r.Noise = float64(sums[0])/1e9, int(sums[1])
	for i, c := range costs {
		r.Stages = append(r.Stages, stage{c.Name, float64(seconds[i]) / 1e9, c.Calls, sums[2+i]})
	}
	return r, nil
}
