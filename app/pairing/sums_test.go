package pairing

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/app/question"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// near compares times, which are sums of nanoseconds; not known equals not known.
func near(a, b rundir.Number) bool {
	x, y := float64(a), float64(b)
	return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-12*max(1e-3, math.Abs(x))
}

// A planted run has up to two worlds on some nodes, and every row that its ranks may have, drawn at random.
type planted struct {
	file  *rundir.Pairs
	rows  []parquet.PairsRow
	ranks []Rank
}

func plant(t *rapid.T) planted {
	p := planted{file: &rundir.Pairs{Format: 1, Basis: rapid.SampledFrom([]string{rundir.PairsAll, rundir.PairsWindows}).Draw(t, "basis"), Seconds: 1, Totals: &rundir.PairsTotals{}}}
	for world := range rapid.IntRange(1, 2).Draw(t, "worlds") {
		for rank := range rapid.IntRange(1, 4).Draw(t, "ranks") {
			node := fmt.Sprintf("n%d", rapid.IntRange(0, 2).Draw(t, "node"))
			p.ranks = append(p.ranks, Rank{world, 2*rank + world, node})
			p.file.Hosts = append(p.file.Hosts, rundir.PairsHost{Name: node, World: world, Ranks: fmt.Sprint(2*rank + world)})
		}
	}
	kinds := []string{parquet.PairsSent, parquet.PairsReceived, parquet.PairsPut, parquet.PairsGot, parquet.PairsCollective}
	n, late := rapid.Int64Range(1, 1000), []int64{0, 1, 9, 20, 30, 40, 50, -1}
	for range rapid.IntRange(0, 60).Draw(t, "rows") {
		a, b := rapid.SampledFrom(p.ranks).Draw(t, "rank"), rapid.SampledFrom(p.ranks).Draw(t, "peer")
		r := parquet.PairsRow{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), World: int32(a.World), Rank: int32(a.Rank), PeerWorld: int32(b.World), Peer: int32(b.Rank), FromBytes: -1, ToBytes: -1,
			Messages: n.Draw(t, "messages"), Bytes: n.Draw(t, "bytes"), BlockedNS: n.Draw(t, "ns"), LongestNS: n.Draw(t, "longest"), FirstNS: n.Draw(t, "first"),
			LateNS: rapid.SampledFrom(late).Draw(t, "late"), LateErrorNS: rapid.SampledFrom(late).Draw(t, "error"),
		}
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			r.PeerWorld, r.Peer = -1, -1
		case 1:
			r.Peer = 99
		case 2, 3:
			r.FromBytes = int64(1) << rapid.IntRange(0, 3).Draw(t, "size")
			r.ToBytes = 2*r.FromBytes - 1
		}
		p.rows = append(p.rows, r)
	}
	return p
}

// of are the rows of a kind from one rank to another, or of all sizes only.
func (p *planted) of(kind string, rank, peer Rank, sizes bool) (list []parquet.PairsRow) {
	for _, r := range p.rows {
		if r.Kind == kind && int(r.World) == rank.World && int(r.Rank) == rank.Rank && int(r.PeerWorld) == peer.World && int(r.Peer) == peer.Rank && (r.FromBytes >= 0) == sizes {
			list = append(list, r)
		}
	}
	return list
}

// pair adds up a pair the slow way; ok: it has exchanged messages.
func (p *planted) pair(a, b int) (want Pair, ok bool) {
	unknown := rundir.Number(math.NaN())
	want = Pair{A: a, B: b, SameNode: p.ranks[a].Node == p.ranks[b].Node, Longest: unknown, First: unknown}
	late := func(rows []parquet.PairsRow, ns, standardError *rundir.Number) {
		for _, r := range rows {
			e := r.LateErrorNS
			if p.file.Basis == rundir.PairsAll {
				e = 0
			}
			if r.LateNS < 0 || e < 0 {
				*ns, *standardError = unknown, unknown
			}
			*ns += rundir.Number(float64(r.LateNS) / 1e9)
			*standardError += rundir.Number(float64(e) / 1e9)
		}
	}
	for _, way := range [][2]int{{a, b}, {b, a}} {
		from, to := p.ranks[way[0]], p.ranks[way[1]]
		received, sent := p.of(parquet.PairsReceived, to, from, false), p.of(parquet.PairsSent, from, to, false)
		counted, sizes := received, p.of(parquet.PairsReceived, to, from, true)
		if len(received) == 0 {
			counted, sizes = sent, p.of(parquet.PairsSent, from, to, true)
		}
		for _, r := range counted {
			want.Messages += r.Messages
			want.Bytes += r.Bytes
		}
		for _, r := range received {
			want.Blocked += inSeconds(r.BlockedNS)
			if math.IsNaN(float64(want.Longest)) {
				want.Longest, want.First = 0, 0
			}
			want.Longest, want.First = max(want.Longest, inSeconds(r.LongestNS)), max(want.First, inSeconds(r.FirstNS))
		}
		for _, r := range sent {
			want.Send += inSeconds(r.BlockedNS)
		}
		late(received, &want.LateSender, &want.LateSenderError)
		late(sent, &want.LateReceiver, &want.LateReceiverErr)
		if len(counted) > 0 && len(received) == 0 {
			want.LateSender, want.LateSenderError = unknown, unknown
		}
		if len(counted) > 0 && len(sent) == 0 {
			want.LateReceiver, want.LateReceiverErr = unknown, unknown
		}
		for _, r := range sizes {
			k := slices.IndexFunc(want.Sizes, func(s rundir.PairsSize) bool { return s.FromBytes == r.FromBytes })
			if k < 0 {
				k = len(want.Sizes)
				want.Sizes = append(want.Sizes, rundir.PairsSize{FromBytes: r.FromBytes, ToBytes: r.ToBytes})
			}
			want.Sizes[k].Messages += r.Messages
			want.Sizes[k].Bytes += r.Bytes
			if r.Kind == parquet.PairsReceived {
				want.Sizes[k].Blocked += inSeconds(r.BlockedNS)
			}
		}
	}
	slices.SortFunc(want.Sizes, func(x, y rundir.PairsSize) int { return int(x.FromBytes - y.FromBytes) })
	return want, want.Messages > 0
}

