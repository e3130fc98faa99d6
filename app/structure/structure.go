// Package structure answers what the program of a run looks like: it reads program.json of a run directory, selects
// what was asked for, and prints it with the source beside it. Shell answers one question after the other.
package structure

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"moriens/analysis/program"
	"moriens/analysis/program/text"
	"moriens/app/pairing"
	"moriens/app/question"
	"moriens/conclude/levels"
	"moriens/internal/hint"
	"moriens/internal/plain"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A Question is what is asked of a run directory.
type Question struct {
	Dir      string
	Loops    string           // one of Readings; "" = the one that there is in any case
	Ranks    pairing.RankList // what these ranks do; nil = all
	Function string           // the bodies of this function; "" = all
	Depth    int              // how many levels; 0 = all
	Above    Share            // lines with less of all computing and MPI time are summed up
	MinShare Share            // computation below this share of all is summed up
	All      bool             // that too, and loops of one trip
	Metrics  []string         // figures of each line; nil = the usual ones
	Source   string           // where the source is; "" = it is not shown
}

// A Share is 0–1; as text it is a percentage: 5%, 5 %, .5.
type Share float64

// UnmarshalText reads a percentage.
func (s *Share) UnmarshalText(text []byte) error {
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(string(text), "%")), 64)
	if err != nil || !(x >= 0 && x <= 100) {
		return fmt.Errorf("%q is no share: write it like 5%%", text)
	}
	*s = Share(x / 100)
	return nil
}

// An Answer is a program, and what of it is asked for.
type Answer struct {
	Program  *program.Program // all of it, as in the file; with Question.Loops this reading of it
	file     *program.Program // with all readings
	question Question
	name     string
	ranks    []pairing.Rank // of the run
	above    float64        // lines that take less of the time are summed up, 0–1
	view     program.View
	columns  []text.Column
	source   *source // nil = not shown
}

// Read reads the program of a run directory with this manifest. One that an earlier version wrote has no program.json:
// the program is made of its structure.json. Where there is neither, or the analysis had no time for it, the error is
// fs.ErrNotExist.
func Read(dir string, m *rundir.Manifest) (*program.Program, error) {
	return question.Read(dir, m, question.File[program.Program]{
		Name: rundir.ProgramFile, Of: "the structure of the program", Read: func(dir string) (*program.Program, error) {
			text, err := rundir.ReadProgram(dir)
			if errors.Is(err, fs.ErrNotExist) && !slices.ContainsFunc(m.Reduction.Missing, isProgram) {
				return older(dir, m, err)
			}
			if err != nil {
				return nil, err
			}
			p, err := program.Read(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", rundir.ProgramFile, err)
			}
			return p, nil
		},
	})
}

// isProgram reports whether something that is missing is the program.
func isProgram(missing string) bool { return strings.HasPrefix(missing, rundir.ProgramFile+" ") }

// older makes the program of a run directory that an earlier version wrote. Without structure.json or callpaths.json
// the error is missing.
func older(dir string, m *rundir.Manifest, missing error) (*program.Program, error) {
	s, err := rundir.ReadStructure(dir)
	var paths *rundir.CallPathTable
	if err == nil {
		paths, err = rundir.ReadCallPaths(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	p, err := levels.OlderProgram(m, s, paths)
	if err != nil {
		return nil, hint.With(fmt.Errorf("it has no %s, and it cannot be made: %w", rundir.ProgramFile, err), "measure, or analyze, again with this version")
	}
	return p, nil
}

// Ask reads a run directory and answers a question of it.
func Ask(q Question) (*Answer, error) {
	a, err := ask(q)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q.Dir, err)
	}
	return a, nil
}

