package collector

import "sync"

// stirs wake those who wait for agents: one has come, is done, or has left.
type stirs struct {
	mu   sync.Mutex
	next chan struct{} // closed at the next one; nil: nobody waits
}

// stir wakes those who wait.
func (s *stirs) stir() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}

// wait is closed at the next one.
func (s *stirs) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}
