package program

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Ways of a Peer, and its kinds.
const (
	wayTo   = "to"
	wayFrom = "from"

	peerConstant  = "constant"
	peerOffset    = "offset"    // rank+c
	peerRing      = "ring"      // (rank+c) mod size
	peerXor       = "xor"       // rank^c
	peerMirror    = "mirror"    // size-1-rank
	peerGrid      = "grid"      // a neighbour in a dimension of a grid of all ranks
	peerTranspose = "transpose" // the rank across the diagonal of a square grid
	peerEach      = "each"      // every one of some
	peerTable     = "table"
)

const (
	// NoPeer stands for the peer of a collective call.
	NoPeer = -2
	// OtherPeers stands for all peers that are not known one by one.
	OtherPeers = -3
)

// What texts of each kind look like.
var peerForms = map[string]*regexp.Regexp{
	peerConstant:  regexp.MustCompile(`^(\d+(, or none)?|MPI_PROC_NULL)$`),
	peerOffset:    regexp.MustCompile(`^rank([+-]\d+)?(, or none)?$`),
	peerRing:      regexp.MustCompile(`^\(rank([+-]\d+)?\) mod size(, or none)?$`),
	peerXor:       regexp.MustCompile(`^rank\^\d+(, or none)?$`),
	peerMirror:    regexp.MustCompile(`^size-1-rank(, or none)?$`),
	peerGrid:      regexp.MustCompile(`^[+-]1 in dimension \d of \d+(×\d+)+(, periodic)?(, or none)?$`),
	peerTranspose: regexp.MustCompile(`^transpose of (\d+)×(\d+)(, or none)?$`),
	peerEach:      regexp.MustCompile(`^each (other rank|of .+)$`),
	peerTable:     regexp.MustCompile(`^\d+[→←]`),
}

// fits reports whether a text is one of its kind.
func (p *Peer) fits() bool {
	form, ok := peerForms[p.Kind]
	return ok && form.MatchString(p.Text)
}

// procNull is the peer that stands for none.
const procNull = -1

// moved says whom calls of some paths send to and receive from, and how many bytes.
func (s *solver) moved(n *Node) {
	var peers []Peer
	var bytes *Spread
	defer func() { n.Peers, n.Bytes = peers, bytes }()
	var ways [2]map[int][]int // by rank: peers, sorted
	var others [2]bool        // there are more
	known, size, first := true, 0, true
	var calls, total int64
	var list []movedSum
	for _, p := range n.Paths {
		list = append(list, s.moves[uint32(p)]...)
	}
	n.Comm = communicator(slices.DeleteFunc(slices.Clone(list), func(m movedSum) bool { return m.Peer == OtherPeers }))
	for _, m := range list {
		if m.Peer != NoPeer || m.Most > 0 { // else it is no matter of bytes
			if bytes == nil {
				bytes = &Spread{Least: m.Least, Most: m.Most}
			}
			bytes.Least, bytes.Most = min(bytes.Least, m.Least), max(bytes.Most, m.Most)
			calls += m.Count
			total += m.Bytes
		}
		way := 0
		if m.From {
			way = 1
		}
		if m.Peer == OtherPeers {
			others[way] = true
			continue
		}
		if root := int(m.Root); root >= 0 && (first || n.Root != nil && *n.Root == root) {
			n.Root = &root
		} else {
			n.Root = nil
		}
		first = false
		if m.Peer < procNull {
			continue // of no peer: a collective
		}
		if !m.World {
			known = false
			continue
		}
		if ways[way] == nil {
			ways[way] = make(map[int][]int)
		}
		r := s.input.Threads[m.Thread].Rank // as peers are: in its world
		size = max(size, s.sizeOf(m.Thread))
		if list := ways[way][r]; !slices.Contains(list, int(m.Peer)) {
			ways[way][r] = append(list, int(m.Peer))
		}
	}
	if bytes != nil && calls > 0 {
		bytes.Mean = float64(total) / float64(calls)
	}
	if !known {
		return
	}
	if s.input.AllMoved && moves(n.Function) {
		s.withNone(n.Paths, ways)
	}
	for way, by := range ways {
		if p := s.partners(n.Paths, by, size, others[way]); p != nil {
			if p.Way = []string{wayTo, wayFrom}[way]; p.Kind == peerTable && way == 1 {
				p.Text = strings.ReplaceAll(p.Text, "→", "←")
			}
			peers = append(peers, *p)
		}
	}
}

