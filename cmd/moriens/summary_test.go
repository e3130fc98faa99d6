package main_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"moriens/internal/golden"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace/rundir"
)

// The summaries of real programs.
//
// app/console/testdata/summaries has, for each program, its recorded run directory (as much of it as moriens status
// reads), the exact summary of that (summary.txt, long.txt: TestGoldenSummaries of app/console, TestStatusIsGolden),
// and masked.txt: what the summary of any run of the program consists of, however busy the machine.
//
//	make record-summaries
//
// runs the programs, and writes the directories and the exact summaries again, and of masked.txt the rows of the
// table.
//
// A line of masked.txt begins with a mark and a blank:
//
//	1  the line is there, once
//	?  it may be absent
//	*  the lines with this mark that follow each other: any of them, any number of times, in any order
//
// In it [a|b] is a, b or nothing, {a|b} is a or b, CALL an MPI function that the run has called, PLACE where in a
// program, HOST a name; a line @FILE stands for the lines of that file. Masked in the summary are, in this order:
//
//   - the directory of the results, the only path: DIR
//   - sizes (3.2 MiB): SIZE; durations (4.86 ms): TIME; there are no dates
//   - offsets (+0x12a): nothing; all other numbers: N. They are counts, percentages, the numbers of ranks, threads and
//     clusters, versions, and lines of sources
//   - columns: blanks that follow each other are one
//   - in rows of the table also what distinguishes a row from another of the same calls (from solve: …, 2nd longest:
//     …), classes and namespaces, and " and 2 more"
//
// Of the main loop, its variable and trips are TRIPS; a line of it is LINE.
//
// A line that ends with … is the begin of a listed one; in a row … stands for what was cut.
var record = flag.Bool("record", false, "write recorded run directories to app/console/testdata/summaries")

const summaries = "../../app/console/testdata/summaries"

// checkSummary checks the summary at the end of what a run printed against what is listed of its program; under -record
// it records the run directory first.
func checkSummary(t *testing.T, name, out, stdout string) {
	t.Helper()
	m, err := rundir.ReadManifest(out)
	if err != nil {
		t.Fatal(err)
	}
	if *record {
		recordRun(t, name, out, m)
	}
	at := strings.LastIndex(stdout, "\nmoriens: ")
	if at < 0 {
		t.Fatalf("no summary in:\n%s", stdout)
	}
	summary := strings.TrimSuffix(stdout[at+1:], "\n")
	lines, rows := strings.Split(summary, "\n"), make(map[string]bool)
	if len(lines) > 20 {
		t.Errorf("%d lines", len(lines))
	}
	for i, line := range lines {
		if utf8.RuneCountInString(line) > 100 && !strings.Contains(line, out) {
			t.Errorf("more than 100 characters: %s", line)
		}
		lines[i] = masked(line, out)
		if calls := row.FindStringSubmatch(lines[i]); calls != nil {
			shown := line[strings.LastIndex(line, "  "):]
			if rows[shown] {
				t.Errorf("two rows read alike: %s", shown)
			}
			rows[shown] = true
		}
	}
	if err := readListed(t, filepath.Join(summaries, name, "masked.txt"), m).match(lines); err != nil {
		t.Errorf("%v\n%s", err, summary)
	}
	if t.Failed() {
		t.Logf("masked:\n%s", strings.Join(lines, "\n"))
	}
}

var (
	sizes     = regexp.MustCompile(`\b\d[\d,.]* ([KMGT]i)?B\b`)
	durations = regexp.MustCompile(`\b\d[\d,.]* (ns|us|ms|s)\b`)
	ordinals  = regexp.MustCompile(`\b\d+(st|nd|rd|th) longest: `)
	offsets   = regexp.MustCompile(`\+0x[0-9a-f]+`)
	numbers   = regexp.MustCompile(`\b\d+([,.]\d+)*\b`)
	blanks    = regexp.MustCompile(` +`)

	// row is a row of the table with its numbers masked: the figures, what distinguishes it, and the calls.
	row     = regexp.MustCompile(`^(N N % N TIME (?:TIME|-) )(?:(?:long|short|longest|shortest|Nth longest|from .+?|in .+?): )?(.* → .*)$`)
	classes = regexp.MustCompile(`[\w<>…~]+(?:::[\w<>…~]+)*::`)
	path    = regexp.MustCompile(`^critical path: (?:(?:cluster N|MPI|MPI with waits for messages|no cluster|not recorded) N %(?:, |$))+$`)
	more    = regexp.MustCompile(` and N more`)

	trips = regexp.MustCompile(`FOR .*?( \(likely\))? in `)

	temporary = regexp.MustCompile(`/tmp/Test\w+/\d+`)
)

