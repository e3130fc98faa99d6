package program

import (
	"fmt"
	"strings"
)

// Uncoded are functions of which the machine code is not known, for one reason.
type Uncoded struct {
	Functions []string
	Why       string
	Calls     int64 // of MPI, on whose call paths they are
	All       int64 // calls of MPI
}

// String says it in a sentence.
func (u Uncoded) String() string {
	return fmt.Sprintf("The machine code of %s is not known (%s): loops there are by the order of lines. On call paths of %s of the MPI calls.", u.Names(), u.Why, u.Percent())
}

// Percent is the share of the calls.
func (u Uncoded) Percent() string { return percent(u.Calls, u.All) }

// Pathless are MPI calls of which it is not known where they are: they have no call path.
type Pathless struct{ Calls, All int64 }

func (p Pathless) String() string {
	return fmt.Sprintf("%s of the MPI calls (%d) have no call path: where they are is not known", percent(p.Calls, p.All), p.Calls)
}

// mostNames is how many functions are named.
const mostNames = 3

// Names are those of the functions, of many the first ones.
func (u Uncoded) Names() string { return named(u.Functions) }

// named is a list in a sentence, of many the first ones.
func named(list []string) string {
	if n := len(list) - mostNames; n > 1 {
		list = append(list[:mostNames:mostNames], fmt.Sprintf("%d others", n))
	}
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// percent is a share of which only all of it is 100 %.
func percent(part, all int64) string {
	if part >= all {
		return "100 %"
	}
	return fmt.Sprintf("%.1f %%", min(max(100*float64(part)/float64(all), .1), 99.9))
}
