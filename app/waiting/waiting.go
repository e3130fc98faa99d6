// Package waiting answers who waited for whom in a run, and why: it reads waits.json of a run directory, and
// waits.parquet where a list is to be complete.
package waiting

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"moriens/app/question"
	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// A By is what waits are listed by.
type By string

// What they may be listed by.
const (
	Overview   By = "overview"
	ByCluster  By = "cluster"
	ByCallPath By = "callpath"
	ByRank     By = "rank"
	ByKind     By = "kind"
)

// A Question is what is asked of a run directory.
type Question struct {
	Dir     string
	By      By
	Within  string // rundir.WithinMain, which is all of the run where that is not known apart, or rundir.WithinRun
	Windows bool   // of what is kept in full detail, not of the whole run
}

// An Answer is the waits of a run.
type Answer struct {
	*rundir.Waits                    // as they are in the file
	Table         *rundir.WaitsTable // the one that was asked for; nil: not known
	Within        string             // which part of the run it is about; empty: windows
	Manifest      *rundir.Manifest
	question      Question
}

// Ask reads what a run directory has.
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
		return nil, question.Misuse("moriens status "+q.Dir+" says what is known", "no rank was recorded: %s", m.Empty)
	}
	w, err := Read(q.Dir, m)
	if err != nil {
		return nil, err
	}
	a := &Answer{Waits: w, Table: w.Within(q.Within), Within: rundir.WithinRun, Manifest: m, question: q}
	if a.Table == w.Main {
		a.Within = rundir.WithinMain
	}
	if q.Windows {
		a.Table, a.Within = w.Windows, ""
	} else if a.Table != nil && (q.By == ByRank || q.By == ByCallPath) {
		err = a.complete()
	}
	return a, err
}

// Read is what a run directory with this manifest has. Where it has no waits.json, the error is fs.ErrNotExist.
func Read(dir string, m *rundir.Manifest) (*rundir.Waits, error) {
	return question.Read(dir, m, question.File[rundir.Waits]{Name: rundir.WaitsFile, Of: "waits", Read: rundir.ReadWaits})
}

// complete makes the list of causes or ranks complete, from waits.parquet.
func (a *Answer) complete() error {
	f, err := files.Open(filepath.Join(a.question.Dir, rundir.WaitsTableFile))
	if errors.Is(err, fs.ErrNotExist) {
		return question.Lacking(rundir.AdviseDamage, "it has no %s beside %s", rundir.WaitsTableFile, rundir.WaitsFile)
	}
	if err != nil {
		return hint.Default(err, rundir.AdviseDamage)
	}
	defer f.Close()
	s := sums{main: a.Within == rundir.WithinMain, kinds: make(map[int32]int32), threads: make(map[rundir.ThreadName]*threadSums), causes: make(map[doing]*causeSums)}
	for _, c := range a.Table.Clusters {
		s.kinds[c.Cluster] = c.Kind
	}
	add := s.addThreads
	if a.question.By == ByCallPath {
		add = s.addCauses
	}
	if err := parquet.ScanWaits(f, f.Size(), add); err != nil {
		return hint.Default(fmt.Errorf("%s: %w", rundir.WaitsTableFile, err), rundir.AdviseDamage)
	}
	whole := *a.Table
	if a.question.By == ByRank {
		if err := s.addOthers(a.question.Dir); err != nil {
			return err
		}
		whole.ByRank = s.ranks()
	} else {
		whole.Causes = s.list(float64(whole.Waiting))
		whole.CausesTotal = len(whole.Causes)
	}
	a.Table = &whole
	return nil
}

// addOthers adds those who neither wait, nor make others wait, nor are on the critical path, and have no row.
func (s *sums) addOthers(dir string) error {
	e, err := rundir.ReadEfficiency(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return hint.Default(err, rundir.AdviseDamage)
	}
	for i := range e.Runs {
		for _, l := range e.Runs[i].Threads {
			s.thread(l.ThreadName)
		}
	}
	return nil
}

// Known is nil where there is what was asked for, else it says why there is not.
func (a *Answer) Known() error {
	switch q := a.question; {
	case a.Table != nil:
		return nil
	case q.Windows && a.WholeRun != nil && a.WholeRun.Basis == rundir.WaitsFull:
		return question.Misuse("leave out --windows", "%s: the whole run is known in full detail, windows have no table of their own", q.Dir)
	case !q.Windows && a.Windows != nil:
		return question.Misuse("--windows shows those of what is kept in full detail", "%s: the waits of the whole run are not known%s", q.Dir, a.why())
	default:
		return question.Misuse("docs/waits.md says of which runs they are known", "%s: the waits are not known%s", q.Dir, a.why())
	}
}

func (a *Answer) why() string {
	if len(a.Why) == 0 {
		return ""
	}
	return ": " + strings.Join(a.Why, "; ")
}

// WriteJSON prints the file as it is, or the lists that were asked for.
func (a *Answer) WriteJSON(w io.Writer) error {
	if a.question.By == Overview {
		return a.Waits.Write(w)
	}
	t := a.Table
	lists := &rundir.WaitsLists{Format: rundir.WaitsFormat, Of: "whole_run", Within: a.Within, By: string(a.question.By), Basis: t.Basis}
	switch a.Within {
	case "":
		lists.Of = "windows"
	case rundir.WithinMain:
		lists.Of = "main"
	}
	switch a.question.By {
	case ByCluster:
		lists.Clusters, lists.Others = &t.Clusters, &t.Others
	case ByCallPath:
		lists.CallPaths, lists.Causes = &t.CallPaths, &t.Causes
	case ByRank:
		lists.ByRank = &t.ByRank
	case ByKind:
		lists.Kinds, lists.CallPaths = &t.Kinds, &t.CallPaths
	}
	return lists.Write(w)
}
