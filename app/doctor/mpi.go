package doctor

import (
	"context"
	"debug/elf"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// libraryName fits the C library of an MPI, not those of its other languages.
var libraryName = regexp.MustCompile(`^lib(mpi|mpich|mpi_abi|mpi_cray|mpi_gnu_[0-9]+|mpi_intel)\.so(\.[0-9]+)*$`)

// probeMPIs finds the MPI libraries that programs may load and asks each who it is.
func probeMPIs(ctx context.Context, l Library, launchers []Launcher) []MPI {
	found := newFinder()
	for _, path := range ldconfig(ctx) {
		found.file(path, "ldconfig")
	}
	for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		found.directory(dir, "LD_LIBRARY_PATH")
	}
	for _, name := range []string{"MPI_HOME", "MPI_ROOT", "I_MPI_ROOT", "OPAL_PREFIX", "MPICH_DIR", "CRAY_MPICH_DIR", "EBROOTOPENMPI", "EBROOTMPICH", "EBROOTIMPI"} {
		if root := os.Getenv(name); root != "" {
			found.below(root, name)
		}
	}
	for _, launcher := range launchers {
		found.below(filepath.Dir(filepath.Dir(launcher.Path)), launcher.Names[0])
	}
	list := found.list()
	for i := range list {
		describeMPI(ctx, &list[i], l)
	}
	return list
}

// A finder collects libraries under their real paths.
type finder struct {
	by    map[string][]string
	order []string
}

func newFinder() *finder { return &finder{by: map[string][]string{}} }

func (f *finder) file(path, by string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !libraryName.MatchString(filepath.Base(path)) || !libraryName.MatchString(filepath.Base(real)) {
		return
	}
	if f.by[real] == nil {
		f.order = append(f.order, real)
	}
	if !slices.Contains(f.by[real], by) {
		f.by[real] = append(f.by[real], by)
	}
}

func (f *finder) directory(dir, by string) {
	paths, _ := filepath.Glob(filepath.Join(dir, "libmpi*.so*"))
	for _, path := range paths {
		f.file(path, by)
	}
}

// below looks where installations have their libraries.
func (f *finder) below(root, by string) {
	for _, pattern := range []string{"lib", "lib64", "lib/release", "lib/*-linux-gnu", "lib/*-linux-gnu/*/lib"} {
		dirs, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, dir := range dirs {
			f.directory(dir, by)
		}
	}
}

func (f *finder) list() []MPI {
	var list []MPI
	for _, path := range f.order {
		list = append(list, MPI{Path: path, By: f.by[path]})
	}
	return list
}

// ldconfig lists the libraries that the dynamic loader finds by itself, in its order.
func ldconfig(ctx context.Context) (paths []string) {
	for _, program := range []string{"/sbin/ldconfig", "/usr/sbin/ldconfig"} {
		if _, err := os.Stat(program); err != nil {
			continue
		}
		for line := range strings.Lines(ask(ctx, nil, program, "-p").stdout) {
			if _, path, found := strings.Cut(strings.TrimSpace(line), " => "); found {
				paths = append(paths, path)
			}
		}
		break
	}
	return paths
}

func describeMPI(ctx context.Context, x *MPI, l Library) {
	if l.Layout == 0 {
		x.Error = "libmoriens.so, which queries it, does not load"
		return
	}
	s := askLibrary(ctx, l.Path, x.Path)
	fields := strings.SplitN(strings.TrimSpace(s.stdout), "\t", 4)
	switch {
	case fields[0] == "no-mpi":
		x.Error = strings.Join(fields[1:], " ")
	case len(fields) == 4 && fields[0] == "mpi":
		x.Family, x.Standard, x.Version = fields[1], fields[2], fields[3]
		x.Fortran = fortranOf(x.Path, l.Path)
	case s.err != nil:
		x.Error = s.err.Error()
	default:
		x.Error = "it did not answer"
	}
}

// bindings identifies those of Fortran by the symbols of calls that each has. A lower-case name without an underscore
// is for C programs.
var bindings = map[string]*regexp.Regexp{
	"mpif.h, use mpi": regexp.MustCompile(`^(mpi_(send|recv|allreduce|init|finalize)_{1,2}|MPI_(SEND|RECV|ALLREDUCE|INIT|FINALIZE))$`),
	"use mpi_f08":     regexp.MustCompile(`^mpi_(send|recv|allreduce|init|finalize)_f08(ts)?_$`),
}

// fortranOf says which bindings come with an MPI library: in it, or in libraries beside it that need it. For each it
// lists those symbols that ours lacks.
func fortranOf(path, ours string) map[string][]string {
	wrapped := symbols(ours)
	missing := map[string][]string{}
	for _, file := range append(dependents(path), path) {
		for symbol := range symbols(file) {
			for binding, pattern := range bindings {
				if !pattern.MatchString(symbol) {
					continue
				}
				if _, known := missing[binding]; !known {
					missing[binding] = nil
				}
				if !wrapped[symbol] && !slices.Contains(missing[binding], symbol) {
					missing[binding] = append(missing[binding], symbol)
				}
			}
		}
	}
	for _, list := range missing {
		slices.Sort(list)
	}
	return missing
}

// dependents lists the libraries beside one that need it by its soname.
func dependents(path string) []string {
	soname, _ := dynamic(path, elf.DT_SONAME)
	if len(soname) == 0 {
		return nil
	}
	candidates, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "libmpi*.so*"))
	var list []string
	for _, candidate := range candidates {
		real, err := filepath.EvalSymlinks(candidate)
		if err != nil || real == path || slices.Contains(list, real) {
			continue
		}
		if needed, err := dynamic(real, elf.DT_NEEDED); err == nil && slices.Contains(needed, soname[0]) {
			list = append(list, real)
		}
	}
	return list
}

func dynamic(path string, tag elf.DynTag) ([]string, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.DynString(tag)
}

// symbols lists the functions that a library has; none where it cannot be read.
func symbols(path string) map[string]bool {
	list := map[string]bool{}
	file, err := elf.Open(path)
	if err != nil {
		return list
	}
	defer file.Close()
	all, _ := file.DynamicSymbols()
	for _, s := range all {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF {
			list[s.Name] = true
		}
	}
	return list
}
