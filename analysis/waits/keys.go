package waits

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// The keys of what is neither computing nor MPI; those of MPI follow, by call path.
const (
	outsideKey int32 = iota
	notKeptKey
	firstMPIKey
)

// mpiKey is the key of the residual in calls of a path.
func mpiKey(path uint32) int32 { return firstMPIKey + int32(path) }

// codes number what threads compute before it is known what there is: by label and call path.
type codes struct {
	paths int
	least int32 // label
}

func newCodes(threads []Thread, paths int) (c codes, err error) {
	least, most := int32(0), int32(0)
	for i := range threads {
		for _, label := range threads[i].Cluster {
			least, most = min(least, label), max(most, label)
		}
	}
	c = codes{paths, least}
	if n := (int64(most) - int64(least) + 1) * int64(paths); n > math.MaxInt32-int64(paths)-int64(firstMPIKey) {
		return c, fmt.Errorf("labels from %d to %d, and %d call paths, are more than can be told apart", least, most, paths)
	}
	return c, nil
}

func (c codes) first() int32 { return firstMPIKey + int32(c.paths) }

// of is the code of a burst.
func (c codes) of(label int32, path uint32) int32 {
	return c.first() + (label-c.least)*int32(c.paths) + int32(path)
}

// key is what a code stands for.
func (c codes) key(code int32) Key {
	code -= c.first()
	return Key{Computing, code/int32(c.paths) + c.least, uint32(code % int32(c.paths))}
}

// settle gives the lanes keys in the place of codes, and lists what they stand for.
func (c codes) settle(lanes []lane) []Key {
	list := make([]Key, c.first())
	list[outsideKey].What, list[notKeptKey].What = Outside, NotKept
	for p := range c.paths {
		list[mpiKey(uint32(p))] = Key{What: MPI, Path: uint32(p)}
	}
	used := make(map[int32]int32)
	each := func(change func(code int32) int32) {
		for i := range lanes {
			for row, code := range lanes[i].gap {
				if code >= c.first() {
					lanes[i].gap[row] = change(code)
				}
			}
			for _, pieces := range lanes[i].pieces {
				for k := range pieces {
					if pieces[k].key >= c.first() {
						pieces[k].key = change(pieces[k].key)
					}
				}
			}
		}
	}
	last := int32(-1)
	each(func(code int32) int32 {
		if code != last {
			used[code], last = 0, code
		}
		return code
	})
	order := make([]int32, 0, len(used))
	for code := range used {
		order = append(order, code)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(a, b) })
	for _, code := range order {
		used[code] = int32(len(list))
		list = append(list, c.key(code))
	}
	last, now := -1, int32(0)
	each(func(code int32) int32 {
		if code != last {
			last, now = code, used[code]
		}
		return now
	})
	return list
}
