package cells

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"path/filepath"

	"moriens/internal/mix"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// A site is a function called from a call path, as a process numbers both. The zero site is none that is known.
type site struct {
	section.Site
	hash uint64 // the same on all nodes; 0 of none
}

// A sitePair is the sites of the calls before and after a burst, by their numbers in the process.
type sitePair struct{ before, after uint32 }

type pairGroup struct {
	sitePair
	group uint32
}

// hashPlace distinguishes call paths by what identifies their innermost frame, as trace.Places does: the file's name
// without its folder, its build id, and the offset; of a line that has no address, its file, function and number.
func hashPlace(frames []*moriensv1.Frame) uint64 {
	h := fnv.New64a()
	number := func(n uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, n)) }
	for _, f := range frames[:min(len(frames), 1)] {
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
		if f.Function != "" || f.File != "" || f.Line != 0 {
			for _, text := range []string{f.Function, f.File} {
				number(uint64(len(text)))
				h.Write([]byte(text))
			}
			number(uint64(f.Line))
		}
	}
	return h.Sum64()
}

// slot spreads two numbers over a table of what was looked up last.
func slot(a, b uint32) uint32 {
	h := a*0x9e3779b1 + b*0x85ebca6b
	return (h ^ h>>15) * 0xc2b2ae35 >> 16
}

// sitesOf appends the numbers of a block's sites. A call path that is not defined is an error.
func (p *process) sitesOf(b *section.Block, numbers []uint32) ([]uint32, error) {
	for _, of := range b.Sites {
		number, err := p.site(of)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

func (p *process) site(of section.Site) (uint32, error) {
	number, known := p.siteOf[of]
	if known {
		return number, nil
	}
	frames, defined := p.frames[of.Path]
	if !defined && of.Path != 0 {
		return 0, fmt.Errorf("call path %d is not defined", of.Path)
	}
	number = uint32(len(p.sites))
	hash := mix.Bits(mix.Bits(frames) + uint64(of.Function)) // of path 0: no frames' hash is 0
	p.sites = append(p.sites, site{of, max(hash, 1)})
	p.siteOf[of] = number
	return number, nil
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
	recent := &p.recentGroups[slot(pair.before, pair.after)%uint32(len(p.recentGroups))]
	if recent.sitePair != pair { // that of nothing is none: no call is the site 0
		*recent = pairGroup{pair, g.find(p, pair)}
	}
	return recent.group
}

func (g *groups) find(p *process, pair sitePair) uint32 {
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
