package measure

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"moriens/app/console"
	"moriens/trace/rundir"
)

// A Show says what is printed of results.
type Show int

// The summary, all figures, a State as JSON, or nothing.
const (
	ShowSummary Show = iota
	ShowLong
	ShowJSON
	ShowNothing
)

// print prints results, as what is asked for.
func (s Show) print(w io.Writer, r *console.Results) error {
	switch s {
	case ShowNothing:
		return nil
	case ShowJSON:
		return json.NewEncoder(w).Encode(&State{State: StateFinished, Directory: r.Dir, Manifest: r.Manifest})
	case ShowLong:
		return console.Long(w, r)
	}
	return console.Summary(w, r)
}

// results are what is printed of a run directory that was read.
func (s *State) results() (*console.Results, error) {
	run, err := s.clusters.Outline()
	if err != nil {
		return nil, err
	}
	written, err := s.Manifest.Written(s.Directory)
	if err != nil {
		return nil, err
	}
	efficiency, err := rundir.ReadEfficiency(s.Directory)
	if errors.Is(err, fs.ErrNotExist) { // of an earlier version
		efficiency, err = nil, nil
	}
	return &console.Results{Run: run, Manifest: s.Manifest, Clusters: s.clusters, Efficiency: efficiency, Dir: s.Directory, Written: written}, err
}

// finished prints a State of a run that has ended.
func (s *State) finished(w io.Writer, long bool) error {
	r, err := s.results()
	if err != nil {
		return err
	}
	return console.Finished(w, r, long)
}
