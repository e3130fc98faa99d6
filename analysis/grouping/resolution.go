package grouping

// normalise scales coordinates to the range of the bursts of all groups.
func (c *computation) normalise(groups []*group) error {
	var complete []int32
	for _, g := range groups {
		complete = append(complete, g.rows...)
	}
	return c.space.Normalise(complete)
}
