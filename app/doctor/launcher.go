package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"moriens/internal/files"
)

// launcherPatterns fit the names under which MPI libraries and Debian install launchers.
var launcherPatterns = []string{"mpirun", "mpiexec", "mpirun.*", "mpiexec.*", "orterun", "prterun", "srun"}

// probeLaunchers finds the launchers on PATH and asks each for its version. Names of one file are one launcher.
func probeLaunchers(ctx context.Context) []Launcher {
	var list []Launcher
	seen := map[string]bool{}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		for _, pattern := range launcherPatterns {
			paths, _ := filepath.Glob(filepath.Join(dir, pattern))
			for _, path := range paths {
				name := filepath.Base(path)
				info, err := os.Stat(path)
				if err != nil || info.IsDir() || info.Mode()&0o111 == 0 || seen[name] {
					continue
				}
				seen[name] = true
				list = addLauncher(list, name, path)
			}
		}
	}
	for i := range list {
		list[i].identify(ask(ctx, nil, list[i].Path, "--version"))
	}
	return list
}

func addLauncher(list []Launcher, name, path string) []Launcher {
	for i := range list {
		if files.Same(list[i].Path, path) {
			list[i].Names = append(list[i].Names, name)
			return list
		}
	}
	return append(list, Launcher{Names: []string{name}, Path: path})
}

func (l *Launcher) identify(s said) {
	text := s.stdout + "\n" + s.stderr
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(text), w) })
	}
	switch {
	case has("openrte", "open mpi", "prrte", "prterun"):
		l.Family = OpenMPI
	case has("hydra", "mpich", "mvapich", "intel(r) mpi"):
		l.Family = MPICH
	case has("slurm"):
		l.Family = Slurms
	case s.err != nil:
		if strings.HasPrefix(s.stderr, "srun: ") {
			l.Family = Slurms
		}
		l.Error = s.complaint()
		return
	default:
		l.Error = strings.SplitN(strings.TrimSpace(text), "\n", 2)[0]
		return
	}
	l.Version = versionNumber.FindString(text)
}

func probeSlurm(ctx context.Context) Slurm {
	path, err := exec.LookPath("srun")
	if err != nil {
		return Slurm{}
	}
	s := Slurm{Srun: path, Job: os.Getenv("SLURM_JOB_ID")}
	version := ask(ctx, nil, path, "--version")
	if version.err != nil {
		s.Error = version.complaint()
		s.Unconfigured = strings.Contains(version.stderr, "onfiguration")
		return s
	}
	s.Version = versionNumber.FindString(version.stdout)
	list := ask(ctx, nil, path, "--mpi=list")
	for line := range strings.Lines(list.stdout + "\n" + list.stderr) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.ContainsAny(line, " :") {
			s.MPI = append(s.MPI, line)
		}
	}
	return s
}
