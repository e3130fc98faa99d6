package store

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// RanksMissing is how many ranks of the largest world have not connected, as far as their number shows.
func (s *Store) RanksMissing() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return ranksMissing(len(s.processes), maps.Values(s.processes))
}

func ranksMissing(seen int, processes iter.Seq[*Process]) int {
	largest := 0
	for p := range processes {
		largest = max(largest, int(p.Info.Size))
	}
	return max(0, largest-seen)
}

// deserted says of an agent whether it serves no process, where all ranks have connected and all processes have ended:
// none will connect to it.
func deserted(seen int, processes iter.Seq[*Process]) func(*Agent) bool {
	over := seen > 0 && ranksMissing(seen, processes) == 0
	serves := make(map[*Agent]bool)
	for p := range processes {
		serves[p.Agent] = true
		over = over && p.End != nil
	}
	return func(a *Agent) bool { return over && !serves[a] }
}

// Deserted returns how many of the agents that are expected are so for no process: all ranks have arrived, and all
// processes have ended.
func (s *Store) Deserted(grace time.Duration) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	needless, n := deserted(len(s.processes), maps.Values(s.processes)), 0
	for _, a := range s.agents {
		if a.expected(grace) && needless(a) {
			n++
		}
	}
	return n
}

// Unfinished are the agents that are not done, but for those that have served no process of a run of which all has
// arrived.
func (f *Frozen) Unfinished() []*Agent {
	needless := deserted(len(f.Processes), slices.Values(f.Processes))
	return slices.DeleteFunc(slices.Clone(f.Agents), func(a *Agent) bool { return a.Done != nil || needless(a) })
}
