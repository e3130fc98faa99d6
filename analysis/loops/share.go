package loops

// leastShared is how many symbols in a row are worth a body of their own if they recur.
const leastShared = 4

// share gives symbols in a row that recur, in several bodies or in the line, one body: what lies between two loops is
// then reported once, and not in each turn round them that differs from others elsewhere. The line has no shapes any
// more.
func (f *forest) share(l line) line {
	count := make(map[uint64]int) // by hash: two that share one by chance may get a body that nothing else has
	note := func(nodes []int32) { f.runsOf(nodes, func(from, to int) { count[hashOf(nodes[from:to])]++ }) }
	bodies := len(f.bodies)
	for _, body := range f.bodies {
		note(body)
	}
	note(l.nodes)
	rewrite := func(nodes []int32) []int32 {
		var out []int32
		done := 0
		f.runsOf(nodes, func(from, to int) {
			if to-from == len(nodes) || count[hashOf(nodes[from:to])] < 2 { // what is a body already is shared as it is
				return
			}
			out = append(append(out, nodes[done:from]...), f.loop([]Turn{{f.body(nodes[from:to]), 1}}))
			done = to
		})
		if out == nil {
			return nodes
		}
		return append(out, nodes[done:]...)
	}
	for i := range bodies {
		f.bodies[i] = rewrite(f.bodies[i])
	}
	return line{nodes: rewrite(l.nodes)}
}

// runsOf calls with for each run of symbols among nodes, [from, to), that is long enough to be shared.
func (f *forest) runsOf(nodes []int32, with func(from, to int)) {
	for i := 0; i < len(nodes); {
		k := i
		for k < len(nodes) && f.nodes[nodes[k]].times > 0 {
			k++
		}
		if k-i >= leastShared {
			with(i, k)
		}
		i = max(k, i+1)
	}
}
