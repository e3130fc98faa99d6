//go:build !mpi

package mpix

import "os"

func library() string { return "" }

func open() (Transport, error) {
	if err := launched(); err != nil {
		return nil, err
	}
	return alone{Local(1)[0]}, nil
}

// alone is a team of this process.
type alone struct{ Transport }

func (alone) Abort(status int) { os.Exit(exitStatus(status)) }
