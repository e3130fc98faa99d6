package console

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"moriens/analysis/program"
	"moriens/internal/plain"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// lineWidth is how many characters a line of the summary has at most, and mostLines how many lines it has; status
// --long gives what was cut.
const lineWidth, mostLines = 100, 20

// Results are what a run directory has.
type Results struct {
	Run        *trace.Run
	Manifest   *rundir.Manifest
	Clusters   *rundir.Clusters
	Efficiency *rundir.Efficiency // nil: not known
	Waits      *rundir.Waits      // nil: not known
	Pairs      *rundir.Pairs      // nil: not known
	Program    *program.Program   // nil: not known
	Dir        string
	Written    []rundir.File
}

// ResultsOf are what was written into a directory.
func ResultsOf(c *rundir.Content, dir string, written []rundir.File) *Results {
	r := &Results{Run: c.Run, Manifest: c.Manifest, Clusters: c.Clusters, Dir: dir, Written: written}
	if c.Levels != nil {
		r.Efficiency, r.Waits, r.Pairs = c.Levels.Efficiency, c.Levels.Waits, c.Levels.Pairs
		if s := c.Levels.Program; s != nil {
			r.Program, _ = program.Read(s.JSON) // which was written a moment ago
		}
	}
	return r
}

// safe are the results as they can be shown.
func (r *Results) safe() *Results {
	run := plain.Of(*r.Run) // what has no text in it is not copied
	return &Results{&run, plain.Of(r.Manifest), plain.Of(r.Clusters), plain.Of(r.Efficiency), plain.Of(r.Waits), plain.Of(r.Pairs), plain.Of(r.Program), r.Dir, plain.Of(r.Written)}
}

// Summary prints the results of a run: how well it used its processors, where the time goes, and what to look at. It is
// at most 20 lines, of which none is longer than 100 characters, but for names of directories.
func Summary(w io.Writer, r *Results) error {
	r = r.safe()
	m := r.Manifest
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", fitting("moriens: "+headline(m), lineWidth))
	if m.Nobody() {
		fmt.Fprintf(&b, "%s\n", cut("no rank was recorded: "+m.Empty, lineWidth))
		_, err := io.WriteString(w, b.String())
		return err
	}
	fmt.Fprintf(&b, "%s\n", cut(secondLine(m), lineWidth))
	if text := warning(m); text != "" { // what follows depends on it
		fmt.Fprintf(&b, "%s\n", warned(text))
	}
	writeEfficiency(&b, r)
	writeWaits(&b, r, lineWidth)
	writePairs(&b, r, lineWidth)
	var end strings.Builder
	writeNotes(&end, r)
	writeResults(&end, r)
	if m.Empty == "" {
		const headAndRest = 2
		room := func() int { return mostLines - strings.Count(b.String()+end.String(), "\n") - headAndRest }
		writeMainLoop(&b, r.Program, min(1+mainLoopLines, max(1, room()-leastTimeRows)))
		left := room() // the first line is empty, and so is the next one
		b.WriteByte('\n')
		writeTable(&b, timeTable(r, min(timeRows, left)))
	}
	b.WriteString(end.String())
	_, err := io.WriteString(w, b.String())
	return err
}

