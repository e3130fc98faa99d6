package program

import (
	"fmt"

	"moriens/internal/units"
)

// cutPaths says of how many calls the caller of the outermost function is not known.
func (s *solver) cutPaths() (why []string) {
	var all, cut int64
	longest, measured := 0, false
	for i := range s.input.Paths {
		n := s.figures.Calls[i].Count
		all += n
		if p := &s.input.Paths[i]; n > 0 && !p.Lost && s.hangs(i) {
			cut += n
			own := 0
			for k := range p.Steps {
				measured = measured || p.Steps[k].Offset > 0
				if p.Steps[k].Line > noLine || p.Steps[k].Offset > 0 {
					own++
				}
			}
			longest = max(longest, own)
		}
	}
	if cut == 0 {
		return nil
	}
	text := fmt.Sprintf("Of %s of the MPI calls (%d) it is not known what calls the outermost function of their call paths (%s at most): these stand behind the calls that were made before them, and loops round them are a guess.", percent(cut, all), cut, units.Counted(longest, "frame"))
	if measured {
		text += " Longer call paths show it: moriens run --callpath N."
	}
	return []string{text}
}

// hangs reports whether the caller of the outermost function of a path is not known.
func (s *solver) hangs(path int) bool {
	for _, n := range s.lay.paths[path].sites {
		if s.lay.sites[n].caller {
			return true
		}
	}
	return false
}
