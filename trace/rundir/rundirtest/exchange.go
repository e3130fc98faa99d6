package rundirtest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// Exchanges are what Pairs has.
var Exchanges = []string{"halo", "late", "estimates", "large", "worlds", "placed", "none"}

// An exchange is pairs.json and the rows of pairs.parquet in the making.
type exchange struct {
	rundir.Pairs
	rows   []parquet.PairsRow
	node   map[[2]int]string // by world and rank
	paired map[[4]int]bool
	late   [2]int64 // ns for senders and receivers
	errors [2]int64
	ns     int64 // blocked
	sendNS int64
}

// A way is messages from one rank to another, each of a world.
type way struct {
	from, to     [2]int
	messages     int64
	bytes        int64 // of each message
	ns           int64 // blocked, of all messages
	late, errors int64 // ns for a late sender; -1: not known
}

func newExchange(ranks, perNode int, where func(rank int) int) *exchange {
	x := &exchange{node: make(map[[2]int]string), paired: make(map[[4]int]bool)}
	x.Format, x.Basis, x.Seconds, x.Within = rundir.PairsFormat, rundir.PairsAll, 10, rundir.WithinRun
	x.world(0, ranks, perNode, where)
	return x
}

// world adds ranks of a world, so many on a node: where is the place of a rank, nil: in their order.
func (x *exchange) world(world, ranks, perNode int, where func(rank int) int) {
	lists := make([]string, (ranks+perNode-1)/perNode)
	for r := range ranks {
		place := r
		if where != nil {
			place = where(r)
		}
		n := place / perNode
		x.node[[2]int{world, r}] = fmt.Sprintf("n%02d", n+1)
		if lists[n] != "" {
			lists[n] += ","
		}
		lists[n] += fmt.Sprint(r)
	}
	for n, list := range lists {
		x.Hosts = append(x.Hosts, rundir.PairsHost{Name: fmt.Sprintf("n%02d", n+1), World: world, Ranks: list})
	}
}

func (x *exchange) add(w way) {
	if x.Totals == nil {
		x.Totals = new(rundir.PairsTotals)
	}
	same := x.node[w.from] == x.node[w.to]
	row := parquet.PairsRow{
		Kind: parquet.PairsReceived, World: int32(w.to[0]), Rank: int32(w.to[1]), PeerWorld: int32(w.from[0]), Peer: int32(w.from[1]), SameHost: same, FromBytes: -1, ToBytes: -1,
		Messages: w.messages, Bytes: w.messages * w.bytes, BlockedNS: w.ns, LongestNS: 3 * w.ns / w.messages, FirstNS: 2 * w.ns / w.messages, LateNS: w.late, LateErrorNS: w.errors,
	}
	x.rows = append(x.rows, row)
	size := row
	size.FromBytes, size.LongestNS, size.FirstNS, size.LateNS, size.LateErrorNS = int64(1)<<(bitsOf(w.bytes)-1), 0, 0, -1, -1
	size.ToBytes = 2*size.FromBytes - 1
	x.rows = append(x.rows, size)
	sent := row
	sent.Kind, sent.World, sent.Rank, sent.PeerWorld, sent.Peer = parquet.PairsSent, row.PeerWorld, row.Peer, row.World, row.Rank
	sent.BlockedNS, sent.LongestNS, sent.FirstNS, sent.LateNS, sent.LateErrorNS = w.messages*300, 900, 600, min(w.late, 0), min(w.late, 0)
	x.rows = append(x.rows, sent)
	t := x.Totals
	t.Messages += row.Messages
	t.Bytes += row.Bytes
	if !same {
		t.InternodeMessages += row.Messages
		t.InternodeBytes += row.Bytes
	}
	pair := [4]int{w.from[0], w.from[1], w.to[0], w.to[1]}
	if slices.Compare(pair[:2], pair[2:]) > 0 {
		pair = [4]int{pair[2], pair[3], pair[0], pair[1]}
	}
	if !x.paired[pair] {
		x.paired[pair] = true
		t.Pairs++
	}
	x.ns += w.ns
	x.sendNS += sent.BlockedNS
	x.late[0] += max(w.late, 0)
	x.errors[0] += max(w.errors, 0)
}