// withNone adds the ranks that make calls of some paths and have no peer.
func (s *solver) withNone(paths []int, ways [2]map[int][]int) {
	for _, t := range s.callers(paths) {
		r := s.input.Threads[t].Rank
		for _, by := range ways {
			if by != nil && by[r] == nil {
				by[r] = []int{procNull}
			}
		}
	}
}

// partners says the peers of ranks in calls of some paths; nil: there are none, or which are those of one line of these
// calls is not known.
func (s *solver) partners(paths []int, by map[int][]int, size int, others bool) *Peer {
	if by == nil {
		return nil
	}
	several := others
	for _, list := range by {
		slices.Sort(list)
		several = several || len(list) > 1
	}
	if several && slices.ContainsFunc(paths, s.divided) {
		return nil
	}
	p := peersOf(by, size, others)
	return &p
}

// callers are the threads that make calls of some paths.
func (s *solver) callers(paths []int) (threads []int32) {
	if s.leaves == nil {
		s.leaves = make(map[int][]int32)
		for leaf, list := range s.paths {
			for _, p := range list {
				n := s.input.number(uint32(p))
				s.leaves[n] = append(s.leaves[n], leaf)
			}
		}
	}
	for _, p := range paths {
		for _, leaf := range s.leaves[p] {
			for g := range s.groups {
				if len(s.groups[g].Tree.Came[leaf]) > 0 {
					threads = append(threads, s.groups[g].Threads...)
				}
			}
		}
	}
	return threads
}

// sizeOf is how many ranks the world of a thread has.
func (s *solver) sizeOf(thread int32) int {
	if w := s.input.Threads[thread].World; w < len(s.input.Worlds) {
		return s.input.Worlds[w]
	}
	return s.size
}

// peersOf finds one expression for the peers of all ranks; by is sorted lists, size the ranks of the world, and others
// says that ranks have more peers, of which no expression can be said.
func peersOf(by map[int][]int, size int, others bool) Peer {
	one := true
	ranks := make([]int, 0, len(by))
	for r, list := range by {
		ranks = append(ranks, r)
		one = one && (len(list) == 1 || len(list) == 2 && list[0] == procNull)
	}
	slices.Sort(ranks)
	if others {
		return withOthers(by, ranks)
	}
	if !one {
		return manyPeers(by, ranks, size)
	}
	// Where a neighbour may be missing, the expression is that of those that have one.
	peer := make(map[int]int)
	null := false
	for r, list := range by {
		if p := list[len(list)-1]; p != procNull {
			peer[r] = p
		}
		null = null || list[0] == procNull
	}
	holds := func(rule func(r int) int) bool {
		for r, p := range peer {
			if rule(r) != p {
				return false
			}
		}
		return len(peer) > 0
	}
	// The ranks without a neighbour are those for which the expression names none.
	exact := func(f *peerForm) bool {
		for r, list := range by {
			if none := f.none != nil && f.none(r); len(list) == 2 || none != (list[0] == procNull) {
				return false
			}
		}
		return true
	}
	if len(peer) == 0 {
		return Peer{Kind: peerConstant, Text: "MPI_PROC_NULL"}
	}
	return firstOf(formsOf(peer, ranks, size, null), holds, exact, Peer{Kind: peerTable, Text: table(by, ranks)})
}

