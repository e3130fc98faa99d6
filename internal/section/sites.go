package section

import "encoding/binary"

// fewRows is below how many rows of a block a site has no packs of its own: the rows of all such sites are packed
// together, in their order.
const fewRows = 32

// An order is that of rows by their sites: first those of sites with many rows, site by site, then all others. Groups
// are packed one by one.
type order struct {
	rows   [MaxRows]uint16
	groups []int // rows in each
	starts [MaxRows + 1]uint16
}

// of makes the order of a block's rows; counts is how many rows each site has.
func (o *order) of(sites []uint16, counts []int) {
	o.plan(counts)
	for row, site := range sites {
		at := &o.starts[site]
		if counts[site] < fewRows {
			at = &o.starts[MaxRows]
		}
		o.rows[*at] = uint16(row)
		*at++
	}
}

// plan makes the groups, and where each begins: starts of a site, or of MaxRows for all sites with few rows.
func (o *order) plan(counts []int) {
	at := 0
	for site, n := range counts {
		if n >= fewRows {
			o.starts[site] = uint16(at)
			at += n
		}
	}
	o.starts[MaxRows] = uint16(at)
	o.groups = groupsOf(o.groups[:0], counts)
}

// groupsOf is how many rows each group has.
func groupsOf(groups, counts []int) []int {
	few := 0
	for _, n := range counts {
		if n < fewRows {
			few += n
			continue
		}
		groups = append(groups, n)
	}
	if few > 0 {
		groups = append(groups, few)
	}
	return groups
}

// predictSites replaces each site by 0 where it is the one that followed the site before it the last time in the block,
// else by its number plus 1. A loop of calls costs nothing so.
func predictSites(sites []uint16, followed []uint16, out []uint64) {
	clear(followed) // by site plus 1, the one that followed plus 1
	before := uint16(0)
	for row, site := range sites {
		now := site + 1
		if followed[before] == now {
			out[row] = 0
		} else {
			followed[before] = now
			out[row] = uint64(now)
		}
		before = now
	}
}

// restoreSites undoes predictSites, and counts the rows of each site.
func restoreSites(coded []uint64, followed []uint16, counts []int, out []uint16) bool {
	clear(followed)
	clear(counts)
	before := uint16(0)
	for row, x := range coded {
		now := followed[before]
		if x != 0 {
			if x > uint64(len(counts)) {
				return false
			}
			now = uint16(x)
			followed[before] = now
		}
		if now == 0 {
			return false
		}
		before = now
		out[row] = now - 1
		counts[now-1]++
	}
	return true
}

// appendSites appends the sites of a block, with the rows of each.
func appendSites(dst []byte, sites []Site, counts []int) []byte {
	for i, s := range sites {
		dst = binary.AppendUvarint(dst, uint64(s.Function))
		dst = binary.AppendUvarint(dst, uint64(s.Path))
		dst = binary.AppendUvarint(dst, uint64(counts[i]))
	}
	return dst
}