// Long prints all that is known of a run.
func Long(w io.Writer, r *Results) error {
	r = r.safe()
	m := r.Manifest
	var b strings.Builder
	fmt.Fprintf(&b, "\nmoriens: %s\n", headline(m))
	if text := incomplete(m); text != "" {
		fmt.Fprintf(&b, "incomplete: %s\n", text)
	}
	writeApplications(&b, m)
	if !m.Nobody() {
		writeEfficiency(&b, r)
		writeWaits(&b, r, 0)
		writePairs(&b, r, 0)
		writeMainLoop(&b, r.Program, 1+mainLoopLines)
	}
	writeDetails(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}

// Finished prints the results of a run directory that is complete, and since when it is.
func Finished(w io.Writer, r *Results, long bool) error {
	printed := Summary
	if long {
		printed = Long
	}
	if err := printed(w, r); err != nil {
		return err
	}
	var err error
	if r.Manifest.Empty != "" && !r.Manifest.Nobody() {
		_, err = fmt.Fprintf(w, "no bursts: %s\n", plain.Line(r.Manifest.Empty))
	}
	_, endErr := fmt.Fprintf(w, "finished %s\n", r.Manifest.Ended.Format(time.DateTime))
	return errors.Join(err, endErr)
}

// secondLine says what is missing, what was lost, or that nothing was.
func secondLine(m *rundir.Manifest) string {
	if m.Complete {
		if text := losses(m); text != noLosses {
			return "losses: " + text
		}
		return "losses: none in the recording"
	}
	// As many reasons as there is room for, and how many more there are.
	text := "incomplete: "
	for i, why := range m.Incomplete {
		more := ""
		if rest := len(m.Incomplete) - i - 1; rest > 0 {
			more = fmt.Sprintf("; and %d more", rest)
		}
		if i > 0 && utf8.RuneCountInString(text+"; "+why+more) > lineWidth {
			return text + fmt.Sprintf("; and %d more", len(m.Incomplete)-i)
		}
		if i > 0 {
			text += "; "
		} else if more != "" {
			why = cut(why, lineWidth-utf8.RuneCountInString(text+more))
		}
		text += why
	}
	return text
}

// cut makes text fit a width.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}

// clauses makes text fit a width by leaving out its last clauses, or words.
func clauses(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	head := string([]rune(text)[:width-1])
	for _, marks := range [][]string{{"; ", ": ", " ("}, {", "}, {" "}} {
		end := 0
		for _, mark := range marks {
			end = max(end, strings.LastIndex(head, mark))
		}
		if end > len(head)/2 {
			return head[:end] + " …"
		}
	}
	return cut(text, width)
}

// warning is what makes all times doubtful; "" where nothing does.
func warning(m *rundir.Manifest) string {
	if m.Scheduling == nil || m.Scheduling.Warning == "" {
		return ""
	}
	return "warning: " + m.Scheduling.Warning
}

// switches are counted in parentheses of a warning.
var switches = regexp.MustCompile(` \([^()]* switch(es)?\)`)

// reasons are what shares the cores, without what that makes unreliable.
func reasons(text string) string {
	text, _, _ = strings.Cut(text, "; medians, ")
	return switches.ReplaceAllString(text, "")
}

// warned is a warning in one line: what shares the cores, and that times are unreliable.
func warned(text string) string {
	if utf8.RuneCountInString(text) <= lineWidth {
		return text
	}
	const so = "; times are unreliable"
	causes := reasons(text)
	if utf8.RuneCountInString(causes+so) > lineWidth {
		causes = strings.ReplaceAll(causes, " of runnable time off the core", " off core")
	}
	return clauses(causes, lineWidth-len(so)) + so
}

// mostNotes is how many lines there are for notes, the warning included.
const mostNotes = 3

// writeNotes prints the most important notes, and how many more there are.
func writeNotes(b *strings.Builder, r *Results) {
	m := r.Manifest
	var list []string
	if text := applications(m.Applications); text != "" {
		list = append(list, text)
	}
	for _, text := range m.Reduction.Missing {
		list = append(list, "missing: "+text)
	}
	for _, text := range m.Notes {
		if m.Scheduling == nil || text != m.Scheduling.Warning {
			list = append(list, "note: "+text)
		}
	}
	if text := advice(m, r.Clusters); text != "" {
		list = append(list, "hint: "+text)
	}
	shown := list
	most := mostNotes
	if warning(m) != "" {
		most--
	}
	if len(list) > most {
		shown = list[:most-1]
	}
	for _, text := range shown {
		fmt.Fprintf(b, "%s\n", clauses(text, lineWidth))
	}
	if rest := len(list) - len(shown); rest > 0 {
		fmt.Fprintf(b, "%s: moriens status --long\n", units.Counted(rest, "more note"))
	}
}

// writeResults says where the results are and how small, and how to look at them.
func writeResults(b *strings.Builder, r *Results) {
	m := r.Manifest
	size := ""
	if x := &m.Reduction; x.BudgetBytes != nil && x.Bytes > 0 && x.Ratio >= 1 && len(x.Missing) == 0 {
		size = fmt.Sprintf(" (%s; a full trace: %s)", units.Bytes(x.Bytes), units.Bytes(x.FullBytes))
	}
	dir := plain.Line(r.Dir)
	fmt.Fprintf(b, "results: %s%s\n", dir, size)
	if slices.ContainsFunc(r.Written, func(f rundir.File) bool { return f.Name == rundir.ReportFile }) {
		fmt.Fprintf(b, "view: open report.html there in a browser; all figures: moriens status --long %s\n", quoted(dir))
		return
	}
	fmt.Fprintf(b, "all figures: moriens status --long %s\n", quoted(dir))
}

// quoted is a path as a shell takes it.
func quoted(path string) string {
	plainly := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/._-+=:,@%", c)
	}
	if strings.ContainsFunc(path, func(c rune) bool { return !plainly(c) }) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// mostReasons is how many reasons are printed why a run is incomplete; manifest.json has all.
const mostReasons = 3

// incomplete says what is missing of what the ranks did; empty: nothing.
func incomplete(m *rundir.Manifest) string {
	list := m.Incomplete
	text := strings.Join(list[:min(len(list), mostReasons)], "; ")
	if more := len(list) - mostReasons; more > 0 {
		text += fmt.Sprintf("; and %d more in %s", more, rundir.ManifestFile)
	}
	return text
}

func headline(m *rundir.Manifest) string {
	var programs []string
	var libraries []string
	for _, w := range m.Worlds {
		if w.Executable != "" {
			name := trace.ProgramName(w.Executable)
			programs = appendNew(programs, strings.TrimSpace(name+" "+script(m.Command, name)))
		}
		if library := strings.TrimSpace(w.MPI.Library + " " + w.MPI.Version); library != "" {
			libraries = appendNew(libraries, library)
		}
	}
	what := cmp.Or(strings.Join(programs, ", "), strings.Join(m.Command, " "))
	if what == "" && m.Trace != "" {
		what = filepath.Base(m.Trace)
	}
	var fields []string
	if partial := m.Reading.Partial(); partial != "" {
		fields = append(fields, partial)
	}
	if what != "" { // else no process has arrived, and the command has not learned of one
		fields = append(fields, what)
	}
	ranks := units.Counted(m.Ranks, "rank")
	if n := len(m.Hosts); n > 0 && m.Ranks > 0 {
		ranks += " on " + units.Counted(n, "host")
	}
	fields = append(fields, ranks)
	if len(m.Worlds) > 1 {
		fields = append(fields, units.Counted(len(m.Worlds), "MPI world"))
	}
	if len(libraries) > 0 {
		fields = append(fields, strings.Join(libraries, ", "))
	}
	if m.Nobody() {
		return strings.Join(fields, " · ")
	}
	calls := 0
	for _, n := range m.MPICalls {
		calls += int(n)
	}
	if m.Seconds > 0 {
		fields = append(fields, Duration(float64(m.Seconds)*1e9))
	}
	fields = append(fields, units.Counted(calls, "MPI call"), units.Counted(m.Bursts, "burst"))
	return strings.Join(fields, " · ")
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
