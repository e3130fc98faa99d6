package main

import (
	"fmt"
	"os"
	"path/filepath"

	"moriens/app/report"
	"moriens/internal/plain"
)

type reportCommand struct {
	Dir string `arg:"" help:"Run directory." type:"path"`
}

func (r *reportCommand) Run(to words) error {
	file, problems, err := report.Rewrite(r.Dir)
	if err != nil {
		return err
	}
	for _, p := range problems {
		fmt.Fprintf(to, "moriens: left out: %s\n", plain.Line(p))
	}
	_, err = fmt.Fprintln(plain.Writer(os.Stdout), filepath.Join(r.Dir, file.Name))
	return err
}
