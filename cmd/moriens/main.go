// Command moriens watches MPI jobs from inside, clusters their computation bursts, and keeps what
// represents a run.
package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"moriens/app/measure"
	"moriens/internal/hint"
	"moriens/internal/plain"
	"moriens/internal/slack"
)

// Exit statuses, of which docs/exit.md has the table; `run` otherwise ends with the job's own.
const (
	statusFailure    = 1
	statusUsage      = 2
	statusIncomplete = measure.StatusIncomplete
)

type commands struct {
	Run        runCommand        `cmd:"" group:"measure" help:"Run a job under measurement and show the results: moriens run -- mpirun -n 4 ./app"`
	Doctor     doctorCommand     `cmd:"" group:"measure" help:"Check what can be measured on this machine, and show how to fix what is missing."`
	Version    versionCommand    `cmd:"" group:"measure" help:"Print the version, the commit and the versions of the formats."`
	Status     statusCommand     `cmd:"" group:"look" help:"Show the results of a finished run, or the state of one in progress: moriens status DIR"`
	Efficiency efficiencyCommand `cmd:"" group:"look" help:"Show how well runs used their processors, what is lost where, and how runs scale: moriens efficiency DIR..."`
	Waits      waitsCommand      `cmd:"" group:"look" help:"Show who waited for whom in MPI, who caused it, and the critical path: moriens waits DIR"`
	Pairs      pairsCommand      `cmd:"" group:"look" help:"Show which ranks exchange messages, what that costs, and how to place ranks on nodes: moriens pairs DIR"`
	Profile    profileCommand    `cmd:"" group:"look" help:"Show where the time goes, by phase, call path, function, instance, rank and more: moriens profile DIR"`
	Structure  structureCommand  `cmd:"" group:"look" help:"Print the program as pseudocode: functions, loops with their trip counts, conditions, computation, messages: moriens structure DIR"`
	View       viewCommand       `cmd:"" group:"look" help:"Show a run in a browser, served on the loopback interface: moriens view DIR"`
	Report     reportCommand     `cmd:"" group:"look" help:"Rewrite report.html of a run, the page that opens from disk: moriens report DIR"`
	Export     exportCommand     `cmd:"" group:"look" help:"Write the kept trace of a run in another format: moriens export DIR --format csv --out PATH"`
	Finish     finishCommand     `cmd:"" group:"nodes" help:"End a run in progress now and analyse what was recorded: moriens finish DIR"`
	Collect    collectCommand    `cmd:"" group:"nodes" help:"Collect the agents' data and analyse it when the job has ended: moriens collect --out DIR"`
	Agent      agentCommand      `cmd:"" group:"nodes" help:"Send the records of this node's ranks to the collector: moriens agent --dir DIR"`
	Env        envCommand        `cmd:"" group:"nodes" help:"Print the environment that the ranks need, for a batch script: eval \"$(moriens env DIR)\""`
	Analyze    analyzeCommand    `cmd:"" group:"data" help:"Analyse an existing Paraver trace: moriens analyze TRACE.prv --out DIR" set:"by=none"`
	Cluster    clusterCommand    `cmd:"" group:"data" help:"Cluster points by density (DBSCAN): moriens cluster points.csv --eps 0.1 --min-points 4 --out labels"`
	Preloaded  preloadedCommand  `cmd:"" hidden:"" help:"Serve the ranks of this node; started by libmoriens.so."`

	Log       string `help:"Log level on stderr: debug, info, warn, error (default: ${default})." enum:"debug,info,warn,error" default:"error" placeholder:"LEVEL"`
	LogFormat string `help:"Log format: text, or json with one object per line (default: ${default})." enum:"text,json" default:"text" placeholder:"FORMAT"`

	VersionFlag versionFlag `name:"version" help:"Print the version and exit."`
}

func main() {
	if measures(os.Args[1:]) {
		slack.Widen()
	}
	if len(os.Args) > 1 && os.Args[1] == preloaded {
		os.Exit(preloadedMain(os.Args[1:]))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// measures reports whether a command line is that of a process which works beside ranks for as long as they do. Another
// one with the same words starts a little later for it.
func measures(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	if len(args) > 0 && args[0] == preloaded {
		return isAgent(args)
	}
	return slices.ContainsFunc(args, func(a string) bool { return a == "run" || a == "collect" || a == "agent" })
}

// defaults are those of flags that differ between commands.
var defaults = kong.Vars{"by": "auto", "minDuration": "auto"}

func run(args []string, stdout, stderr io.Writer) int {
	stderr = plain.Writer(stderr)
	var c commands
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("moriens"),
		kong.Description("Measure an MPI job and show where its computing time goes. The computation between MPI calls is recorded and clustered, and the parts that represent the run are kept. Begin with: moriens run -- mpirun -n 4 ./app"),
		kong.Writers(stdout, stderr),
		kong.Exit(func(status int) { exited = status }),
		kong.UsageOnError(),
		defaults,
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.ExplicitGroups(groups),
		kong.AutoGroup(inGeneral),
		kong.Help(printHelp),
	)
	if err != nil {
		panic(err) // the grammar itself is wrong
	}
	ctx, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help, --version
	}
	if err != nil {
		complain(stderr, misread(err))
		return statusUsage
	}
	err = ctx.Run(c.log(stderr), &c, words{stderr})
	complain(stderr, cause(err))
	return statusOf(err)
}

// statusOf returns the status to exit with after an error, or none.
func statusOf(err error) int {
	var status exitStatus
	var incomplete *measure.IncompleteError
	switch {
	case errors.As(err, &status):
		return status.status
	case errors.As(err, &incomplete):
		return statusIncomplete
	case err != nil:
		return statusFailure
	}
	return 0
}

// cause is the message of an error.
func cause(err error) error {
	var status exitStatus
	var incomplete *measure.IncompleteError
	switch {
	case errors.As(err, &status):
		return status.err
	case errors.As(err, &incomplete):
		return incomplete.Err
	}
	return err
}

// log returns the log that the command line asks for.
func (c *commands) log(to io.Writer) *slog.Logger {
	level := slog.LevelError
	_ = level.UnmarshalText([]byte(c.Log)) // kong has checked it
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}

// An exitStatus is an error, or none, with the status to exit with.
type exitStatus struct {
	status int
	err    error
}

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d: %v", e.status, e.err) }

// usage makes err one for which the command line is to blame.
func usage(err error, advice string) error { return exitStatus{statusUsage, hint.With(err, advice)} }

// complain says in one line what went wrong, and in another what to do about it.
func complain(stderr io.Writer, err error) {
	if err == nil {
		return
	}
	fmt.Fprintf(stderr, "moriens: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	if advice := hint.Of(err); advice != "" {
		fmt.Fprintf(stderr, "hint: %s\n", advice)
	}
}
