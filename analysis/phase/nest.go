package phase

// MostDepth is how deep phases lie in each other at most. The cost of a profile grows with the depth of its paths, and
// a program that begins phases and never ends them makes another one with each.
const MostDepth = 256

// A Nest has the names of the phases that are open on a thread, outermost first. What begins deeper than MostDepth is
// part of the phase at that depth; its end is matched as those of others are. The zero value has none.
type Nest struct {
	names []uint32
	deep  map[uint32]int // how many of those beyond MostDepth have a name
}

// Len is how many are open, those beyond MostDepth included.
func (n *Nest) Len() int { return len(n.names) }

// Begin begins a phase. False: it lies beyond MostDepth.
func (n *Nest) Begin(name uint32) (is bool) {
	n.names = append(n.names, name)
	if len(n.names) <= MostDepth {
		return true
	}
	if n.deep == nil {
		n.deep = make(map[uint32]int)
	}
	n.deep[name]++
	return false
}

// End ends the innermost phase of a name, with those in it, and returns how many remain open; -1: none has the name,
// and nothing ends.
func (n *Nest) End(name uint32) (remain int) {
	k := len(n.names) - 1
	if k >= MostDepth && n.deep[name] == 0 {
		k = MostDepth - 1
	}
	for k >= 0 && n.names[k] != name {
		k--
	}
	if k < 0 {
		return -1
	}
	for i := len(n.names) - 1; i >= max(k, MostDepth); i-- { // each that has begun ends once
		if of := n.names[i]; n.deep[of] > 1 {
			n.deep[of]--
		} else {
			delete(n.deep, of)
		}
	}
	n.names = n.names[:k]
	return k
}
