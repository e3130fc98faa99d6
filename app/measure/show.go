package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"moriens/app/console"
	"moriens/app/efficiency"
	"moriens/app/pairing"
	"moriens/app/structure"
	"moriens/app/waiting"
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
	r := &console.Results{Run: run, Manifest: s.Manifest, Clusters: s.clusters, Dir: s.Directory, Written: written}
	if s.Manifest.Nobody() {
		return r, nil
	}
	var notes []string
	unknown := func(what string, err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else the analysis has not come to it
			notes = append(notes, fmt.Sprintf("%s not known: %v", what, err))
		}
	}
	r.Efficiency, _, err = efficiency.Read(s.Directory, s.Manifest)
	unknown("the efficiency is", err)
	r.Waits, err = waiting.Read(s.Directory, s.Manifest)
	unknown("the waits are", err)
	r.Pairs, err = pairing.Read(s.Directory, s.Manifest)
	unknown("the pairs are", err)
	r.Program, err = structure.Read(s.Directory, s.Manifest)
	unknown("the structure of the program is", err)
	if len(notes) > 0 {
		m := *s.Manifest
		m.Notes = slices.Concat(notes, m.Notes)
		r.Manifest = &m
	}
	return r, nil
}

// finished prints a State of a run that has ended.
func (s *State) finished(w io.Writer, long bool) error {
	r, err := s.results()
	if err != nil {
		return err
	}
	return console.Finished(w, r, long)
}
