package anchor

import moriensv1 "moriens/proto/moriens/v1"

// OfAllRanks reports whether a communicator's collectives are anchors in a world of a size.
func OfAllRanks(c *moriensv1.Communicator, size int64) bool {
	if c.Inter || c.Window || c.File || c.Guessed || c.Cut || int64(c.Size) != size || len(c.First) != 1 {
		return false
	}
	return c.First[0] == 0 && int64(c.Count[0]) == size && (c.Stride[0] == 1 || size == 1)
}
