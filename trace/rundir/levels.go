package rundir

import (
	"io"

	"moriens/trace/parquet"
)

// Levels are what is kept of all ranks; nil = not there.
type Levels struct {
	Profile   *parquet.Profile // level 1
	Structure *Structure       // level 2
}

// files are those that are there, as they are to be written.
func (l *Levels) files() []file {
	var list []file
	if l != nil && l.Profile != nil {
		list = append(list, file{ProfileFile, "profile of all ranks: times, counters, bytes", func(w io.Writer) error { return parquet.WriteProfile(w, l.Profile) }})
	}
	if l != nil && l.Structure != nil {
		list = append(list, file{StructureFile, "what all ranks did, as loops", func(w io.Writer) error {
			text, err := l.Structure.encode()
			if err == nil {
				_, err = w.Write(text)
			}
			return err
		}})
	}
	return list
}

// WriteLevels writes profile.parquet and structure.json alone into dir, each whole or not at all. A file that fails leaves the other alone.
func WriteLevels(dir string, l *Levels) ([]File, error) { return writeFiles(dir, l.files()) }
