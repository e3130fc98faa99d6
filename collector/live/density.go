package live

import (
	"math"

	"moriens/analysis/dbscan"
	"moriens/analysis/grouping"
)

// kneeQueries is how many bursts of a group are asked for their neighbours: enough for a rank error of the distances
// of 3.6 % with 99 % confidence, where the answer is rounded to a power of two.
const kneeQueries = 2000

// A density is what DBSCAN asks of a neighbourhood, on ladders: Eps is a power of two times the resolution, or a power
// of two where there is none, MinPts a power of two times its least. So it changes seldom while bursts arrive.
type density struct {
	eps    float64
	minPts int
}

// densityOptions are what a group's density depends on beside its bursts.
type densityOptions struct {
	*grouping.Options
	threads int // of the job
}

// minPts is the MinPts for some bursts: what the end of the run takes, or down to half of it.
func (o densityOptions) minPts(bursts int64) int {
	switch {
	case o.Fixed != nil:
		return o.Fixed.MinPts
	case o.MinPts != 0:
		return o.MinPts
	}
	m := max(4, o.threads/4)
	for int64(2*m) <= bursts/200 {
		m *= 2
	}
	return m
}

// chooseDensity chooses the density for the bursts so far, of which the filter keeps some. It looks for the knee
// again when a quarter more bursts have arrived, or with another MinPts.
func (g *group) chooseDensity(o densityOptions, kept int64) error {
	d := density{g.density.eps, o.minPts(kept)}
	switch {
	case g.bursts < int64(d.minPts):
	case o.Fixed != nil:
		d.eps = o.Fixed.Eps
	case g.asked == 0 || g.bursts-g.asked >= g.asked/4 || d.minPts != g.density.minPts:
		curve, err := dbscan.WeightedKDistance(dbscan.Points{Dims: g.dims, Coords: g.coords}, g.count, d.minPts, kneeQueries, 1)
		if err != nil {
			return err
		}
		knee, _ := dbscan.FindKnee(curve)
		d.eps = rung(knee.Eps, o.Floor(), d.eps)
		g.asked = g.bursts
		if d.eps > 0 && g.side == 0 {
			g.replace(g.widened(d.eps / placesPerEps))
		}
	}
	if least := 4 * g.side; o.Fixed == nil && g.asked > 0 && d.eps < least { // places have become wider than the resolution asks for
		if d.eps == 0 {
			d.eps = 1
		}
		d.eps = math.Ldexp(d.eps, int(math.Ceil(math.Log2(least/d.eps))))
	}
	if d != g.density {
		g.density, g.clustering = d, nil
	}
	return nil
}

// rung returns the Eps for a knee: the present one, as long as the knee is within a factor of two.
func rung(knee, floor, eps float64) float64 {
	switch {
	case eps > 0 && knee <= 2*eps && (knee >= eps/2 || eps == floor):
		return eps
	case knee <= floor:
		return floor
	case floor > 0:
		return math.Ldexp(floor, int(math.Round(math.Log2(knee/floor))))
	}
	return math.Ldexp(1, int(math.Round(math.Log2(knee))))
}
