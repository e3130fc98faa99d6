package dbscan

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// An Incremental clusters points that come in batches. With Eps and MinPts fixed, insertion only
// makes neighbourhoods larger: core points stay core points, and clusters only appear, grow and
// merge. So the state after any batches is that of batch DBSCAN of the same points, and Result gives
// the same answer as Cluster.
//
// A point that falls among core points of one cluster alone is counted and forgotten: its cell is
// quiet. Where no cell can appear any more beside it either, its coordinates are not kept.
//
// Its methods must not be called at the same time.
type Incremental struct {
	frame
	minPts int
	table  *cellTable // numbers cells, and counts their points
	around []offset
	cells  []growingCell
	calm   []calm      // per cell
	watch  [][]float64 // per cell at the edge: the points that wait near it, and some that did
	sets   forest      // of cells with core points
	ids    []int32     // per cell, at roots: the stable id of the cluster
	of     []int32     // per point: its cell
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
	key        uint64
	full, core bool
	inSure     int32   // points in the sure cells around and in itself, until it is full
	neighbours int32   // cells around, without itself
	sure, near []int32 // these cells; of a full cell only those that are not full or in another cluster
	cores      pointList
	coreRows   []int32 // of these, where points have weights
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

// NewWeightedIncremental is NewIncremental for points that may stand for several at one place: InsertWeighted
// and Grow say for how many. The answer is that for all of them, given once for each place.
func NewWeightedIncremental(dims int, eps float64, minPts int) (*Incremental, error) {
	x, err := NewIncremental(dims, eps, minPts)
	if err == nil {
		x.weight = []int32{}
	}
	return x, err
}

// Len returns the number of points inserted so far.
func (x *Incremental) Len() int { return len(x.of) }

// Insert adds a batch of points. It keeps no reference to p.Coords. If there is an error none of the
// points is added: coordinates that are not finite are a *NotFiniteError, those too far from the first
// point, 2^23 cells in 1-D and 2-D, 2^20 in 3-D and 2^15 in 4-D, a *RangeError. A cell is Eps/√d wide,
// half of that in 1-D and 2-D.
func (x *Incremental) Insert(p Points) error { return x.insertAll(p, nil) }

// InsertWeighted is Insert for points of which each stands for weights[i], above 0, at its place.
func (x *Incremental) InsertWeighted(p Points, weights []int64) error {
	if x.weight == nil {
		return errors.New("dbscan: weights for points without")
	}
	if err := checkWeights(p, weights); err != nil {
		return err
	}
	return x.insertAll(p, weights)
}

func (x *Incremental) insertAll(p Points, weights []int64) error {
	if p.Dims != x.dims {
		return fmt.Errorf("dbscan: points of %d dimensions among points of %d", p.Dims, x.dims)
	}
	if err := checkShape(p); err != nil {
		return err
	}
	if n := len(x.of) + p.Len(); n > math.MaxInt32 {
		return fmt.Errorf("dbscan: %d points: want at most %d", n, math.MaxInt32)
	}
	if len(x.of) == 0 && p.Len() > 0 {
		if err := checkFinite(p); err != nil {
			return err
		}
		x.centre(p.Coords[:p.Dims])
	}
	if err := x.checkRange(p); err != nil {
		return err
	}
	if n := len(x.of) + p.Len(); n > cap(x.of) { // double: what append adds to long slices makes it copy often
		x.of = append(make([]int32, 0, max(n, 2*cap(x.of))), x.of...)
	}
	first := len(x.of)
	x.of = x.of[:first+p.Len()]
	for i := range p.Len() {
		weight := int64(1)
		if x.weight == nil {
			break
		} else if weights != nil {
			weight = weights[i]
		}
		x.weight = append(x.weight, int32(min(weight, int64(x.minPts))))
	}
	for begin := 0; begin < p.Len(); begin += insertBlock {
		end := min(begin+insertBlock, p.Len())
		x.insertBlock(p.Coords[begin*x.dims:end*x.dims], first+begin, x.of[first+begin:first+end])
	}
	return nil
}

// insertBlock is how many points are looked up at a time, so that memory is waited for once for many.
const insertBlock = 256

// insertBlock inserts points that are rows first … and writes down their cells.
func (x *Incremental) insertBlock(coords []float64, first int, of []int32) {
	var keys [insertBlock]uint64
	x.keysOf(keys[:len(of)], coords)
	slots, shift := x.table.slots, x.table.shift
	mask := uint64(len(slots) - 1)
	for i, key := range keys[:len(of)] {
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

// keysOf computes the keys of the cells of points.
func (x *Incremental) keysOf(keys []uint64, coords []float64) {
	if x.dims == 2 {
		x0, y0, inv, coords := x.origin[0], x.origin[1], x.inv, coords[:2*len(keys)]
		for i := range keys {
			keys[i] = uint64(int64((coords[2*i]-x0)*inv))<<32 | uint64(int64((coords[2*i+1]-y0)*inv))
		}
		return
	}
	d := x.dims
	for i := range keys {
		var key uint64
		for j, v := range coords[i*d : i*d+d] {
			key = key<<(x.bits&63) | uint64(int64((v-x.origin[j&3])*x.inv)) // &3: j is below gridDims
		}
		keys[i] = key
	}
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

// centre numbers cells so that the first point is in the middle.
func (x *Incremental) centre(first []float64) {
	half := math.Ldexp(1, min(int(x.bits), 24)-1)
	for j, v := range first {
		x.origin[j] = v - half*x.side
		x.frame.cells[j] = 2 * half
	}
}

func (x *Incremental) checkRange(p Points) error {
	least, below := x.limits()
	for i := range p.Len() {
		for j, v := range p.Coords[i*x.dims : (i+1)*x.dims] {
			if n := (v - x.origin[j]) * x.inv; !(n >= least && n < below[j]) {
				if err := checkFinite(p); err != nil {
					return err
				}
				return &RangeError{Row: i, Dim: j, Value: v}
			}
		}
	}
	return nil
}

func (x *Incremental) newCell(key uint64) {
	me := int32(len(x.cells))
	cell := growingCell{key: key}
	for _, o := range x.around {
		b := x.table.find(key + o.key)
		if b < 0 {
			continue
		}
		other := &x.cells[b]
		x.calm[b] = busy
		cell.neighbours++
		other.neighbours++
		other.settleAt = 0
		if o.sure {
			cell.sure = append(cell.sure, b)
			other.sure = append(other.sure, me)
			cell.inSure = int32(min(int(cell.inSure)+x.population(other), x.minPts))
		} else {
			cell.near = append(cell.near, b)
			other.near = append(other.near, me)
		}
	}
	x.cells = append(x.cells, cell)
	x.calm = append(x.calm, busy)
	x.watch = append(x.watch, nil)
	x.sets = append(x.sets, me)
	x.ids = append(x.ids, 0)
}

// insert adds a point to a busy cell.
func (x *Incremental) insert(c int32, at []float64, row int32) {
	cell, weight := &x.cells[c], x.weightOf(row)
	x.enlarge(c, weight)
	for _, b := range cell.sure {
		x.enlarge(b, weight)
	}
	p := x.place(at)
	w := waitingPoint{row: row, found: cell.inSure}
	if !cell.full {
		w.found = int32(min(int(w.found)+x.countNear(cell, &p), x.minPts))
	}
	core := cell.full || int(w.found) >= x.minPts
	if core {
		x.addCore(c, at, row)
	}
	x.notifyAround(c, &p, weight)
	if !core { // behind those that it is a neighbour of: it has counted itself
		copy(w.at[:], at)
		cell.waiting = append(cell.waiting, w)
		x.rouse(cell)
	}
	if cell.full && cell.cores.n >= cell.settleAt {
		x.calm[c] = x.settle(c)
		cell.settleAt = cell.cores.n + cell.cores.n/16 + 1
	}
}

// Grow adds more points, above 0, at the place of one that was inserted with weights before; at are its
// coordinates, which are kept nowhere once nothing depends on them.
func (x *Incremental) Grow(row int, at []float64, by int64) error {
	switch {
	case row < 0 || row >= len(x.weight):
		return fmt.Errorf("dbscan: no point %d has a weight", row)
	case len(at) != x.dims:
		return fmt.Errorf("dbscan: point %d of %d dimensions among points of %d", row, len(at), x.dims)
	case by < 1:
		return fmt.Errorf("dbscan: point %d grows by %d: want at least 1", row, by)
	}
	more := int32(min(by, int64(x.minPts)-int64(x.weight[row])))
	if more == 0 {
		return nil
	}
	x.weight[row] += more
	c := x.of[row]
	if x.calm[c] >= quiet {
		return nil
	}
	cell := &x.cells[c]
	x.enlarge(c, more)
	for _, b := range cell.sure {
		x.enlarge(b, more)
	}
	p := x.place(at)
	x.notifyAround(c, &p, more)
	return nil
}

// weightOf says for how many a point counts.
func (x *Incremental) weightOf(row int32) int32 {
	if x.weight == nil {
		return 1
	}
	return x.weight[row]
}

// population counts the points of a cell, some number ≥ MinPts if they are that many.
func (x *Incremental) population(cell *growingCell) int {
	if x.weight == nil {
		return cell.cores.n + len(cell.waiting)
	}
	sum := 0
	for _, row := range cell.coreRows {
		if sum += int(x.weight[row]); sum >= x.minPts {
			return sum
		}
	}
	for i := range cell.waiting {
		sum += int(x.weight[cell.waiting[i].row])
	}
	return sum
}

// enlarge counts points more in the sure cells around b, b itself among them.
func (x *Incremental) enlarge(b, weight int32) {
	cell := &x.cells[b]
	if cell.full {
		return
	}
	if cell.inSure = int32(min(int(cell.inSure)+int(weight), x.minPts)); int(cell.inSure) < x.minPts {
		return
	}
	cell.full = true
	for _, w := range cell.waiting {
		x.addCore(b, w.at[:x.dims], w.row)
	}
	cell.waiting = nil
}

// countNear counts, until they are enough, the neighbours of p in the cells that are near but not sure.
func (x *Incremental) countNear(cell *growingCell, p *place) int {
	found, enough := 0, x.minPts-int(cell.inSure)
	for _, b := range cell.near {
		other := &x.cells[b]
		switch x.reaches(p, other.key) {
		case no:
			continue
		case yes:
			found += x.population(other)
		default:
			found += x.coresNear(b, p.at, enough-found)
			for i := range other.waiting {
				if w := &other.waiting[i]; distance2(p.at, w.at[:x.dims]) <= x.eps2 {
					found += int(x.weightOf(w.row))
				}
			}
		}
		if found >= enough {
			break
		}
	}
	return found
}

// notifyAround tells the waiting points of the cell c and of those around it of new points.
func (x *Incremental) notifyAround(c int32, p *place, weight int32) {
	cell := &x.cells[c]
	x.notify(c, p, weight, true)
	for _, b := range cell.sure {
		x.notify(b, p, weight, true)
	}
	for _, b := range cell.near {
		x.notify(b, p, weight, false)
	}
}

// notify tells the waiting points of a cell of new points at one place.
func (x *Incremental) notify(b int32, p *place, weight int32, sure bool) {
	cell := &x.cells[b]
	for i := 0; i < len(cell.waiting); i++ {
		w := &cell.waiting[i]
		if !sure && distance2(p.at, w.at[:x.dims]) > x.eps2 {
			continue
		}
		if w.found = int32(min(int(w.found)+int(weight), x.minPts)); int(w.found) >= x.minPts {
			at, row := w.at, w.row
			cell.waiting[i] = cell.waiting[len(cell.waiting)-1]
			cell.waiting = cell.waiting[:len(cell.waiting)-1]
			i--
			x.addCore(b, at[:x.dims], row)
		}
	}
}

// addCore adds a core point to a cell, and joins what it links.
func (x *Incremental) addCore(c int32, at []float64, row int32) {
	cell := &x.cells[c]
	x.keep(cell, at, row)
	if !cell.core {
		cell.core = true
		x.rouse(cell)
		x.ids[c] = x.nextID
		x.nextID++
		for _, b := range cell.sure {
			if x.cells[b].core {
				x.union(c, b)
			}
		}
	}
	p, root := x.place(at), x.sets.find(c)
	for _, b := range cell.near {
		if x.sets[b] == root || !x.cells[b].core || x.sets.find(b) == root {
			continue
		}
		if x.reaches(&p, x.cells[b].key) != no && x.coresNear(b, at, 1) > 0 {
			x.union(c, b)
			root = x.sets.find(c)
		}
	}
}

// A cell gets a tree for this many cores, and a new one when as many, and an eighth, have been added.
const treeCores = 512

// coresNear counts, up to enough, the core points of a cell within Eps of a point.
func (x *Incremental) coresNear(b int32, at []float64, enough int) int {
	cell := &x.cells[b]
	if x.weight != nil {
		return x.weighCores(cell, at, enough)
	}
	planted := 0
	if cell.tree != nil {
		planted = len(cell.tree.rows)
	}
	if n := cell.cores.n; n-planted > treeCores+planted/8 {
		cell.tree, planted = newTree(Points{Dims: x.dims, Coords: cell.cores.all()}, smallLeaf, 1), n
	}
	found := 0
	if planted > 0 {
		found = cell.tree.count(0, at, x.eps2, enough)
	}
	if found < enough {
		found += cell.cores.countNear(at, planted, x.eps2, enough-found)
	}
	return found
}

// weighCores is coresNear where points have weights; these are at different places, so that they are few.
func (x *Incremental) weighCores(cell *growingCell, at []float64, enough int) int {
	found, rows := 0, cell.coreRows
	for _, run := range cell.cores.runs {
		for ; len(run) > 0; run, rows = run[x.dims:], rows[1:] {
			if distance2(at, run[:x.dims]) <= x.eps2 {
				if found += int(x.weight[rows[0]]); found >= enough {
					return found
				}
			}
		}
	}
	return found
}

// A pointList is the coordinates of points, in runs that never move.
type pointList struct {
	n    int
	runs [][]float64
}

func (l *pointList) add(at []float64) {
	const least, most = 4, 256 // points in a run
	if last := len(l.runs) - 1; last < 0 || len(l.runs[last]) == cap(l.runs[last]) {
		l.runs = append(l.runs, make([]float64, 0, len(at)*max(least, min(most, l.n))))
	}
	run := &l.runs[len(l.runs)-1]
	*run = append(*run, at...)
	l.n++
}

// all returns the coordinates in one piece.
func (l *pointList) all() []float64 { return slices.Concat(l.runs...) }

// countNear counts, up to enough, the points within Eps of at, without the first skip points.
func (l *pointList) countNear(at []float64, skip int, eps2 float64, enough int) int {
	found := 0
	skip *= len(at)
	for _, run := range l.runs {
		if skip >= len(run) {
			skip -= len(run)
			continue
		}
		if found += countNear(at, run[skip:], eps2, enough-found); found >= enough {
			break
		}
		skip = 0
	}
	return found
}

// union joins two clusters; the older id stays.
func (x *Incremental) union(a, b int32) {
	id := min(x.ids[x.sets.find(a)], x.ids[x.sets.find(b)])
	x.sets.union(a, b)
	x.ids[x.sets.find(a)] = id
}

// rouse makes those around a cell, which is not full, busy: there is something in it that their new points may
// change, or be linked to.
func (x *Incremental) rouse(cell *growingCell) {
	for _, list := range [2][]int32{cell.sure, cell.near} {
		for _, b := range list {
			if x.calm[b] == edge {
				x.calm[b] = busy
				x.cells[b].settleAt = 0
			}
		}
	}
}

// settle says how calm a full cell has become. It takes those out of the cells around it to which
// nothing can happen any more: they are full and in the same cluster.
func (x *Incremental) settle(c int32) calm {
	cell := &x.cells[c]
	root := x.sets.find(c)
	settled := func(b int32) bool { return x.cells[b].full && x.sets.find(b) == root }
	cell.sure, cell.near = slices.DeleteFunc(cell.sure, settled), slices.DeleteFunc(cell.near, settled)
	switch {
	case len(cell.sure) > 0:
		return busy
	case len(cell.near) > 0:
		watch := x.watch[c][:0]
		for _, b := range cell.near {
			if x.cells[b].core && x.sets.find(b) != root {
				return busy
			}
			for i := range x.cells[b].waiting {
				watch = append(watch, x.cells[b].waiting[i].at[:x.dims]...)
			}
		}
		x.watch[c] = watch
		return edge
	case int(cell.neighbours) < len(x.around):
		return quiet
	}
	cell.cores, cell.coreRows, cell.tree = pointList{}, nil, nil
	return interior
}

// Result returns the clustering of all points inserted so far, in the order in which they came, as
// Cluster gives it. ids holds for each cluster an id that stays: a cluster keeps its id as it grows,
// and where clusters merge the oldest id stays and the others never come again.
func (x *Incremental) Result() (r *Result, ids []int32) {
	number, roots := x.numbers()
	for _, root := range roots {
		ids = append(ids, x.ids[root])
	}
	r = &Result{Labels: make([]int32, len(x.of)), Core: make([]bool, len(x.of)), Clusters: len(roots)}
	label := make([]int32, len(x.cells))
	for c := range label {
		label[c] = number[x.sets.find(int32(c))]
	}
	for i, c := range x.of {
		r.Labels[i], r.Core[i] = label[c], true
	}
	for c := range x.cells {
		for i := range x.cells[c].waiting {
			w := &x.cells[c].waiting[i]
			r.Labels[w.row], r.Core[w.row] = x.border(int32(c), w.at[:x.dims], label), false
		}
	}
	return r, ids
}

// numbers numbers clusters by their smallest core points. None of those is in an interior cell: the
// cell before it along the first axis holds smaller ones.
func (x *Incremental) numbers() (number, roots []int32) {
	smallest := make([][]float64, len(x.cells))
	for c := range x.cells {
		cell := &x.cells[c]
		if !cell.core {
			continue
		}
		root := x.sets.find(int32(c))
		if smallest[root] == nil {
			roots = append(roots, root)
			smallest[root] = []float64{math.Inf(1)}
		}
		for _, p := range cell.cores.runs {
			for ; len(p) > 0; p = p[x.dims:] {
				takeSmaller(&smallest[root], p[:x.dims])
			}
		}
	}
	slices.SortFunc(roots, func(a, b int32) int { return slices.Compare(smallest[a], smallest[b]) })
	number = make([]int32, len(x.cells))
	for c := range number {
		number[c] = Noise
	}
	for i, root := range roots {
		number[root] = int32(i)
	}
	return number, roots
}

func (x *Incremental) border(c int32, at []float64, label []int32) int32 {
	cell := &x.cells[c]
	best := Noise
	take := func(b int32, sure bool) {
		if !x.cells[b].core || best != Noise && label[b] >= best {
			return
		}
		if sure || x.coresNear(b, at, 1) > 0 {
			best = label[b]
		}
	}
	take(c, true)
	for _, b := range cell.sure {
		take(b, true)
	}
	for _, b := range cell.near {
		take(b, false)
	}
	return best
}
