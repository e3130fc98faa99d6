package dbscan

import (
	"fmt"
	"math"
	"slices"
)

// An Incremental clusters points that come in batches. With Eps and MinPts fixed, insertion only
// makes neighbourhoods larger: core points remain core points, and clusters only appear, grow and
// merge. So the state after any batches is that of batch DBSCAN of the same points, and Result gives
// the same answer as Cluster.
//
// A point that falls among core points of one cluster alone is counted and forgotten: its cell is
// quiet. Where no cell can appear any more beside it either, its coordinates are not kept.
//
// The files: incremental.go takes points in, growing.go says what a new one changes, weights.go lets points stand for
// several, clusters.go gives the answer.
//
// Its methods must not be called at the same time.
type Incremental struct {
	frame
	minPts int
	table  *cellTable // numbers cells
	keys   []uint64   // of the points that are being inserted
	sure   []int32    // room for the lists of a new cell
	near   []int32
	around []offset
	cells  []growingCell
	calm   []calm      // per cell
	watch  [][]float64 // per cell at the edge: the points that wait near it, and some that did
	sets   forest      // of cells with core points
	ids    []int32     // per cell, at roots: the stable id of the cluster
	rows   rowCells
	nextID int32
	// Of a weighted one, per point: for how many it stands, MinPts at most, since more change nothing.
	// nil if each stands for itself.
	weight []int32
}

// An offset leads from a cell's key to that of one around it.
type offset struct {
	key  uint64
	sure bool
}

// A growingCell holds the points of a cell about which something may still be asked.
type growingCell struct {
	cores      pointList // first, since most points only ask for its room
	key        uint64
	full, core bool
	inSure     int32   // points in the sure cells around and in itself, until it is full
	neighbours int32   // cells around, without itself
	sure, near []int32 // these cells; of a full cell only those that are not full or in another cluster
	coreRows   []int32 // of the cores, where points have weights
	settleAt   int     // how many cores there have to be for settle to be worth while
	tree       *tree   // of the first cores, where there are many to be asked
	waiting    []waitingPoint
}

// A waitingPoint is no core point yet.
type waitingPoint struct {
	at    [gridDims]float64
	row   int32
	found int32 // its neighbours so far, itself included
}

// calm says how little a new point in a cell changes.
type calm uint8

const (
	busy     calm = iota
	edge          // it is a core point, and only points that wait near the cell may care
	quiet         // it is a core point, and all around it is in one cluster
	interior      // quiet, and there is no place for new cells around
)

// A RangeError says which coordinate is too far from the first point for the cells to be numbered.
type RangeError struct {
	Row, Dim int // 0-based, in the batch
	Value    float64
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("dbscan: row %d, dimension %d: %v is too many Eps away from the first point", e.Row, e.Dim, e.Value)
}

// IncrementalDims is the largest number of dimensions of points that come in batches.
const IncrementalDims = gridDims

// NewIncremental starts with no points, of 1 to 4 dimensions. eps must be > 0, between 1e-99 and
// 1e99; minPts ≥ 1.
func NewIncremental(dims int, eps float64, minPts int) (*Incremental, error) {
	if dims < 1 || dims > gridDims {
		return nil, fmt.Errorf("dbscan: %d dimensions: want 1 to %d for points that come in batches", dims, gridDims)
	}
	if err := checkParameters(eps, minPts); err != nil {
		return nil, err
	}
	if minPts > math.MaxInt32 {
		return nil, fmt.Errorf("dbscan: MinPts %d: want at most %d", minPts, math.MaxInt32)
	}
	if !(eps > 1e-99 && eps < 1e99) {
		return nil, fmt.Errorf("dbscan: Eps %v: want one between 1e-99 and 1e99 for points that come in batches", eps)
	}
	fineness := 1
	if dims <= 2 {
		fineness = 2
	}
	x := &Incremental{minPts: minPts, table: newCellTable()}
	x.frame = frame{lattice: cliques(dims, fineness, eps), dims: dims, bits: uint(64 / dims)}
	x.inv = 1 / x.side
	s := newStencil(&x.frame)
	for i, pieces := range [][]piece{s.sure, s.near} {
		for _, p := range pieces {
			for k := p.from; k != p.to+1; k++ {
				if k != 0 {
					x.around = append(x.around, offset{k, i == 0})
				}
			}
		}
	}
	return x, nil
}

// Len returns the number of points inserted so far.
func (x *Incremental) Len() int { return x.rows.n }

// Insert adds a batch of points. It keeps no reference to p.Coords. If there is an error none of the
// points is added: coordinates that are not finite are a *NotFiniteError, those too far from the first
// point, 2^23 cells in 1-D and 2-D, 2^20 in 3-D and 2^15 in 4-D, a *RangeError. A cell is Eps/√d wide,
// half of that in 1-D and 2-D.
func (x *Incremental) Insert(p Points) error { return x.insertAll(p, nil) }

