package window

import "moriens/internal/anchor"

// Last is the last transaction that is in the store.
func (s *Store) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// StateBytes is how long the state log is.
func (s *Store) StateBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Bytes()
}

// Below are the hashes up to which windows are held, by class.
func (s *Store) Below() [classes]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.below
}

// Class is that of a window of a process: 0 = ordinary, 1 = unusual, 2 = pinned.
func (s *Store) Class(process uint64, w anchor.ID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.class(key{process, w}))
}

// Torn reports whether part of a window could not be written.
func (s *Store) Torn(process uint64, w anchor.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.torn[key{process, w}]
}

// Compact has the state log rewritten.
func (s *Store) Compact() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.save()
}