func bitsOf(n int64) int {
	bits := 0
	for ; n > 0; n >>= 1 {
		bits++
	}
	return bits
}

// grid has each rank of a grid exchange messages with its neighbours.
func (x *exchange) grid(columns, rows int, messages, bytes int64) {
	rank := func(c, r int) [2]int { return [2]int{0, r*columns + c} }
	for r := range rows {
		for c := range columns {
			for _, to := range [][2]int{{c + 1, r}, {c, r + 1}} {
				if to[0] < columns && to[1] < rows {
					a, b := rank(c, r), rank(to[0], to[1])
					x.add(way{a, b, messages, bytes, messages * int64(2000+7*(a[1]%5)), messages * 40, 0})
					x.add(way{b, a, messages, bytes, messages * int64(2000+7*(b[1]%5)), messages * 40, 0})
				}
			}
		}
	}
}

func (x *exchange) done() (*rundir.Pairs, []parquet.PairsRow) {
	t := x.Totals
	t.Blocked, t.Send, t.LateSender, t.LateSenderError, t.LateReceiver, t.LateReceiverError = inSeconds(x.ns), inSeconds(x.sendNS), inSeconds(x.late[0]), inSeconds(x.errors[0]), inSeconds(x.late[1]), inSeconds(x.errors[1])
	x.Table.Rows = int64(len(x.rows))
	x.addSizes()
	x.addCauses()
	slices.SortStableFunc(x.rows, func(a, b parquet.PairsRow) int {
		return slices.Compare([]int32{a.World, a.Rank, a.PeerWorld, a.Peer}, []int32{b.World, b.Rank, b.PeerWorld, b.Peer})
	})
	x.Paths = []rundir.PairsCallPath{{CallPath: Halo, Messages: t.Messages, Bytes: t.Bytes, Blocked: t.Blocked}}
	return &x.Pairs, x.rows
}

func inSeconds(ns int64) rundir.Number { return rundir.Number(float64(ns) / 1e9) }

// addSizes adds up all receives by the size of their messages.
func (x *exchange) addSizes() {
	blocked := make(map[int64]int64)
	for i := range x.rows {
		r := &x.rows[i]
		if r.Kind != parquet.PairsReceived || r.Sized() {
			continue
		}
		from := int64(1) << (bitsOf(r.Bytes/r.Messages) - 1)
		k := slices.IndexFunc(x.Sizes, func(s rundir.PairsSize) bool { return s.FromBytes == from })
		if k < 0 {
			k = len(x.Sizes)
			x.Sizes = append(x.Sizes, rundir.PairsSize{FromBytes: from, ToBytes: 2*from - 1})
		}
		x.Sizes[k].Messages += r.Messages
		x.Sizes[k].Bytes += r.Bytes
		blocked[from] += r.BlockedNS
	}
	slices.SortFunc(x.Sizes, func(a, b rundir.PairsSize) int { return cmp.Compare(a.FromBytes, b.FromBytes) })
	for i := range x.Sizes {
		x.Sizes[i].Blocked = inSeconds(blocked[x.Sizes[i].FromBytes])
	}
}

