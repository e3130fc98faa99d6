// Command moriens-otf2 writes the kept trace of a run directory as an OTF2 archive. It is a program of its own because
// it is linked to libotf2, and moriens to nothing; `moriens export --format otf2` runs it.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"moriens/app/export"
	"moriens/internal/hint"
	"moriens/internal/plain"
	"moriens/internal/units"
	"moriens/trace/otf2"
	"moriens/trace/rundir"
)

// version is set when the program is linked.
var version = "unknown"

const usage = "usage: moriens-otf2 RUNDIR OUT\n" +
	"Writes the trace of a run directory as an OTF2 archive, OUT/traces.otf2. OUT must not exist.\n" +
	"Prints the number of bursts, MPI calls, messages, communicators and clusters.\n"

func main() { os.Exit(run(os.Args[1:], plain.Writer(os.Stdout), plain.Writer(os.Stderr))) }

// run returns the exit status: 0 done, 1 failure, 2 usage.
func run(args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) == 1 && (args[0] == "--help" || args[0] == "-h"):
		fmt.Fprint(stdout, usage)
		return 0
	case len(args) == 1 && args[0] == "--version":
		fmt.Fprintln(stdout, "moriens-otf2", version)
		return 0
	case len(args) != 2:
		fmt.Fprint(stderr, usage)
		return 2
	}
	if err := write(args[0], args[1], stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "moriens-otf2:", strings.ReplaceAll(err.Error(), "\n", "; "))
		if h := hint.Of(err); h != "" {
			fmt.Fprintln(stderr, "hint:", h)
		}
		return 1
	}
	return 0
}

func write(dir, out string, stdout, stderr io.Writer) error {
	r, _, _, err := rundir.Read(dir)
	if err != nil {
		return err
	}
	loss, err := otf2.Write(r, out, "moriens "+version)
	if err != nil {
		return err
	}
	if loss.Bursts > 0 {
		fmt.Fprintf(stderr, "note: %s left out because MPI calls overlap them in part: OTF2 regions must nest\n", units.Count(loss.Bursts, "burst"))
	}
	if loss.Messages > 0 {
		fmt.Fprintf(stderr, "note: %s received no later than sent: too many events share one timestamp\n", units.Count(loss.Messages, "message"))
	}
	_, err = fmt.Fprintln(stdout, export.Counts(r))
	return err
}
