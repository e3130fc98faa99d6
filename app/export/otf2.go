package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"moriens/internal/hint"
)

// otf2Writer is the program that writes OTF2: it is linked to the OTF2 library, and moriens to none.
const otf2Writer = "moriens-otf2"

// otf2 has that program write the archive, and say on its stdout how much it holds.
func (c *Config) otf2(ctx context.Context) error {
	program, err := findOTF2Writer()
	if err != nil {
		return err
	}
	place, err := newPlace(c.Out)
	if err != nil {
		return err
	}
	defer place.remove()
	const archive = "archive"
	c.Status.Show("moriens: writing " + c.Out)
	cmd := exec.CommandContext(ctx, program, c.Dir, place.in(archive))
	var holds, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &holds, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return hint.With(context.Cause(ctx), "no files remain")
		}
		return blame(err, said.String())
	}
	files, err := list(place.in(archive))
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	if err := move(place.in(archive), place.out); err != nil {
		return err
	}
	if err := c.say(strings.TrimSpace(holds.String()), files); err != nil {
		return err
	}
	if _, err := said.WriteTo(c.Stderr); err != nil {
		return hint.With(fmt.Errorf("print what is left out: %w", err), "the export is in "+c.Out)
	}
	return nil
}

// findOTF2Writer looks beside this program, then on PATH.
func findOTF2Writer() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), otf2Writer)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return beside, nil
		}
	}
	program, err := exec.LookPath(otf2Writer)
	if err != nil {
		return "", hint.With(fmt.Errorf("OTF2 export needs %s, which is neither beside moriens nor on PATH", otf2Writer),
			"install the OTF2 library (Debian: libotf2-trace-dev) and build moriens again with make")
	}
	return program, nil
}

// blame makes an error of what a program that has failed said: a line with what went wrong, and one with what to do.
func blame(err error, said string) error {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	advice := "choose another path with --out"
	if last := lines[len(lines)-1]; strings.HasPrefix(last, "hint: ") {
		advice, lines = strings.TrimPrefix(last, "hint: "), lines[:len(lines)-1]
	}
	if text := strings.TrimPrefix(strings.Join(lines, "; "), otf2Writer+": "); text != "" {
		err = errors.New(text)
	} else {
		err = fmt.Errorf("%s: %w", otf2Writer, err)
	}
	return hint.With(err, advice)
}

// list finds the files below a directory.
func list(dir string) ([]*file, error) {
	var files []*file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files = append(files, &file{name: path, bytes: info.Size()})
		return nil
	})
	return files, err
}
