package question

import (
	"fmt"
	"slices"
	"strings"
)

// mostNear is how many names are suggested.
const mostNear = 3

// Near are the names that were perhaps meant by one that is none of them, the nearest first: those that it is a part
// of, and those that differ in a third of its letters at most.
func Near(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var list []candidate
	low := strings.ToLower(name)
	for _, n := range names {
		d := distance(low, strings.ToLower(n))
		if low != "" && strings.Contains(strings.ToLower(n), low) {
			d = 0
		}
		if d <= max(1, len(low)/3) {
			list = append(list, candidate{n, d})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return a.distance - b.distance })
	var near []string
	for _, c := range list[:min(len(list), mostNear)] {
		near = append(near, c.name)
	}
	return near
}

// Meant asks whether a name was meant; without names near to it, it says what there is.
func Meant(name string, names []string, otherwise string) string {
	near := Near(name, names)
	if len(near) == 0 {
		return otherwise
	}
	return fmt.Sprintf("did you mean %s?", strings.Join(near, ", "))
}

// distance is how many letters have to be changed, put in or left out.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		last := row[0]
		row[0] = i + 1
		for j := range y {
			change := last
			if x[i] != y[j] {
				change++
			}
			last = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
