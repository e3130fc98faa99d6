// Package question has what answers to questions about run directories share: how the manifest and other files of a
// directory are read, and what is said, with advice, where there is no answer.
package question

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"moriens/internal/hint"
	"moriens/trace/rundir"
)

// A UsageError is a question that is wrong, or has no answer.
type UsageError struct{ error }

// Unwrap returns what is wrong.
func (e UsageError) Unwrap() error { return e.error }

// Misuse is a UsageError with advice.
func Misuse(advice, format string, args ...any) error {
	return UsageError{hint.With(fmt.Errorf(format, args...), advice)}
}

// Lacking is an error for files that are not there: it is fs.ErrNotExist.
func Lacking(advice, format string, args ...any) error {
	return hint.With(lacking{fmt.Errorf(format, args...)}, advice)
}

type lacking struct{ error }

func (lacking) Is(err error) bool { return err == fs.ErrNotExist }

// Manifest reads the manifest of a run directory, or says what is in its place.
func Manifest(dir string) (*rundir.Manifest, error) {
	m, err := rundir.ReadManifest(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, rundir.NoManifest(dir)
	}
	return m, err
}

// Read reads a file of a run directory with this manifest: one that earlier versions did not write, or the analysis had
// no time for. Then the error says which of both it is, and is fs.ErrNotExist.
func Read[T any](dir string, m *rundir.Manifest, file File[T]) (*T, error) {
	content, err := file.Read(dir)
	if err == nil {
		return content, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, hint.Default(err, rundir.AdviseDamage)
	}
	for _, text := range m.Reduction.Missing {
		if strings.HasPrefix(text, file.Name+" is missing") || strings.HasPrefix(text, file.Name+" and ") {
			return nil, Lacking("measure again with more time for the analysis: --moriens-timeout (docs/reduction.md)", "%s", text)
		}
	}
	return nil, Lacking("measure, or analyze, again with this version", "it has no %s: a version of moriens wrote it that did not compute %s", file.Name, file.Of)
}

// A File is one of a run directory.
type File[T any] struct {
	Name string
	Of   string // what it is about
	Read func(dir string) (*T, error)
}
