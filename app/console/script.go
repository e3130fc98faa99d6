package console

import (
	"path"
	"regexp"
	"strings"
)

// interpreter is the name of a program that runs scripts: python3.11.
var interpreter = regexp.MustCompile(`^(python|pypy|julia|perl|ruby|Rscript)[0-9.]*$`)

// script is what an interpreter ran, by the command: heat.py of mpirun -n 2 python3 -u heat.py. Empty: it is not known,
// or the program is none.
func script(command []string, program string) string {
	found := interpreter.FindStringSubmatch(program)
	if found == nil {
		return ""
	}
	for i, arg := range command {
		if own := interpreter.FindStringSubmatch(path.Base(arg)); own != nil && own[1] == found[1] {
			return scriptOf(command[i+1:])
		}
	}
	return ""
}

// scriptOf is the script, or module, in the arguments of an interpreter.
func scriptOf(args []string) string {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-c" || arg == "-e": // a program in the command itself
			return ""
		case arg == "-m" && i+1 < len(args) && !strings.HasPrefix(args[i+1], "mpi4py"): // which runs another one
			return args[i+1]
		case arg == "-m", arg == "-W", arg == "-X":
			i++
		case !strings.HasPrefix(arg, "-"):
			return path.Base(arg)
		}
	}
	return ""
}
