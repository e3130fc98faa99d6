package placement

// A queue has vertices in the order of their gains: a binary heap that knows where each is. Of equal gains the vertex
// with the lowest number comes first.
type queue struct {
	gain []int64 // by vertex
	at   []int32 // by vertex: its place in the heap and one; 0: it is not there
	heap []int32
}

func newQueue(vertices int) *queue {
	return &queue{gain: make([]int64, vertices), at: make([]int32, vertices)}
}

func (q *queue) has(v int32) bool { return q.at[v] > 0 }

// top is the vertex that gains most.
func (q *queue) top() (int32, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0], true
}

// set puts the vertex in, or to where it belongs now.
func (q *queue) set(v int32, gain int64) {
	q.gain[v] = gain
	if q.at[v] == 0 {
		q.heap = append(q.heap, v)
		q.at[v] = int32(len(q.heap))
	}
	q.down(q.up(int(q.at[v]) - 1))
}

func (q *queue) remove(v int32) {
	if q.at[v] == 0 {
		return
	}
	i, last := int(q.at[v])-1, len(q.heap)-1
	q.swap(i, last)
	q.heap, q.at[v] = q.heap[:last], 0
	if i < last {
		q.down(q.up(i))
	}
}

func (q *queue) clear() {
	for _, v := range q.heap {
		q.at[v] = 0
	}
	q.heap = q.heap[:0]
}

func (q *queue) before(i, k int) bool {
	a, b := q.heap[i], q.heap[k]
	return q.gain[a] > q.gain[b] || q.gain[a] == q.gain[b] && a < b
}

func (q *queue) swap(i, k int) {
	q.heap[i], q.heap[k] = q.heap[k], q.heap[i]
	q.at[q.heap[i]], q.at[q.heap[k]] = int32(i+1), int32(k+1)
}

func (q *queue) up(i int) int {
	for i > 0 && q.before(i, (i-1)/2) {
		q.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (q *queue) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(q.heap) {
			return
		}
		if child+1 < len(q.heap) && q.before(child+1, child) {
			child++
		}
		if !q.before(child, i) {
			return
		}
		q.swap(i, child)
		i = child
	}
}
