package sectiontest

import (
	"fmt"
	"math"
	"slices"

	"moriens/internal/mpicall"
	"moriens/internal/section"
)

// A Row is what a block says of one of its rows.
type Row struct {
	Number, Enter, Exit     uint64 // of the call
	Burst                   uint64
	Call                    mpicall.ID
	Path                    uint32
	NoBurst, Paused, Inside bool
	Polls                   uint64  // how many calls it is
	Counts                  []int64 // the least one was not read; none of a row without
	Met                     []section.Collective
}

// RowsOf are the rows of a block.
func RowsOf(b *section.Block) (rows []Row) {
	at, met := b.Origin, b.Collectives
	for i := range b.Rows {
		has := func(list []uint32) bool { _, found := slices.BinarySearch(list, uint32(i)); return found }
		site := b.Sites[b.Site[i]]
		x := Row{
			Number: b.First + uint64(i), Enter: at + b.Burst[i], Burst: b.Burst[i], Call: mpicall.ID(site.Function), Path: site.Path,
			NoBurst: has(b.NoBurst), Paused: has(b.Paused), Inside: b.Unfinished && i == b.Rows-1, Polls: 1,
		}
		x.Exit = x.Enter + b.Call[i]
		at = x.Exit
		if k, found := slices.BinarySearch(b.PollsRow, uint32(i)); found {
			x.Polls = b.Polls[k]
		}
		for k := 0; k < b.Events && !has(b.NoCounts); k++ {
			value := b.Counts[k][i]
			if slices.Contains(b.NotRead, section.NotRead{Row: uint32(i), Event: uint8(k)}) {
				value = math.MinInt64
			}
			x.Counts = append(x.Counts, value)
		}
		for len(met) > 0 && met[0].Row == uint32(i) {
			c := met[0]
			c.Row, met = 0, met[1:]
			x.Met = append(x.Met, c)
		}
		rows = append(rows, x)
	}
	if len(met) > 0 {
		panic(fmt.Sprintf("a collective in row %d of %d", met[0].Row, b.Rows))
	}
	return rows
}
