package dbscan

// A pointList is the coordinates of points, in runs that never move.
type pointList struct {
	room []float64 // in the last run
	n    int
	runs [][]float64
}

func (l *pointList) add(at []float64) {
	if len(l.room) < len(at) {
		l.grow(len(at))
	}
	to := l.room[:len(at)]
	for j := range to { // a few numbers: a call to copy them costs more
		to[j] = at[j]
	}
	l.room = l.room[len(at):]
	l.n++
}

func (l *pointList) grow(dims int) {
	const least, most = 4, 256              // points in a run
	if last := len(l.runs) - 1; last >= 0 { // parts may have cut it
		l.runs[last] = l.runs[last][:cap(l.runs[last])]
	}
	l.room = make([]float64, dims*max(least, min(most, l.n)))
	l.runs = append(l.runs, l.room)
}

// parts returns the coordinates, run by run.
func (l *pointList) parts() [][]float64 {
	if last := len(l.runs) - 1; last >= 0 {
		run := &l.runs[last]
		*run = (*run)[:cap(*run)-len(l.room)]
	}
	return l.runs
}

// countNear counts, up to enough, the points within Eps of at, without the first skip points.
func (l *pointList) countNear(at []float64, skip int, eps2 float64, enough int) int {
	found := 0
	skip *= len(at)
	for _, run := range l.parts() {
		if skip >= len(run) {
			skip -= len(run)
			continue
		}
		if found += countNear(at, run[skip:], eps2, enough-found); found >= enough {
			break
		}
		skip = 0
	}
	return found
}

// rowCells are the cells of points, in the order of insertion, in chunks that never move.
type rowCells struct {
	n      int
	chunks [][]int32
}

const rowChunk = 1 << 16

// extend makes room for up to n points more and returns it.
func (r *rowCells) extend(n int) []int32 {
	if r.n == len(r.chunks)*rowChunk {
		r.chunks = append(r.chunks, make([]int32, rowChunk))
	}
	chunk := r.chunks[len(r.chunks)-1][r.n%rowChunk:]
	chunk = chunk[:min(n, len(chunk))]
	r.n += len(chunk)
	return chunk
}

func (r *rowCells) at(row int) int32 { return r.chunks[row/rowChunk][row%rowChunk] }
