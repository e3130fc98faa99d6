package doctor

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
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
		l.PAPI.Error = "looking at it failed: " + s.err.Error()
	case l.Layout == 0:
		l.Error = "it was preloaded and did not answer"
	}
	return l
}

// askLibrary has libmoriens.so answer a question: see cshim/src/probe.c. What is preloaded already stays so.
func askLibrary(ctx context.Context, library, question string, env ...string) said {
	program, err := dynamicProgram()
	if err != nil {
		return said{err: err}
	}
	preload := library
	if old := os.Getenv("LD_PRELOAD"); old != "" {
		preload += ":" + old
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