// masked is a line of a summary without its figures.
func masked(line, dir string) string {
	if strings.HasPrefix(line, "  ") && strings.Contains(line, " × ") {
		return "LINE"
	}
	line = strings.ReplaceAll(line, dir, "DIR")
	line = durations.ReplaceAllString(sizes.ReplaceAllString(line, "SIZE"), "TIME")
	line = ordinals.ReplaceAllString(line, "Nth longest: ")
	line = numbers.ReplaceAllString(offsets.ReplaceAllString(line, ""), "N")
	line = strings.TrimSpace(blanks.ReplaceAllString(line, " "))
	if path.MatchString(line) {
		line = "critical path: PARTS"
	}
	if strings.HasPrefix(line, "main loop: ") {
		line = trips.ReplaceAllString(strings.Replace(line, " in turn", "", 1), "FOR TRIPS$1 in ")
	}
	if found := row.FindStringSubmatch(line); found != nil {
		line = found[1] + more.ReplaceAllString(classes.ReplaceAllString(found[2], ""), "")
	}
	return line
}

// A listed line is one that a summary may have.
type listed struct {
	mark byte
	line string
	all  []string // in all its forms
	m    *rundir.Manifest
}

type list []*listed

func readListed(t *testing.T, path string, m *rundir.Manifest) list {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all list
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "@"):
			all = append(all, readListed(t, filepath.Join(summaries, line[1:]), m)...)
		case len(line) > 1 && strings.Contains("1?*", line[:1]) && line[1] == ' ':
			all = append(all, &listed{line[0], line[2:], forms(line[2:]), m})
		default:
			t.Fatalf("%s: %q has no mark", path, line)
		}
	}
	return all
}

var choice = regexp.MustCompile(`\[[^\[\]{}]*\]|\{[^\[\]{}]*\}`)

