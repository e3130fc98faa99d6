package overview

import (
	"moriens/internal/team"
	"moriens/trace"
)

// A drawing is an overview that several members make. A row is drawn by the one that has its first thread; who has
// others of it sends it their sums.
type drawing struct {
	*Overview
	run      *trace.Run
	owners   team.Threads
	clusters int     // that have codes of their own
	stride   int     // sums of a bin: one for each code; where there are waits, one for each kind, the first, of none, left to draw; that of the critical path
	onPath   []uint8 // by row and bin: what the critical path is there of the bin's time, in 255ths; nil: it is not known
}

// column is where in Codes the code of a label is, of InMPI or of InLost, which is the last.
func (d *drawing) column(label int32) int {
	if label == InLost {
		return len(d.Codes) - 1
	}
	return codeOf(label, d.clusters)
}

func (d *drawing) mine(row int) bool { return d.owners.Mine(d.Rows[row][0]) }

// add has sums be the nanoseconds, by bin and code, of the threads of a row that are here.
func (d *drawing) add(row int, sums []int64) {
	clear(sums)
	bins := Bins{d.Bins, d.EndNS}
	for i := d.Rows[row][0]; i <= d.Rows[row][1]; i++ {
		bins.Each(&d.run.Threads[i], func(bin int, label int32, ns int64) { sums[bin*d.stride+d.column(label)] += ns })
		if d.Wait != nil {
			bins.EachWait(&d.run.Threads[i], func(bin int, kind trace.WaitKind, ns int64) { sums[bin*d.stride+len(d.Codes)+int(kind)] += ns })
		}
		if d.onPath != nil && d.owners.Mine(i) { // who has not the thread may know of its path too
			bins.EachCritical(&d.run.Threads[i], func(bin int, ns int64) { sums[(bin+1)*d.stride-1] += ns })
		}
	}
}

// A part is nanoseconds of a row, at a bin and code as one number.
type part struct{ at, ns int64 }

// exchange sends what this member has of others' rows, and returns by row what others have of its own.
func (d *drawing) exchange() (map[int][]part, error) {
	if d.owners.Size() == 1 {
		return nil, nil
	}
	parts := make([][]int64, d.owners.Size())
	sums := make([]int64, d.Bins*d.stride)
	for row, threads := range d.Rows {
		here := false
		for i := threads[0]; i <= threads[1]; i++ {
			here = here || d.owners.Mine(i)
		}
		if !here || d.mine(row) {
			continue
		}
		d.add(row, sums)
		to := &parts[d.owners.Owner(threads[0])]
		for at, ns := range sums {
			if ns != 0 {
				*to = append(*to, int64(row), int64(at), ns)
			}
		}
	}
	lists, err := team.Exchange(d.owners, parts)
	if err != nil {
		return nil, err
	}
	of := make(map[int][]part)
	for _, list := range lists {
		for ; len(list) >= 3; list = list[3:] {
			row := int(list[0])
			of[row] = append(of[row], part{list[1], list[2]})
		}
	}
	return of, nil
}

// collect gives each member the rows that others have drawn, and the sum of the totals of all.
func (d *drawing) collect(total []int64) error {
	if d.owners.Size() == 1 {
		return nil
	}
	// What a member has not drawn is 0.
	n := len(d.Cell)
	cells := make([]int64, 2*n+len(d.Wait)+len(d.onPath))
	for i := range d.Cell {
		cells[i], cells[n+i] = int64(d.Cell[i]), int64(d.Share[i])
	}
	for i, kind := range d.Wait {
		cells[2*n+i] = int64(kind)
	}
	paths := cells[2*n+len(d.Wait):]
	for i, share := range d.onPath {
		paths[i] = int64(share)
	}
	for _, list := range [][]int64{cells, total} {
		if err := d.owners.AllReduce(list, team.Sum); err != nil {
			return err
		}
	}
	for i := range d.Cell {
		d.Cell[i], d.Share[i] = uint16(cells[i]), uint8(cells[n+i])
	}
	for i := range d.Wait {
		d.Wait[i] = uint8(cells[2*n+i])
	}
	for i := range d.onPath {
		d.onPath[i] = uint8(paths[i])
	}
	return nil
}
