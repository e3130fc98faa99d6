package dbscan

import "slices"

func (x *Incremental) newCell(key uint64) {
	me := int32(len(x.cells))
	cell := growingCell{key: key}
	sure, near := x.sure[:0], x.near[:0]
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
			sure = append(sure, b)
			other.sure = append(other.sure, me)
			cell.inSure = int32(min(int(cell.inSure)+x.population(other), x.minPts))
		} else {
			near = append(near, b)
			other.near = append(other.near, me)
		}
	}
	x.sure, x.near = sure, near
	cell.sure, cell.near = slices.Clone(sure), slices.Clone(near)
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

// notifyAround notifies the waiting points of the cell c and of those around it of new points.
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

// notify notifies the waiting points of a cell of new points at one place.
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
		cell.tree, planted = newTree(Points{Dims: x.dims, Coords: slices.Concat(cell.cores.parts()...)}, smallLeaf, 1), n
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

// union joins two clusters and keeps the older id.
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