// forms are the forms of a line with choices.
func forms(line string) []string {
	at := choice.FindStringIndex(line) // an innermost one
	if at == nil {
		return []string{line}
	}
	var all []string
	options := strings.Split(line[at[0]+1:at[1]-1], "|")
	if line[at[0]] == '[' {
		options = append(options, "")
	}
	for _, option := range options {
		all = append(all, forms(line[:at[0]]+option+line[at[1]:])...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// match checks that lines are in the list, in its order, and that none is missing.
func (l list) match(lines []string) error {
	i := 0
	for _, line := range lines {
		for {
			if i == len(l) {
				return fmt.Errorf("not listed, or not here: %q", line)
			}
			end := i + 1
			for l[i].mark == '*' && end < len(l) && l[end].mark == '*' {
				end++
			}
			if slices.ContainsFunc(l[i:end], func(x *listed) bool { return x.is(line) }) {
				if l[i].mark != '*' {
					i++
				}
				break
			}
			if l[i].mark == '1' {
				return fmt.Errorf("%q is not %q", line, l[i].line)
			}
			i = end
		}
	}
	for _, x := range l[i:] {
		if x.mark == '1' {
			return fmt.Errorf("missing: %q", x.line)
		}
	}
	return nil
}

// is says that a line is the listed one, in one of its forms, or what is left of it.
func (x *listed) is(line string) bool {
	begin, cut := strings.CutSuffix(line, "…")
	begin = strings.TrimSuffix(begin, " ")
	for _, form := range x.all {
		switch {
		case !strings.Contains(line, "…"):
			if x.pattern(form).MatchString(line) {
				return true
			}
		case cut:
			for end := range form {
				if x.pattern(form[:end]).MatchString(begin) {
					return true
				}
			}
		default: // the middle of names was cut
			parts := strings.Split(strings.ReplaceAll(line, " …", "…"), "…")
			for i := range parts {
				parts[i] = regexp.QuoteMeta(parts[i])
			}
			if regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(form) {
				return true
			}
		}
	}
	return false
}

func (x *listed) pattern(form string) *regexp.Regexp {
	var calls []string
	for name := range x.m.MPICalls {
		calls = append(calls, strings.TrimPrefix(name, "MPI_"))
	}
	text := regexp.QuoteMeta(form)
	text = strings.ReplaceAll(text, "CALL", "(?:"+strings.Join(calls, "|")+")")
	text = strings.ReplaceAll(text, "PLACE", `(?:@\S+)?(?: in \S+)?`)
	text = strings.ReplaceAll(text, "HOST", `\S+`)
	return regexp.MustCompile("^" + text + "$")
}

// recordRun writes what moriens status reads of a run directory, without the paths of this machine, and the rows that
// the table of such a run may have.
func recordRun(t *testing.T, name, out string, m *rundir.Manifest) {
	t.Helper()
	dir := filepath.Join(summaries, name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{rundir.ManifestFile, rundir.ClustersFile, rundir.EfficiencyFile, rundir.CallPathsFile} {
		text, err := os.ReadFile(filepath.Join(out, file))
		if os.IsNotExist(err) && m.Nobody() {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte(out), []byte("/run/"+name)), []byte(mpitest.Root(t)), []byte("/moriens"))
		text = temporary.ReplaceAll(text, []byte("/tmp/work"))
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file+".gz"), packed.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "masked.txt")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const figures = "* N N % N TIME {TIME|-} "
	before, rows, found := strings.Cut(string(text), figures)
	if !found || strings.Contains(rows, "CALL") {
		return
	}
	after := rows[strings.LastIndex(rows, figures)+1:]
	after = after[strings.Index(after, "\n")+1:]
	var lines strings.Builder
	for _, calls := range pairsOf(t, out) {
		lines.WriteString(figures + calls + "\n")
	}
	if err := os.WriteFile(path, []byte(before+lines.String()+after), 0o666); err != nil {
		t.Fatal(err)
	}
}

// pairsOf are the pairs of MPI calls between which a run has bursts, as a masked summary names them.
func pairsOf(t *testing.T, out string) []string {
	t.Helper()
	run, _, _, err := rundir.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	name := func(path uint32) (text, module string) {
		p := &run.CallPaths[path]
		if len(p.Frames) == 0 {
			return p.Function, ""
		}
		f := &p.Frames[0]
		if f.Function == "" && f.Line == 0 {
			module = f.Module
		}
		return p.Function + "@" + f.Brief(), module
	}
	pairs := make(map[string]bool)
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		for k := range b.Before {
			before, module := name(b.Before[k])
			after, other := name(b.After[k])
			calls := strings.ReplaceAll(before+" → "+after, "MPI_", "")
			if module != "" && module == other { // named once
				calls = strings.ReplaceAll(calls, "@"+module, "") + " in " + module
			}
			calls = numbers.ReplaceAllString(offsets.ReplaceAllString(calls, ""), "N")
			pairs[classes.ReplaceAllString(calls, "")] = true
		}
	}
	return slices.Sorted(maps.Keys(pairs))
}

// moriens status prints of a recorded run directory what it printed when it was recorded.
func TestStatusIsGolden(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(summaries, "*", rundir.ManifestFile+".gz"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no recorded summaries: %v", err)
	}
	for _, path := range names {
		recorded := filepath.Dir(path)
		dir := filepath.Join(t.TempDir(), filepath.Base(recorded))
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		golden.Unpack(t, recorded, dir)
		for name, args := range map[string][]string{"summary.txt": nil, "long.txt": {"--long"}} {
			want, err := os.ReadFile(filepath.Join(recorded, name))
			if err != nil {
				t.Fatal(err)
			}
			o := execute(t, nil, append([]string{binary(t), "status", dir}, args...)...)
			if got := strings.ReplaceAll(o.stdout, dir, "/run/"+filepath.Base(dir)); got != string(want) || o.stderr != "" {
				t.Errorf("%s %s: status %d\n%s%s", recorded, name, o.status, got, o.stderr)
			}
		}
	}
}

// The lines about waits are those that the list of a program's lines has.
func TestWaitsAreListed(t *testing.T) {
	recorded, dir := filepath.Join(summaries, "heat-waits"), t.TempDir()
	golden.Unpack(t, recorded, dir)
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(recorded, "summary.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = lines[:len(lines)-1] // when it was finished
	waits := 0
	for i, line := range lines {
		if strings.HasPrefix(line, "waits, ") || strings.HasPrefix(line, "critical path: ") {
			waits++
		}
		lines[i] = masked(line, "/run/heat-waits")
	}
	l := readListed(t, filepath.Join(summaries, "heat", "masked.txt"), m)
	if err := l.match(lines); err != nil || waits != 2 {
		t.Errorf("%d lines about waits: %v", waits, err)
	}
	for _, wrong := range []string{"waits, all ranks: TIME (N % of MPI): rank N causes TIME: TIME longer in module N", "critical path: cluster N N %, magic N %"} {
		if err := l.match(append(slices.Clone(lines[:6]), masked(wrong, ""))); err == nil || !strings.Contains(err.Error(), "not ") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// A solver in Python computes the same under measurement, and its summary is that of the program.
func TestPythonSolver(t *testing.T) {
	testenv.NeedLibrary(t, "libunwind.so.8")
	testenv.Need(t, systemPython, mpitest.OpenMPI.Launcher)
	needMPI4Py(t)
	job := mpitest.OpenMPI.Args(2, "", systemPython, filepath.Join(mpitest.Root(t), "testdata", "miniapp", "heat.py"))
	plain, out := execute(t, nil, job...), filepath.Join(t.TempDir(), "run")
	o := execute(t, nil, append([]string{binary(t), "run", "--moriens-timeout", "10m", "--keep-bursts", "all", "--out", out, "--"}, job...)...)
	if plain.status != 0 || o.status != 0 || o.stderr != "" || !strings.HasPrefix(o.stdout, plain.stdout) || !strings.Contains(plain.stdout, "\nheat ") {
		t.Errorf("status %d\n%s\nwith moriens %d\n%s%s", plain.status, plain.stdout, o.status, o.stdout, o.stderr)
	}
	checkSummary(t, "heat", out, o.stdout)
}

// The list of a program's lines rejects what is not listed, misses what is missing, and minds the order.
func TestListed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "masked.txt")
	if err := os.WriteFile(path, []byte("1 losses: none\n1 most: rank N[, {N|no} times]\n* N N % N TIME - CALL@a → CALL@b\n* N N % N TIME TIME Wait@borders → Irecv@b\n? note: one thing: two\n1 results: DIR\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	l := readListed(t, path, &rundir.Manifest{MPICalls: map[string]int64{"MPI_Send": 1, "MPI_Wait": 1}})
	for _, tt := range []struct {
		lines string
		right bool
	}{
		{"losses: none|most: rank 1|results: /x", true},
		{"losses: none|most: rank 1, 2.5 times|  4 3.1 %  1,000  1.5 us  -  2nd longest: Send@a::a → Wait@b+0x12|note: one thing: two|results: /x", true},
		{"losses: none|most: rank 1|1 3 % 1 1 us 2 ms Wait@borders → Irecv@b|1 3 % 1 1 us - Send@a → Send@b|results: /x", true},
		{"losses: none|most: rank 1|1 3 % 1 1 us 2 ms Wait@bo…ers → Irecv@b|note: one thing …|results: /x", true},
		{"losses: none|most: rank 1", false},
		{"most: rank 1|losses: none|results: /x", false},
		{"losses: none|most: rank 1|most: rank 1|results: /x", false},
		{"losses: none|most: rank 1, 2|results: /x", false},
		{"losses: none|most: rank 1|1 3 % 1 1 us - Recv@a → Send@b|results: /x", false},
		{"losses: none|most: rank 1|1 3 % 1 1 us 2 ms Wait@bo…xrs → Irecv@b|results: /x", false},
		{"losses: none|most: rank 1|note: another thing …|results: /x", false},
		{"losses: none|most: rank 1|note: one thing: two|1 3 % 1 1 us - Send@a → Send@b|results: /x", false},
	} {
		lines := strings.Split(tt.lines, "|")
		for i := range lines {
			lines[i] = masked(lines[i], "/x")
		}
		if err := l.match(lines); (err == nil) != tt.right {
			t.Errorf("%q: %v", lines, err)
		}
	}
}
