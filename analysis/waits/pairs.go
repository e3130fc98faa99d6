package waits

import "moriens/internal/index"

// pairs are entries by a thread and another number, in the order in which they were first asked for.
type pairs[T any] struct {
	list []T
	at   index.Index
}

// of is the entry of a pair; one that is not there yet begins as given.
func (p *pairs[T]) of(thread, other int32, first T) *T {
	key := index.Spread(uint64(thread)<<32 | uint64(uint32(other)))
	n, known := p.at.Get(key, nil)
	if !known {
		n = uint32(len(p.list))
		p.list = append(p.list, first)
		p.at.Put(key, n)
	}
	return &p.list[n]
}
