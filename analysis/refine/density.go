package refine

import (
	"moriens/analysis/dbscan"
	"moriens/analysis/team"
)

// A density is a clustering of some bursts of a group with one Eps.
type density struct {
	labels []int32 // per burst here: an index into minPts, or dbscan.Noise
	minPts []int   // per cluster
}

// dense clusters a group's points. Where rare kinds are sought it clusters the noise once more, with
// the MinPts that its own number asks for, as long as that is smaller: MinPts grows with the bursts
// of a group, and would else call everything noise that is rare among many, however long it lasts. In the end
// it takes two bursts for a kind, until judge has seen whether all threads do it at the same time.
func (r *refinement) dense(g *Group, rows []int32, points dbscan.Points, index *dbscan.Shared, eps float64, threads int) (*density, error) {
	first, err := index.Cluster(eps, g.MinPts)
	if err != nil {
		return nil, err
	}
	d := &density{labels: first.Labels, minPts: make([]int, first.Clusters)}
	for i := range d.minPts {
		d.minPts[i] = g.MinPts
	}
	if r.options.RareMinPts == nil {
		return d, nil
	}
	t := r.teamOf(g)
	for minPts := g.MinPts; ; {
		var at []int32
		for i, label := range d.labels {
			if label == dbscan.Noise {
				at = append(at, int32(i))
			}
		}
		noise := []int64{int64(len(at)), r.timeOf(rows, at)}
		if err := t.AllReduce(noise, team.Sum); err != nil {
			return nil, err
		}
		if noise[0] < tentative || noise[1] < r.rareNS() {
			return d, nil
		}
		smaller := r.options.RareMinPts(int(noise[0]))
		switch {
		case smaller < minPts:
			minPts = smaller
		case minPts > tentative && r.bursts.Ends != nil:
			minPts = tentative
		default:
			return d, nil
		}
		left, err := dbscan.NewShared(t, gather(points, at), threads)
		if err != nil {
			return nil, err
		}
		again, err := left.Cluster(eps, minPts)
		if err != nil {
			return nil, err
		}
		if err := d.adopt(t, again, at, minPts, r, rows); err != nil {
			return nil, err
		}
	}
}

// teamOf are the members that have bursts of a group, as far as they work together.
func (r *refinement) teamOf(g *Group) team.Team {
	if g.Shared {
		return r.bursts.Team
	}
	return team.Solo{}
}

// tentative is the MinPts of clusters that the sequences have to confirm.
const tentative = 2

// adopt takes over the clusters that have time enough.
func (d *density) adopt(t team.Team, again *dbscan.Result, at []int32, minPts int, r *refinement, rows []int32) error {
	time := make([]int64, again.Clusters)
	for i, label := range again.Labels {
		if label != dbscan.Noise {
			time[label] += r.bursts.DurationNS[rows[at[i]]]
		}
	}
	if err := t.AllReduce(time, team.Sum); err != nil {
		return err
	}
	number := make([]int32, again.Clusters)
	for k := range number {
		number[k] = dbscan.Noise
		if time[k] > 0 && time[k] >= r.rareNS() {
			number[k] = int32(len(d.minPts))
			d.minPts = append(d.minPts, minPts)
		}
	}
	for i, label := range again.Labels {
		if label != dbscan.Noise {
			d.labels[at[i]] = number[label]
		}
	}
	return nil
}

func (r *refinement) rareNS() int64 { return int64(RareShare * float64(r.totalNS)) }

// timeOf is the time of the rows at some places.
func (r *refinement) timeOf(rows, at []int32) int64 {
	var sum int64
	for _, i := range at {
		sum += r.bursts.DurationNS[rows[i]]
	}
	return sum
}

// gather copies some points.
func gather(p dbscan.Points, at []int32) dbscan.Points {
	q := dbscan.Points{Dims: p.Dims, Coords: make([]float64, 0, len(at)*p.Dims)}
	for _, i := range at {
		q.Coords = append(q.Coords, p.Coords[int(i)*p.Dims:(int(i)+1)*p.Dims]...)
	}
	return q
}
