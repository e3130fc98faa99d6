package doctor

import (
	"fmt"
	"io"
	"strings"

	"moriens/internal/plain"
)

var colours = map[Status]string{OK: "32", Warn: "33", Lack: "35", Fatal: "31"}

// Write prints a report for people: a line for each finding, and below it what else there is. all: the facts of those
// that are ok too.
func Write(w io.Writer, r Report, colour, all bool) error {
	r = plain.Of(r)
	var b strings.Builder
	fmt.Fprintf(&b, "moriens %s on %s, %s\n\n", r.Version, r.Host, r.Kernel)
	width := 0
	counts := map[Status]int{}
	for _, f := range r.Findings {
		width = max(width, len(f.ID))
		counts[f.Status]++
	}
	for _, f := range r.Findings {
		mark := fmt.Sprintf("%-5s", f.Status)
		if colour {
			mark = "\033[" + colours[f.Status] + "m" + mark + "\033[0m"
		}
		fmt.Fprintf(&b, "%s  %-*s  %s\n", mark, width, f.ID, f.Found)
		line := func(name, text string) {
			if text != "" {
				fmt.Fprintf(&b, "%*s%-4s %s\n", width+9, "", name, text)
			}
		}
		line("why:", f.Why)
		line("do:", f.Do)
		if f.Status != OK || all {
			for _, fact := range f.Facts {
				line("", fact)
			}
		}
	}
	fmt.Fprintf(&b, "\n%d ok, %d warn, %d lack, %d fatal: ", counts[OK], counts[Warn], counts[Lack], counts[Fatal])
	switch {
	case !r.Possible:
		b.WriteString("nothing can be measured here\n")
	case counts[Warn]+counts[Lack] > 0:
		b.WriteString("measuring is possible, except for what is lacking\n")
	default:
		b.WriteString("measuring is possible\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
