// Command same shows whether two moriens programs make the same of the same data: it records MPI programs once, has
// both conclude the journals and analyse traces, and compares the run directories file by file.
//
// Text that one of them words otherwise stands in renames.txt, and is what may differ; so may the times of the stages
// and what counts their bytes.
//
//	go run ./bench/same -before OLD/bin/moriens -after bin/moriens
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A program is one that is recorded: a mini-app, its ranks and arguments, and options of moriens.
type program struct {
	name    string
	ranks   int
	args    []string
	options []string
}

var programs = []program{
	{"planted", 2, nil, nil},
	{"kinds", 4, []string{"-n", "60", "-s"}, nil},
	{"communicators", 2, nil, nil},
	{"messages", 2, nil, nil},
	{"halo", 4, []string{"-r", "256", "-c", "256", "-i", "200"}, nil},
	{"annotate", 2, []string{"nest", "50"}, nil},
	{"threads", 2, nil, nil},
	{"planted", 2, nil, []string{"--keep", "100KiB"}},
	{"halo", 4, []string{"-r", "256", "-c", "256", "-i", "200"}, []string{"--keep-bursts", "all"}},
}

func main() {
	before := flag.String("before", "", "moriens to compare with; its libmoriens.so lies beside it")
	after := flag.String("after", "bin/moriens", "moriens to compare")
	traces := flag.String("traces", "../shared/traces,testdata/recorded", "folders of Paraver traces")
	mpicc := flag.String("mpicc", "mpicc.openmpi", "compiler of the programs")
	launcher := flag.String("launcher", "mpirun.openmpi --oversubscribe -np", "starts as many ranks as the next word says")
	dir := flag.String("dir", "", "folder for what is made (default: a new one that is removed)")
	flag.Parse()
	if err := run(*before, *after, *traces, *mpicc, *launcher, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "same:", err)
		os.Exit(1)
	}
}

func run(before, after, traces, mpicc, launcher, dir string) error {
	if before == "" {
		return errors.New("-before is missing")
	}
	if dir == "" {
		temporary, err := os.MkdirTemp("", "moriens-same-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		dir = temporary
	}
	renames, err := readRenames()
	if err != nil {
		return err
	}
	differ, compared := 0, 0
	for i, p := range programs {
		at := filepath.Join(dir, fmt.Sprintf("%d-%s", i, p.name))
		if err := record(before, at, mpicc, launcher, p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		title := strings.Join(append(append([]string{p.name}, p.args...), p.options...), " ")
		n, err := both(title, at, renames, func(moriens, out string) error {
			return reconclude(moriens, filepath.Join(at, "recorded"), out, p.options)
		}, before, after)
		if err != nil {
			return fmt.Errorf("%s: %w", title, err)
		}
		differ, compared = differ+n, compared+1
	}
	for _, folder := range strings.Split(traces, ",") {
		found, err := filepath.Glob(filepath.Join(folder, "*.prv*"))
		if err != nil {
			return err
		}
		for _, trace := range found {
			at := filepath.Join(dir, "trace-"+filepath.Base(trace))
			n, err := both(trace, at, renames, func(moriens, out string) error { return command(moriens, "analyze", "--out", out, trace) }, before, after)
			if err != nil {
				return fmt.Errorf("%s: %w", trace, err)
			}
			differ, compared = differ+n, compared+1
		}
	}
	fmt.Printf("%d runs compared, %d files differ\n", compared, differ)
	if differ > 0 {
		return fmt.Errorf("%d files differ", differ)
	}
	return nil
}

// record runs a program under the earlier moriens, which leaves the collector's journal.
func record(moriens, at, mpicc, launcher string, p program) error {
	if err := errors.Join(os.MkdirAll(at, 0o755), os.Setenv("MINIAPP_OUT", at)); err != nil {
		return err
	}
	exe := filepath.Join(at, p.name)
	if err := command(mpicc, "-O2", "-pthread", "-o", exe, "-I", "cshim/include", filepath.Join("testdata/miniapp", p.name+".c"), "-lm"); err != nil {
		return err
	}
	words := append([]string{"run", "--keep-work", "--out", filepath.Join(at, "recorded")}, p.options...)
	words = append(append(words, "--"), strings.Fields(launcher)...)
	words = append(append(words, fmt.Sprint(p.ranks), exe), p.args...)
	return command(moriens, words...)
}

// reconclude concludes a recorded run once more, from its journal alone.
func reconclude(moriens, recorded, out string, options []string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(out, "journal"), os.DirFS(filepath.Join(recorded, "journal"))); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(out, "journal"), 0o700); err != nil {
		return err
	}
	return command(moriens, append([]string{"collect", "--out", out}, options...)...)
}

// both has the two programs make a run directory each and compares them; it returns how many files differ.
func both(title, at string, renames []rename, makeRun func(moriens, out string) error, before, after string) (differ int, err error) {
	old, now := filepath.Join(at, "before"), filepath.Join(at, "after")
	if err := errors.Join(os.MkdirAll(at, 0o755), makeRun(before, old), makeRun(after, now)); err != nil {
		return 0, err
	}
	list := make(map[string]int) // by file: 1 = before, 2 = after
	for bit, folder := range []string{old, now} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				name, _ := filepath.Rel(folder, path)
				list[name] |= 1 << bit
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	for name, in := range list {
		switch {
		case name == "report.html" || strings.HasPrefix(name, "journal/"): // the page holds the manifest and is of a version
		case in != 3:
			fmt.Printf("%s: %s is in one only\n", title, name)
			differ++
		default:
			faults, err := compare(name, filepath.Join(old, name), filepath.Join(now, name), renames)
			if err != nil {
				return 0, err
			}
			for _, fault := range faults {
				fmt.Printf("%s: %s: %s\n", title, name, fault)
			}
			differ += min(1, len(faults))
		}
	}
	fmt.Printf("%s: %d files, %d differ\n", title, len(list), differ)
	return differ, nil
}

func command(name string, args ...string) error {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Minute)
	defer stop()
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out.Bytes())
	}
	return nil
}
