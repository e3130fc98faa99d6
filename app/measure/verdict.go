package measure

// StatusIncomplete is the exit status where there are results, and what they lack is more than calls: docs/exit.md.
const StatusIncomplete = 3

// An IncompleteError says that there are results, which lack ranks, or what the analysis was to find, or that are not
// where they should be.
type IncompleteError struct {
	Err error // nil = the summary has said it
}

func (e *IncompleteError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "the results are incomplete"
}

// Unwrap returns what went wrong.
func (e *IncompleteError) Unwrap() error { return e.Err }

// verdict is what a command ends with that has written the results of a run to a directory.
func (c *conclusion) verdict(dir string, err error) error {
	if dir != "" && (err != nil || c.unmeasured) {
		return &IncompleteError{err}
	}
	return err
}

// verdict is what a command ends with that shows the state of a run.
func (s *State) verdict(err error) error {
	if s.State == StateFinished && (err != nil || s.Manifest.Unmeasured()) {
		return &IncompleteError{err}
	}
	return err
}
