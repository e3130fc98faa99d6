package rundir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/internal/plain"
)

// ProgramFile and ProgramTextFile have the structure of the run as a person would have written it.
const (
	ProgramFile     = "program.json"
	ProgramTextFile = "program.txt"
)

// ProgramBytes is how many bytes program.json has at most.
const ProgramBytes = 1 << 20

// A Structured program is the structure of a run as its files have it: whoever has found it writes and reads them.
type Structured struct {
	JSON []byte
	Text string
}

func (s *Structured) files() []file {
	return []file{
		{ProgramFile, "program: functions, loops, conditions, computation, MPI calls of all ranks", func(w io.Writer) error {
			if len(s.JSON) > ProgramBytes {
				return fmt.Errorf("%d bytes, %d at most", len(s.JSON), ProgramBytes)
			}
			_, err := w.Write(s.JSON)
			return err
		}},
		{ProgramTextFile, "program, as text", func(w io.Writer) error {
			_, err := io.WriteString(w, plain.Lines(s.Text))
			return err
		}},
	}
}

// ReadProgram reads the text of program.json of a run directory, which must not be larger than it can be.
func ReadProgram(dir string) ([]byte, error) {
	text, err := files.ReadFile(filepath.Join(dir, ProgramFile), ProgramBytes)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	return nil, hint.With(fmt.Errorf("%s: %w", ProgramFile, err), AdviseDamage)
}
