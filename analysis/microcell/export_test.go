package microcell

import "moriens/analysis/grouping"

// Ladders are the Eps by step of the groups, in the order in which a result has them.
func Ladders(s Set, o grouping.Options) (ladders [][]float64, err error) {
	c := newComputation(&s, nil, o)
	c.filter()
	err = c.findDensities()
	for _, g := range c.groups {
		ladders = append(ladders, g.Ladder)
	}
	return ladders, err
}
