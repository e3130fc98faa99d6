package doctor

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var familyNames = map[string]string{OpenMPI: "Open MPI", MPICH: "MPICH or one of its family", ABI: "standard ABI", Slurms: "Slurm"}

var versionNumber = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)

func checkMPIs(m Machine) []Finding {
	var list []Finding
	usable := 0
	for _, x := range m.MPIs {
		f := checkMPI(x, m.Launchers)
		list = append(list, f)
		if x.Error == "" {
			usable++
			list = append(list, checkFortran(x))
		}
	}
	if usable == 0 {
		list = append(list, Finding{
			ID: "mpi.library", Status: Lack, Found: "no MPI library", Why: "none found by the dynamic loader, in LD_LIBRARY_PATH, or beside a launcher on PATH",
			Do: "install one, or load its module first; programs that bundle their own can be measured",
		})
	}
	for _, l := range m.Launchers {
		list = append(list, checkLauncher(l, m.MPIs))
	}
	if len(m.Launchers) == 0 {
		list = append(list, Finding{
			ID: "mpi.launcher", Status: Lack, Found: "no mpirun, mpiexec or srun on PATH", Why: "no MPI is installed, or its module is not loaded",
			Do: "load its module, or name the launcher by its path: moriens run -- /path/to/mpirun ./app",
		})
	}
	return list
}

func checkMPI(x MPI, launchers []Launcher) Finding {
	f := Finding{ID: "mpi.library", Status: OK, Found: x.Path, Facts: []string{"found by " + strings.Join(x.By, ", ")}}
	if x.Error != "" {
		f.Status, f.Why, f.Do = Warn, "it does not load: "+x.Error, "reinstall it, or load what it needs, such as its module"
		return f
	}
	f.Found += fmt.Sprintf(": %s, MPI %s", strings.Join(strings.Fields(x.Version), " "), x.Standard)
	var fit, other []string
	for _, l := range launchers {
		switch {
		case l.Error != "" || l.Family != Slurms && l.Family != x.Family:
		case l.Family == Slurms || sameVersion(l.Version, x.Version):
			fit = append(fit, l.Names[0])
		default:
			other = append(other, l.Names[0]+" is of "+l.Version)
		}
	}
	switch {
	case len(fit) > 0:
		f.Facts = append(f.Facts, "launched by "+strings.Join(fit, ", "))
	case len(other) > 0:
		f.Status, f.Why, f.Do = Warn, "its launcher has another version: "+strings.Join(other, ", "), "load one module for both; mismatched launchers often start each rank as a job of one"
	default:
		f.Status, f.Why, f.Do = Warn, "none of the launchers on PATH belongs to "+familyNames[x.Family]+"'s", "put its mpirun or mpiexec on PATH, or name it by its path"
	}
	return f
}

// sameVersion compares the first two numbers of two texts: launcher and library of one series understand each other.
func sameVersion(a, b string) bool {
	series := func(text string) string {
		parts := strings.SplitN(versionNumber.FindString(text), ".", 3)
		return strings.Join(parts[:min(len(parts), 2)], ".")
	}
	return series(a) != "" && series(a) == series(b)
}

func checkFortran(x MPI) Finding {
	f := Finding{ID: "mpi.fortran", Status: OK}
	if len(x.Fortran) == 0 {
		f.Status, f.Found, f.Why, f.Do = Lack, x.Path+" has no Fortran", "none of its libraries has Fortran symbols", "nothing, unless your program is written in Fortran"
		return f
	}
	f.Found = "Fortran of " + x.Path + ": " + strings.Join(slices.Sorted(maps.Keys(x.Fortran)), ", ")
	for _, binding := range slices.Sorted(maps.Keys(x.Fortran)) {
		for _, symbol := range x.Fortran[binding] {
			f.Status = Warn
			f.Facts = append(f.Facts, binding+": "+symbol+" is not recorded")
		}
	}
	if f.Status == Warn {
		f.Why, f.Do = "libmoriens.so does not know the name mangling of its compiler", "report this with the name of the compiler"
	}
	return f
}

func checkLauncher(l Launcher, libraries []MPI) Finding {
	f := Finding{ID: "mpi.launcher", Status: OK, Found: fmt.Sprintf("%s (%s): %s", strings.Join(l.Names, ", "), l.Path, strings.TrimSpace(familyNames[l.Family]+" "+l.Version))}
	switch {
	case l.Error != "" && l.Family == Slurms:
		f.Found = fmt.Sprintf("%s (%s)", strings.Join(l.Names, ", "), l.Path)
		f.Status, f.Why, f.Do = Lack, l.Error, "see slurm"
	case l.Error != "":
		f.Found = fmt.Sprintf("%s (%s)", strings.Join(l.Names, ", "), l.Path)
		f.Status, f.Why, f.Do = Warn, "unknown --version output: "+l.Error, "use another launcher if jobs do not start"
	case l.Family == Slurms:
	case !slices.ContainsFunc(libraries, func(x MPI) bool { return x.Error == "" && x.Family == l.Family }):
		f.Status, f.Why, f.Do = Warn, "no matching library found", "programs that bundle the library run; for others load its module"
	}
	return f
}
