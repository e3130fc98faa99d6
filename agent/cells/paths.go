package cells

import (
	"encoding/binary"
	"hash/fnv"
	"path/filepath"

	"moriens/internal/mix"
	moriensv1 "moriens/proto/moriens/v1"
)

// A site is a function called from a call path, as a process numbers both. The zero site is none that is known.
type site struct {
	siteKey
	hash uint64 // the same on all nodes; 0 of none
}

type siteKey struct{ function, path uint32 }

// A sitePair is the sites of the calls before and after a burst, by their numbers in the process.
type sitePair struct{ before, after uint32 }

// hashFrames tells call paths apart by what identifies their frames, as the collector does: the file's name without its folder, its build id, and the offset.
func hashFrames(frames []*moriensv1.Frame) uint64 {
	h := fnv.New64a()
	number := func(n uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, n)) }
	for _, f := range frames {
		if f.Module == "" {
			number(0)
		} else {
			name := filepath.Base(f.Module)
			number(1 + uint64(len(name)))
			h.Write([]byte(name))
			number(uint64(len(f.BuildId)))
			h.Write(f.BuildId)
		}
		number(f.Offset)
	}
	return h.Sum64()
}

// site is the number of a function that is called from a call path, which is defined or 0.
func (p *process) site(function, path uint32) uint32 {
	key := siteKey{function, path}
	number, known := p.siteOf[key]
	if !known {
		hash := mix.Bits(mix.Bits(p.frames[path]) + uint64(function)) // of path 0: no frames' hash is 0
		number = uint32(len(p.sites))
		p.sites = append(p.sites, site{key, max(hash, 1)})
		p.siteOf[key] = number
	}
	return number
}

// A group is the bursts between two sites, whatever process they are of.
type group struct {
	before, after uint64   // hashes
	process       *process // one that has both
	pair          sitePair // there
}

// groups are those that bursts are split into.
type groups struct {
	list   []group
	number map[[2]uint64]uint32
}

func newGroups() groups { return groups{number: make(map[[2]uint64]uint32)} }

// of is the number of the group of a process's bursts between two sites.
func (g *groups) of(p *process, pair sitePair) uint32 {
	number, known := p.groupOf[pair]
	if known {
		return number
	}
	before, after := p.sites[pair.before].hash, p.sites[pair.after].hash
	number, known = g.number[[2]uint64{before, after}]
	if !known {
		number = uint32(len(g.list))
		g.list = append(g.list, group{before, after, p, pair})
		g.number[[2]uint64{before, after}] = number
	}
	p.groupOf[pair] = number
	return number
}