// Sums of pairs are those that a simple loop over all rows makes, whatever rows there are.
func TestSumsByBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plant(t)
		by := rapid.SampledFrom([]By{Blocked, Bytes, Messages, Late}).Draw(t, "by")
		r, err := Solve(p.file, p.rows, Question{By: by})
		var want []Pair
		known := false
		for a := range p.ranks {
			for b := a + 1; b < len(p.ranks); b++ {
				if x, ok := p.pair(a, b); ok {
					known = known || !math.IsNaN(float64(x.LateSender+x.LateReceiver))
					want = append(want, x)
				}
			}
		}
		var mistake question.UsageError
		if by == Late && len(want) > 0 && !known {
			if !errors.As(err, &mistake) {
				t.Fatalf("late times are known of no pair, and the error is %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r.Ranks, p.ranks) || len(r.Pairs) != len(want) {
			t.Fatalf("ranks %v, want %v; %d pairs, want %d", r.Ranks, p.ranks, len(r.Pairs), len(want))
		}
		for i, w := range want {
			g := r.Pairs[i]
			distance := map[By]rundir.Number{Blocked: w.Blocked, Bytes: rundir.Number(w.Bytes), Messages: rundir.Number(w.Messages), Late: w.LateSender + w.LateReceiver}[by]
			same := g.A == w.A && g.B == w.B && g.SameNode == w.SameNode && g.Messages == w.Messages && g.Bytes == w.Bytes && near(g.Blocked, w.Blocked) && near(g.Send, w.Send) &&
				near(g.Longest, w.Longest) && near(g.First, w.First) && near(g.LateSender, w.LateSender) && near(g.LateSenderError, w.LateSenderError) &&
				near(g.LateReceiver, w.LateReceiver) && near(g.LateReceiverErr, w.LateReceiverErr) && near(g.Distance, distance) && len(g.Sizes) == len(w.Sizes)
			for k := 0; same && k < len(w.Sizes); k++ {
				x, y := g.Sizes[k], w.Sizes[k]
				same = x.FromBytes == y.FromBytes && x.ToBytes == y.ToBytes && x.Messages == y.Messages && x.Bytes == y.Bytes && near(x.Blocked, y.Blocked)
			}
			if !same {
				t.Fatalf("pair %d is\n%+v, want\n%+v", i, g, w)
			}
		}
		p.checkUnpaired(t, r)
		p.checkTotal(t)
		checkTree(t, r)
	})
}

// checkTotal compares the messages of all rows with what totals have: received, or sent to ranks without a record.
func (p *planted) checkTotal(t *rapid.T) {
	g := newGathering(p.ranks, true)
	if err := g.add(p.rows); err != nil {
		t.Fatal(err)
	}
	messages, bytes := int64(0), int64(0)
	for _, x := range p.rows {
		if x.FromBytes < 0 && (x.Kind == parquet.PairsReceived || x.Kind == parquet.PairsSent && x.Peer == 99) {
			messages += x.Messages
			bytes += x.Bytes
		}
	}
	if g.total.messages != messages || g.total.bytes != bytes {
		t.Fatalf("%+v, want %d messages of %d bytes", g.total, messages, bytes)
	}
}

// checkUnpaired compares what is in no pair.
func (p *planted) checkUnpaired(t *rapid.T, r *Result) {
	var want Unpaired
	for _, x := range p.rows {
		received := x.Kind == parquet.PairsReceived
		switch {
		case x.FromBytes >= 0:
		case x.Peer < 0 && received:
			want.SummedMessages += x.Messages
			want.SummedBytes += x.Bytes
			want.SummedBlocked += inSeconds(x.BlockedNS)
		case x.Peer == 99 && (received || x.Kind == parquet.PairsSent):
			want.UnrecordedMessages += x.Messages
			want.UnrecordedBytes += x.Bytes
			if received {
				want.UnrecordedBlocked += inSeconds(x.BlockedNS)
			}
		case x.Peer == x.Rank && x.PeerWorld == x.World && received:
			want.OwnMessages += x.Messages
			want.OwnBytes += x.Bytes
			want.OwnBlocked += inSeconds(x.BlockedNS)
		}
	}
	got := r.Unpaired
	if !near(got.SummedBlocked, want.SummedBlocked) || !near(got.OwnBlocked, want.OwnBlocked) || !near(got.UnrecordedBlocked, want.UnrecordedBlocked) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	if got.SummedBlocked, got.OwnBlocked, got.UnrecordedBlocked = want.SummedBlocked, want.OwnBlocked, want.UnrecordedBlocked; got != want {
		t.Fatalf("%+v, want %+v", got, want)
	}
}
