package main

import (
	"bytes"
	"strings"

	"github.com/alecthomas/kong"
)

// groups are the headings under which --help lists flags and commands. Those of flags that are not in one stand first.
var groups = []kong.Group{
	{Key: "measured", Title: "What is measured:"},
	{Key: "trace", Title: "The trace:"},
	{Key: "results", Title: "Results:"},
	{Key: "progress", Title: "While the job runs:"},
	{Key: "agents", Title: "Connections:"},
	{Key: "kept", Title: "What is kept:", Description: "Sums of all ranks, a sample of bursts, and windows that represent the run in full detail (docs/reduction.md)."},
	{
		Key: "clustering", Title: "Clustering:",
		Description: "Rarely needed. Bursts, the computation between two MPI calls, become clusters of bursts that behave alike; clusters become kinds of computation (docs/glossary.md).",
	},
	{Key: "large", Title: "Very large jobs (docs/cells.md):"},
	{Key: "files", Title: "Files while the job runs:"},
	{Key: "shown", Title: "What is shown:"},
	{Key: "written", Title: "Where it is written:"},
	{Key: "groups", Title: "Groups of ranks:"},
	{Key: "placement", Title: "Placement of ranks on nodes:"},
	{Key: "scaling", Title: "Several runs of one program:"},
	{Key: "tests", Title: "In tests:"},
	{Key: general, Title: "General:"},

	{Key: "measure", Title: "Measure a job, check the machine:"},
	{Key: "look", Title: "Look at the results:"},
	{Key: "nodes", Title: "Jobs in progress, jobs of several nodes (docs/batch.md):"},
	{Key: "data", Title: "Data from elsewhere:"},
}

// general are the flags of all commands. They come last.
const general = "general"

// inGeneral puts the flags of all commands into their group: --help has no tags.
func inGeneral(parent kong.Visitable, flag *kong.Flag) *kong.Group {
	if _, all := parent.(*kong.Application); !all {
		return nil
	}
	for i := range groups {
		if groups[i].Key == general {
			return &groups[i]
		}
	}
	return nil
}

// printHelp prints kong's help, with the launcher behind -- and general flags last.
func printHelp(o kong.HelpOptions, ctx *kong.Context) error {
	out := ctx.Stdout
	defer func() { ctx.Stdout = out }()
	var text bytes.Buffer
	ctx.Stdout = &text
	if err := kong.DefaultHelpPrinter(o, ctx); err != nil {
		return err
	}
	_, err := out.Write([]byte(arranged(text.String())))
	return err
}

func arranged(help string) string {
	help = strings.Replace(help, "<launcher> ... [flags]\n", "[flags] -- <launcher> ...\n", 1)
	help = strings.Replace(help, "Show context-sensitive help.", "Show this help.", 1)
	var blocks, last []string
	for block := range strings.SplitSeq(strings.TrimRight(help, "\n"), "\n\n") {
		if strings.HasPrefix(block, "General:\n") {
			last = append(last, block)
		} else {
			blocks = append(blocks, block)
		}
	}
	at := len(blocks)
	if strings.HasPrefix(blocks[at-1], "Run \"") { // moriens <command> --help
		at--
	}
	blocks = append(blocks[:at:at], append(last, blocks[at:]...)...)
	return strings.Join(blocks, "\n\n") + "\n"
}
