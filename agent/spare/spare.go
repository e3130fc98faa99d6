// Package spare keeps messages for reuse, so that what an agent allocates all the time does not burden the garbage
// collector.
package spare

// most is how many messages wait at most to be used again.
const most = 8

// A List is of spare messages. What is in them is left as it was.
type List[T any] struct{ messages []*T }

// Put takes a message that is no longer needed; with enough of them waiting it drops it.
func (l *List[T]) Put(m *T) {
	if len(l.messages) < most {
		l.messages = append(l.messages, m)
	}
}

// Take gives one, or nil if none waits.
func (l *List[T]) Take() *T {
	last := len(l.messages) - 1
	if last < 0 {
		return nil
	}
	m := l.messages[last]
	l.messages = l.messages[:last]
	return m
}