func ask(q Question) (*Answer, error) {
	m, err := question.Manifest(q.Dir)
	if err != nil {
		return nil, err
	}
	if m.Nobody() {
		return nil, hint.With(fmt.Errorf("no rank was recorded: %s", m.Empty), "moriens status "+q.Dir+" says what is known")
	}
	p, err := Read(q.Dir, m)
	if err != nil {
		return nil, err
	}
	a := &Answer{file: p, question: q, above: float64(q.Above), name: plain.Line(nameOf(m)), ranks: ranksOf(m, p)}
	if a.Program, err = readingOf(p, q.Loops); err != nil {
		return nil, err
	}
	a.view = program.View{MinShare: float64(q.MinShare), All: q.All, Depth: q.Depth}
	if err := a.selectRanks(q.Ranks); err != nil {
		return nil, err
	}
	if err := a.selectFunction(q.Function); err != nil {
		return nil, err
	}
	if err := a.selectMetrics(q.Metrics); err != nil {
		return nil, err
	}
	if q.Source != "" {
		if a.source, err = newSource(q.Source, a.Program); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// nameOf is the name of the program of a run.
func nameOf(m *rundir.Manifest) string {
	var names []string
	for _, w := range m.Worlds {
		if name := trace.ProgramName(w.Executable); w.Executable != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// ranksOf are the ranks of a run in the order in which programs number them: by world, and by rank.
func ranksOf(m *rundir.Manifest, p *program.Program) []pairing.Rank {
	var ranks []pairing.Rank
	if p.Worlds != nil {
		for w, n := range p.Worlds {
			for r := range n {
				ranks = append(ranks, pairing.Rank{World: w, Rank: r})
			}
		}
		return ranks
	}
	if len(m.Worlds) > 1 {
		for w := range m.Worlds {
			for r := range m.Worlds[w].Size {
				if !slices.Contains(m.Worlds[w].MissingRanks, r) {
					ranks = append(ranks, pairing.Rank{World: w, Rank: r})
				}
			}
		}
	}
	if len(ranks) == p.Ranks {
		return ranks
	}
	ranks = nil
	for r := range p.Ranks {
		ranks = append(ranks, pairing.Rank{Rank: r})
	}
	return ranks
}

// whichRanks says which ranks can be asked for.
func (a *Answer) whichRanks() string {
	worlds := a.file.Worlds
	if worlds == nil {
		return fmt.Sprintf("it has %s, from 0", units.Counted(len(a.ranks), "rank"))
	}
	var list []string
	for w, n := range worlds {
		list = append(list, fmt.Sprintf("world %d with %s", w, units.Counted(n, "rank")))
	}
	return fmt.Sprintf("it has %s, each from 0: write WORLD:RANK, for example 1:0", strings.Join(list, ", "))
}

func (a *Answer) selectRanks(list pairing.RankList) error {
	a.question.Ranks, a.view.Ranks = list, nil
	if list == nil {
		return nil
	}
	ranks, err := list.Of(a.ranks)
	if err != nil {
		return question.Misuse(a.whichRanks(), "%w", err)
	}
	a.view.Ranks = ranks
	return nil
}

func (a *Answer) selectFunction(name string) error {
	functions := a.Program.Functions()
	meant := named(name, functions)
	switch {
	case name == "":
	case len(meant) == 0:
		return question.Misuse(plain.Line(question.Meant(name, functions, "moriens structure without --function shows all functions")), "no function %s is called in the program", plain.Line(name))
	case len(meant) > 1:
		return question.Misuse(plain.Line("one of "+strings.Join(meant, ", ")), "several functions are called %s", plain.Line(name))
	default:
		name = meant[0]
	}
	a.view.Function = name
	return nil
}

// named are the functions with a name: the one that has it, else those that have it in a class, a namespace or a
// module.
func named(name string, functions []string) (list []string) {
	if slices.Contains(functions, name) {
		return []string{name}
	}
	for _, f := range functions {
		plain, _, _ := strings.Cut(f, "(")
		module, in, fortran := strings.Cut(plain, "_MOD_")
		if plain == name || strings.HasSuffix(plain, "::"+name) || fortran && strings.HasPrefix(module, "__") && strings.EqualFold(in, name) || strings.EqualFold(plain, name+"_") {
			list = append(list, f)
		}
	}
	return list
}

func (a *Answer) selectMetrics(names []string) error {
	a.columns = nil
	if names == nil {
		return nil
	}
	known := text.Names(a.Program)
	columns, unknown := text.Columns(known, names)
	if columns == nil {
		return question.Misuse(question.Meant(unknown, known, "there are "+strings.Join(known, ", ")), "no metric %q", unknown)
	}
	a.columns = columns
	return nil
}

// Shown is what of the program is asked for.
func (a *Answer) Shown() *program.Program {
	if a.above > 0 {
		return a.Program.Above(a.above).Select(a.view)
	}
	return a.Program.Select(a.view)
}

// Write prints the answer, in lines of so many characters; 0 = as wide as they are.
func (a *Answer) Write(to io.Writer, width int) error { return a.write(to, a.Shown(), width, false) }

func (a *Answer) write(to io.Writer, p *program.Program, width int, ids bool) error {
	o := text.Options{Name: a.name, Width: width, Columns: a.columns, IDs: ids, NS: a.Program.NS()}
	if a.view.Ranks != nil {
		o.Notes = append(o.Notes, fmt.Sprintf("what %s %s; figures are those of all ranks", a.who(a.view.Ranks), does(a.view.Ranks)))
	}
	if a.source != nil {
		o.Source = a.source.line
	}
	if err := text.Write(to, plain.Of(p), o); err != nil {
		return err
	}
	if a.source == nil {
		return nil
	}
	return a.source.writeMissing(to)
}

func (a *Answer) who(ranks []int) string {
	list := rundir.RankList(ranks)
	if a.file.Worlds != nil {
		list = a.inWorlds(ranks)
	}
	return units.Plural(len(ranks), "rank") + " " + list
}

// inWorlds lists ranks of several worlds, as --rank takes them.
func (a *Answer) inWorlds(ranks []int) string {
	in := make([][]int, len(a.file.Worlds))
	for _, r := range ranks {
		x := a.ranks[r]
		in[x.World] = append(in[x.World], x.Rank)
	}
	var list []string
	for w := range in {
		if len(in[w]) > 0 {
			list = append(list, fmt.Sprintf("%d:%s", w, strings.ReplaceAll(rundir.RankList(in[w]), ",", fmt.Sprintf(",%d:", w))))
		}
	}
	return strings.Join(list, ",")
}

func does(ranks []int) string {
	if len(ranks) == 1 {
		return "does"
	}
	return "do"
}

// JSON prints what is asked for as program.json has it.
func (a *Answer) JSON(to io.Writer) error { return a.Shown().Write(to) }
