//go:build !otf2 || !cgo

package otf2

import (
	"errors"

	"moriens/internal/hint"
)

var errNotBuilt = hint.With(errors.New("built without libotf2"), "install libotf2-trace-dev and build again: make otf2")

func available() error { return errNotBuilt }

// An archive is never opened here.
type archive struct{}

func open(string, string) (*archive, error)        { return nil, errNotBuilt }
func (*archive) begin(uint64) error                { return errNotBuilt }
func (*archive) event(event) error                 { return errNotBuilt }
func (*archive) end() (uint64, error)              { return 0, errNotBuilt }
func (*archive) define(*definitions) error         { return errNotBuilt }
func (*archive) close() error                      { return errNotBuilt }
func (*archive) verify(string, *definitions) error { return errNotBuilt }