// formsOf are the expressions that may hold for ranks that have a peer, the simplest first; null says that others of
// these ranks have none.
func formsOf(peer map[int]int, ranks []int, size int, null bool) []peerForm {
	first := ranks[slices.IndexFunc(ranks, func(r int) bool { _, ok := peer[r]; return ok })]
	to := peer[first]
	d, bits := to-first, to^first
	forms := []peerForm{
		{peerConstant, fmt.Sprint(to), func(int) int { return to }, nil},
		{peerOffset, "rank" + signed(d), func(r int) int { return r + d }, func(r int) bool { return r+d < 0 || r+d >= size }},
	}
	if isFew(len(peer), size) {
		return forms
	}
	for _, c := range []int{mod(d, size), mod(d, size) - size} {
		if c >= -size/2 && c <= size/2 {
			forms = append(forms, peerForm{peerRing, fmt.Sprintf("(rank%s) mod size", signed(c)), func(r int) int { return mod(r+c, size) }, nil})
		}
	}
	forms = append(forms,
		peerForm{peerXor, fmt.Sprintf("rank^%d", bits), func(r int) int { return r ^ bits }, nil},
		peerForm{peerMirror, "size-1-rank", func(r int) int { return size - 1 - r }, nil})
	for a := 2; a*a <= size; a++ {
		// Of all ranks, or of the first ones, that a square grid has.
		if n := len(ranks); a*a == size || a*a == n && ranks[n-1] == n-1 {
			forms = append(forms, peerForm{peerTranspose, fmt.Sprintf("transpose of %d×%d", a, a), func(r int) int { return r%a*a + r/a }, nil})
		}
	}
	return append(forms, gridForms(size, null)...)
}

// gridForms are the neighbours in each grid that the ranks fill: in one that is not periodic some have none.
func gridForms(size int, null bool) (forms []peerForm) {
	for _, grid := range factorisations(size) {
		names := make([]string, len(grid))
		for i, x := range grid {
			names[i] = fmt.Sprint(x)
		}
		below := size // ranks with the same place in a dimension, in a row
		for k, n := range grid {
			below /= n
			stride := below
			for _, c := range []int{1, -1} {
				text := fmt.Sprintf("%+d in dimension %d of %s", c, k, strings.Join(names, "×"))
				rule := func(r int) int {
					at := r / stride % n
					return r + (mod(at+c, n)-at)*stride
				}
				if !null {
					forms = append(forms, peerForm{peerGrid, text + ", periodic", rule, nil})
					continue
				}
				forms = append(forms, peerForm{peerGrid, text, rule, func(r int) bool {
					at := r/stride%n + c
					return at < 0 || at >= n
				}})
			}
		}
	}
	return forms
}

// mod is the remainder of 0 or more.
func mod(x, n int) int { return (x%n + n) % n }

// A peerForm is an expression, and the peer of each rank that it says; none says which ranks have none by it, nil:
// all have one.
type peerForm struct {
	kind, text string
	rule       func(r int) int
	none       func(r int) bool
}

// firstOf is the first form that holds exactly, else the first one that does but for ranks that have no peer, else a
// table.
func firstOf(forms []peerForm, holds func(rule func(r int) int) bool, exact func(f *peerForm) bool, table Peer) Peer {
	best := table
	for i := range forms {
		f := &forms[i]
		switch {
		case !holds(f.rule):
		case exact(f):
			return Peer{Kind: f.kind, Text: f.text}
		case best == table:
			best = Peer{Kind: f.kind, Text: f.text + ", or none"}
		}
	}
	return best
}

// isFew reports whether so few ranks have a peer, of more that there are, that some form holds for them by chance: a
// table says as much.
func isFew(ranks, size int) bool { return ranks <= 2 && size > 2 }

func signed(d int) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%+d", d)
}

// factorisations are the grids of two and three dimensions that a number of ranks fills.
func factorisations(size int) (grids [][]int) {
	for a := 2; a <= size/2; a++ {
		if size%a != 0 {
			continue
		}
		grids = append(grids, []int{a, size / a})
	}
	for a := 2; a <= size/4; a++ {
		if size%a != 0 {
			continue
		}
		for b := 2; b <= size/a/2; b++ {
			if size/a%b == 0 {
				grids = append(grids, []int{a, b, size / a / b})
			}
		}
	}
	return grids
}

