package program

// PlotBytes is how many bytes a plot has in its file.
func PlotBytes(p *Plot) int {
	n, err := p.bytes()
	if err != nil {
		panic(err)
	}
	return n
}

// FoldPlot is a plot of at most so many bytes.
func FoldPlot(p *Plot, most int) (*Plot, error) { return p.fold(most) }
