package pairing

import (
	"fmt"
	"testing"

	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// stencil hands out, some at a time, the rows of ranks in a cube, each of which exchanges messages with its 26
// neighbours.
func stencil(side, perNode int) (*rundir.Pairs, func(give func([]parquet.PairsRow) error) error) {
	ranks := side * side * side
	p := &rundir.Pairs{Format: 1, Basis: rundir.PairsWindows, Seconds: 100, Totals: new(rundir.PairsTotals)}
	for n := 0; n < ranks; n += perNode {
		p.Hosts = append(p.Hosts, rundir.PairsHost{Name: fmt.Sprintf("n%05d", n/perNode), Ranks: fmt.Sprintf("%d-%d", n, min(n+perNode, ranks)-1)})
	}
	return p, func(give func([]parquet.PairsRow) error) error {
		var batch []parquet.PairsRow
		for r := range ranks {
			batch = batch[:0]
			x, y, z := r%side, r/side%side, r/side/side
			for d := range 27 {
				a, b, c := (x+d%3+side-1)%side, (y+d/3%3+side-1)%side, (z+d/9+side-1)%side
				peer := (c*side+b)*side + a
				if peer == r {
					continue
				}
				row := parquet.PairsRow{
					Kind: parquet.PairsReceived, Rank: int32(r), Peer: int32(peer), FromBytes: -1, ToBytes: -1, Messages: 1000, Bytes: 1 << 20, BlockedNS: int64(1_000_000 + (r*7919+peer*31)%9973),
					LongestNS: 10_000, FirstNS: 20_000, LateNS: 100_000, LateErrorNS: 10_000,
				}
				batch = append(batch, row)
				row.Kind = parquet.PairsSent
				batch = append(batch, row)
			}
			if err := give(batch); err != nil {
				return err
			}
		}
		return nil
	}
}

// What an answer takes, by ranks with 26 neighbours each.
func BenchmarkSolve(b *testing.B) {
	for _, side := range []int{4, 16, 46} {
		b.Run(fmt.Sprint(side*side*side), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				file, rows := stencil(side, 64)
				s, err := newSolver(file, Question{})
				if err == nil {
					err = rows(s.add)
				}
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.result(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
