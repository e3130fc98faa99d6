package doctor

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

var elfArch = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_PPC64: "ppc64le", elf.EM_RISCV: "riscv64"}

func probeLibrary(ctx context.Context, c Config) Library {
	l := Library{Path: c.Library, Asked: c.Events != ""}
	if c.LibraryError != nil {
		l.Error, l.Hint = c.LibraryError.Error(), c.LibraryHint
		return l
	}
	file, err := elf.Open(c.Library)
	if err != nil {
		l.Error = err.Error()
		return l
	}
	l.Arch = elfArch[file.Machine]
	if l.Arch == "" {
		l.Arch = file.Machine.String()
	}
	file.Close()
	var env []string
	if c.Events != "" {
		env = append(env, "MORIENS_EVENTS="+c.Events)
	}
	s := askLibrary(ctx, c.Library, "process", env...)
	l.Said = s.stderr
	l.read(s.stdout)
	switch {
	case s.err != nil && l.Layout == 0:
		l.Error = s.err.Error()
	case s.err != nil:
		l.PAPI.Error = "inspecting it failed: " + s.err.Error()
	case l.Layout == 0:
		l.Error = "it was preloaded and did not answer"
	}
	return l
}

// probeOrder has the library say who else is preloaded and wraps MPI.
func probeOrder(ctx context.Context, l Library) (o Order) {
	if l.Layout == 0 {
		return Order{Error: "libmoriens.so has not answered"}
	}
	preload, own := preloadOrder(l.Path, os.Getenv("LD_PRELOAD"))
	s := askPreloaded(ctx, preload, "order")
	o.Own = own
	answered := false
	for line := range strings.Lines(s.stdout) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case fields[0] == "order":
			answered = true
		case fields[0] == "no-stack":
			o.NoStack = true
		case len(fields) == 3 && (fields[0] == "before" || fields[0] == "behind"):
			n, _ := strconv.Atoi(fields[2])
			list := &o.Before
			if fields[0] == "behind" {
				list = &o.Behind
			}
			*list = append(*list, Other{fields[1], n})
		}
	}
	switch {
	case s.err != nil:
		o.Error = s.complaint()
	case !answered:
		o.Error = "it was preloaded and did not answer"
	}
	return o
}

// preloadOrder is what LD_PRELOAD holds in a measured program: what it holds already where that names the library, by
// whatever path, else the library and what it holds.
func preloadOrder(library, old string) (preload string, own bool) {
	names := strings.FieldsFunc(old, func(r rune) bool { return r == ':' || r == ' ' })
	for i, name := range names {
		if filepath.Base(name) == filepath.Base(library) {
			names[i], own = library, true
		}
	}
	if !own {
		names = append([]string{library}, names...)
	}
	return strings.Join(names, ":"), own
}

// askLibrary has libmoriens.so answer a question: see cshim/src/probe.c. What is preloaded already remains so.
func askLibrary(ctx context.Context, library, question string, env ...string) said {
	preload := library
	if old := os.Getenv("LD_PRELOAD"); old != "" {
		preload += ":" + old
	}
	return askPreloaded(ctx, preload, question, env...)
}

func askPreloaded(ctx context.Context, preload, question string, env ...string) said {
	program, err := dynamicProgram()
	if err != nil {
		return said{err: err}
	}
	return ask(ctx, append(env, "LD_PRELOAD="+preload, "MORIENS_PROBE="+question, "MORIENS_RUN="), program)
}

// dynamicProgram finds a program into which the dynamic loader preloads.
func dynamicProgram() (string, error) {
	var last error = exec.ErrNotFound
	for _, name := range []string{"true", "env", "ls", "sh", "/bin/true", "/usr/bin/env", "/bin/sh"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		file, err := elf.Open(path)
		if err != nil {
			last = err
			continue
		}
		section := file.Section(".interp")
		file.Close()
		if section != nil {
			return path, nil
		}
	}
	return "", &exec.Error{Name: "a dynamically linked program", Err: last}
}

// read takes in the lines that the library says.
func (l *Library) read(text string) {
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		field, more, _ := strings.Cut(rest, "\t")
		switch name {
		case "layout":
			l.Layout, _ = strconv.Atoi(field)
		case "clock":
			l.Clock = field
			l.ClockNS, _ = strconv.ParseFloat(more, 64)
		case "libunwind":
			l.Libunwind = true
		case "papi":
			l.PAPI.File, l.PAPI.Version = field, more
		case "no-papi":
			l.PAPI.Error = rest
		case "component":
			l.PAPI.Components = append(l.PAPI.Components, Component{field, more})
		case "preset":
			l.PAPI.Presets = append(l.PAPI.Presets, field)
		case "event":
			l.Events = append(l.Events, rest)
		case "no-event":
			l.NoEvents = append(l.NoEvents, rest)
		case "reading":
			l.ReadingNS, _ = strconv.ParseFloat(field, 64)
		}
	}
}
