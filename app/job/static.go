package job

import (
	"debug/elf"
	"os"
	"os/exec"

	"moriens/internal/files"
)

// Static returns those words of a command line that are statically linked programs: the dynamic loader
// preloads nothing into them.
func Static(argv []string) []string {
	var static []string
	self, _ := os.Executable() // a moriens in a moriens is no MPI program
	for _, word := range argv {
		path, err := exec.LookPath(word)
		if err != nil || files.Same(path, self) {
			continue
		}
		f, err := elf.Open(path)
		if err != nil {
			continue // a script, a file that is no program
		}
		if !hasInterpreter(f) {
			static = append(static, word)
		}
		f.Close()
	}
	return static
}

func hasInterpreter(f *elf.File) bool {
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return true
		}
	}
	return f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN
}
