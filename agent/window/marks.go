package window

import (
	"cmp"
	"slices"

	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// A class says when a window is evicted: all of one class before any of the next.
type class uint8

const (
	ordinary class = iota
	unusual
	pinned
	classes
)

var classOf = map[moriensv1.Keep_Why]class{moriensv1.Keep_WHY_UNUSUAL: unusual, moriensv1.Keep_WHY_PINNED: pinned}

// A mark is why a window is kept longer than others.
type mark struct {
	class  class
	reason string
}

// whyUnusual is the reason of marks that the agent sets itself.
const whyUnusual = "it took far longer than others with the same calls"

// class is the higher one of a process's window and of that window of all processes.
func (s *Store) class(k key) class {
	return max(s.marks[k].class, s.marks[key{0, k.window}].class)
}

// retained reports whether a window is not evicted, or would not be.
func (s *Store) retained(k key) bool {
	if s.torn[k] {
		return false
	}
	if p := s.processes[k.process]; p != nil && p.out && k.window <= p.lost {
		return false
	}
	return !s.evicted(logKey{s.class(k), s.level(chunkOf(k.window))})
}

// level is that of a chunk.
func (s *Store) level(c chunk) int { return levelOf(c.hash(s.config.Run)) }

// gone reports whether something of a window has been evicted.
func (s *Store) gone(k key) bool {
	p := s.processes[k.process]
	return p != nil && p.had(k.window) && !s.retained(k)
}

// isNoted reports whether the state log has that a process was in a window.
func (p *process) isNoted(w anchor.ID) bool {
	for _, r := range p.rings {
		if i, found := r.find(w); found && i < r.noted.edges {
			return true
		}
	}
	return false
}

// had reports whether a process has been in a window.
func (p *process) had(w anchor.ID) bool {
	for _, r := range p.rings {
		if _, found := r.find(w); found {
			return true
		}
	}
	return false
}

func (s *Store) mark(m *moriensv1.WindowMark) {
	k := key{m.Process, anchor.ID(m.Window)}
	c := classOf[m.Why]
	if c == ordinary {
		s.torn[k] = true
		return
	}
	if s.marks[k].class < c {
		s.marks[k] = mark{c, m.Reason}
	}
}

// markUnusual marks a window that was found unusual here.
func (s *Store) markUnusual(k key) {
	s.stats.Unusual++
	s.pending.unusual = append(s.pending.unusual, k)
	if !s.gone(k) {
		s.mark(&moriensv1.WindowMark{Process: k.process, Window: uint64(k.window), Why: moriensv1.Keep_WHY_UNUSUAL, Reason: whyUnusual})
	}
}

// Keep marks windows, so that they are kept longer, and reports which of them are gone already. Marks outlive the
// process; where they cannot be written the answer says so.
func (s *Store) Keep(k *moriensv1.Keep) *moriensv1.Kept {
	answer := &moriensv1.Kept{Number: k.Number}
	if classOf[k.Why] == ordinary {
		answer.Error = "neither pinned nor unusual"
		return answer
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := new(moriensv1.WindowState)
	processes := s.asked(k.Process)
	for _, w := range k.Window {
		whole := len(k.Process) == 0
		var list []*moriensv1.WindowMark
		for _, p := range processes {
			switch at := (key{p.id, anchor.ID(w)}); {
			case s.gone(at):
				whole = false
				answer.GoneProcess, answer.GoneWindow = append(answer.GoneProcess, p.id), append(answer.GoneWindow, w)
				continue
			case p.had(at.window):
				answer.Held++
			case at.window < p.window: // nothing that it has done lies there
				continue
			default:
				answer.Ahead++
			}
			list = append(list, &moriensv1.WindowMark{Process: p.id, Window: w, Why: k.Why, Reason: k.Reason})
		}
		if whole { // also of future processes
			list = []*moriensv1.WindowMark{{Window: w, Why: k.Why, Reason: k.Reason}}
		}
		n.Marks = append(n.Marks, list...)
	}
	if err := s.writeState(n); err != nil {
		return &moriensv1.Kept{Number: k.Number, Error: err.Error()}
	}
	for _, m := range n.Marks {
		s.mark(m)
	}
	return answer
}

// asked lists the processes of a request, by id; those that are not here are another node's.
func (s *Store) asked(ids []uint64) (list []*process) {
	for id, p := range s.processes {
		if len(ids) == 0 || slices.Contains(ids, id) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *process) int { return cmp.Compare(a.id, b.id) })
	return list
}