func (x *Incremental) insertAll(p Points, weights []int64) error {
	if p.Dims != x.dims {
		return fmt.Errorf("dbscan: points of %d dimensions among points of %d", p.Dims, x.dims)
	}
	if err := checkShape(p); err != nil {
		return err
	}
	if n := x.Len() + p.Len(); n > math.MaxInt32 {
		return fmt.Errorf("dbscan: %d points: want at most %d", n, math.MaxInt32)
	}
	if x.Len() == 0 && p.Len() > 0 {
		if err := checkFinite(p); err != nil {
			return err
		}
		x.center(p.Coords[:p.Dims])
	}
	if !x.findKeys(p) {
		if err := checkFinite(p); err != nil {
			return err
		}
		return x.rangeError(p)
	}
	for i := range p.Len() {
		weight := int64(1)
		if x.weight == nil {
			break
		} else if weights != nil {
			weight = weights[i]
		}
		x.weight = append(x.weight, int32(min(weight, int64(x.minPts))))
	}
	coords := p.Coords
	for keys := x.keys; len(keys) > 0; {
		first := x.rows.n
		of := x.rows.extend(min(insertBlock, len(keys)))
		x.insertBlock(coords, keys[:len(of)], first, of)
		coords, keys = coords[len(of)*x.dims:], keys[len(of):]
	}
	return nil
}

// insertBlock is how many points are looked up at a time, so that memory is waited for once for many.
const insertBlock = 256

// insertBlock inserts points that are rows first … and writes down their cells.
func (x *Incremental) insertBlock(coords []float64, keys []uint64, first int, of []int32) {
	slots, shift := x.table.slots, x.table.shift
	mask := uint64(len(slots) - 1)
	for i, key := range keys {
		s := &slots[hashKey(key)>>shift&mask]
		of[i] = s.id
		if s.key != key {
			of[i] = x.cellOf(key)
			slots, shift = x.table.slots, x.table.shift
			mask = uint64(len(slots) - 1)
		}
	}
	d := x.dims
	for i, c := range of {
		switch at := coords[i*d : i*d+d]; x.calm[c] {
		case quiet:
			x.keep(&x.cells[c], at, int32(first+i))
		case edge:
			if countNear(at, x.watch[c], x.eps2, 1) == 0 {
				x.keep(&x.cells[c], at, int32(first+i))
				continue
			}
			x.cells[c].settleAt = 0 // the point may cease to wait
			x.insert(c, at, int32(first+i))
		case busy:
			x.insert(c, at, int32(first+i))
		}
	}
}

// findKeys finds the keys of the cells of points; not ok where one is out of range.
func (x *Incremental) findKeys(p Points) (ok bool) {
	x.keys = slices.Grow(x.keys[:0], p.Len())[:p.Len()]
	least, below := x.limits()
	if x.dims == 2 {
		x0, y0, inv, belowX, belowY := x.origin[0], x.origin[1], x.inv, below[0], below[1]
		keys, coords := x.keys, p.Coords[:2*len(x.keys)]
		for i := range keys {
			u, v := (coords[2*i]-x0)*inv, (coords[2*i+1]-y0)*inv
			if !(u >= least && u < belowX && v >= least && v < belowY) {
				return false
			}
			keys[i] = uint64(int64(u))<<32 | uint64(int64(v))
		}
		return true
	}
	d := x.dims
	for i := range x.keys {
		var key uint64
		for j, v := range p.Coords[i*d : i*d+d] {
			u := (v - x.origin[j&3]) * x.inv // &3: j is below gridDims
			if !(u >= least && u < below[j&3]) {
				return false
			}
			key = key<<(x.bits&63) | uint64(int64(u))
		}
		x.keys[i] = key
	}
	return true
}

// cellOf returns the cell of a key, if need be a new one.
func (x *Incremental) cellOf(key uint64) int32 {
	s := x.table.slot(key)
	if s.key == 0 {
		id := x.table.enter(key).id
		x.newCell(key)
		return id
	}
	return s.id
}

// keep keeps the coordinates of a core point.
func (x *Incremental) keep(cell *growingCell, at []float64, row int32) {
	cell.cores.add(at)
	if x.weight != nil {
		cell.coreRows = append(cell.coreRows, row)
	}
}

// center numbers cells so that the first point is in the middle.
func (x *Incremental) center(first []float64) {
	half := math.Ldexp(1, min(int(x.bits), 24)-1)
	for j, v := range first {
		x.origin[j] = v - half*x.side
		x.frame.cells[j] = 2 * half
	}
}

func (x *Incremental) rangeError(p Points) error {
	least, below := x.limits()
	for i, v := range p.Coords {
		if n := (v - x.origin[i%x.dims]) * x.inv; !(n >= least && n < below[i%x.dims]) {
			return &RangeError{Row: i / x.dims, Dim: i % x.dims, Value: v}
		}
	}
	return nil
}