// addCauses has each rank cause what others wait for it, unless there are causes, and adds up what is not listed.
func (x *exchange) addCauses() {
	late := x.late[0] + x.late[1]
	if len(x.Causes) == 0 {
		of := make(map[[2]int]int64) // by world and rank
		for i := range x.rows {
			if r := &x.rows[i]; r.Kind == parquet.PairsReceived && !r.Sized() {
				of[[2]int{int(r.PeerWorld), int(r.Peer)}] += r.LateNS
			}
		}
		ranks := slices.SortedFunc(maps.Keys(x.node), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
		for rank, name := range ranks {
			if ns := of[name]; ns > 0 && ns*1000 >= late {
				share := rundir.WaitsShare(float64(ns) / float64(late))
				x.Causes = append(x.Causes, rundir.PairsCause{Rank: &rank, What: rundir.CauseComputing, Share: share, Seconds: inSeconds(ns), Direct: inSeconds(ns), CallPath: Halo})
			}
		}
		slices.SortStableFunc(x.Causes, func(a, b rundir.PairsCause) int { return cmp.Compare(b.Seconds, a.Seconds) })
	}
	x.Rest = inSeconds(late - ns(x.Totals.Unexplained) - sumOf(x.Causes, func(c *rundir.PairsCause) rundir.Number { return c.Seconds }))
}

func (x *exchange) lines() {
	line := func(same bool, latency, bandwidth float64) rundir.PairsLine {
		return rundir.PairsLine{SameNode: same, Latency: rundir.Number(latency), Bandwidth: rundir.Number(bandwidth), Messages: 3000, Spread: .12, Sizes: []rundir.PairsLineSize{
			{FromBytes: 128, ToBytes: 128, Messages: 600, Quartile: rundir.Number(latency), Median: rundir.Number(latency * 1.1), P95: rundir.Number(latency * 2)},
			{FromBytes: 7040, ToBytes: 7040, Messages: 600, Quartile: rundir.Number(latency), Median: rundir.Number(latency * 9), P95: rundir.Number(latency * 20), Odd: !same},
			{FromBytes: 65536, ToBytes: 65536, Messages: 1800, Quartile: rundir.Number(latency * 3), Median: rundir.Number(latency * 4), P95: rundir.Number(latency * 8)},
		}}
	}
	x.Lines = []rundir.PairsLine{line(true, 1.2e-6, 8e9), line(false, 2.5e-6, 3e9)}
}

// lateRing is 8 ranks on 2 nodes in a ring, in which rank 2 is late for all, and for rank 3 most of all. The link of
// ranks 3 and 4 is slow.
func lateRing() *exchange {
	x := newExchange(8, 4, nil)
	x.Seconds = 5
	const ms = 1_000_000
	for r := range 8 {
		next := (r + 1) % 8
		forward, back := way{[2]int{0, r}, [2]int{0, next}, 1000, 65536, 20 * ms, 10 * ms, 0}, way{[2]int{0, next}, [2]int{0, r}, 1000, 65536, 22 * ms, 10 * ms, 0}
		switch r {
		case 2:
			forward.ns, forward.late = 2100*ms, 2000*ms
		case 3:
			forward.ns, forward.late, back.ns = 740*ms, 620*ms, 120*ms
		case 4:
			forward.ns, forward.late = 500*ms, 450*ms
		}
		x.add(forward)
		x.add(back)
	}
	x.lines()
	two, five, cluster := 2, 5, int32(3)
	x.Causes = []rundir.PairsCause{
		{Rank: &two, What: rundir.CauseComputing, Share: .95, Seconds: 3.04, Direct: 2, CallPath: Halo, Cluster: &cluster},
		{Pair: &[2]int{3, 4}, What: rundir.CauseMPI, Share: .02, Seconds: .064, Direct: .064},
		{Rank: &five, What: rundir.CauseOutside, Share: .01875, Seconds: .06, Direct: .02},
	}
	x.Totals.Unexplained, x.Totals.Collectives = .032, .5
	x.Findings = []rundir.PairsFinding{
		{Kind: rundir.PairsLateSender, Seconds: 3.04, Ranks: []int{2}, Pairs: [][2]int{{2, 3}}, Factor: rundir.Number(math.NaN()), CallPath: Halo,
			Text: "rank 2 makes others wait 3.04 s (95 % of all late-sender time): it computes 2.00 ms longer before MPI_Wait@halo.c:31 than rank 3"},
		{Kind: rundir.PairsSlowLink, Seconds: .21, Ranks: []int{3, 4}, Pairs: [][2]int{{3, 4}}, Factor: 11, Bytes: 65536, Messages: 2000,
			Text: "3–4 takes 11 × what other pairs between nodes take for 64 KiB, from n01 to n02"},
	}
	return x
}

// Pairs are pairs.json and the rows of pairs.parquet of what some ranks exchange:
//
//	halo       a grid of 4 × 4 ranks on one node, in which nothing stands out
//	late       a ring of 8 ranks on 2 nodes, of which rank 2 is late
//	estimates  the same, of windows: late times have errors, or are not known
//	large      a grid of 32 × 32 ranks, of which two and two are shuffled over 32 nodes
//	worlds     two worlds of 4 and 2 ranks
//	placed     two groups of 4 ranks, each of them on both of two nodes
//	none       no messages
func Pairs(kind string) (*rundir.Pairs, []parquet.PairsRow) {
	const ms = 1_000_000
	switch kind {
	case "halo":
		x := newExchange(16, 16, nil)
		x.grid(4, 4, 1000, 8192)
		x.lines()
		x.Lines = x.Lines[:1]
		return x.done()
	case "late":
		return lateRing().done()
	case "estimates":
		x := lateRing()
		x.Basis = rundir.PairsWindows
		for i := range x.rows {
			r := &x.rows[i]
			if r.FromBytes >= 0 {
				continue
			}
			if r.Kind == parquet.PairsReceived {
				r.LateErrorNS = r.LateNS / 20
			}
			if low, high := min(r.Rank, r.Peer), max(r.Rank, r.Peer); low == 6 && high == 7 {
				r.LateNS, r.LateErrorNS = -1, -1
			}
		}
		x.Lines[1].Latency, x.Lines[1].Bandwidth, x.Lines[1].Spread = rundir.Number(math.NaN()), rundir.Number(math.NaN()), rundir.Number(math.NaN())
		x.Why = []string{"the clocks of 2 nodes agree to 1 ms only"}
		x.Findings[0].Text = strings.Replace(x.Findings[0].Text, "3.04 s", "3.04 s ± 114 ms", 1)
		x.errors[0] = 120 * ms
		x.Table.Summed, x.Table.SummedBlocked, x.Table.SummedBytes = 12, .25, 50<<14
		x.rows = append(x.rows, parquet.PairsRow{Kind: parquet.PairsReceived, Rank: 7, PeerWorld: -1, Peer: -1, FromBytes: -1, ToBytes: -1, Messages: 50, Bytes: 50 << 14, BlockedNS: 250 * ms, LateNS: -1, LateErrorNS: -1})
		x.Totals.Messages, x.Totals.Bytes, x.ns = x.Totals.Messages+50, x.Totals.Bytes+50<<14, x.ns+250*ms
		return x.done()
	case "large":
		x := newExchange(1024, 32, func(r int) int { return r/2*391%512*2 + r%2 })
		x.grid(32, 32, 100, 65536)
		x.lines()
		return x.done()
	case "worlds":
		x := newExchange(4, 2, nil)
		x.world(1, 2, 2, nil)
		x.grid(2, 2, 500, 4096)
		x.add(way{[2]int{1, 0}, [2]int{1, 1}, 100, 4096, 30 * ms, 25 * ms, 0})
		x.add(way{[2]int{0, 3}, [2]int{1, 0}, 10, 1 << 20, 9 * ms, 1 * ms, 0})
		return x.done()
	case "placed":
		x := newExchange(8, 4, func(r int) int { return r%2*4 + r/2 })
		for a := range 8 {
			for b := range 8 {
				if a != b && a/4 == b/4 {
					x.add(way{[2]int{0, a}, [2]int{0, b}, 5000, 65536, 400 * ms, 10 * ms, 0})
				}
			}
		}
		x.add(way{[2]int{0, 0}, [2]int{0, 4}, 1000, 4096, 3 * ms, 0, 0})
		x.lines()
		return x.done()
	}
	x := newExchange(4, 4, nil)
	x.Basis, x.Why = "", []string{"no rank sends or receives a point-to-point message"}
	return &x.Pairs, nil
}

// WritePairs puts the files of pairs into a run directory that has none.
func WritePairs(dir string, p *rundir.Pairs, rows []parquet.PairsRow) error {
	if err := write(filepath.Join(dir, rundir.PairsFile), p.Write); err != nil {
		return err
	}
	if p.Totals == nil {
		return nil
	}
	rows = slices.Clone(rows)
	parquet.SortPairs(rows)
	return write(filepath.Join(dir, rundir.PairsTableFile), func(f io.Writer) error { return parquet.WritePairs(f, rows) })
}
