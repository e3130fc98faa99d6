package partition

// CoarsestPart bounds what a dimension's default resolution becomes under Options.Normalise, as a part of the range of all
// bursts. A dimension in which nothing differs by more than noise would else have its noise stretched over the whole
// range, where it splits what the other dimensions have together.
const CoarsestPart = .02

// normalise scales coordinates to the range of the bursts of all groups.
func (c *computation) normalise(groups []*group) error {
	var complete []int32
	for _, g := range groups {
		complete = append(complete, g.rows...)
	}
	if err := c.space.Normalise(complete, nil); err != nil {
		return err
	}
	dims := c.options.Dims
	c.extent = make([]float64, len(dims))
	least := make([]float64, len(dims))
	for j, d := range dims {
		c.extent[j] = c.space.Unscaled(j, 1) - c.space.Unscaled(j, 0)
		least[j] = resolutionOf(d) / CoarsestPart
	}
	if c.options.Fixed == nil && !c.options.Strict {
		return c.space.Normalise(complete, least)
	}
	return nil
}

// findResolution finds the least Eps that is chosen by itself. Of a dimension no more than its range counts: that is as far
// as its noise can reach.
func (c *computation) findResolution() float64 {
	o := c.options
	resolution := o.Floor()
	if o.Resolution != 0 || o.Strict || o.Fixed != nil || !o.Normalise {
		return resolution
	}
	for j, d := range o.Dims {
		if own := resolutionOf(d); own > 0 {
			resolution = max(resolution, min(own, c.extent[j])/max(c.extent[j], own/CoarsestPart))
		}
	}
	return resolution
}
