package store

// RanksMissing is how many ranks of the largest world have not come, as far as their number tells.
func (s *Store) RanksMissing() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.ranksMissing()
}

func (s *Store) ranksMissing() int {
	largest := 0
	for _, p := range s.processes {
		largest = max(largest, int(p.Info.Size))
	}
	return max(0, largest-len(s.processes))
}
