package microcell

import (
	"fmt"
	"slices"

	"moriens/analysis/cell"
	"moriens/analysis/moment"
)

// split asks for the places that a round needs, as far as it may.
func (c *computation) split() error {
	if _, err := c.splitOf(c.groups); err != nil {
		return err
	}
	for _, g := range c.groups {
		c.settle(g)
	}
	return nil
}

// splitOf asks for the places that some groups need, as far as it may, and says which units are in pieces now, or
// cannot be.
func (c *computation) splitOf(groups []*group) (changed map[int32]bool, err error) {
	asked, lost := c.mayAsk(groups)
	changed = make(map[int32]bool)
	for _, i := range lost {
		changed[i] = true
	}
	if len(asked) == 0 {
		return changed, nil
	}
	slices.Sort(asked)
	asked = slices.Compact(asked)
	places, err := c.source.Split(asked)
	if err != nil {
		return nil, err
	}
	if len(places) != len(asked) {
		return nil, fmt.Errorf("microcell: %d units were asked for, %d answered", len(asked), len(places))
	}
	c.certificate.Rounds++
	for k, i := range asked {
		changed[i] = true
		if places[k] == nil {
			c.lost[i] = true
			continue
		}
		if err := c.replace(i, places[k]); err != nil {
			return nil, fmt.Errorf("microcell: unit %d %w", i, err)
		}
	}
	return changed, nil
}

// mayAsk are the units asked for of which places may still be had: all that a group asks for, or none. A part would
// cost as much and leave the answer open. What is not asked for is lost.
func (c *computation) mayAsk(groups []*group) (may, lost []int32) {
	late := c.options.Stop != nil && c.options.Stop()
	for _, g := range groups {
		var bursts int64
		for _, i := range g.asked {
			bursts += c.units[i].Cell.Count
		}
		if late || bursts > c.left {
			for _, i := range g.asked {
				c.lost[i] = true
			}
			lost = append(lost, g.asked...)
			continue
		}
		c.left -= bursts
		may = append(may, g.asked...)
	}
	return may, lost
}

// replace puts places where a unit was.
func (c *computation) replace(i int32, places []Unit) error {
	u := &c.units[i]
	if err := u.checkPlaces(c.set, places); err != nil {
		return err
	}
	for _, p := range places {
		p.Cell.Key = u.Cell.Key
		c.places[i] = append(c.places[i], int32(len(c.units)))
		c.units, c.parent, c.lost, c.short = append(c.units, p), append(c.parent, i), append(c.lost, false), append(c.short, false)
	}
	u = &c.units[i]
	u.Cell = cell.Cell{Key: u.Cell.Key, Lo: u.Cell.Lo, Hi: u.Cell.Hi}
	u.Duration, u.Counters = moment.Exact{}, make([]moment.Exact, len(u.Counters))
	c.certificate.Split++
	return nil
}

// checkPlaces reports whether places together are the unit.
func (u *Unit) checkPlaces(s *Set, places []Unit) error {
	var count int64
	var duration moment.Exact
	counters := make([]moment.Exact, len(s.Counters))
	for i := range places {
		p := &places[i]
		if err := p.check(s); err != nil {
			return fmt.Errorf("has a place that %w", err)
		}
		if p.Cell.Count < 1 || p.Group != u.Group || !p.Place {
			return fmt.Errorf("of group %d has a place with %d bursts of group %d, place: %t", u.Group, p.Cell.Count, p.Group, p.Place)
		}
		for j := range s.Dims {
			if at := p.Cell.Lo[j]; at < u.Cell.Lo[j] || at > u.Cell.Hi[j] {
				return fmt.Errorf("has a place at %v in dimension %s, and is from %v to %v", at, s.Dims[j], u.Cell.Lo[j], u.Cell.Hi[j])
			}
		}
		count += p.Cell.Count
		duration.Merge(&p.Duration)
		for k := range counters {
			counters[k].Merge(&p.Counters[k])
		}
	}
	if count != u.Cell.Count || duration != u.Duration || !slices.Equal(counters, u.Counters) {
		return fmt.Errorf("has %d bursts of %d ns, its places %d of %d ns, or they differ in counters", u.Cell.Count, u.timeNS(), count, int64(duration.Total[0]))
	}
	return nil
}

// settle puts the places that have come into their group.
func (c *computation) settle(g *group) {
	var fresh []int32
	for _, i := range g.asked {
		fresh = append(fresh, c.places[i]...)
	}
	if len(fresh) == 0 {
		return
	}
	g.units = slices.DeleteFunc(g.units, func(i int32) bool { return c.units[i].Cell.Count == 0 })
	g.units = append(g.units, fresh...)
	slices.SortFunc(g.units, c.compare)
}
