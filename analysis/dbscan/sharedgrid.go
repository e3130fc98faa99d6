package dbscan

import (
	"fmt"
	"math"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// A sharedGrid is a grid whose cells have owners, one member of the team each. An owner knows of its cells, and of
// those within reach of them (their halo), how many points of all members they hold, and does for its own what grid
// does for all. The points stay with the members that have them, the sources. Those of open cells travel to the owner
// and to the owners near by, unless no core point can be near; of full cells a few samples do, and those that are asked
// for.
//
// It is RP-DBSCAN (Song and Lee, SIGMOD'18) made exact: cells and counts are what members exchange, and points only
// decide where those leave something open. Clusters that reach over the borders between owners are joined part by part,
// as in PDSDBSCAN (Patwary et al., SC'12).
type sharedGrid struct {
	grid // own cells and those of the halo; its points are none
	*meter
	n       int64 // points of all members
	mine    Points
	local   census         // of this member's points; their ids are numbers of cells
	home    route          // from cells of local to the owners' cells
	here    [][]int32      // per member: how many points it has in each of the cells that home leads to
	halo    route          // from own cells to their counterparts in others' halos
	none    []bool         // per cell: it holds no core point
	desert  []bool         // per cell: nor does any around it
	sent    [][]int32      // per owner: the rows of the points of open cells that it was sent
	replies [][]int32      // per member: where the labels of the points that it has sent are
	whole   map[int32]part // clusters that are joined with others' parts, by the first cell here
}

// onGrid clusters through a grid if that is the way to do it.
func (x *Shared) onGrid(eps float64, minPts int) (*Result, error) {
	s, err := x.newSharedGrid(eps, minPts)
	if s == nil || err != nil {
		return nil, err
	}
	if worth, err := s.worthWhile(); err != nil || !worth {
		return nil, err
	}
	return s.cluster()
}

// newSharedGrid returns nil where cells would be too many to number.
func (x *Shared) newSharedGrid(eps float64, minPts int) (*sharedGrid, error) {
	if x.points.Dims > gridDims || minPts > math.MaxInt32 {
		return nil, nil
	}
	f, numbered := newFrame(x.points.Dims, finestCells(x.points.Dims, eps), x.lo, x.hi, 0)
	if !numbered {
		return nil, nil
	}
	s := &sharedGrid{grid: grid{frame: f, minPts: minPts, threads: x.threads}, meter: x.team, n: x.n, mine: x.points}
	s.stage("count")
	var counted bool
	s.local, counted = f.count(x.points, x.threads)
	if counted, err := s.every(counted); err != nil || !counted {
		return nil, err
	}
	workers.Chunks(len(s.local.ids), s.local.threads, func(t, begin, end int) {
		table := s.local.table(t)
		for i, id := range s.local.ids[begin:end] {
			s.local.ids[begin+i] = table[id]
		}
	})
	s.local.tables = nil
	if err := s.divide(); err != nil {
		return nil, err
	}
	return s, s.classify()
}

// divide makes the grid of own cells and their halo.
func (s *sharedGrid) divide() error {
	s.stage("divide")
	land, err := newTerritory(s.meter, &s.frame, &s.local, s.minPts)
	if err != nil {
		return err
	}
	s.home.out = make([][]int32, s.Size())
	cells := make([][]uint64, s.Size()) // key, count, key, …
	for c, key := range s.local.keys {
		cell := s.frame.cell(key)
		m := land.owner(land.code(&cell))
		s.home.out[m] = append(s.home.out[m], int32(c))
		cells[m] = append(cells[m], key, uint64(s.local.before[c+1]-s.local.before[c]))
	}
	if cells, err = team.Exchange(s, cells); err != nil {
		return err
	}
	keys, counts := unpackCells(cells)
	s.here = counts
	own, in := mergeKeys(keys, s.threads)
	s.home.in = in
	population := make([]int64, len(own))
	for m, list := range in {
		for j, c := range list {
			population[c] += int64(counts[m][j])
		}
	}
	for c, n := range population {
		population[c] = min(n, int64(s.minPts)) // beyond MinPts more points change nothing
	}

	s.halo.out = make([][]int32, s.Size())
	cells = make([][]uint64, s.Size())
	var others []int
	for c, key := range own {
		others = land.around(others[:0], key, s.Rank())
		for _, m := range others {
			s.halo.out[m] = append(s.halo.out[m], int32(c))
			cells[m] = append(cells[m], key, uint64(population[c]))
		}
	}
	if cells, err = team.Exchange(s, cells); err != nil {
		return err
	}
	keys, counts = unpackCells(cells)
	s.keys, in = mergeKeys(append([][]uint64{own}, keys...), s.threads)
	s.halo.in = in[1:]
	place := in[0] // of own cells
	count := make([]int32, len(s.keys))
	s.others = slices.Repeat([]bool{true}, len(s.keys))
	for c, at := range place {
		count[at], s.others[at] = int32(population[c]), false
	}
	for m, list := range s.halo.in {
		for j, c := range list {
			count[c] = counts[m][j]
		}
	}
	for _, list := range slices.Concat(s.home.in, s.halo.out) {
		for j, c := range list {
			list[j] = place[c]
		}
	}
	var sum int64
	s.before = make([]int32, 1, len(count)+1)
	for _, n := range count {
		sum += int64(n)
		s.before = append(s.before, int32(sum))
	}
	if sum > math.MaxInt32 {
		err = fmt.Errorf("dbscan: %d points to look after for member %d: want at most %d; more members have fewer each", sum, s.Rank(), math.MaxInt32)
	}
	return team.Agree(s, err)
}

// unpackCells takes keys and counts apart.
func unpackCells(cells [][]uint64) (keys [][]uint64, counts [][]int32) {
	for _, list := range cells {
		k, n := make([]uint64, len(list)/2), make([]int32, len(list)/2)
		for i := range k {
			k[i], n[i] = list[2*i], int32(list[2*i+1])
		}
		keys, counts = append(keys, k), append(counts, n)
	}
	return keys, counts
}

// mergeKeys merges ascending lists, and returns for each of them where its elements are.
func mergeKeys(lists [][]uint64, threads int) (merged []uint64, at [][]int32) {
	all := slices.Concat(lists...)
	order := make([]int32, len(all))
	for i := range order {
		order[i] = int32(i)
	}
	sortKeys(all, order, threads)
	place := make([]int32, len(all))
	for i, key := range all {
		if i == 0 || key != all[i-1] {
			merged = append(merged, key)
		}
		place[order[i]] = int32(len(merged) - 1)
	}
	for _, list := range lists {
		at = append(at, place[:len(list):len(list)])
		place = place[len(list):]
	}
	return merged, at
}

// What an owner says of a cell.
const (
	isFull = 1 << iota
	isNone
	isDesert
)

// classify distinguishes full cells from open ones, and finds the open ones whose points decide nothing.
func (s *sharedGrid) classify() error {
	s.chooseStencil()
	s.findFull()
	s.around = newNeighbourhoods(s.keys, s.stencil, s.threads)
	s.none, s.desert = make([]bool, len(s.keys)), make([]bool, len(s.keys))
	s.eachCell(func(c int32, sure, near []span) {
		s.none[c] = !s.full[c] && s.pointsIn(sure)+s.pointsIn(near) < s.minPts
	})
	err := along(s, s.halo, func(c int32) uint8 { return flag(s.full[c], isFull) | flag(s.none[c], isNone) }, func(c int32, is uint8) {
		s.full[c], s.none[c] = is&isFull != 0, is&isNone != 0
	})
	if err != nil {
		return err
	}
	s.listFull()
	alive := make([]int32, len(s.keys)+1) // cells before each that are not none
	for c, none := range s.none {
		alive[c+1] = alive[c]
		if !none {
			alive[c+1]++
		}
	}
	s.eachCell(func(c int32, sure, near []span) {
		s.desert[c] = s.none[c]
		for _, spans := range [2][]span{sure, near} {
			for _, p := range spans {
				s.desert[c] = s.desert[c] && alive[p.begin] == alive[p.end]
			}
		}
	})
	return along(s, s.halo, func(c int32) uint8 { return flag(s.desert[c], isDesert) }, func(c int32, is uint8) { s.desert[c] = is != 0 })
}

// worthWhile decides whether enough has been decided by counts.
func (s *sharedGrid) worthWhile() (bool, error) {
	open := []int64{0}
	for c := range s.keys {
		if !s.others[c] && s.wanted(int32(c)) {
			open[0] += int64(s.population(int32(c)))
		}
	}
	if err := s.AllReduce(open, team.Sum); err != nil {
		return false, err
	}
	if float64(open[0]) > manyOpen*float64(s.n) {
		return false, nil
	}
	return s.every(!s.tooMuchToCompare())
}

func flag(is bool, bit uint8) uint8 {
	if is {
		return bit
	}
	return 0
}

// wanted reports whether the points of a cell have to be known: it is open, and some may be core points or near one.
func (s *sharedGrid) wanted(c int32) bool { return !s.full[c] && !s.desert[c] }

// cluster is grid.cluster, with an exchange of what the others need between the steps.
func (s *sharedGrid) cluster() (*Result, error) {
	s.stage("points")
	if err := s.fetchOpen(); err != nil {
		return nil, err
	}
	s.core = slices.Clone(s.full)
	s.linked = make([]bool, len(s.keys))
	s.sets = newForest(len(s.keys))
	s.requests = newRequests(len(s.fulls))
	s.stage("link")
	s.link(byCells)
	s.findCores()
	if err := s.sendStates(); err != nil {
		return nil, err
	}
	s.link(bySamples)
	if err := s.joinSets(); err != nil { // so that nothing is asked about what others know to be one
		return nil, err
	}
	s.link(asking)
	s.askForBorders()
	s.stage("ask")
	if err := s.fetchShut(); err != nil {
		return nil, err
	}
	s.stage("join")
	s.resolveCores()
	if err := s.sendStates(); err != nil {
		return nil, err
	}
	s.link(byPoints)
	if err := s.joinSets(); err != nil {
		return nil, err
	}
	s.findRuns()
	s.stage("label")
	number, clusters, err := s.numbers()
	if err != nil {
		return nil, err
	}
	return s.label(number, clusters)
}

// sendStates sends the others which points of open cells are core points.
func (s *sharedGrid) sendStates() error {
	parts := make([][]pointState, s.Size())
	for m, list := range s.halo.out {
		for _, c := range list {
			begin, end := s.openIn(span{c, c + 1})
			parts[m] = append(parts[m], s.state[begin:end]...)
		}
	}
	got, err := team.Exchange(s, parts)
	if err != nil {
		return err
	}
	more := make([]bool, len(s.keys))
	for m, list := range s.halo.in {
		states := got[m]
		for _, c := range list {
			begin, end := s.openIn(span{c, c + 1})
			if len(states) < int(end-begin) {
				return misfit(m, len(got[m]), int(end-begin))
			}
			for i := begin; i < end; i++ {
				if states[i-begin] == isCore && s.state[i] != isCore {
					more[c] = true
				}
				s.state[i] = states[i-begin]
			}
			states = states[end-begin:]
		}
	}
	s.admit(more)
	return nil
}

// joinSets joins sets of cells that are one by what others know.
func (s *sharedGrid) joinSets() error {
	s.sets.flatten(s.threads)
	var err error
	s.whole, err = joinParts(s.meter, s.halo, len(s.keys), s.sets, func(c int32) int32 { return s.sets.find(c) }, func(c int32) bool { return s.core[c] })
	return err
}
