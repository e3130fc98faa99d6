package trace

import "slices"

// EnteredAt is the call that began at a time, -1 = none; of several the last, because those before it have no length.
func (c *Calls) EnteredAt(ns int64) int {
	i, _ := slices.BinarySearch(c.EnterNS, ns+1)
	if i == 0 || c.EnterNS[i-1] != ns {
		return -1
	}
	return i - 1
}

// LeftAt is the call that ended at a time, -1 = none; of several the first.
func (c *Calls) LeftAt(ns int64) int {
	i, found := slices.BinarySearch(c.ExitNS, ns)
	if !found {
		return -1
	}
	return i
}
