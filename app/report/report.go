// Package report makes the pages of finished runs: report.html, which opens from disk, and the page that this machine
// serves to a browser. In comes a run directory, or one that is being written.
package report

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"

	"moriens/analysis/program"
	"moriens/conclude/factors"
	"moriens/internal/hint"
	"moriens/trace"
	"moriens/trace/page"
	"moriens/trace/rundir"
	"moriens/viewer"
)

// Of writes report.html of what a run directory is going to hold: for rundir.Content.Report.
func Of(c *rundir.Content) func(w io.Writer, manifest []byte) error {
	return func(w io.Writer, manifest []byte) error {
		s, err := page.Of(c, json.RawMessage(manifest))
		if err != nil {
			return err
		}
		if c.Levels != nil {
			addPairs(&s, c.Levels.Pairs, c.Levels.PairsRows)
		}
		return write(w, s)
	}
}

// Rewrite writes report.html of a run directory again, and reports what of the directory could not be read.
func Rewrite(dir string) (file rundir.File, problems []string, err error) {
	s, err := open(dir)
	if err != nil {
		return file, nil, err
	}
	file, err = rundir.WriteReport(dir, func(w io.Writer) error { return write(w, s) })
	if err != nil {
		err = hint.With(err, "the directory must be writable and have free space; moriens view shows it without writing")
	}
	return file, s.Problems, err
}

// open reads a run directory. Where it has no efficiency.json, as those of earlier versions, what its profile says of
// the whole run takes the place.
func open(dir string) (page.Source, error) {
	s, err := page.Open(dir)
	if err == nil {
		readPairs(&s, dir)
		checkProgram(&s)
	}
	if err != nil || s.Efficiency != nil || s.Profile == nil || s.Clusters == nil {
		return s, err
	}
	if outline, err := s.Clusters.Outline(); err == nil {
		t := new(factors.Tally)
		t.Add(s.Profile)
		s.Efficiency = factors.OfProfile(t, s.Manifest, outline.Clusters)
	}
	return s, nil
}

// checkProgram leaves out what no program can be.
func checkProgram(s *page.Source) {
	if s.ProgramJSON == nil {
		return
	}
	if _, err := program.Read(s.ProgramJSON); err != nil {
		s.ProgramJSON = nil
		s.Problems = append(s.Problems, rundir.ProgramFile+": "+err.Error()+".")
	}
}

func write(w io.Writer, s page.Source) error {
	p := viewer.Page{
		Title: title(s.Manifest), Mode: string(page.Report),
		Pack: func(w io.Writer) error { return page.Write(w, page.Report, s, page.LimitsOf(page.Report)) },
	}
	return p.Write(w)
}

// title is what a browser writes on its tab.
func title(m *rundir.Manifest) string {
	var names []string
	if m != nil {
		for _, w := range m.Worlds {
			if w.Executable != "" {
				names = append(names, trace.ProgramName(w.Executable))
			}
		}
		if len(names) == 0 && m.Trace != "" {
			names = []string{filepath.Base(m.Trace)}
		}
	}
	return strings.Join(append(names, "moriens"), " – ")
}
