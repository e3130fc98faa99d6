package dbscan_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"moriens/analysis/dbscan"
	"moriens/internal/mpix"
	"moriens/internal/team"
)

// A frail member breaks down in one of its calls.
type frail struct {
	mpix.Transport
	left int
}

var errFrail = errors.New("broken down")

func (f *frail) breaks() bool {
	if f.left--; f.left == 0 {
		f.Abort(1)
	}
	return f.left <= 0
}

func (f *frail) AllGather(mine []byte) ([][]byte, error) {
	if f.breaks() {
		return nil, errFrail
	}
	return f.Transport.AllGather(mine)
}

func (f *frail) AllToAll(parts [][]byte) ([][]byte, error) {
	if f.breaks() {
		return nil, errFrail
	}
	return f.Transport.AllToAll(parts)
}

func (f *frail) AllReduce(values []int64, op team.Op) error {
	if f.breaks() {
		return errFrail
	}
	return f.Transport.AllReduce(values, op)
}

// Wherever a member breaks down, all get an error.
func TestSharedBreaksDown(t *testing.T) {
	dbscan.GatherUpTo(t, 0)
	dbscan.PileUp(t, 4)
	for name, c := range map[string]struct {
		dims int
		ask  func(x *dbscan.Shared) error
	}{
		"grid":             {2, func(x *dbscan.Shared) error { _, err := x.ClusterOnGrid(.02, 8); return err }},
		"regions":          {5, func(x *dbscan.Shared) error { _, err := x.Cluster(.1, 8); return err }},
		"line":             {1, func(x *dbscan.Shared) error { c, err := x.Curve(9, 0); return errors.Join(err, knee(c)) }},
		"nearest":          {2, func(x *dbscan.Shared) error { _, _, err := wholeCurve(x, 9, 50); return err }},
		"many neighbours":  {2, func(x *dbscan.Shared) error { _, _, err := wholeCurve(x, 1200, 50); return err }},
		"a curve of parts": {1, func(x *dbscan.Shared) error { _, _, err := wholeCurve(x, 9, 0); return err }},
	} {
		p := dbscan.Crowds(rand.New(rand.NewPCG(4, 4)), 3_000, c.dims, .02, 0)
		for calls := 1; ; calls++ {
			errs := make([]error, 3)
			var wg sync.WaitGroup
			whole := false
			for i, m := range mpix.Local(len(errs)) {
				wg.Go(func() {
					begin, end := i*p.Len()/len(errs), (i+1)*p.Len()/len(errs)
					var member team.Team = m
					var weak *frail
					if i == 1 {
						weak = &frail{m, calls}
						member = weak
					}
					x, err := dbscan.NewShared(member, dbscan.Points{Dims: c.dims, Coords: p.Coords[begin*c.dims : end*c.dims]}, 1)
					if err == nil {
						err = c.ask(x)
					}
					errs[i] = err
					if weak != nil {
						whole = weak.left > 0
					}
				})
			}
			wg.Wait()
			if whole {
				if err := errors.Join(errs...); err != nil || calls < 5 {
					t.Errorf("%s: after %d calls: %v", name, calls, err)
				}
				break
			}
			if slices.Contains(errs, nil) {
				t.Errorf("%s: member 1 broke in call %d: %v", name, calls, errs)
			}
		}
	}
}
