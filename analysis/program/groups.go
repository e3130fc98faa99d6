package program

import (
	"fmt"
	"slices"
	"strings"
)

// Calls of one line may be on several communicators, as of rows or columns of a grid: each rank is in one of these.

const (
	mostGroups = 4 // that are named
	mostParts  = 3 // of the list of ranks of a group that is named
)

// communicator names those of a line's calls; "" = of all ranks, or not known.
func communicator(list []movedSum) string {
	names := make(map[string]bool)
	var groups [][]int
	for _, m := range list {
		names[m.Comm] = true
		if !slices.ContainsFunc(groups, func(g []int) bool { return slices.Equal(g, m.Group) }) {
			groups = append(groups, m.Group)
		}
	}
	slices.SortFunc(groups, slices.Compare)
	if len(names) == 0 {
		return ""
	}
	if len(groups[0]) > 0 { // each has ranks
		if text := groupsText(groups); text != "" {
			return text
		}
	}
	if len(names) > 1 {
		return "several"
	}
	return list[0].Comm
}

// groupsText names groups of ranks; "": their lists are too long.
func groupsText(groups [][]int) string {
	var parts []string
	for _, g := range groups[:min(len(groups), mostGroups)] {
		text := strings.ReplaceAll(listOf(g), ", ", " ")
		if strings.Count(text, " ") >= mostParts {
			return ""
		}
		parts = append(parts, text)
	}
	if len(groups) == 1 {
		return "ranks " + strings.ReplaceAll(parts[0], " ", ", ")
	}
	if n := len(groups) - mostGroups; n > 0 {
		parts = append(parts, fmt.Sprintf("… %d in all", len(groups)))
	}
	return "groups " + strings.Join(parts, ", ")
}
