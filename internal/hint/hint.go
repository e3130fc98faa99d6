// Package hint gives errors a second line: what to do about them.
package hint

import "errors"

type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }
func (h *hinted) Hint() string  { return h.hint }

// With returns err with advice.
func With(err error, hint string) error { return &hinted{err, hint} }

// Default returns err with advice, unless it has some already.
func Default(err error, hint string) error {
	if Of(err) != "" {
		return err
	}
	return With(err, hint)
}

// Of returns the advice of the outermost error in the chain that has some, or "".
func Of(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
