package window

import "moriens/internal/anchor"

// Settle does what is left after Append, as the Store does by itself a little later.
func (s *Store) Settle() error { return s.tidy() }

// Sort has the fresh log sorted, to its last commit.
func (s *Store) Sort() error {
	s.mu.Lock()
	err := s.fresh.Rotate()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.tidy()
}

// FetchBy has fewer runs be in memory at a time than usual.
func (s *Store) FetchBy(runs int) { s.fetchRuns = runs }

// Last is the last transaction that is in the store.
func (s *Store) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Still calls look while no file changes.
func (s *Store) Still(look func() error) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return look()
}

// Disordered counts the runs of sorted files that begin before the one before them ends.
func (s *Store) Disordered() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		for i := 1; i < len(f.runs); i++ {
			if f.runs[i].first < f.runs[i-1].last {
				n++
			}
		}
	}
	return n
}

// Tear is what a commit does that cannot be written.
func (s *Store) Tear(process uint64, w anchor.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.torn[key{process, w}] = true
}