// manyPeers says to which ranks others send that have several peers.
func manyPeers(by map[int][]int, ranks []int, size int) Peer {
	same, all := true, true
	for _, list := range by {
		same = same && slices.Equal(list, by[ranks[0]])
	}
	others := func(r int) (list []int) {
		for p := range size {
			if p != r {
				list = append(list, p)
			}
		}
		return list
	}
	for r, list := range by {
		all = all && slices.Equal(list, others(r))
	}
	switch {
	case all && (len(by) > 1 || !same):
		return Peer{Kind: peerEach, Text: "each other rank"}
	case same:
		return Peer{Kind: peerEach, Text: "each of " + listOf(by[ranks[0]])}
	}
	// The same distances from each rank.
	for _, ring := range []bool{false, true} {
		if ring && isFew(len(by), size) {
			return Peer{Kind: peerTable, Text: table(by, ranks)}
		}
		distances := func(r int) []int {
			var list []int
			for _, p := range by[r] {
				d := p - r
				if ring {
					d = (d%size + size) % size
					if d > size/2 {
						d -= size
					}
				}
				list = append(list, d)
			}
			slices.Sort(list)
			return list
		}
		first := distances(ranks[0])
		if !slices.ContainsFunc(ranks, func(r int) bool { return !slices.Equal(distances(r), first) }) {
			var parts []string
			for _, d := range first {
				parts = append(parts, signed(d))
			}
			text := "each of rank" + strings.Join(parts, ", rank")
			if ring {
				text = "each of (rank" + strings.Join(parts, ", rank") + ") mod size"
				return Peer{Kind: peerEach, Text: text}
			}
			return Peer{Kind: peerEach, Text: text}
		}
	}
	// Ranks that differ from each in the same bits, as in a hypercube.
	bits := func(r int) []int {
		var list []int
		for _, p := range by[r] {
			if p == procNull {
				return nil
			}
			list = append(list, p^r)
		}
		slices.Sort(list)
		return list
	}
	if first := bits(ranks[0]); first != nil && !slices.ContainsFunc(ranks, func(r int) bool { return !slices.Equal(bits(r), first) }) {
		var parts []string
		for _, x := range first {
			if x == 0 {
				parts = append(parts, "rank")
			} else {
				parts = append(parts, fmt.Sprintf("rank^%d", x))
			}
		}
		return Peer{Kind: peerEach, Text: "each of " + strings.Join(parts, ", ")}
	}
	return Peer{Kind: peerTable, Text: table(by, ranks)}
}

// withOthers says of which peers it is known, where ranks have more.
func withOthers(by map[int][]int, ranks []int) Peer {
	for _, list := range by {
		if !slices.Equal(list, by[ranks[0]]) {
			return Peer{Kind: peerTable, Text: table(by, ranks) + ", and others"}
		}
	}
	return Peer{Kind: peerEach, Text: "each of " + listOf(by[ranks[0]]) + " and others"}
}

// tableRows is how many ranks a table shows.
const tableRows = 4

// table has the partners of the first ranks: "0→1 2; 1→0 3".
func table(by map[int][]int, ranks []int) string {
	var parts []string
	for _, r := range ranks[:min(tableRows, len(ranks))] {
		var peers []string
		for _, p := range by[r] {
			if p == procNull {
				peers = append(peers, "none")
			} else {
				peers = append(peers, fmt.Sprint(p))
			}
		}
		if len(peers) > tableRows {
			peers = append(peers[:tableRows], fmt.Sprintf("… %d in all", len(by[r])))
		}
		parts = append(parts, fmt.Sprintf("%d→%s", r, strings.Join(peers, " ")))
	}
	text := strings.Join(parts, "; ")
	if len(ranks) > tableRows {
		text += fmt.Sprintf("; … %d ranks in all", len(ranks))
	}
	return text
}
