package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/trace"
	"moriens/trace/overview"
	"moriens/trace/parquet"
	"moriens/trace/prv"
	"moriens/trace/rundir"
)

// Of is what a run directory is going to hold: the one of which manifest is the text.
func Of(c *rundir.Content, manifest json.RawMessage) (Source, error) {
	clusters, err := c.ClustersJSON()
	if err != nil {
		return Source{}, err
	}
	grid, err := c.Overview()
	if err != nil {
		return Source{}, err
	}
	detail, rows := c.Detail()
	s := Source{ManifestJSON: manifest, ClustersJSON: clusters, Manifest: c.Manifest, Clusters: c.Clusters, Detail: detail, Rows: rows, Overview: grid}
	if c.Levels != nil {
		s.Profile, s.Efficiency, s.Waits, s.Instances = c.Levels.Profile, c.Levels.Efficiency, c.Levels.Waits, c.Levels.Instances
		if p := c.Levels.Program; p != nil {
			s.ProgramJSON = p.JSON
		}
	}
	return s, nil
}

// Open reads a run directory. Parts that cannot be read are left out, with the reason among the problems; only a
// directory of no run is an error, and one of another format.
func Open(dir string) (Source, error) {
	var s Source
	run, m, c, err := rundir.Read(dir)
	if errors.Is(err, rundir.ErrNobody) {
		return s, err
	}
	if err == nil {
		s.Detail, s.Manifest, s.Clusters = run, m, c
	} else {
		if s.Manifest, s.Clusters = describe(dir); s.Manifest == nil {
			return s, err
		}
		s.problem(dir, "", err)
		s.Detail = s.trace(dir)
	}
	s.ManifestJSON, s.ClustersJSON = text(dir, rundir.ManifestFile), text(dir, rundir.ClustersFile)
	if s.Clusters == nil {
		s.ClustersJSON = nil
	}
	if s.Manifest.Traced() == 0 {
		return s, nil // nothing ran: the other files have nothing in them
	}
	if s.Rows, err = s.rows(dir); err != nil {
		s.Rows = nil
		s.problem(dir, rundir.BurstsFile, err)
	}
	if s.Profile, err = parquet.ReadProfileFile(filepath.Join(dir, rundir.ProfileFile)); err != nil {
		s.Profile = nil
		s.problem(dir, rundir.ProfileFile, err)
	}
	if all, err := parquet.ReadInstancesFile(filepath.Join(dir, rundir.InstancesFile)); err == nil {
		s.Instances = all.Rows
	} else if !errors.Is(err, fs.ErrNotExist) { // those of earlier versions do not have it
		s.problem(dir, rundir.InstancesFile, err)
	}
	s.Overview = s.overview(dir)
	if s.Efficiency, err = rundir.ReadEfficiency(dir); err != nil {
		s.Efficiency = nil // those of earlier versions do not have it
		if !errors.Is(err, fs.ErrNotExist) {
			s.problem(dir, rundir.EfficiencyFile, err)
		}
	}
	if s.Waits, err = rundir.ReadWaits(dir); err != nil {
		s.Waits = nil // likewise
		if !errors.Is(err, fs.ErrNotExist) {
			s.problem(dir, rundir.WaitsFile, err)
		}
	}
	if s.ProgramJSON, err = rundir.ReadProgram(dir); err != nil {
		s.ProgramJSON = nil // likewise
		if !errors.Is(err, fs.ErrNotExist) {
			s.problem(dir, rundir.ProgramFile, err)
		}
	}
	return s, nil
}

// rows reads the bursts, with the numbers of the call paths that the directory's other files give, where it has
// numbers.
func (s *Source) rows(dir string) (*trace.Run, error) {
	name := filepath.Join(dir, rundir.BurstsFile)
	if run := s.Detail; run != nil && run.PathNames != nil {
		return parquet.ReadNumberedFile(name, run.CallPaths, run.PathNames)
	}
	return parquet.ReadFile(name)
}

// trace reads the kept trace alone, where it does not go with the other files.
func (s *Source) trace(dir string) *trace.Run {
	if s.Manifest.Traced() == 0 {
		return nil
	}
	read, err := prv.ReadFile(filepath.Join(dir, rundir.TraceFile), prv.Options{Own: true})
	if err != nil {
		s.problem(dir, rundir.TraceFile, err)
		return nil
	}
	return read.Run
}

// describe reads what says what there is, as far as that can be done.
func describe(dir string) (*rundir.Manifest, *rundir.Clusters) {
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		return nil, nil
	}
	c, err := rundir.ReadClusters(dir)
	if err != nil {
		c = nil
	}
	return m, c
}

// text is a file that has been read once already.
func text(dir, name string) json.RawMessage {
	b, err := files.ReadFile(filepath.Join(dir, name), files.MostJSON)
	if err != nil {
		return nil
	}
	return b
}

// overview reads the file of that, which directories of earlier versions do not have.
func (s *Source) overview(dir string) *overview.Overview {
	f, err := files.Open(filepath.Join(dir, rundir.OverviewFile))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.problem(dir, rundir.OverviewFile, err)
		}
		return nil
	}
	defer f.Close()
	o, err := overview.Read(f, len(s.threads()))
	if err != nil {
		s.problem(dir, rundir.OverviewFile, err)
		return nil
	}
	return o
}

// problem says that a file could not be read, and what to do about it; the name is empty where the error has it. Where
// on the disk the directory is, the page does not say.
func (s *Source) problem(dir, file string, err error) {
	text := err.Error()
	var path *fs.PathError
	if errors.As(err, &path) {
		text = path.Err.Error()
		if file == "" {
			file = filepath.Base(path.Path)
		}
	}
	text = strings.TrimPrefix(strings.ReplaceAll(text, dir+string(filepath.Separator), ""), fmt.Sprintf("run directory %s: ", dir))
	if file != "" && !strings.HasPrefix(text, file+": ") {
		text = file + ": " + text
	}
	if advice := hint.Of(err); advice != "" {
		text += "; " + advice
	}
	s.Problems = append(s.Problems, text+".")
}
