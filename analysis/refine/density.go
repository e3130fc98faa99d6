package refine

import (
	"moriens/analysis/dbscan"
	"moriens/internal/team"
)

// A density is a clustering of some bursts of a group with one Eps.
type density struct {
	labels []int32 // per burst here: an index into minPts, or dbscan.Noise
	minPts []int   // per cluster
}

// dense clusters a part of a group. Where rare kinds are sought it clusters the noise once more, with the MinPts of the
// noise's own number, as long as that is smaller: MinPts grows with the bursts of a group, and what is rare among many
// would otherwise be noise, however long it lasts. In the end two bursts are enough for a kind, until evaluate has
// checked whether all threads do it at the same time.
func (r *refinement) dense(p part, eps float64, threads int) (*density, error) {
	labels, clusters, err := r.cluster(p, eps, p.MinPts, threads)
	if err != nil {
		return nil, err
	}
	d := &density{labels: labels, minPts: make([]int, clusters)}
	for i := range d.minPts {
		d.minPts[i] = p.MinPts
	}
	if r.options.RareMinPts == nil {
		return d, nil
	}
	t := r.teamOf(p.Group)
	for minPts := p.MinPts; ; {
		left, at := p.some(func(i int) bool { return d.labels[i] == dbscan.Noise })
		noise := []int64{int64(left.bursts()), r.timeOf(left)}
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
		case minPts > tentative && r.scored():
			minPts = tentative
		default:
			return d, nil
		}
		if err := Halted(t, r.options.Halt); err != nil {
			return nil, err
		}
		labels, clusters, err := r.cluster(left, eps, minPts, threads)
		if err != nil {
			return nil, err
		}
		time := make([]int64, clusters)
		for i, label := range labels {
			if label != dbscan.Noise {
				time[label] += r.bursts.DurationNS[left.row(i)]
			}
		}
		if err := t.AllReduce(time, team.Sum); err != nil {
			return nil, err
		}
		d.adopt(labels, at, time, minPts, r.rareNS())
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

// adopt takes over, of the clusters of what is at some places, those that have time enough.
func (d *density) adopt(labels, at []int32, time []int64, minPts int, rareNS int64) {
	number := make([]int32, len(time))
	for k := range number {
		number[k] = dbscan.Noise
		if time[k] > 0 && time[k] >= rareNS {
			number[k] = int32(len(d.minPts))
			d.minPts = append(d.minPts, minPts)
		}
	}
	for i, label := range labels {
		if label != dbscan.Noise {
			d.labels[at[i]] = number[label]
		}
	}
}

func (r *refinement) rareNS() int64 { return int64(RareShare * float64(r.totalNS)) }

// timeOf is the time of a part.
func (r *refinement) timeOf(p part) int64 {
	var sum int64
	for i := range p.len() {
		sum += r.bursts.DurationNS[p.row(i)]
	}
	return sum
}
