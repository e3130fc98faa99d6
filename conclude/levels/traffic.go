package levels

import (
	"moriens/analysis/profile"
	"moriens/trace"
	"moriens/trace/parquet"
)

// A spot is a call path of a rank.
type spot struct {
	world, rank int
	path        uint32
}

// addTraffic adds the sums of what ranks have moved to the rows of a profile. Where the calls of a path are in one row
// it is that row's; else nothing shows how much is whose, and a row of its own has all that the path has moved.
func addTraffic(run *trace.Run, p *profile.Profile, out *parquet.Profile) {
	rows := make(map[spot][]int)
	for i := range p.Rows {
		if r := &p.Rows[i]; r.Kind == profile.MPI {
			t := &run.Threads[r.Thread]
			at := spot{t.World, t.Rank, r.Path}
			rows[at] = append(rows[at], i)
		}
	}
	names := run.Names()
	for i := range run.Traffic.Ranks {
		rank := &run.Traffic.Ranks[i]
		own := make(map[spot]int) // rows of traffic
		for _, x := range rank.Sites {
			at := spot{rank.World, rank.Rank, x.Path}
			to, begun := own[at]
			if calls := rows[at]; len(calls) == 1 {
				to = calls[0]
			} else if !begun {
				to = len(out.Rows)
				own[at] = to
				out.Rows = append(out.Rows, unite(out, calls, parquet.ProfileRow{
					Kind: parquet.ProfileTraffic, World: int32(rank.World), Rank: int32(rank.Rank), CallPath: names[x.Path], Iterations: -1,
				}))
			}
			row := &out.Rows[to]
			if row.Kind == parquet.ProfileTraffic {
				row.Count, row.Records = row.Count+x.Count, row.Records+x.Count
			}
			if x.Kind.Outgoing() {
				row.SentBytes += x.Bytes
			} else {
				row.ReceivedBytes += x.Bytes
			}
		}
	}
}

// unite takes what collectives have moved out of the rows of calls into one row, which has all of it then.
func unite(out *parquet.Profile, calls []int, into parquet.ProfileRow) parquet.ProfileRow {
	for _, i := range calls {
		row := &out.Rows[i]
		into.SentBytes, into.ReceivedBytes = into.SentBytes+row.SentBytes, into.ReceivedBytes+row.ReceivedBytes
		row.SentBytes, row.ReceivedBytes, row.InTraffic = 0, 0, true
	}
	return into
}
