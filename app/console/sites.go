package console

import (
	"fmt"
	"slices"

	"moriens/trace"
)

// sites names the call paths that the table shows: MPI function and place of the innermost frame, with its offset where
// two different places would read alike.
func sites(run *trace.Run, clusters []trace.Cluster) map[uint32]string {
	names := make(map[uint32]string)
	byName := make(map[string][]uint32)
	for i := range clusters {
		for _, counts := range [][]trace.PathCount{clusters[i].Before, clusters[i].After} {
			if len(counts) == 0 || names[counts[0].Path] != "" {
				continue
			}
			path := counts[0].Path
			names[path] = run.CallPaths[path].String()
			if frames := run.CallPaths[path].Frames; len(frames) > 0 && names[path] != run.CallPaths[path].Function {
				names[path] = run.CallPaths[path].Function + "@" + frames[0].Brief()
			}
			byName[names[path]] = append(byName[names[path]], path)
		}
	}
	for name, alike := range byName {
		for _, path := range alike {
			frames := run.CallPaths[path].Frames
			if len(frames) > 0 && slices.ContainsFunc(alike, func(other uint32) bool {
				others := run.CallPaths[other].Frames
				return len(others) == 0 || !others[0].Same(&frames[0])
			}) {
				names[path] = frames[0].Precise(name)
			}
		}
	}
	return names
}

// callsRound names the MPI calls before and after a cluster's bursts: the most frequent, with their places in the
// program, and how many more there are.
func callsRound(run *trace.Run, x *trace.Cluster, names map[uint32]string) string {
	before, moreBefore := mostFrequent(x.Before)
	after, moreAfter := mostFrequent(x.After)
	if m := unplaced(run, before); m != "" && m == unplaced(run, after) {
		return offset(run, before) + moreBefore + " → " + offset(run, after) + moreAfter + " in " + m
	}
	name := func(path uint32) string {
		if n := names[path]; n != "" {
			return n
		}
		return "?"
	}
	return name(before) + moreBefore + " → " + name(after) + moreAfter
}

func mostFrequent(counts []trace.PathCount) (path uint32, more string) {
	if len(counts) == 0 {
		return 0, ""
	}
	if len(counts) > 1 {
		more = fmt.Sprintf(" and %d more", len(counts)-1)
	}
	return counts[0].Path, more
}

// unplaced returns the module of a call of which nothing but the module and the offset is known.
func unplaced(run *trace.Run, path uint32) string {
	if p := run.CallPaths[path]; len(p.Frames) > 0 && p.Frames[0].Function == "" && p.Frames[0].Line == 0 {
		return p.Frames[0].Module
	}
	return ""
}

// offset is a call path's function and offset, without the module.
func offset(run *trace.Run, path uint32) string {
	p := run.CallPaths[path]
	return fmt.Sprintf("%s+%#x", p.Function, p.Frames[0].Offset)
}
