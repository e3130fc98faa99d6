package refine

import (
	"fmt"

	"moriens/analysis/dbscan"
)

// A part is some of a group's bursts.
type part struct {
	*Group
	at []int32 // their places among its rows, ascending; nil = all
}

func (p *part) len() int {
	if p.at == nil {
		return len(p.Rows)
	}
	return len(p.at)
}

// place is where one of them is among the group's rows.
func (p *part) place(i int) int32 {
	if p.at == nil {
		return int32(i)
	}
	return p.at[i]
}

func (p *part) row(i int) int32 { return p.Rows[p.place(i)] }

// burstsOf is how many bursts a row of the part stands for.
func (p *part) burstsOf(i int) int {
	if p.Weights == nil {
		return 1
	}
	return int(p.Weights[p.place(i)])
}

// bursts is how many bursts the part has.
func (p *part) bursts() int {
	if p.Weights == nil {
		return p.len()
	}
	sum := 0
	for i := range p.len() {
		sum += p.burstsOf(i)
	}
	return sum
}

// some are those of the part's bursts for which f is true; at is their places in the part.
func (p *part) some(f func(i int) bool) (some part, at []int32) {
	some, at = part{p.Group, []int32{}}, []int32{}
	for i := range p.len() {
		if f(i) {
			some.at, at = append(some.at, p.place(i)), append(at, int32(i))
		}
	}
	return some, at
}

// points copies the part's points, unless these are all of the group.
func (p *part) points() dbscan.Points {
	if p.at == nil {
		return p.Points
	}
	dims := p.Points.Dims
	q := dbscan.Points{Dims: dims, Coords: make([]float64, 0, len(p.at)*dims)}
	for _, i := range p.at {
		q.Coords = append(q.Coords, p.Points.Coords[int(i)*dims:(int(i)+1)*dims]...)
	}
	return q
}

// cluster clusters a part by itself: a label per row, and how many clusters there are.
func (r *refinement) cluster(p part, eps float64, minPts, threads int) (labels []int32, clusters int, err error) {
	if p.Cluster != nil {
		return p.ask(eps, minPts)
	}
	var found *dbscan.Result
	if p.Weights != nil {
		weights := make([]int64, p.len())
		for i := range weights {
			weights[i] = int64(p.burstsOf(i))
		}
		found, err = dbscan.WeightedCluster(p.points(), weights, eps, minPts, threads)
	} else {
		index := p.Index
		if index == nil || p.at != nil {
			if index, err = dbscan.NewShared(r.teamOf(p.Group), p.points(), threads); err != nil {
				return nil, 0, err
			}
		}
		found, err = index.Cluster(eps, minPts)
	}
	if err != nil {
		return nil, 0, err
	}
	return found.Labels, found.Clusters, nil
}

// ask has the group's own function cluster.
func (p *part) ask(eps float64, minPts int) ([]int32, int, error) {
	at := make([]int32, p.len())
	for i := range at {
		at[i] = p.place(i)
	}
	labels, clusters, err := p.Cluster(at, eps, minPts)
	if err != nil {
		return nil, 0, err
	}
	if len(labels) != len(at) {
		return nil, 0, fmt.Errorf("refine: a group's own clustering gives %d labels to %d rows", len(labels), len(at))
	}
	for i, label := range labels {
		if label < dbscan.Noise || int(label) >= clusters {
			return nil, 0, fmt.Errorf("refine: a group's own clustering gives row %d the label %d: want %d, or one below %d", at[i], label, dbscan.Noise, clusters)
		}
	}
	return labels, clusters, nil
}
