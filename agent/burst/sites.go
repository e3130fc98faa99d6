package burst

import (
	"moriens/internal/index"
	"moriens/internal/section"
)

// sites are where the rows of a block are, by number. They mostly recur in the same order.
type sites struct {
	numbers index.Index
	then    []uint16 // the number that followed each the last time, by number plus 1; first, the one after none
	latest  int      // number plus 1
}

func (s *sites) begin() {
	s.numbers.Clear()
	s.then, s.latest = append(s.then[:0], 0), 0
}

// number is that of the next row's site in the block. One that is new to it is looked up in the process's log.
func (s *sites) number(b *section.Block, site section.Site, log Log) uint16 {
	number := s.then[s.latest]
	if int(number) >= len(b.Sites) || b.Sites[number] != site {
		number = s.find(b, site, log)
		s.then[s.latest] = number
	}
	s.latest = int(number) + 1
	return number
}

// fewSites is up to how many sites of a block are compared one by one.
const fewSites = 12

func (s *sites) find(b *section.Block, site section.Site, log Log) uint16 {
	number, known := s.known(b, site)
	if known {
		return number
	}
	if site.Path != 0 {
		site.Path = log.Path(site.Path)
	}
	if number, known = s.known(b, site); !known {
		number = uint16(len(b.Sites))
		s.numbers.Put(spread(site), uint32(number))
		b.Sites, s.then = append(b.Sites, site), append(s.then, 0)
	}
	return number
}

func (s *sites) known(b *section.Block, site section.Site) (number uint16, known bool) {
	if len(b.Sites) > fewSites {
		n, known := s.numbers.Get(spread(site), nil)
		return uint16(n), known
	}
	for i, x := range b.Sites {
		if x == site {
			return uint16(i), true
		}
	}
	return 0, false
}

func spread(site section.Site) uint64 {
	return index.Spread(uint64(site.Function)<<32 | uint64(site.Path))
}
