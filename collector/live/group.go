package live

import (
	"errors"

	"moriens/analysis/cell"
	"moriens/analysis/dbscan"
)

// A group is bursts that are clustered together.
type group struct {
	of calls
	places
	bursts int64
	more   []bool  // per place: there are bursts since the last clustering
	grown  []int32 // places where that is so

	density
	asked      int64               // bursts when the knee was last looked for
	clustering *dbscan.Incremental // of the places, by number; nil until there is one for this density
	counted    []int64             // of each place in it: its weight there
	far        bool                // some place is too far away for that

	clusters  []cluster
	label     []int32 // of places: their clusters
	clustered int     // places that have been clustered as they are: the first ones
	shortNS   int64   // for which they were described
}

// A cluster is one with what the filter keeps of it.
type cluster struct {
	Cluster
	kept int64 // bursts
}

func newGroup(of calls, dims int, side float64) *group {
	return &group{of: of, places: newPlaces(dims, side)}
}

// add takes bursts at one place, and reports whether that has been clustered: then they are of its cluster.
func (g *group) add(at []float64, x amount) (placed bool) {
	i := g.places.add(g.key(at), x, 0)
	if int(i) == len(g.more) {
		g.more = append(g.more, false)
	}
	if !g.more[i] {
		g.grown = append(g.grown, i)
		g.more[i] = true
	}
	g.bursts += x.bursts
	if int(i) < len(g.label) && g.label[i] != dbscan.Noise {
		g.clusters[g.label[i]].add(x, g.keeps(int(i), g.shortNS))
	}
	if len(g.keys) > mostPlaces {
		g.replace(g.bounded())
	}
	return int(i) < g.clustered
}

// add adds bursts to the cluster, of which the filter keeps all or none.
func (k *cluster) add(x amount, kept bool) {
	k.Bursts += x.bursts
	k.TimeNS += x.timeNS
	if kept {
		k.kept += x.bursts
	}
}

// replace moves the same bursts to other places. They are clustered again.
func (g *group) replace(p places) {
	g.places, g.clustering, g.clustered, g.label = p, nil, 0, nil
	g.more, g.grown = make([]bool, len(p.keys)), g.grown[:0]
	for i := range p.keys {
		g.more[i] = true
		g.grown = append(g.grown, int32(i))
	}
}

// keeps reports whether the automatic filter would keep what is at a place, as far as can be said of all of it.
func (g *group) keeps(i int, shortNS int64) bool { return g.timeNS[i] >= shortNS*g.count[i] }

// cluster clusters the places of the group, if there are more bursts than the last time. Where the automatic filter
// leaves out all bursts there is no need to.
func (g *group) cluster(o densityOptions, shortNS int64, lastID *int32) error {
	if len(g.grown) == 0 && shortNS == g.shortNS {
		return nil
	}
	var kept int64
	for i, n := range g.count {
		if g.keeps(i, shortNS) {
			kept += n
		}
	}
	g.shortNS = shortNS
	if kept == 0 {
		g.clusters, g.clustered, g.label = nil, len(g.keys), nil
		return nil
	}
	if err := g.chooseDensity(o, kept); err != nil {
		return err
	}
	labels, clusters, err := g.labels()
	if err != nil {
		return err
	}
	for _, i := range g.grown {
		g.more[i] = false
	}
	g.grown = g.grown[:0]
	g.describe(labels, clusters, lastID)
	return nil
}

// labels clusters the places.
func (g *group) labels() (labels []int32, clusters int, err error) {
	if g.rare() {
		return make([]int32, len(g.keys)), 1, nil
	}
	if g.dims <= dbscan.IncrementalDims && g.eps > 0 && !g.far {
		err := g.grow()
		if err == nil {
			r, _ := g.clustering.Result()
			return r.Labels, r.Clusters, nil
		}
		var far *dbscan.RangeError
		if !errors.As(err, &far) {
			return nil, 0, err
		}
		g.far = true
	}
	g.clustering = nil
	cells := make([]cell.Cell, len(g.keys))
	for i := range cells {
		cells[i] = cell.Of(g.at(int32(i)), g.weight(int32(i)))
	}
	w, err := dbscan.Weighted(g.dims, cells, g.eps, g.minPts, 1)
	if err != nil {
		return nil, 0, err
	}
	return w.Labels, w.Clusters, nil // exact: cells that are points leave no questions
}

// leastSampled is how many bursts of a sample a dense place has at least, where MinPts is not less.
const leastSampled = 4

// weight is for how many bursts a place counts. Where each of a sample stands for many, one counts for a part of MinPts
// alone: by itself it says nothing of how dense its place is.
func (g *group) weight(i int32) int64 {
	return min(g.count[i], g.sampled[i]*int64(max(1, g.minPts/leastSampled)))
}

// rare reports whether there are too few bursts for any place to be dense.
func (g *group) rare() bool {
	n := int64(0)
	for i := range g.keys {
		if n += g.weight(int32(i)); n >= int64(g.minPts) {
			return false
		}
	}
	return true
}

// grow adds to the clustering what is new.
func (g *group) grow() (err error) {
	known := 0
	if g.clustering == nil {
		g.counted = g.counted[:0]
		if g.clustering, err = dbscan.NewWeightedIncremental(g.dims, g.eps, g.minPts); err != nil {
			return err
		}
	} else {
		known = g.clustering.Len()
		for _, i := range g.grown {
			if int(i) >= known {
				continue
			}
			weight := g.weight(i)
			if err := g.clustering.Grow(int(i), g.at(i), weight-g.counted[i]); err != nil {
				return err
			}
			g.counted[i] = weight
		}
	}
	for i := known; i < len(g.keys); i++ {
		g.counted = append(g.counted, g.weight(int32(i)))
	}
	return g.clustering.InsertWeighted(dbscan.Points{Dims: g.dims, Coords: g.coords[known*g.dims:]}, g.counted[known:])
}

// describe sums the clusters up and gives them their ids.
func (g *group) describe(labels []int32, clusters int, lastID *int32) {
	g.clusters = make([]cluster, clusters)
	for i, label := range labels {
		if label == dbscan.Noise {
			continue
		}
		g.clusters[label].add(g.amount(i), g.keeps(i, g.shortNS))
	}
	for k, id := range g.identify(labels, lastID) {
		g.clusters[k].ID, g.clusters[k].Before, g.clusters[k].After = id, g.of.before, g.of.after
	}
	for i, label := range labels {
		g.id[i] = 0
		if label != dbscan.Noise {
			g.id[i] = g.clusters[label].ID
		}
	}
	g.clustered, g.label = len(labels), append(g.label[:0], labels...)
}

// idAt is the cluster of what is at some coordinates, 0 = of none, and whether that place has been clustered.
func (g *group) idAt(coords []float64) (id int32, clustered bool) {
	i, known := g.number[g.key(coords)]
	if !known {
		return 0, false
	}
	return g.id[i], int(i) < g.clustered
}
