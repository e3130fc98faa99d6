package waits

import (
	"fmt"
	"maps"
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

// leastLabel is that of bursts in no cluster with the least number.
const leastLabel = -3

// codes number what threads compute before it is known what there is: by label and call path.
type codes struct{ paths, clusters int }

func newCodes(paths, clusters int) (codes, error) {
	if n := int64(clusters+1-leastLabel) * int64(paths); n > math.MaxInt32-int64(paths)-int64(firstMPIKey) {
		return codes{}, fmt.Errorf("%d clusters and %d call paths are more than can be distinguished", clusters, paths)
	}
	return codes{paths, clusters}, nil
}

func (c codes) first() int32 { return firstMPIKey + int32(c.paths) }

// of is the code of a burst.
func (c codes) of(label int32, path uint32) int32 {
	return c.first() + (label-leastLabel)*int32(c.paths) + int32(path)
}

// key is what a code stands for.
func (c codes) key(code int32) Key {
	code -= c.first()
	return Key{Computing, code/int32(c.paths) + leastLabel, uint32(code % int32(c.paths))}
}

// settle gives the lanes keys in the place of codes, and lists what they stand for.
func (c codes) settle(lanes []lane, workers int) []Key {
	list := make([]Key, c.first())
	list[outsideKey].What, list[notKeptKey].What = Outside, NotKept
	for p := range c.paths {
		list[mpiKey(uint32(p))] = Key{What: MPI, Path: uint32(p)}
	}
	seen := make([]map[int32]bool, len(lanes))
	each(lanes, workers, func(i int) {
		seen[i] = make(map[int32]bool)
		last := int32(-1)
		c.change(&lanes[i], func(code int32) int32 {
			if code != last { // as mostly not
				seen[i][code], last = true, code
			}
			return code
		})
	})
	keys := make(map[int32]int32) // by code
	for _, codes := range seen {
		for code := range codes {
			keys[code] = 0
		}
	}
	for _, code := range slices.Sorted(maps.Keys(keys)) {
		keys[code] = int32(len(list))
		list = append(list, c.key(code))
	}
	each(lanes, workers, func(i int) {
		last, now := int32(-1), int32(0)
		c.change(&lanes[i], func(code int32) int32 {
			if code != last {
				last, now = code, keys[code]
			}
			return now
		})
	})
	return list
}

// change puts something into the place of each code that a lane has.
func (c codes) change(l *lane, change func(code int32) int32) {
	for row, code := range l.gap {
		if code >= c.first() {
			l.gap[row] = change(code)
		}
	}
	for _, pieces := range l.pieces {
		for k := range pieces {
			if pieces[k].key >= c.first() {
				pieces[k].key = change(pieces[k].key)
			}
		}
	}
}

// groups gives each key the number of its group: the keys of one kind of computation, of one label, those of MPI, and
// the others each.
func (s *solver) groups() []int32 {
	type group struct {
		what    What
		cluster int32
	}
	numbers := make(map[group]int32)
	list := make([]int32, len(s.keys))
	for k, key := range s.keys {
		g := group{key.What, s.kind(key.Cluster)}
		n, known := numbers[g]
		if !known {
			n = int32(len(numbers))
			numbers[g] = n
		}
		list[k] = n
	}
	return list
}

// kind is the cluster that stands for a cluster's kind of computation; another label stands for itself.
func (s *solver) kind(label int32) int32 {
	if label > 0 && int(label) <= len(s.run.Kinds) {
		return s.run.Kinds[label-1]
	}
	return label
}

// deeds gives each key the first one of its deed: what is done, of which kind of computation, if any, and before, or
// in, the calls of which place.
func (s *solver) deeds() []int32 {
	firsts := make(map[Key]int32)
	list := make([]int32, len(s.keys))
	for k, key := range s.keys {
		key.Cluster = max(s.kind(key.Cluster), 0)
		if int(key.Path) < len(s.run.Places) {
			key.Path = s.run.Places[key.Path]
		}
		first, known := firsts[key]
		if !known {
			first = int32(k)
			firsts[key] = first
		}
		list[k] = first
	}
	return list
}
