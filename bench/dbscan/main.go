// Command dbscan compares `moriens cluster` with two prototypes of exact grid DBSCAN, on the points of their generator,
// and prints a table in Markdown; and ten Eps one by one with ten through an index.
//
// The prototypes and the generator are not part of this repository: -suite gives their directory. They are built in a
// scratch copy. Both sides run in turn, each run is a separate process, and times are of clustering alone, as each side
// reports them. Both sides have to find as many clusters and as much noise.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
)

const minPts = 10

// A task is points and an Eps for them.
type task struct {
	name   string
	dims   int
	points int
	eps    float64
	noise  string // share of noise in the points, "" for the generator's own
}

var tasks = []task{
	{"2-D 100 k", 2, 100_000, .008, ""},
	{"2-D 1 M", 2, 1_000_000, .006, ""},
	{"2-D 10 M", 2, 10_000_000, .004, ""},
	{"4-D 100 k", 4, 100_000, .02, ""},
	{"4-D 1 M", 4, 1_000_000, .02, ""},
	{"4-D 10 M", 4, 10_000_000, .015, ""},
	{"2-D 2 M uniform", 2, 2_000_000, .00126, "1"},
	{"4-D 2 M uniform", 4, 2_000_000, .0317, "1"},
}

func main() {
	suite := flag.String("suite", "../shared/bench", "folder with gen, proto2d and proto4d")
	moriens := flag.String("moriens", "bin/moriens", "the program to measure")
	repeats := flag.Int("repeats", 5, "runs of each side")
	only := flag.String("only", "", "measure only what has this in its name")
	threads := flag.String("threads", "1,2", "numbers of threads")
	flag.Parse()
	if _, err := os.Stat(filepath.Join(*suite, "proto2d")); err != nil {
		fmt.Printf("skipped: there are no prototypes to compare with: %v\n", err)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *suite, *moriens, *only, *threads, *repeats); err != nil {
		fmt.Fprintln(os.Stderr, "dbscan:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, suite, moriens, only, threadList string, repeats int) error {
	var threads []int
	for _, field := range strings.Split(threadList, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			return fmt.Errorf("-threads %s: want numbers from 1 up", threadList)
		}
		threads = append(threads, n)
	}
	if repeats < 1 {
		return fmt.Errorf("-repeats %d: want at least 1", repeats)
	}
	scratch, err := os.MkdirTemp("", "moriens-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	b := &bench{scratch: scratch, repeats: repeats}
	if b.moriens, err = filepath.Abs(moriens); err != nil {
		return err
	}
	if err := b.build(ctx, suite); err != nil {
		return err
	}
	fmt.Printf("| points | threads | prototype, s (least – most) | moriens, s (least – most) | ratio | prototype, B/point | moriens, B/point |\n")
	fmt.Printf("|---|---|---|---|---|---|---|\n")
	for _, t := range tasks {
		if !strings.Contains(t.name, only) {
			continue
		}
		if err := b.compare(ctx, t, threads); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	fmt.Println()
	if err := b.insert(ctx, only); err != nil {
		return err
	}
	return b.many(ctx, only, threads)
}
