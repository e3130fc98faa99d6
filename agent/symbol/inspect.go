package symbol

import (
	"bytes"
	"debug/elf"
	"errors"
)

// Inspect calls f with the module's file and with the one into which its debugging information was split off, nil where
// there is none. It fails where the file is not that of the process, or not sound.
func (m *Module) Inspect(f func(file, split *elf.File)) (err error) {
	if m.file == nil {
		return errors.New("the file is not there")
	}
	err = errors.New("the file is malformed")
	guard(func() {
		file, failed := elf.NewFile(m.file)
		if failed != nil {
			return
		}
		if !bytes.Equal(readBuildID(file), m.buildID) {
			err = errors.New("the file has another build id than in the process")
			return
		}
		var split *elf.File
		if !hasDebug(file) {
			if split = openDebug(file, m.path, m.buildID); split != nil {
				defer split.Close()
			}
		}
		f(file, split)
		err = nil
	})
	return err
}

// Functions are the symbols of functions in a table that read reads from the file.
func Functions(f *elf.File, read func() ([]elf.Symbol, error)) (functions []elf.Symbol) {
	for _, s := range f.Sections {
		if (s.Type == elf.SHT_SYMTAB || s.Type == elf.SHT_DYNSYM || s.Type == elf.SHT_STRTAB) && s.Size > maxTable {
			return nil
		}
	}
	symbols, err := read()
	if err != nil {
		return nil
	}
	for _, s := range symbols {
		t := elf.ST_TYPE(s.Info)
		if (t == elf.STT_FUNC || t == elf.STT_GNU_IFUNC) && s.Section != elf.SHN_UNDEF && s.Name != "" {
			functions = append(functions, s)
		}
	}
	return functions
}
