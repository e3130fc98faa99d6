package period

// tokens is a sequence of what a thread did: at first one token per burst, later with repetitions folded into one token
// each.
type tokens struct {
	kind []int32
	at   []int32 // the burst at which each begins, and the end of the last
	run  []int32 // the run that a token is, -1: it is a symbol; nil: all are
}

func (t tokens) len() int { return len(t.kind) }

func (t tokens) runOf(i int) int32 {
	if t.run == nil {
		return -1
	}
	return t.run[i]
}

// A loop is what is repeated: the kinds of its tokens, turned so that they are the least of all their rotations, which
// makes equal loops equal wherever a repetition begins.
type loop struct {
	body []int32
}

// A run is one place where a loop is repeated, as far as it goes to both sides: whole trips, and a part of one.
type run struct {
	kind       int32 // of its token
	level      int32 // the sequence in which it was found
	begin, end int32 // its tokens there
	turn       int32 // the place in the loop's body of its first token
	from, to   int32 // its bursts
	trips      int32
}

// leastRotation gives where the least rotation of body begins, by two candidates of which the worse skips what was
// compared (after Booth, Inf. Process. Lett. 10 (1980)); false: body is itself a repetition of something shorter.
func leastRotation(body []int32) (int, bool) {
	n := len(body)
	i, j, same := 0, 1, 0
	for i < n && j < n {
		if same == n {
			return 0, false
		}
		a, b := body[(i+same)%n], body[(j+same)%n]
		switch {
		case a == b:
			same++
			continue
		case a > b:
			i += same + 1
		default:
			j += same + 1
		}
		if i == j {
			j++
		}
		same = 0
	}
	return min(i, j), true
}
