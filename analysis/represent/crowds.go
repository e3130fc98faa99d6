package represent

import (
	"fmt"
	"math/bits"

	"moriens/analysis/dbscan"
	"moriens/analysis/workers"
)

const (
	// highest is what the knee of the k-distance curve may raise Eps to, in floors. Few threads that are all unlike each
	// other have no density; the knee of their distances would join them.
	highest = 5
	// atOnce is how many threads are clustered at once. In eight dimensions the work grows with the square of a crowd.
	atOnce = 4096
	// asked is how many threads the k-distance curve is made of.
	asked = 2000
)

// crowds are the threads that are dense.
type crowds struct {
	labels []int32 // per thread, dbscan.Noise = in none
	count  int
	how    string
}

// findCrowds clusters by density. Of more than atOnce threads it clusters a sample. Threads within Eps of a core point
// of the sample belong to its crowd. With all others, such as the few at corners that the sample missed, it starts
// again.
func findCrowds(p dbscan.Points, o ClassOptions) (*crowds, error) {
	n := p.Len()
	c := &crowds{labels: make([]int32, n)}
	rest := make([]int32, n)
	for i := range rest {
		rest[i] = int32(i)
		c.labels[i] = dbscan.Noise
	}
	var eps float64
	for {
		sample, minPts := rest, minPoints(n)
		if len(rest) > atOnce {
			sample = make([]int32, 0, atOnce)
			for _, i := range thinRows(len(rest), atOnce) {
				sample = append(sample, rest[i])
			}
			minPts = minPoints(atOnce)
		}
		index, err := dbscan.NewIndex(pick(p, sample), o.Workers)
		if err != nil {
			return nil, err
		}
		if c.how == "" {
			var from string
			if eps, from, err = chooseEps(index, minPts, o.Floor); err != nil {
				return nil, err
			}
			c.how = fmt.Sprintf("by density (Eps %.3g, %s; MinPts %d)", eps, from, minPts)
			if len(sample) < n {
				c.how += fmt.Sprintf(" of %d threads, with which others were compared", len(sample))
			}
		}
		found, err := index.Cluster(eps, minPts)
		if err != nil {
			return nil, err
		}
		var cores []int32
		for i, t := range sample {
			if found.Labels[i] != dbscan.Noise {
				c.labels[t] = int32(c.count) + found.Labels[i]
			}
			if found.Core[i] {
				cores = append(cores, t)
			}
		}
		c.count += found.Clusters
		if len(sample) == len(rest) || found.Clusters == 0 {
			return c, nil
		}
		c.join(p, rest, cores, eps, o.Workers)
		var left []int32
		for _, t := range rest {
			if c.labels[t] == dbscan.Noise {
				left = append(left, t)
			}
		}
		rest = left
		if len(rest) == 0 {
			return c, nil
		}
	}
}

// join labels those of rest that are within eps of a core, as the first of these.
func (c *crowds) join(p dbscan.Points, rest, cores []int32, eps float64, threads int) {
	workers.Chunks(len(rest), threads, func(_, from, to int) {
		for _, t := range rest[from:to] {
			if c.labels[t] != dbscan.Noise {
				continue
			}
			for _, core := range cores {
				if distance2(point(p, int(t)), point(p, int(core))) <= eps*eps {
					c.labels[t] = c.labels[core]
					break
				}
			}
		}
	})
}

// chooseEps takes the knee of the distances, but neither less than the floor nor much more.
func chooseEps(index *dbscan.Index, minPts int, floor float64) (eps float64, from string, err error) {
	if minPts == 1 { // what is chance among so few is not known
		return highest * floor, "the maximum", nil
	}
	curve, err := index.KDistance(minPts-1, asked) // the point itself is one of MinPts
	if err != nil {
		return 0, "", err
	}
	switch knee, ok := dbscan.FindKnee(curve); {
	case !ok || knee.Eps <= floor:
		return floor, "the floor", nil
	case knee.Eps > highest*floor:
		return highest * floor, fmt.Sprintf("the maximum; the knee of the distances is at %.3g", knee.Eps), nil
	default:
		return knee.Eps, "the knee of the distances", nil
	}
}

// minPoints is how many threads make a class. It grows slowly, so that the eight corners of a hundred thousand ranks
// are one; of up to three threads each can be one by itself.
func minPoints(n int) int {
	if n <= 3 {
		return 1
	}
	return max(2, bits.Len(uint(n))/2)
}
